"""Every candidate of every collective, and random schedules, in real programs under every library."""

import subprocess
from collections.abc import Callable, Mapping
from itertools import zip_longest
from pathlib import Path

import pytest
from tests.support.oversubscription import OVERSUBSCRIBED, yielding

from mpiric.algorithms.library import algorithms_of, are_chosen_at_start, own_algorithms, version_numbers
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.policy import COLLECTIVES
from mpiric.workflows.policies import tuner_for

PROGRAMS = Path(__file__).parent / "runtime_programs"
RANKS = [1, 2, 3, 4, 5, 7, 8, 13, 16, 17]
# Open MPI 4 looks at its variables only with these rules on from the start.
RULES = {"openmpi": {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}}
# Intel MPI 2021.19 broadcasts long data with gaps wrongly through shared memory, without the runtime too.
RIGHT_BY_ITSELF = {"intelmpi": {"I_MPI_COLL_INTRANODE": "pt2pt"}}

# Of hundreds of launches each: MPICH 4 takes 8 s for one on three ranks.
pytestmark = [pytest.mark.sweep, pytest.mark.requires("any-mpi"), pytest.mark.timeout(3600)]

Run = Callable[..., None]


@pytest.fixture
def is_right(mpi: MpiLibrary, mpi_run, environment: Mapping[str, str], tmp_path: Path) -> Run:
    """`is_right(source, ranks, *arguments, **settings)`: whether a program with the runtime is right."""
    runtime, compiler = tuner_for(mpi).library, mpi.compilers.get("c")
    if not runtime or not compiler:
        pytest.skip(f"no runtime or no compiler for {mpi.label}")

    def check(source: str, ranks: int, *arguments: object, **settings: object) -> None:
        program = tmp_path / Path(source).stem
        if not program.exists():
            command = [compiler, "-O1", "-pthread", PROGRAMS / source, "-o", program]
            subprocess.run(command, check=True, timeout=120, env={**environment, **mpi.environment})
        variables = {
            "LD_PRELOAD": yielding(runtime),
            "MPIRIC_LEARN_AT_MOST": "",
            **RULES.get(mpi.implementation, {}),
        }
        assignments = [f"{name}={value}" for name, value in {**variables, **settings}.items()]
        done = mpi_run(
            mpi,
            ranks,
            "env",
            *assignments,
            program,
            *arguments,
            env=OVERSUBSCRIBED[mpi.implementation],
            timeout=600,
        )
        messages = [line for line in done.stdout.splitlines() if line]
        assert (done.returncode, messages[-1:]) == (0, ["right"]), f"{settings}\n{done.stdout}{done.stderr}"

    return check


def candidates(mpi: MpiLibrary, collective: str) -> list[str]:
    """Candidates of the library with each value of each parameter, and mpiric's own."""
    results = []
    for algorithm in algorithms_of(mpi.implementation, collective, version_numbers(mpi.version)):
        results.append(f"library:{algorithm.name}")
        results += [
            f"library:{algorithm.name} {p.key}={value}" for p in algorithm.parameters for value in p.values
        ]
    return [*results, *(f"own:{name}" for name in own_algorithms(collective))]


def at_start(mpi: MpiLibrary, collective: str, name: str) -> dict[str, str]:
    """Return the variables of a candidate that the library reads at its start only."""
    if not are_chosen_at_start(mpi.implementation):
        return {}
    for offered in algorithms_of(mpi.implementation, collective, version_numbers(mpi.version)):
        algorithm, *parameters = name.removeprefix("library:").split()
        if offered.name == algorithm and name.startswith("library:"):
            values = dict(word.split("=") for word in parameters)
            parameters = {p.environment: values[p.key] for p in offered.parameters if p.key in values}
            return {**dict(offered.environment), **parameters}
    return {}


def policies(mpi: MpiLibrary, directory: Path) -> dict[Path, dict[str, str]]:
    """Policies that together choose every candidate of every collective once for all sizes.

    Each with the variables that have to go along.
    """
    columns = [[(name, candidate) for candidate in candidates(mpi, name)] for name in sorted(COLLECTIVES)]
    files = {}
    for number, row in enumerate(zip_longest(*columns)):
        lines = [f"choose {choice[0]} * * * * * 0 * {choice[1]}\n" for choice in row if choice]
        file = directory / f"{number}.policy"
        file.write_text(f"mpiric-policy 1\nmpi {mpi.implementation} {mpi.version}\n{''.join(lines)}")
        files[file] = {key: text for choice in row if choice for key, text in at_start(mpi, *choice).items()}
    assert len(files) > 10
    return files


@pytest.mark.parametrize("ranks", RANKS)
def test_every_candidate_gives_right_results(mpi, is_right: Run, ranks: int, tmp_path: Path) -> None:
    for policy, along in policies(mpi, tmp_path).items():
        settings = {"MPIRIC_COLLECTIVES": "policy", "MPIRIC_POLICY": policy, "MPIRIC_REPROVE": "0", **along}
        is_right("collectives.c", ranks, 6, **settings)
        is_right("started.c", ranks, 2, **settings)


@pytest.mark.parametrize("mode", ["rotate", "online"])
@pytest.mark.parametrize("ranks", RANKS)
def test_random_schedules_give_right_results(mpi, is_right: Run, ranks: int, mode: str) -> None:
    for seed in range(1, 4):
        settings = {"MPIRIC_COLLECTIVES": mode, **RIGHT_BY_ITSELF.get(mpi.implementation, {})}
        is_right("schedule.c", ranks, seed, 600, **settings)
