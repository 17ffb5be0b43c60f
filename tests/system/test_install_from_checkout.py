"""A plain checkout is installed from PyPI and with a compiler: by pip, pipx and uv."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.dist import ROOT, run

pytestmark = [pytest.mark.sweep, pytest.mark.requires("c++"), pytest.mark.timeout(1800)]


def reaches_pypi() -> bool:
    command = [sys.executable, "-m", "pip", "index", "versions", "mpich"]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clone the committed files, without headers, chart library and native parts."""
    if not reaches_pypi():
        pytest.skip("PyPI cannot be reached")
    place = tmp_path_factory.mktemp("clone") / "mpiric"
    run("git", "clone", "--quiet", ROOT.as_uri(), place)
    assert not (place / "third_party").exists()
    return place


@pytest.fixture
def variables(environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """Give the build a home of its own, and the compiler cache of this user where there is one."""
    places = {"PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin", "UV_TOOL_DIR": "uv", "UV_TOOL_BIN_DIR": "bin"}
    cached = (
        {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_NOHASHDIR": "1"} if shutil.which("ccache") else {}
    )
    return {**environment, **cached, **{name: str(tmp_path / place) for name, place in places.items()}}


def by_pip(source: str, tmp_path: Path, variables: dict[str, str]) -> Path:
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    run(tmp_path / "venv/bin/python", "-m", "pip", "install", "--quiet", source, env=variables)
    return tmp_path / "venv/bin/mpiric"


def by_pipx(source: str, tmp_path: Path, variables: dict[str, str]) -> Path:
    run("pipx", "install", source, env=variables)
    return tmp_path / "bin/mpiric"


def by_uv(source: str, tmp_path: Path, variables: dict[str, str]) -> Path:
    run("uv", "tool", "install", source, env=variables)
    return tmp_path / "bin/mpiric"


@pytest.mark.parametrize(
    ("install", "is_url", "kind"),
    [
        pytest.param(by_pip, True, "local", id="pip-git"),
        pytest.param(by_pip, False, "", id="pip-directory"),
        pytest.param(by_pipx, False, "local", id="pipx", marks=pytest.mark.requires("pipx")),
        pytest.param(by_uv, False, "local", id="uv", marks=pytest.mark.requires("uv")),
    ],
)
def test_a_plain_checkout_is_installed_with_native_parts(
    install: Callable[[str, Path, dict[str, str]], Path],
    is_url: bool,
    kind: str,
    checkout: Path,
    tmp_path: Path,
    variables: dict[str, str],
) -> None:
    if kind:
        variables = {**variables, "MPIRIC_NATIVE": kind}
    program = install(f"git+{checkout.as_uri()}" if is_url else str(checkout), tmp_path, variables)
    facts = json.loads(run(program, "--version", "--json", env=variables).stdout)
    assert set(facts["native"]["families"]) == {"mpich", "openmpi", "standard"}
    assert facts["native"]["portable"] is not bool(kind)
    assert os.access(program.with_name("mpiric-cc"), os.X_OK)
