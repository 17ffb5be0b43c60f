"""The wheel from a folder of wheels, with the network cut off: under each Python, by pipx and by uv."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.dist import DIST, PROCESSOR, VERSION, run, wheels

pytestmark = [
    pytest.mark.sweep,
    pytest.mark.requires("packages", "netns"),
    pytest.mark.timeout(900),
]
CUT_OFF = ("unshare", "--net")


def python_of(minor: int) -> str:
    """Return an interpreter of a version from the PATH or pyenv, "" if there is none."""
    results = [
        shutil.which(f"python3.{minor}"),
        *sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3")),
    ]
    starts = (
        path
        for path in results
        if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0
    )
    return str(next(starts, ""))


def folders(minor: int) -> tuple[Path, Path]:
    """Return the directories with the wheels of mpiric and its dependencies."""
    return wheels(f"3.{minor}-{PROCESSOR}"), DIST


def check(program: Path, environment: dict[str, str]) -> None:
    """Query the version of the installed command, with its native parts."""
    facts = json.loads(run(program, "--version", "--json", env=environment).stdout)
    assert (facts["version"], facts["native"]["portable"]) == (VERSION, True)
    assert "mpich" in run(program, "mpi", "list", "--json", env=environment).stdout


@pytest.mark.parametrize("minor", range(10, 14))
def test_a_python_takes_it_and_loses_all_of_it_again(minor, tmp_path, environment):
    python = python_of(minor)
    if not python:
        pytest.skip(f"not on this machine: python3.{minor}")
    run(python, "-m", "venv", tmp_path / "venv")
    links = [word for place in folders(minor) for word in ("--find-links", place)]
    pip = (tmp_path / "venv/bin/python", "-m", "pip")
    before = {path for path in (tmp_path / "venv").rglob("*") if path.suffix != ".pyc"}
    run(*CUT_OFF, *pip, "install", "--quiet", "--no-index", "--no-compile", *links, "mpiric", env=environment)
    check(tmp_path / "venv/bin/mpiric", environment)
    frozen = run(*pip, "freeze", env=environment).stdout
    run(
        *pip,
        "uninstall",
        "--quiet",
        "--yes",
        *(line.split("==")[0].split(" @")[0] for line in frozen.splitlines()),
    )
    remaining = {
        path for path in (tmp_path / "venv").rglob("*") if path.is_file() and path.suffix != ".pyc"
    } - before
    assert remaining == set()


@pytest.mark.requires("python:uv")
def test_uv_installs_it_as_a_tool(tmp_path, environment, program_python):
    minor = sys.version_info.minor
    variables = {
        **environment,
        "UV_TOOL_DIR": str(tmp_path / "tools"),
        "UV_TOOL_BIN_DIR": str(tmp_path / "bin"),
    }
    links = [word for place in folders(minor) for word in ("--find-links", place)]
    uv = program_python("uv").with_name("uv")
    options = ("--offline", "--no-index", "--no-cache", "--python", sys.executable)
    run(*CUT_OFF, uv, "tool", "install", *options, *links, "mpiric", env=variables)
    check(tmp_path / "bin/mpiric", variables)
    run(uv, "tool", "uninstall", "mpiric", env=variables)
    assert not [path for place in ("tools", "bin") for path in (tmp_path / place).rglob("mpiric*")]


@pytest.mark.requires("python:pipx")
def test_pipx_installs_it(tmp_path, environment, program_python):
    variables = {**environment, "PIPX_HOME": str(tmp_path / "home"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    variables |= {"PIPX_MAN_DIR": str(tmp_path / "man"), "PIPX_DEFAULT_PYTHON": sys.executable}
    python = program_python("pipx")
    # pipx requires the newest version of pip.
    run(python, "-m", "pip", "download", "--quiet", "--no-deps", "-d", tmp_path / "pip", "pip")
    places = (*folders(sys.version_info.minor), tmp_path / "pip")
    links = " ".join(f"--find-links={place}" for place in places)
    pipx = (python, "-m", "pipx")
    run(
        *CUT_OFF, *pipx, "install", "--backend=pip", f"--pip-args=--no-index {links}", "mpiric", env=variables
    )
    check(tmp_path / "bin/mpiric", variables)
    assert (tmp_path / "man/man1/mpiric.1").exists()
    run(*pipx, "uninstall", "mpiric", env=variables)
    assert not [*(tmp_path / "bin").iterdir(), *(tmp_path / "home").glob("venvs/[!.]*")]
