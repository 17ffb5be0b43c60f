"""A value that the command was seen to have by itself is never tried, so that no answer holds it."""

from dataclasses import replace

from tests.support.answers import values
from tests.support.situations import BY_LABEL, machine, rank, situation

from mpiric import knobs
from mpiric.model.job import LaunchOption, Meaning, Spelling
from mpiric.model.machine import Nic
from mpiric.model.situation import Situation
from mpiric.workflows.tune.space import requested_space
from mpiric.workflows.tune.state import TuneRequest


def with_observation(case: Situation, **of: object) -> Situation:
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
    assert values("network-interface", with_observation(case, networks_used=("fast0",))) == ("eth0",)
    both = with_observation(case, networks_used=("fast0", "eth0"))
    assert set(values("network-interface", both)) == {"eth0", "fast0"}


def test_the_provider_that_the_library_takes_by_itself() -> None:
    case = on_two_networks()
    assert "tcp" in values("ofi-provider", case)
    assert "tcp" not in values("ofi-provider", with_observation(case, provider_used="tcp"))


def test_the_level_that_ranks_are_bound_to_already() -> None:
    case = situation(BY_LABEL["openmpi-5.0.11"])
    case = replace(case, machine=machine(cores=4))
    bound = with_observation(case, ranks=tuple(rank(at, cpus=(at,)) for at in range(2)), cpus=4)
    assert "core" not in values("binding", bound)
    assert "core" in values(
        "binding", with_observation(case, ranks=tuple(rank(at, cpus=(0,)) for at in range(2)), cpus=4)
    )
    free = tuple(rank(at, cpus=(0, 1, 2, 3)) for at in range(2))
    assert "core" in values("binding", with_observation(case, ranks=free, cpus=4))


def test_the_number_of_threads_that_ranks_run_already() -> None:
    case = situation(BY_LABEL["mpich-5.0.2"])
    one = with_observation(
        case, ranks=tuple(rank(at, libraries=("/usr/lib/libgomp.so.1",)) for at in range(2))
    )
    assert "1" not in values("omp-threads", one)


def on_several_nodes(label: str, ranks: int = 8, **of: object) -> Situation:
    """Bound ranks on nodes of which none was looked at."""
    case = situation(BY_LABEL[label], ranks=ranks, on=machine(2, 8), nodes=2, **of)
    return with_observation(case, ranks=())


def test_the_level_that_a_library_is_documented_to_bind_to() -> None:
    assert "numa" not in values("binding", on_several_nodes("openmpi-5.0.11"))
    assert "package" not in values("binding", on_several_nodes("openmpi-4.1.4"))
    assert "core" not in values("binding", on_several_nodes("openmpi-4.1.4", ranks=2))
    line = (LaunchOption(("--bind-to", "core"), Meaning.BINDING, ("core",)),)
    assert "package" in values("binding", on_several_nodes("openmpi-4.1.4", options=line))


def test_the_order_in_which_a_library_is_documented_to_fill_nodes() -> None:
    assert "spread-numa" not in values("mapping", on_several_nodes("openmpi-5.0.11"))
    assert "spread-package" not in values("mapping", on_several_nodes("openmpi-4.1.4"))
    assert "compact" in values("mapping", on_several_nodes("openmpi-4.1.4"))
    assert "spread-package" in values("mapping", on_several_nodes("mpich-5.0.2"))


def tried(knob: str, case: Situation) -> tuple[str, ...]:
    dimensions = requested_space(TuneRequest((), "", {}, try_all=True), case).dimensions
    return next((dimension.values for dimension in dimensions if dimension.knob == knob), ())


def test_a_size_that_the_library_reports_as_its_own() -> None:
    case = situation(BY_LABEL["mpich-4.0.2"])
    reported = {
        "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE": "69632",
        "MPIR_CVAR_CH4_AM_PACK_BUFFER_SIZE": "69632",
    }
    assert "64KiB" in tried("eager-node", case)
    assert "64KiB" not in tried("eager-node", replace(case, read_library_defaults=lambda: reported))
    other = dict.fromkeys(reported, "16384")
    assert "64KiB" in tried(
        "eager-node", replace(case, read_library_defaults=lambda: reported, inherited=other)
    )


def test_a_value_that_the_environment_sets_already() -> None:
    case = situation(BY_LABEL["openmpi-5.0.11"], nodes=2)
    spelled = {"OMPI_MCA_pml": "ob1"}
    assert "own" in tried("network-library", case)
    assert "own" not in tried("network-library", replace(case, inherited=spelled))
    assert "own" not in tried("network-library", replace(case, read_library_defaults=lambda: spelled))


def test_switches_are_equal_in_words_and_numbers() -> None:
    spelling = Spelling(environment={"OMPI_MCA_mpi_yield_when_idle": "0"})
    case = replace(situation(), read_library_defaults=lambda: {"OMPI_MCA_mpi_yield_when_idle": "false"})
    assert knobs.is_in_force(spelling, case)
    assert not knobs.is_in_force(
        replace(spelling, unset=("UCX_TLS",)), replace(case, inherited={"UCX_TLS": "tcp"})
    )


def test_open_mpi_yields_by_itself_where_it_knows_that_cpus_are_shared() -> None:
    line = (LaunchOption(("--oversubscribe",), Meaning.OVERSUBSCRIBE),)
    for label, other_values in (("openmpi-4.1.4", ()), ("openmpi-5.0.11", ("sleep",))):
        assert "yield" in values("waiting", situation(BY_LABEL[label], ranks=4))
        assert values("waiting", situation(BY_LABEL[label], ranks=4, options=line)) == other_values
