"""Errors of a program with the preloaded runtime end where they would without it."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.oversubscription import yielding

from mpiric.host.facts.local import LocalHost
from mpiric.model.mpi_library import MpiLibrary
from mpiric.mpis import find_mpis

PROGRAMS = Path(__file__).parent / "runtime_programs"
RUNTIME = Path(__file__).parents[2] / "src/mpiric/_native/mpich/libmpiric.so"

pytestmark = pytest.mark.requires("mpi:mpich")


@pytest.fixture
def mpich() -> MpiLibrary:
    return next(m for m in find_mpis(LocalHost()) if (m.implementation, m.found_by) == ("mpich", "mpiric"))


@pytest.fixture
def launch(mpich, environment, tmp_path):
    """`launch(source, settings, words…)` runs it on three ranks; settings go to the ranks."""

    def run(source: str, settings: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
        program = tmp_path / Path(source).stem
        subprocess.run([mpich.compilers["c"], str(PROGRAMS / source), "-o", str(program)], check=True)
        flags = [word for name, value in settings.items() for word in ("-genv", name, value)]
        return subprocess.run(
            [mpich.launcher, *arguments, *flags, "-n", "3", str(program)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


def recording(tmp_path: Path, **more: str) -> dict[str, str]:
    directory = str(tmp_path / "record")
    return {"LD_PRELOAD": yielding(RUNTIME), "MPIRIC_RECORD_DIR": directory, "MPIRIC_MERGE": "tree", **more}


@pytest.mark.parametrize("collectives", ["off", "online", "rotate"])
def test_a_communicator_that_follows_the_handler_of_the_world_still_does(collectives, launch, tmp_path):
    alone = launch("errors.c", {})
    assert alone.stdout.splitlines() == ["the error came back"] * 3
    watched = launch("errors.c", recording(tmp_path, MPIRIC_COLLECTIVES=collectives))
    assert (watched.returncode, watched.stdout) == (0, alone.stdout), watched.stderr


@pytest.mark.parametrize("collectives", ["off", "online"])
def test_nobody_waits_in_finalize_for_a_rank_that_need_not_come(collectives, launch, tmp_path):
    settings = recording(
        tmp_path,
        MPIR_CVAR_NO_COLLECTIVE_FINALIZE="1",
        MPIRIC_COLLECTIVES=collectives,
        MPIRIC_POLICY_OUT=str(tmp_path / "policy"),
    )
    done = launch("aborts.c", settings, "-disable-auto-cleanup")
    assert done.stdout.count("finalized") == 2
    assert len(list((tmp_path / "record").glob("*.part"))) == 3


def test_a_communicator_that_has_nowhere_to_go_is_not_looked_for(launch, tmp_path):
    done = launch("nowhere.c", recording(tmp_path))
    assert (done.returncode, done.stdout.splitlines()) == (0, ["1 call"] * 3), done.stderr
