"""What keeps settings of files from doing what they are for, where a run is about to use them."""

from collections.abc import Iterator

from mpiric import knobs
from mpiric.host.host import Host
from mpiric.model.configuration import Configuration
from mpiric.model.situation import Situation
from mpiric.workflows.launch.hint_file import hint_file_findings
from mpiric.workflows.run.with_hint import with_hint

_MPI_IO_KNOBS = frozenset({"mpi-io", "mpi-io-library", "mpi-io-driver", "hdf5"})


def file_warnings(configuration: Configuration, situation: Situation, host: Host) -> Iterator[str]:
    """Yield warnings with hints about obstacles to the file settings of a configuration.

    An exhausted quota concerns every file setting; locks and the user's file of hints concern MPI-IO.
    """
    acting = {name for name in configuration.as_dict() if knobs.all_knobs()[name].acts_on_files}
    if not acting:
        return
    relevant = {"quota-used-up", *(["mount-without-flock"] if acting & _MPI_IO_KNOBS else [])}
    problems = [problem for problem in knobs.inherited_problems(situation) if problem.id in relevant]
    if "mpi-io" in acting:
        problems += hint_file_findings(situation, host)
    for finding in problems:
        yield with_hint(f"{finding.says} ({finding.evidence})", finding.fix)
