"""Working threads are distinguished from a main thread that has spun in MPI_Init."""

from tests.support.records import rank

from mpiric.model.placement import ProcessSeen, ThreadSeen
from mpiric.placement.checks import workers
from mpiric.workflows.placement import verify


def look(main_s: float, *pool_s: float) -> tuple[ProcessSeen, ...]:
    """Return a look at one rank with the CPU times of its threads."""
    threads = tuple(ThreadSeen(7 + n, "app", (n,), n, cpu_s) for n, cpu_s in enumerate((main_s, *pool_s)))
    return (ProcessSeen(7, 0, "/bin/app", threads, (0,), launch=f"{verify.os.getpid()}.1"),)


def working(observed: tuple[ProcessSeen, ...]) -> list[int]:
    return [thread.thread for thread in workers(observed[0])]


def test_a_main_thread_that_spun_before_its_pool_started_does_not_work():
    looks = [look(3.0), look(3.0, 0.0, 0.0), look(3.0, 1.0, 1.0)]
    assert working(verify._best_look(looks, {7})[0]) == [8, 9]


def test_a_pool_that_is_joined_is_judged_while_it_works():
    looks = [look(3.0, 0.0, 0.0), look(3.0, 1.0, 1.0), look(3.0)]
    assert working(verify._best_look(looks, {7})[0]) == [8, 9]


def test_a_pool_that_only_one_look_saw_is_judged_from_the_look_before():
    looks = [look(3.0), look(3.0, 0.3, 0.3), look(3.0)]
    assert working(verify._best_look(looks, {7})[0]) == [8, 9]


def test_many_threads_on_few_cpus_work_although_each_gets_little_time():
    looks = [look(0.02, *[0.0] * 16), look(0.02, *[0.04] * 16)]
    assert len(working(verify._best_look(looks, {7})[0])) == 16


def test_a_single_look_counts_all_cpu_time():
    assert working(verify._best_look([look(1.0, 0.9)], {7})[0]) == [7, 8]


def test_a_main_thread_that_works_with_its_pool_counts():
    looks = [look(3.0, 0.0), look(4.0, 1.0)]
    assert working(verify._best_look(looks, {7})[0]) == [7, 8]


def recorded(inside_us: int, *ticks: int) -> tuple[ProcessSeen, ...]:
    facts = {"host": "n1", "affinity": "0-3", "process": "7", "time.user_us": str(inside_us)}
    facts |= {
        f"thread.{7 + n}": f"app cpu={n} affinity={n} user_ticks={t} system_ticks=0"
        for n, t in enumerate(ticks)
    }
    return (verify._process(rank(0, 1.0, facts=facts), "", None),)


def test_the_time_in_mpi_init_is_no_work_in_a_record():
    assert working(recorded(2_000_000, 300, 100, 100)) == [8, 9]


def test_the_work_of_a_recorded_main_thread_after_mpi_init_counts():
    assert working(recorded(3_000_000, 400, 100, 100)) == [7, 8, 9]


def test_an_older_record_without_the_time_inside_is_judged_by_all_cpu_time():
    assert working(recorded(0, 300, 100, 100)) == [7, 8, 9]
