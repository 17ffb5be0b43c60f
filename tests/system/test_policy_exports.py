"""Each library performs the choices of a policy, and only these: with exported files, and with the runtime.

Sums of floating-point numbers show it, because algorithms differ in the order of additions.
"""

import subprocess
from pathlib import Path

import pytest
from tests.support.oversubscription import yielding

from mpiric.algorithms.library import algorithms_of, are_chosen_at_start, version_numbers
from mpiric.host.facts.elf import read_embedded_texts
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.policy import Line, Policy, Span
from mpiric.mpis import export
from mpiric.workflows.policies import lay_out, strictly, tuner_for

SOURCE = Path(__file__).parent / "programs" / "order.c"
RANKS = 4
BELOW, INSIDE, ABOVE = "256", "8192", "65536"
SEVERAL = 20  # the runtime makes no communicator of its own for the first calls
# Per library: an algorithm of each collective that adds otherwise than the default does at 8 KiB.
CHOSEN = {
    "mpich": {"allreduce": "ring"},
    "openmpi": {"allreduce": "ring", "reduce": "binomial"},
    "intelmpi": {"allreduce": "ring"},
}
# Default of the library for calls without a policy. Intel MPI calls that preset 0, on AMD processors not
# always what it does without the variable.
OTHERWISE = {"intelmpi": {"I_MPI_ADJUST_ALLREDUCE": "0"}}


@pytest.fixture
def digests(mpi: MpiLibrary, mpi_run, environment: dict[str, str], tmp_path: Path):
    """`digests(settings)` is (collective, size) → digest of the sum."""
    if mpi.implementation not in CHOSEN:
        pytest.skip(f"{mpi.implementation} reads no tuning file")
    if mpi.implementation == "mpich" and version_numbers(mpi.version) < (5,):
        pytest.skip("older trees name other algorithms")
    compiler = mpi.compilers.get("c")
    assert compiler, f"{mpi.label} has no C compiler"
    program = tmp_path / "order"
    with_mpi = {**environment, **mpi.environment}
    subprocess.run([compiler, "-O1", SOURCE, "-o", program], check=True, timeout=120, env=with_mpi)

    def run(settings: dict[str, str], *before: str) -> dict[tuple[str, str], str]:
        crowded = {
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "I_MPI_WAIT_MODE": "1",
            "MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM": "mpir",
            "MPIR_CVAR_REDUCE_POSIX_INTRA_ALGORITHM": "mpir",
        }
        done = mpi_run(
            mpi, RANKS, *before, program, *(BELOW, INSIDE, ABOVE) * SEVERAL, env={**crowded, **settings}
        )
        assert done.returncode == 0, done.stderr
        rows = [row.split() for row in done.stdout.splitlines()]
        return {(collective, size): digest for collective, size, digest in rows}

    return run


def policy_for(mpi: MpiLibrary) -> Policy:
    """Return a policy that selects the algorithms of `CHOSEN` for 8 KiB only."""
    lines = (
        Line(collective, f"library:{name}", ranks=Span(RANKS, RANKS), start=4096, end=16384)
        for collective, name in CHOSEN[mpi.implementation].items()
    )
    return Policy(mpi.implementation, mpi.version, tuple(lines))


def forcing(mpi: MpiLibrary) -> dict[str, str]:
    """Return the variables that select the same algorithms for all sizes."""
    forced: dict[str, str] = {}
    for collective, name in CHOSEN[mpi.implementation].items():
        offered = algorithms_of(mpi.implementation, collective, version_numbers(mpi.version))
        forced.update(next(entry for entry in offered if entry.name == name).environment)
    return forced


def test_the_library_chooses_what_the_policy_says(mpi: MpiLibrary, digests, tmp_path: Path) -> None:
    policy, forced = policy_for(mpi), forcing(mpi)
    exported = export(policy, read_embedded_texts(mpi.library, b'{"collective='))
    assert exported.left_out == ()
    for name, text in exported.files.items():
        (tmp_path / name).write_text(text)
    paths = {variable: str(tmp_path / name) for variable, name in exported.by_file.items()}

    by_default = digests(OTHERWISE.get(mpi.implementation, {}))
    by_force, by_file = digests(forced), digests({**exported.variables, **paths})

    for collective in CHOSEN[mpi.implementation]:
        assert by_force[collective, INSIDE] != by_default[collective, INSIDE], "the test would see nothing"
        assert by_file[collective, INSIDE] == by_force[collective, INSIDE]
        assert by_file[collective, BELOW] == by_default[collective, BELOW]
        assert by_file[collective, ABOVE] == by_default[collective, ABOVE]


def test_the_runtime_has_the_library_do_what_the_policy_says(
    mpi: MpiLibrary, digests, tmp_path: Path
) -> None:
    """The policy goes in by the runtime, or by the environment where the library looks at nothing else."""
    tuner = tuner_for(mpi)
    if not tuner.library:
        pytest.skip(f"no runtime for {mpi.label}")
    policy = policy_for(mpi)
    settings = strictly(lay_out(policy, tmp_path))
    if are_chosen_at_start(mpi.implementation):
        settings.update(export(policy).variables)
    if mpi.label.startswith("openmpi-4."):
        settings["OMPI_MCA_coll_tuned_use_dynamic_rules"] = "1"
    by_default = digests(OTHERWISE.get(mpi.implementation, {}))
    by_force, by_runtime = (
        digests(forcing(mpi)),
        digests(settings, "env", f"LD_PRELOAD={yielding(tuner.library)}"),
    )

    for collective in CHOSEN[mpi.implementation]:
        assert by_runtime[collective, INSIDE] == by_force[collective, INSIDE]
        assert by_runtime[collective, BELOW] == by_default[collective, BELOW]
        assert by_runtime[collective, ABOVE] == by_default[collective, ABOVE]
