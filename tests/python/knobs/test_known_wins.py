"""Situations whose best configuration is known: the right knob promises most, with the right value first."""

from dataclasses import replace

import pytest
from tests.support.answers import needless, values
from tests.support.behaviours import behaviour, doing
from tests.support.situations import BY_LABEL, machine, situation

from mpiric.knobs import all_knobs, to_try
from mpiric.model.job import LaunchOption, Meaning
from mpiric.model.situation import Situation


def first(case: Situation) -> tuple[str, str]:
    """Return the most promising knob and the value to try first."""
    name, answer = next(iter(to_try(case).items()))
    return name, (answer.first or answer.values)[0]


def faulting(case: Situation, faults: int) -> Situation:
    ranks = tuple(replace(rank, minor_faults=faults, system_s=0.5) for rank in case.observation.ranks)
    bound = tuple(replace(rank, cpus_allowed=(number,)) for number, rank in enumerate(ranks))
    return replace(case, observation=replace(case.observation, ranks=bound))


def test_unbound_ranks_of_mpich_are_bound_to_cores() -> None:
    assert first(situation(BY_LABEL["mpich-5.0.2"])) == ("binding", "core")


@pytest.mark.parametrize(
    "label", ["mpich-4.0.2", "mpich-5.0.2", "openmpi-4.1.4", "openmpi-5.0.11", "intelmpi-2021.19"]
)
def test_more_ranks_than_cpus_wait_politely(label: str) -> None:
    assert first(situation(BY_LABEL[label], ranks=4)) == ("waiting", "yield")


@pytest.mark.parametrize("label", ["openmpi-4.1.4", "openmpi-5.0.11", "intelmpi-2021.19"])
def test_waiting_politely_brings_ranks_that_may_run_on_any_cpu(label: str) -> None:
    brings = all_knobs()["waiting"].brings
    assert brings is not None
    assert brings("yield", situation(BY_LABEL[label], ranks=4)) == {"binding": "none"}


def test_a_program_that_faults_much_keeps_its_memory() -> None:
    assert first(faulting(situation(), 400_000)) == ("malloc", "keep-memory")


def test_faults_of_the_start_are_few_where_the_ranks_sleep() -> None:
    case = faulting(situation(), 4_000)
    asleep = tuple(replace(rank, user_s=0.01, system_s=0.02) for rank in case.observation.ranks)
    case = replace(case, observation=replace(case.observation, wall_s=0.5, ranks=asleep))
    assert to_try(case)["malloc"].prior < 0.5


def test_a_program_that_faults_much_is_offered_huge_pages_as_well() -> None:
    case = faulting(situation(), 400_000)
    answer = to_try(case)["huge-pages"]
    assert answer.prior >= 0.8
    assert answer.values[0] == "transparent"


def test_much_memory_with_few_faults_suggests_huge_pages() -> None:
    case = situation()
    big = tuple(replace(rank, rss_peak_bytes=1 << 30) for rank in case.observation.ranks)
    case = replace(case, observation=replace(case.observation, ranks=big))
    assert to_try(case)["huge-pages"].prior >= 0.6


@pytest.mark.parametrize(
    ("label", "inherited"),
    [
        ("mpich-5.0.2", {"MPIR_CVAR_NOLOCAL": "1"}),
        ("mpich-5.0.2", {"UCX_TLS": "tcp"}),
        ("openmpi-4.1.4", {"OMPI_MCA_btl": "tcp,self"}),
        ("intelmpi-2021.19", {"I_MPI_FABRICS": "ofi"}),
    ],
)
def test_a_transport_forced_off_the_node_is_undone(label: str, inherited: dict[str, str]) -> None:
    assert first(situation(BY_LABEL[label], inherited=inherited)) == ("node-transport", "shared-memory")


def test_a_transport_forced_on_the_command_line_is_undone() -> None:
    forced = LaunchOption(("--mca", "btl", "tcp,self"), Meaning.MPI_PARAMETER, ("btl", "tcp,self"))
    case = situation(BY_LABEL["openmpi-4.1.4"], options=(forced,))
    assert first(case) == ("node-transport", "shared-memory")


@pytest.mark.parametrize(
    ("label", "inherited"),
    [
        ("mpich-5.0.2", {"MPIR_CVAR_BCAST_INTRA_ALGORITHM": "binomial"}),
        ("openmpi-4.1.4", {"OMPI_MCA_coll_tuned_bcast_algorithm": "6"}),
    ],
)
def test_an_algorithm_forced_from_outside_meets_the_others_early(
    label: str, inherited: dict[str, str]
) -> None:
    case = situation(BY_LABEL[label], inherited=inherited)
    answer = to_try(case)["bcast-algorithm"]
    assert answer.prior >= 0.7
    assert answer.because == "the algorithm binomial is forced from outside"
    assert "binomial" not in answer.values
    assert "binomial" in values("bcast-algorithm", situation(BY_LABEL[label]))


