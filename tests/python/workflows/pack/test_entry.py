"""Which words of a launch line go into a pack."""

import shutil
import sys
from pathlib import Path

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.launchers import parse_command
from mpiric.model.errors import MpiricError
from mpiric.workflows.pack.entry import PackEntry, entry_of

SHELL = shutil.which("bash") or "/bin/sh"
PYTHON = sys.executable


@pytest.fixture
def entry(tmp_path: Path):
    """`entry("mpiexec -n 2 ./app")`, in a directory with a script of each kind."""
    scripts = {
        "solve.py": "pass\n",
        "tool": f"#!{PYTHON} -u\npass\n",
        "found": f"#!/usr/bin/env -S A=1 {PYTHON}\npass\n",
        "wrapper.sh": f"#!{SHELL}\nexec ./solve\n",
        "data": "no program\n",
    }
    for name, text in scripts.items():
        (tmp_path / name).write_text(text)

    def of(line: str) -> PackEntry:
        return entry_of(parse_command(line.split(), str(tmp_path), {}, dialect="hydra"), LocalHost())

    return of


def test_of_an_executable_only_its_file_goes_in(entry):
    assert entry(f"mpiexec -n 2 {SHELL} -in x").command == (SHELL,)


@pytest.mark.parametrize(
    ("arguments", "options", "name", "consumed"),
    [
        ("solve.py 3", (), "solve", 2),
        ("-u -X dev solve.py 3", ("-u", "-X", "dev"), "solve", 5),
        ("-m mpi4py solve.py 3", ("-m", "mpi4py"), "solve", 4),
        ("-m pkg 3", ("-m", "pkg"), "pkg", 3),
    ],
)
def test_of_python_the_options_the_module_and_the_script_go_in(entry, arguments, options, name, consumed):
    packed = entry(f"mpiexec -n 2 {PYTHON} {arguments}")
    assert (packed.arguments, packed.name, len(packed.command)) == (options, name, consumed)


@pytest.mark.parametrize(("script", "options"), [("tool", ("-u",)), ("found", ())])
def test_a_script_of_python_brings_its_interpreter(entry, script, options):
    packed = entry(f"mpiexec -n 2 ./{script} 3")
    assert (packed.executable, packed.arguments, packed.command) == (PYTHON, options, (f"./{script}",))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("mpiexec -n 2 ./wrapper.sh", "is a script of"),
        ("mpiexec -n 2 ./data", "executable"),
        ("mpiexec -n 2 ./missing", "program './missing'"),
        (f"mpiexec -n 2 {PYTHON}", "is started without a script"),
        (f"mpiexec -n 1 {SHELL} : -n 1 ./data", "several programs"),
        (f"mpiexec -n 2 apptainer exec a.sif {SHELL}", "out of an image already"),
    ],
)
def test_programs_that_cannot_be_packed_are_refused(entry, line, says):
    with pytest.raises(MpiricError, match=says):
        entry(line)
