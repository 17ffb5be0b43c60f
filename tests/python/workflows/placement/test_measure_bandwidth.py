"""The sweep over core subsets, on a machine whose memory saturates where the test says."""

import json
from itertools import pairwise
from types import SimpleNamespace

import pytest

from mpiric.host.host import Completed
from mpiric.model.errors import MpiricError
from mpiric.model.machine import Cache, Core, NumaNode, Topology
from mpiric.placement.sizing import saturation_of
from mpiric.workflows.placement.place import measure_bandwidth


class Probe:
    """A host whose probe answers with a bandwidth for a list of hardware threads."""

    def __init__(self, mb_s, status: int = 0) -> None:
        self.mb_s = mb_s
        self.status = status
        self.asked: list[tuple[int, ...]] = []
        self.array_mib: list[int] = []
        self.patience_ms: list[int] = []

    def run(self, argv, **_) -> Completed:
        options = dict(zip(argv[1:7:2], argv[2:7:2], strict=True))
        pus = tuple(int(word) for word in argv[7:])
        self.asked.append(pus)
        self.array_mib.append(int(options["--mib"]))
        self.patience_ms.append(int(options["--ms"]))
        return Completed(self.status, json.dumps({"triad_mb_s": self.mb_s(pus)}), "PU 0 may not be used")


def machine(
    numa_nodes: int = 2, cores: int = 8, memory_gib: int = 256, limit_gib: int = 0
) -> SimpleNamespace:
    count = numa_nodes * cores
    every = tuple(Core(i, 0, i // cores, (i, i + count)) for i in range(count))
    nodes = tuple(
        NumaNode(n, 1 << 30, tuple(pu for c in every if c.numa_node == n for pu in c.pus))
        for n in range(numa_nodes)
    )
    caches = tuple(Cache(3, "unified", 96 << 20, 64, node.pus) for node in nodes)
    topology = Topology(every, nodes, caches)
    memory = SimpleNamespace(available_bytes=memory_gib << 30, limit_bytes=limit_gib << 30)
    return SimpleNamespace(topology=topology, usable_pus=topology.pus, memory=memory)


def saturating_at_4_apart(pus: tuple[int, ...]) -> float:
    apart = min((b - a for a, b in pairwise(pus)), default=2)
    return min(len(pus), 4) * (10.0 if apart > 1 else 8.0) - 0.1 * len(pus)


def test_the_number_and_the_spacing_that_saturate_are_found():
    saturation = saturation_of(measure_bandwidth(Probe(saturating_at_4_apart), machine(), lambda _: None))
    assert (saturation.cores, saturation.spacing) == (4, 2)


def test_only_first_hardware_threads_of_one_numa_node_are_swept():
    probe = Probe(saturating_at_4_apart)
    measured = measure_bandwidth(probe, machine(), lambda _: None)
    inside = [pus for pus, row in zip(probe.asked, measured, strict=True) if row.domain == "numa"]
    assert all(max(pus) < 8 for pus in inside)


def test_the_whole_node_is_measured_with_the_winner_and_with_all_cores():
    probe = Probe(saturating_at_4_apart)
    measure_bandwidth(probe, machine(), lambda _: None)
    assert probe.asked[-2:] == [(0, 2, 4, 6, 8, 10, 12, 14), tuple(range(16))]


def test_a_probe_that_fails_is_an_error_and_no_number():
    with pytest.raises(MpiricError) as refused:
        measure_bandwidth(Probe(saturating_at_4_apart, status=1), machine(), lambda _: None)
    assert "may not be used" in refused.value.message


def test_arrays_are_four_times_the_measured_caches():
    probe = Probe(saturating_at_4_apart)
    measure_bandwidth(probe, machine(numa_nodes=2), lambda _: None)
    assert set(probe.array_mib[:-2]) == {4 * 96}
    assert probe.array_mib[-2:] == [4 * 2 * 96] * 2


@pytest.mark.parametrize(("memory", "expected_mib"), [({"memory_gib": 4}, 256), ({"limit_gib": 2}, 128)])
def test_three_arrays_fit_the_available_memory(memory: dict[str, int], expected_mib: int):
    probe = Probe(saturating_at_4_apart)
    measure_bandwidth(probe, machine(numa_nodes=1, **memory), lambda _: None)
    assert set(probe.array_mib) == {expected_mib}


def test_the_time_for_each_subset_is_bounded_by_its_share():
    probe = Probe(saturating_at_4_apart)
    measure_bandwidth(probe, machine(numa_nodes=1, cores=64), lambda _: None)
    assert probe.patience_ms[0] * len(probe.patience_ms) <= 60_000
    assert max(probe.patience_ms) <= 5_000
