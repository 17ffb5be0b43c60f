"""Python that mpiric starts imports nothing from the directory in which it is started."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mpiric.host.packaged import own_command
from mpiric.host.user_directories import has_relative_library_path

PACKAGE = Path(__file__).parents[2] / "src/mpiric"
MODULES = ("mpiric", "json", "click", "typing", "numpy", "profile", "signal", "usercustomize")


@pytest.fixture
def planted(tmp_path):
    """A directory with modules that a verb imports; each of them leaves a file when it is imported."""
    for name in MODULES:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'a').write({name!r})\n")
    return tmp_path


@pytest.mark.parametrize("verb", [("mpi", "--help"), ("cc", "--help")])
def test_jobs_import_nothing_from_the_directory_of_the_user(planted, verb):
    done = subprocess.run(
        [*own_command(sys.executable), *verb], cwd=planted, capture_output=True, text=True, timeout=200
    )
    assert "Traceback" not in done.stderr
    assert not (planted / "imported").exists()


def test_the_planted_modules_would_be_imported(planted):
    subprocess.run(
        [sys.executable, "-m", "mpiric", "--version"], cwd=planted, capture_output=True, timeout=200
    )
    assert (planted / "imported").exists()


def test_a_package_that_only_pythonpath_names_is_found(planted):
    paths = [path for path in sys.path if path.endswith(("site-packages", "/src"))]
    done = subprocess.run(
        [sys.executable, "-S", *own_command(sys.executable)[1:], "--version"],
        cwd=planted, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not (planted / "imported").exists()


def _commands():
    """The lists and tuples of the package whose first entry is a Python interpreter, with their place."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.List | ast.Tuple) and len(node.elts) > 1:
                first = node.elts[0]
                if isinstance(first, ast.Attribute) and ast.unparse(first).endswith(
                    ("sys.executable", ".python")
                ):
                    yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node.elts


def test_every_python_is_started_in_isolation():
    commands = dict(_commands())
    assert len(commands) > 5
    not_isolated = [
        place for place, command in commands.items()
        if not (isinstance(command[1], ast.Constant) and command[1].value == "-I")
    ]  # fmt: skip
    assert not_isolated == []


# Start in the user's directory: the keeper gives launches their files by relative paths too, and so does pip.
STARTERS = ("subprocess.run", "subprocess.Popen")
STARTED_HERE = {"host/processes/execution.py", "host/installation/prefixes.py"}


def test_every_command_says_in_which_directory_it_starts():
    count, wrong = 0, []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "subprocess.run",
                "subprocess.Popen",
            ):
                count += 1
                if not {"cwd", "env"} <= {keyword.arg for keyword in node.keywords}:
                    wrong.append(str(path.relative_to(PACKAGE)))
    assert count > 5
    assert set(wrong) == STARTED_HERE


@pytest.mark.parametrize(
    ("path", "is_relative"),
    [
        ("", False),
        ("/lib", False),
        ("/a:/b", False),
        (":", True),
        ("/a:", True),
        ("a:/b", True),
        ("/a;b", True),
    ],
)
def test_a_library_path_that_names_the_working_directory_is_known(path, is_relative):
    assert has_relative_library_path({"LD_LIBRARY_PATH": path}) == is_relative


def test_libhwloc_of_the_working_directory_is_not_loaded(tmp_path):
    for name in ("libhwloc.so", "libhwloc.so.15"):
        (tmp_path / name).write_text("no library")
    code = "from mpiric.host.facts.hwloc import export_xml; print(export_xml('', ()) is not None)"
    answers = [
        subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "LD_LIBRARY_PATH": path},
            capture_output=True, text=True,
        ).stdout
        for path in ("", "/nowhere:")
    ]  # fmt: skip
    assert answers[0] == answers[1] != ""
