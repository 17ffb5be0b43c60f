"""The runtime for the ranks of a program: to record them, or to count its steps."""

from mpiric import mpis
from mpiric.host.facts.elf import read_embedded_texts
from mpiric.host.host import Host
from mpiric.lab.recording import Recorder, recorder_of
from mpiric.model.errors import MpiricError
from mpiric.model.situation import Observation, Situation
from mpiric.model.translation import family_above
from mpiric.workflows.launch.loadable import why_not_loadable
from mpiric.workflows.launch.parse_job import program_path

_SWITCH = b"MPIRIC_MARK_OUT"


def recorder_for(situation: Situation, host: Host) -> Recorder:
    """The recorder for a program whose ranks were seen. Raises MpiricError where nothing can be loaded."""
    if reason := unrecordable(situation.observation):
        raise MpiricError(reason)
    path = program_path(situation.job, host)
    family = (mpis.abi_of_program(host, path) if path else None) or family_above(situation.mpi)
    if family is None:
        raise MpiricError("no runtime fits an MPI library that is not known")
    recorder = recorder_of(situation.job, family)
    if reason := why_not_loadable(situation.job, recorder.library, host):
        raise MpiricError(reason)
    return recorder


def unrecordable(observation: Observation) -> str:
    """Why nothing can be loaded into the ranks that were seen, "" where it can."""
    if not observation.ranks:
        return "no rank was seen"
    if observation.is_dynamic:
        return ""
    return "the program shows no C library (statically linked or setuid), so that nothing can be loaded"


def runtime_with_marks(situation: Situation, host: Host) -> str:
    """Path of the runtime for this program. Raises MpiricError where it cannot carry marks."""
    recorder = recorder_for(situation, host)
    if not read_embedded_texts(recorder.library, _SWITCH):
        raise MpiricError("the runtime of this installation is older than marks")
    return recorder.library