def test_the_algorithm_of_a_collective_is_tried_by_the_time_that_it_takes() -> None:
    shown = behaviour(bcast_bound=0.3, bcast_calls=9.0, allgather_bound=0.05, allgather_calls=9.0)
    case = doing(situation(BY_LABEL["openmpi-4.1.4"], ranks=4), shown)
    algorithms = [name for name in to_try(case) if name.endswith("-algorithm")]
    assert algorithms.index("bcast-algorithm") < algorithms.index("allgather-algorithm")


def test_on_several_networks_the_fastest_is_tried_first() -> None:
    case = situation(BY_LABEL["openmpi-5.0.11"], nodes=2)
    assert to_try(case)["network-interface"].first == ("ib0",)


def test_more_threads_than_cpus_are_cut_to_each_ranks_share() -> None:
    case = situation(
        on=machine(1, 8), libraries=("/usr/lib/libgomp.so.1",), inherited={"OMP_NUM_THREADS": "8"}
    )
    answer = to_try(case)["omp-threads"]
    assert (answer.prior, answer.first) == (0.9, ("4",))


def test_an_openmp_runtime_of_a_python_wheel_is_one() -> None:
    case = situation(
        on=machine(1, 8), libraries=("/w/libgomp-e985bcbb.so.1.0.0",), inherited={"OMP_NUM_THREADS": "8"}
    )
    assert to_try(case)["omp-threads"].prior == 0.9


def test_threads_bring_as_many_cpus_for_their_rank() -> None:
    case = situation(on=machine(1, 8), libraries=("/usr/lib/libgomp.so.1",))
    brings = all_knobs()["omp-threads"].brings
    assert brings is not None
    assert brings("4", case) == {"threads-per-rank": "4"}


def test_a_plain_program_is_not_offered_threads() -> None:
    assert not {"omp-threads", "omp-places", "omp-wait"} & set(to_try(situation()))


def test_one_thread_a_rank_waits_for_no_others() -> None:
    crowded = situation(libraries=("/usr/lib/libgomp.so.1",), inherited={"OMP_NUM_THREADS": "4"})
    assert "omp-wait" in to_try(crowded)
    alone = situation(libraries=("/usr/lib/libgomp.so.1",), inherited={"OMP_NUM_THREADS": "1"})
    assert "omp-wait" not in to_try(alone)


def test_a_program_with_its_own_cpus_keeps_spinning() -> None:
    assert "waiting" not in to_try(situation())


@pytest.mark.parametrize("label", ["openmpi-4.1.4", "openmpi-5.0.11"])
def test_where_start_up_takes_much_of_the_run_networks_are_left_out_first(label: str) -> None:
    short = doing(situation(BY_LABEL[label]), behaviour(outside_bound=0.5))
    assert first(short) == ("node-transport", "shared-memory-only")
    answer = to_try(short)["node-transport"]
    assert answer.prior > 0.6
    assert answer.because.startswith("50 % of the time goes into start and end")
    long = doing(situation(BY_LABEL[label]), behaviour(outside_bound=0.01))
    assert to_try(long)["node-transport"].prior == all_knobs()["node-transport"].consider(long).prior


def test_another_mpi_library_is_for_programs_that_spend_their_time_in_mpi_and_not_in_its_start() -> None:
    case = situation(others=(BY_LABEL["mpich-4.0.2"],))
    little, start = behaviour(mpi_bound=0.05, outside_bound=0), behaviour(mpi_bound=0.2, outside_bound=0.8)
    assert "5 % of the run goes into MPI" in needless("mpi", case, little)
    assert "into MPI" in needless("mpi", case, start)
    assert not needless("mpi", case, behaviour(mpi_bound=0.2))


@pytest.mark.parametrize(("is_told", "score"), [(True, 0.15), (False, 1.0)])
def test_open_mpi_yields_by_itself_if_oversubscription_is_declared(is_told: bool, score: float) -> None:
    case = situation(BY_LABEL["openmpi-5.0.11"], ranks=4)
    (segment,) = case.job.segments
    option = LaunchOption(("--oversubscribe",), Meaning.OVERSUBSCRIBE)
    segments = (replace(segment, options=(*segment.options, option)),) if is_told else (segment,)
    case = replace(case, job=replace(case.job, segments=segments))
    assert to_try(case)["waiting"].prior == score


def test_one_thread_is_not_tried_where_each_rank_has_one_cpu_and_so_one_thread() -> None:
    case = situation(libraries=("/usr/lib/libgomp.so.1",))
    bound = tuple(replace(rank, cpus_allowed=(n,)) for n, rank in enumerate(case.observation.ranks))
    free = tuple(replace(rank, cpus_allowed=(0, 1), threads=8) for rank in bound)
    on_one, on_all = (
        replace(case, observation=replace(case.observation, ranks=ranks)) for ranks in (bound, free)
    )
    assert "1" not in values("omp-threads", on_one)
    assert "1" in values("omp-threads", on_all)


def test_rates_are_by_the_time_of_the_run_that_the_ranks_were_seen_in() -> None:
    case = faulting(situation(), 400_000)
    observation = replace(case.observation, wall_s=1.0, ranks_s=4.0)
    assert observation.minor_faults_per_s == 100_000
    assert observation.kernel_share == pytest.approx(0.125)
    assert replace(observation, ranks_s=0.0).minor_faults_per_s == 400_000
