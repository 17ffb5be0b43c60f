"""Record this machine and its MPI libraries into one file for the tests.

    .venv/bin/python -m tools.capture.machine tests/data/machines/NAME.json --note "what it is" \
        [--without TEXT ...] [--program PATH ...]

Only the facts that mpiric queried are kept, and only the environment variables that it read. ``--without``
drops lines of files, and directory entries, that contain a private text. Read the result before you commit.
"""

import argparse
import re
from dataclasses import replace
from pathlib import Path

from tests.support.recording_host import RecordingHost
from tests.support.replay_host import Recording

from mpiric.host.facts.local import LocalHost
from mpiric.machine import read_machine
from mpiric.mpis import abi_of_program, find_mpis, mpi_of_launcher


def main() -> None:
    """Ask everything once and write the answers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "--note", required=True, help="where this machine is from, for the reader of the file"
    )
    parser.add_argument("--without", action="append", default=[], metavar="TEXT")
    parser.add_argument(
        "--program", action="append", default=[], metavar="PATH", help="executables to look into"
    )
    parser.add_argument("--launcher", action="append", default=["mpirun", "mpiexec"], metavar="NAME")
    arguments = parser.parse_args()
    host = RecordingHost(LocalHost())
    read_machine(host, str(Path.cwd()))
    for mpi in find_mpis(host):
        print(mpi.label, mpi.library)
    for program in arguments.program:
        abi_of_program(host, program)
    for launcher in arguments.launcher:
        mpi_of_launcher(host, launcher)
    recording = host.recording
    recording.note = arguments.note
    _keep_telling_libraries(recording)
    for text in arguments.without:
        _drop(recording, text)
    recording.write(arguments.file)


# Libraries that mpiric searches for; a system has thousands of others.
_TELLING = re.compile(r"mpi|malloc|fabric|blas|mkl|hwloc|libuc|libc\.so")


def _keep_telling_libraries(recording: Recording) -> None:
    for key, answer in recording.commands.items():
        if "ldconfig" in key:
            lines = answer.stdout.splitlines(keepends=True)
            relevant = "".join(line for line in lines if _TELLING.search(line))
            recording.commands[key] = replace(answer, stdout=relevant)
    for path, names in recording.directories.items():
        recording.directories[path] = tuple(n for n in names if ".so" not in n or _TELLING.search(n))


def _drop(recording: Recording, text: str) -> None:
    for path, content in recording.files.items():
        recording.files[path] = "".join(
            line for line in content.splitlines(keepends=True) if text not in line
        )
    for path, names in recording.directories.items():
        recording.directories[path] = tuple(name for name in names if text not in name)


if __name__ == "__main__":
    main()
