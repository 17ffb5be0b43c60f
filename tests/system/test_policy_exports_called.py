"""Under the rules that a policy is exported to, Open MPI calls the functions of the algorithms it names.

A release build says nothing about algorithms, not even verbose; a debugger on rank 0 sees what is called.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.support.oversubscription import OVERSUBSCRIBED

from mpiric.host.installation.native import native_part
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.policy import Line, Policy, Span
from mpiric.mpis import export

pytestmark = [pytest.mark.sweep, pytest.mark.requires("any-mpi", "gdb")]

RANKS = 4
BELOW, INSIDE, ABOVE = 256, 8192, 65536
# A message size per exported collective whose algorithm Open MPI's decision does not use in between.
CHOSEN = {
    "allgather": ("linear", "basic_linear"),
    "allreduce": ("segmented_ring", "ring_segmented"),
    "alltoall": ("pairwise", "pairwise"),
    "bcast": ("chain", "chain"),
    "reduce": ("in_order_binary", "in_order_binary"),
    "reduce_scatter": ("butterfly", "butterfly"),
}
Called = Callable[[int, Mapping[str, str]], set[str]]


@pytest.fixture
def called(mpi: MpiLibrary, mpi_run, tmp_path: Path) -> Called:
    """`called(size, settings)`: the collectives whose chosen function was called for calls of that size."""
    if mpi.implementation != "openmpi":
        pytest.skip("of other libraries, sums tell (test_policy_exports)")

    def run(size: int, settings: Mapping[str, str]) -> set[str]:
        lines = ["set pagination off", "set breakpoint pending on", "handle all nostop noprint pass"]
        for collective, (_, function) in CHOSEN.items():
            lines += [f"tbreak ompi_coll_base_{collective}_intra_{function}", "commands", "silent"]
            lines += [f'printf "called {collective}\\n"', "continue", "end"]
        script = tmp_path / "script.gdb"
        script.write_text("\n".join([*lines, "run", "kill"]) + "\n")
        probe = native_part("probe-collectives", mpi.abi_families[0])
        command = [probe, "0.0001", *(f"{collective}:{RANKS}:{RANKS}:{size}" for collective in CHOSEN)]
        watched = ["gdb", "-nx", "-batch", "-x", script, "--args", *command]
        env = {**OVERSUBSCRIBED["openmpi"], **settings}
        done = mpi_run(mpi, 1, *watched, ":", "-n", RANKS - 1, *command, env=env, timeout=300)
        rows = re.findall(r'^\{"collective":"(\w+)"', done.stdout, re.MULTILINE)
        assert set(rows) == set(CHOSEN), done.stdout + done.stderr
        return set(re.findall(r"^called (\w+)$", done.stdout, re.MULTILINE))

    return run


def test_the_functions_called_are_those_of_the_policy(mpi: MpiLibrary, called: Called, tmp_path: Path):
    lines = tuple(
        Line(collective, f"library:{name}", ranks=Span(RANKS, RANKS), start=4096, end=16384)
        for collective, (name, _) in CHOSEN.items()
    )
    exported = export(Policy(mpi.implementation, mpi.version, lines), ())
    assert exported.left_out == ()
    for name, text in exported.files.items():
        (tmp_path / name).write_text(text)
    by_file = {variable: str(tmp_path / name) for variable, name in exported.by_file.items()}
    settings = {**exported.variables, **by_file}
    assert called(INSIDE, {}) == set(), "the test would see nothing"
    assert called(INSIDE, settings) == set(CHOSEN)
    for elsewhere in (BELOW, ABOVE):
        assert called(elsewhere, settings) == called(elsewhere, {})
