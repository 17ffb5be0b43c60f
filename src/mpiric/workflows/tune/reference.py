"""The directory in which the user kept a whole run of the original: its output, and files it wrote."""

from pathlib import Path

from mpiric.host.files import exists, is_directory, is_file
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.tuning.equivalence.whole_runs import WholeOutput

STDOUT = "stdout"  # name of what the run printed
_HINT = f"--reference takes a directory with what a whole run wrote, and what it printed in a file '{STDOUT}'"


def check_reference(directory: Path) -> Path:
    """The absolute path of a reference. Raises MpiricError for one that holds nothing."""
    if not is_directory(directory):
        raise NotFoundError(f"there is no directory {directory}", hint=_HINT)
    if not any(is_file(path) for path in directory.rglob("*")):
        raise MpiricError(f"no file is in {directory}", hint=_HINT)
    return directory.absolute()


def reference_output(directory: Path, found: WholeOutput, working_directory: str) -> WholeOutput:
    """What the reference says of a run: inputs, which no run writes, are not compared."""
    stdout = directory / STDOUT
    files = {
        name: path
        for path in sorted(directory.rglob("*"))
        if is_file(path) and path != stdout
        for name in [str(path.relative_to(directory))]
        if name in found.files or not exists(Path(working_directory, name))
    }
    return WholeOutput(stdout if is_file(stdout) else None, files)
