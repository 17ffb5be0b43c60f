"""Settings of the knobs exist in real libraries, and programs still compute correctly with them."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.answers import values

from mpiric import launchers
from mpiric.algorithms.library import library_algorithms
from mpiric.host.facts.local import LocalHost
from mpiric.knobs import all_knobs
from mpiric.lab.render import render, spell
from mpiric.machine import read_machine
from mpiric.model.configuration import Configuration
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.situation import Allowed, Observation, RankSeen, Situation

HERE = Path(__file__).parent
FAMILIES = ("collectives", "io", "oversubscription", "protocol", "transport")
# Read by UCX, libfabric, launchers and a component of others, which have no list that can be asked here.
ELSEWHERE = ("UCX_", "FI_", "HYDRA_", "PRTE_MCA_", "OMPI_MCA_coll_hcoll_", "OMPI_MCA_coll_ucc_")
# Read by our own runtime, whose list is a file.
OWN = frozenset(re.findall(r'environment = "(\w+)"', (HERE.parents[1] / "spec/options.toml").read_text()))
NEEDS_ANOTHER_MACHINE = {
    "ofi-provider",
    "network-interface",
    "host-names",
    "launch-route",
    "nodes",
    "mpi",
    "blas",
}
NEEDS_ANOTHER_BUILD = {("network-library", "psm2"), ("single-copy", "xpmem"), ("single-copy", "knem")}
NEEDS_ANOTHER_NETWORK = {
    ("network-library", "ofi"),
    *(("ucx-transports", word) for word in ("rc", "dc", "ud")),
}


def situation(mpi: MpiLibrary, program: str, environment: dict[str, str]) -> Situation:
    command = [mpi.launcher, "-n", "2", program]
    job = launchers.parse_command(command, str(HERE), environment, dialect=mpi.dialect)
    host = LocalHost()
    observed = RankSeen(
        0, program, (0, 1), 1, 1.0, 0.0, 0, 0, 0, 0, 1 << 20, 0, ("/libc.so.6", "/libucp.so.0")
    )
    return Situation(
        machine=read_machine(host, str(HERE)),
        job=job,
        mpi=mpi,
        observation=Observation(1.0, (observed, observed), 2),
        allowed=Allowed(rounding=True),
    )


def words_of(knob: str, case: Situation) -> tuple[str, ...]:
    """Return all values of a knob; for copy routines, of which no CPU has all, the values to try."""
    command: tuple[str, ...] = getattr(all_knobs()[knob].domain, "values", ())
    return command if command and knob != "memory-copy" else values(knob, case)


def spellings_of(case: Situation) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Return knob, value and environment of each setting that the library has."""
    for name, knob in all_knobs().items():
        for value in words_of(name, case) if knob.family in FAMILIES else ():
            spelling = spell(knob, value, case)
            if spelling is not None:
                yield name, value, dict(spelling.environment)


def variables_of(mpi: MpiLibrary, environment: dict[str, str]) -> frozenset[str]:
    """Return the environment variables that a library documents."""
    environment = {**environment, **mpi.environment, "LD_LIBRARY_PATH": ":".join(mpi.library_path)}
    if mpi.implementation == "openmpi":
        program = Path(mpi.launcher).with_name("ompi_info")
        command = [str(program), "--all", "--parsable"]
        text = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        return frozenset(f"OMPI_MCA_{name}" for name in re.findall(r":param:([^:]+):", text))
    command = [sys.executable, str(HERE / "programs/control_variables.py"), mpi.library]
    text = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    names = [line.split("\t")[0] for line in text.splitlines()]
    return frozenset([*names, *re.findall(r"@Alias:# (\w+)", text)])


@pytest.fixture
def program(mpi, tmp_path, environment):
    """The test program, compiled by the library's own compiler."""
    if "c" not in mpi.compilers:
        pytest.skip(f"{mpi.label} has no compiler wrapper")
    target = tmp_path / "right_results"
    command = [mpi.compilers["c"], "-O1", str(HERE / "right_results.c"), "-o", str(target)]
    subprocess.run(command, env={**environment, **mpi.environment}, check=True, capture_output=True)
    return str(target)


@pytest.fixture
def library_variables(mpi, environment):
    return variables_of(mpi, environment)


@pytest.fixture
def case(mpi, environment):
    return situation(mpi, "/bin/true", environment)


def test_every_variable_the_knobs_set_is_known_to_the_library(library_variables, case):
    unknown = {
        f"{knob}={value}: {name}"
        for knob, value, environment in spellings_of(case)
        for name in environment
        if not name.startswith(ELSEWHERE) and name not in library_variables | OWN
    }
    assert unknown == set()


def test_every_candidate_names_a_control_variable_of_the_library(mpi, library_variables):
    version = tuple(int(part) for part in re.findall(r"\d+", mpi.version))
    prefix = "OMPI_MCA_" if mpi.implementation == "openmpi" else ""
    mine = [c for c in library_algorithms(mpi.implementation) if c.exists_in(version)]
    assert mine
    assert {c.variable for c in mine if prefix + c.variable not in library_variables} == set()


def trials(case: Situation, *, coarse: bool) -> Iterator[tuple[str, str]]:
    for name, knob in all_knobs().items():
        if name in NEEDS_ANOTHER_MACHINE or (
            knob.family not in FAMILIES and name not in ("binding", "malloc")
        ):
            continue
        command = values(name, case) if coarse else words_of(name, case)
        speakable = [value for value in command if spell(knob, value, case) is not None]
        for value in speakable[:1] if coarse else speakable:
            if (name, value) not in NEEDS_ANOTHER_BUILD | NEEDS_ANOTHER_NETWORK:
                yield name, value


def failures(
    case: Situation, values: Iterator[tuple[str, str]], environment: dict[str, str]
) -> dict[str, str]:
    """Return knob values with which the program fails or computes incorrectly, and its output."""
    mpi, result = case.mpi, {}
    paths = {
        "LD_LIBRARY_PATH": ":".join(mpi.library_path),
        "PATH": ":".join([*mpi.search_path, environment["PATH"]]),
    }
    for knob, value in values:
        launch = render(Configuration.of({knob: value}), case)
        setting = {**environment, **mpi.environment, **paths, **launch.environment}
        for name in launch.unset:
            setting.pop(name, None)
        done = subprocess.run(list(launch.argv), env=setting, capture_output=True, text=True, timeout=60)
        if (done.returncode, done.stdout.strip()) != (0, "right"):
            result[f"{knob}={value}"] = f"{done.returncode}: {done.stdout[-200:]} {done.stderr[-400:]}"
    return result


@pytest.mark.newest_only
def test_a_program_computes_rightly_under_the_first_value_of_every_knob(mpi, program, environment):
    case = situation(mpi, program, environment)
    assert failures(case, trials(case, coarse=True), environment) == {}


@pytest.mark.sweep
@pytest.mark.timeout(1200)
def test_a_program_computes_rightly_under_every_value_of_every_knob(mpi, program, environment):
    case = situation(mpi, program, environment)
    assert failures(case, trials(case, coarse=False), environment) == {}
