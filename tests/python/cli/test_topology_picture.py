import pytest
from rich.console import Console

from mpiric.cli._topology_picture import topology_picture
from mpiric.model.machine import Cache, Core, NumaNode, Topology


def _drawn(topology: Topology, usable: tuple[int, ...] = (), *, colour: bool = False) -> str:
    console = Console(width=100, highlight=False, force_terminal=colour, no_color=not colour)
    with console.capture() as captured:
        console.print(topology_picture(topology, usable))
    return captured.get()


@pytest.fixture
def laptop() -> Topology:
    """Two performance cores of two threads, four efficiency cores that share an L2, one L3."""
    cores = (
        Core(0, 0, 0, (0, 1), "performance"),
        Core(1, 0, 0, (2, 3), "performance"),
        *(Core(2 + i, 0, 0, (4 + i,), "efficiency") for i in range(4)),
    )
    caches = (
        Cache(3, "unified", 12 << 20, 64, tuple(range(8))),
        Cache(2, "unified", 1280 << 10, 64, (0, 1)),
        Cache(2, "unified", 1280 << 10, 64, (2, 3)),
        Cache(2, "unified", 2 << 20, 64, (4, 5, 6, 7)),
    )
    return Topology(cores, (NumaNode(0, 16 << 30, tuple(range(8))),), caches)


def test_siblings_are_drawn_together(laptop: Topology):
    assert "[0,1|2,3|4|5|6|7]" in _drawn(laptop)


def test_the_shared_cache_is_named_with_its_size(laptop: Topology):
    assert "L3 12 MiB" in _drawn(laptop)


def test_unequal_cores_are_listed_by_kind(laptop: Topology):
    drawn = _drawn(laptop)
    assert "performance cores: 2, hardware threads 0-3" in drawn
    assert "efficiency cores: 4, hardware threads 4-7" in drawn


def test_threads_that_may_not_be_used_are_dimmed(laptop: Topology):
    drawn = _drawn(laptop, usable=(0, 1), colour=True)
    assert "\x1b[32m0,1" in drawn
    assert "\x1b[2m7" in drawn


def test_without_colour_no_escape_is_printed(laptop: Topology):
    assert "\x1b" not in _drawn(laptop)


def test_memory_without_cpus_is_drawn():
    topology = Topology((Core(0, 0, 0, (0,)),), (NumaNode(0, 1 << 30, (0,)), NumaNode(1, 2 << 30, ())), ())
    assert "memory without CPUs" in _drawn(topology)


def test_a_machine_without_known_caches_is_drawn():
    topology = Topology((Core(0, 0, 0, (0,)),), (NumaNode(0, 1 << 30, (0,)),), ())
    assert "NUMA 0  1 GiB" in _drawn(topology)
