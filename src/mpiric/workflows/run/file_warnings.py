"""What keeps settings of files from doing what they are for, where a run is about to use them."""

from collections.abc import Iterator

from mpiric import knobs
from mpiric.host.host import Host
from mpiric.model.configuration import Configuration
from mpiric.model.situation import Situation
from mpiric.workflows.launch.hint_file import hint_file_findings
from mpiric.workflows.run.with_hint import with_hint

_OF_MPI_IO = frozenset({"mpi-io", "mpi-io-library", "mpi-io-driver", "hdf5"})


def file_warnings(configuration: Configuration, situation: Situation, host: Host) -> Iterator[str]:
    """Sentences with hints; none where the configuration leaves files alone.

    A quota that is used up matters to every such setting, locks and the user's own file of hints to those of
    MPI-IO: `mpiric doctor` tells of them without any.
    """
    acting = {name for name in configuration.as_dict() if knobs.all_knobs()[name].acts_on_files}
    if not acting:
        return
    wanted = {"quota-used-up", *(["mount-without-flock"] if acting & _OF_MPI_IO else [])}
    problems = [problem for problem in knobs.inherited_problems(situation) if problem.id in wanted]
    if "mpi-io" in acting:
        problems += hint_file_findings(situation, host)
    for finding in problems:
        yield with_hint(f"{finding.says} ({finding.evidence})", finding.fix)
