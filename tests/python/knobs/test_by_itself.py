"""A value that the command was seen to have by itself is never tried, so that no answer holds it."""

from dataclasses import replace

from tests.support.answers import values
from tests.support.situations import BY_LABEL, machine, rank, situation

from mpiric.model.machine import Nic
from mpiric.model.situation import Situation


def seen(case: Situation, **of: object) -> Situation:
    return replace(case, observation=replace(case.observation, **of))


def on_two_networks() -> Situation:
    case = situation(BY_LABEL["mpich-5.0.2"])
    nics = tuple(
        Nic(name=name, kind="ethernet", speed_mbit=speed, mtu=1500, up=True, addresses=(address,))
        for name, speed, address in (("eth0", 1000, "10.0.0.1"), ("fast0", 10000, "10.1.0.1"))
    )
    return replace(case, nodes=2, machine=replace(case.machine, nics=nics))


def test_the_network_that_the_library_takes_by_itself() -> None:
    case = on_two_networks()
    assert set(values("network-interface", case)) == {"eth0", "fast0"}
    assert values("network-interface", seen(case, networks_used=("fast0",))) == ("eth0",)
    both = seen(case, networks_used=("fast0", "eth0"))
    assert set(values("network-interface", both)) == {"eth0", "fast0"}


def test_the_provider_that_the_library_takes_by_itself() -> None:
    case = on_two_networks()
    assert "tcp" in values("ofi-provider", case)
    assert "tcp" not in values("ofi-provider", seen(case, provider_used="tcp"))


def test_the_level_that_ranks_are_bound_to_already() -> None:
    case = situation(BY_LABEL["openmpi-5.0.11"])
    case = replace(case, machine=machine(cores=4))
    bound = seen(case, ranks=tuple(rank(at, cpus=(at,)) for at in range(2)), cpus=4)
    assert "core" not in values("binding", bound)
    assert "core" in values(
        "binding", seen(case, ranks=tuple(rank(at, cpus=(0,)) for at in range(2)), cpus=4)
    )
    free = tuple(rank(at, cpus=(0, 1, 2, 3)) for at in range(2))
    assert "core" in values("binding", seen(case, ranks=free, cpus=4))


def test_the_number_of_threads_that_ranks_run_already() -> None:
    case = situation(BY_LABEL["mpich-5.0.2"])
    one = seen(case, ranks=tuple(rank(at, libraries=("/usr/lib/libgomp.so.1",)) for at in range(2)))
    assert "1" not in values("omp-threads", one)
