"""Requirements of tests on the machine, and fixtures that run mpiric and MPI programs."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.support.oversubscription import WITHOUT_LIBFABRIC, yielding

from mpiric.host.facts.local import LocalHost
from mpiric.host.user_directories import installed_prefixes
from mpiric.model.mpi_library import MpiLibrary
from mpiric.mpis import find_mpis

# No deadlines: on a busy machine, the duration of a test is not a property of the code.
settings.register_profile("mpiric", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mpiric")

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "build/programs"  # made by `make test-programs`
LIBRARIES = ("/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
SBIN = ("/usr/sbin", "/sbin")
NOTHING_MAY_BE_MISSING = os.environ.get("MPIRIC_REQUIRE") == "all"

# Prefixes of variables that a user may have set and that a test must not inherit.
_FOREIGN = (
    *(
        "MPIRIC_",
        "OMPI_",
        "PMIX_",
        "PRTE_",
        "MPICH_",
        "MPIR_",
        "I_MPI_",
        "HYDRA_",
        "FI_",
        "UCX_",
        "SLURM_",
        "PBS_",
        "LSB_",
        "FLUX_",
        "PMI_",
    ),
    *("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "MALLOC_", "GLIBC_TUNABLES"),
    *("LD_PRELOAD", "LD_LIBRARY_PATH", "XDG_", "FORCE_COLOR", "PYTHONUNBUFFERED"),
)
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@lru_cache
def mpis_here() -> tuple[MpiLibrary, ...]:
    return find_mpis(LocalHost())


@lru_cache
def is_here(name: str) -> bool:
    """Return whether the machine has a program, a library file or a capability (see CAPABILITIES)."""
    kind, colon, value = name.partition(":")
    if colon:
        return PREFIXED[kind](value)
    if name in CAPABILITIES:
        return CAPABILITIES[name]()
    if ".so" in name:
        return any((Path(place) / name).exists() for place in LIBRARIES)
    return which(name) is not None or any(which(name, path=place) for place in SBIN)


def _succeeds(*argv: str | Path) -> bool:
    return subprocess.run(argv, capture_output=True).returncode == 0


def _can_make(namespace: str) -> bool:
    unshare = which("unshare")
    return bool(unshare) and _succeeds(unshare, namespace, "true")


def _is_mpi_prefix(name: str) -> bool:
    return any(label.startswith(f"{name}-") for label in installed_prefixes(os.environ))


def _is_python_module(name: str) -> bool:
    python = PROGRAMS / name / "bin/python"
    return python.exists() and _succeeds(python, "-c", f"import {name}")


CAPABILITIES: dict[str, Callable[[], bool]] = {
    "root": lambda: os.geteuid() == 0,
    "mounts": lambda: _can_make("--mount"),
    "netns": lambda: _can_make("--net"),
    "user-namespaces": lambda: _can_make("--user"),
    "under-qemu": lambda: _succeeds(ROOT / "tools/setup/under-qemu", "true"),  # needs qemu-user-static
    "fuse": lambda: os.access("/dev/fuse", os.R_OK | os.W_OK),
    "several-cores": lambda: len(os.sched_getaffinity(0)) > 1,
    "any-mpi": lambda: bool(mpis_here()),
    "debian-mpich": lambda: bool(which("mpiexec.mpich") and which("mpicc.mpich")),
    "debian-openmpi": lambda: bool(which("mpirun.openmpi") and which("mpicc.openmpi")),
    "environment-modules": lambda: Path("/usr/lib/x86_64-linux-gnu/modulecmd.tcl").is_file(),
    "lmod": lambda: (PROGRAMS / "lmod/.complete").is_file(),  # installed by `make test-programs`
    "packages": lambda: bool([*ROOT.glob("dist/*.tar.gz")]),  # built by `make packages`
}
PREFIXED: dict[str, Callable[[str], bool]] = {
    "header": lambda name: Path("/usr/include", name).is_file(),
    "mpi": _is_mpi_prefix,  # installed by `mpiric mpi install`
    "imports": lambda name: find_spec(name) is not None,  # installed in the environment of the tests
    "python": _is_python_module,  # installed in a separate environment, see `program_python`
}


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect long tests, and run each file that uses real launchers on one worker.

    pytest-xdist starts the largest groups first, so that other tests run while these wait for launchers.
    """
    for item in items:
        if item.path.is_relative_to(ROOT / "tests/system"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    if os.environ.get("MPIRIC_SWEEP") == "1" or "sweep" in config.option.markexpr:
        return
    long = [item for item in items if item.get_closest_marker("sweep")]
    items[:] = [item for item in items if item not in long]
    config.hook.pytest_deselected(items=long)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Raise an error if this combination of pytest and pytest-xdist ignores groups."""
    for item in session.items:
        grouped = session.config.getoption("loadgroup", False) and item.get_closest_marker("xdist_group")
        if grouped and "@" not in item.nodeid:
            raise pytest.UsageError("this pytest-xdist does not group tests under this pytest")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose requirements are not met; with MPIRIC_REQUIRE=all, fail it."""
    needed = [name for mark in item.iter_markers("requires") for name in mark.args]
    missing = [name for name in needed if not is_here(name)]
    if missing:
        outcome = pytest.fail if NOTHING_MAY_BE_MISSING else pytest.skip
        outcome(f"not on this machine: {', '.join(missing)}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `mpi` with each installed MPI library, or only the newest (`newest_only`)."""
    if "mpi" in metafunc.fixturenames:
        mpis = mpis_here()
        newest = {mpi.implementation: mpi.label for mpi in sorted(mpis, key=lambda mpi: mpi.label)}
        is_costly = metafunc.definition.get_closest_marker("newest_only") is not None
        parameters = [
            pytest.param(
                mpi,
                id=mpi.label,
                marks=pytest.mark.sweep if is_costly and mpi.label not in newest.values() else (),
            )
            for mpi in mpis
        ]
        none = [pytest.param(None, id="none", marks=pytest.mark.requires("any-mpi"))]
        metafunc.parametrize("mpi", parameters or none)


def clean_environment() -> dict[str, str]:
    """Return the environment of this process without variables that affect MPI programs or mpiric."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    return {**variables, **(_AS_ROOT if os.geteuid() == 0 else {}), "NO_COLOR": "1"}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return a clean environment with home and XDG directories that belong to this test."""
    home = tmp_path / "home"
    places = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("DATA", "STATE", "CONFIG", "CACHE")}
    home.mkdir()
    return {**clean_environment(), "HOME": str(home), **places}


@pytest.fixture
def run_mpiric(
    environment: dict[str, str], tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs `mpiric ARGS…`: `env` is added, other options go to subprocess.run."""

    def run(*args: object, env: dict[str, str] | None = None, **options) -> subprocess.CompletedProcess[str]:
        options = {"cwd": tmp_path, "timeout": 240, "capture_output": True, "text": True, **options}
        argv = [str(Path(sys.executable).parent / "mpiric"), *map(str, args)]
        return subprocess.run(argv, env={**environment, **(env or {})}, **options)

    return run


@pytest.fixture
def mpi_prefix() -> Callable[[str], Path]:
    """Return a function: `mpi_prefix("mpich")` is the prefix installed by `mpiric mpi install mpich`."""

    def prefix(name: str) -> Path:
        prefixes = [
            path for label, path in installed_prefixes(os.environ).items() if label.startswith(f"{name}-")
        ]
        if not prefixes:
            (pytest.fail if NOTHING_MAY_BE_MISSING else pytest.skip)(f"not on this machine: mpi:{name}")
        return prefixes[-1]

    return prefix


@pytest.fixture
def program_python() -> Callable[[str], Path]:
    """Return a function: `program_python("mpi4py")` is the Python of the environment that contains mpi4py."""
    return lambda name: PROGRAMS / name / "bin/python"


@pytest.fixture
def mpi_run(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs a program with the launcher and the libraries of one MPI library."""

    def run(mpi: MpiLibrary, ranks: int, *program: object, **options) -> subprocess.CompletedProcess[str]:
        paths = {
            "LD_LIBRARY_PATH": ":".join(mpi.library_path),
            "PATH": ":".join([*mpi.search_path, environment["PATH"]]),
        }
        options = {"timeout": 120, "capture_output": True, "text": True, **options}
        variables = {**environment, **mpi.environment, **paths, **options.get("env", {})}
        options["env"] = {**WITHOUT_LIBFABRIC, "LD_PRELOAD": yielding(), **variables}
        return subprocess.run([mpi.launcher, "-n", str(ranks), *map(str, program)], **options)

    return run


@pytest.fixture
def eventually() -> Callable[[Callable[[], Any]], Any]:
    """Return a function that repeats a question until the answer is true, at most for a generous time."""

    def wait(question: Callable[[], Any], patience_s: float = 120.0) -> Any:
        until = time.monotonic() + patience_s
        while not (answer := question()) and time.monotonic() < until:
            time.sleep(0.02)
        return answer

    return wait
