"""Findings on badly placed jobs; none on well placed jobs."""

import pytest
from tests.support.machines import made_up, placed

from mpiric.model.placement import ProcessSeen, ThreadSeen, openmp_binding, unlimited_pool
from mpiric.placement.checks import touched_by_one
from mpiric.placement.verification import Node, judge

FOUR = made_up(4)
NODE = Node(FOUR, FOUR.pus)
ALL = FOUR.pus


def rank(number: int, *masks: tuple[int, ...], job: str = "launcher 1", **facts) -> ProcessSeen:
    """A rank with threads of these masks, all at work, and a helper thread without work."""
    threads = tuple(ThreadSeen(i, "app", mask, mask[0], 10.0) for i, mask in enumerate(masks))
    helper = ThreadSeen(99, "async", ALL, 0, 0.01)
    return ProcessSeen(100 + number, number, "/bin/app", (*threads, helper), masks[0], job=job, **facts)


def ids(node: Node, *ranks: ProcessSeen, plan=None) -> list[str]:
    return [finding.id for finding in judge(node, ranks, plan)]


def test_ranks_on_cores_of_their_own_are_fine():
    assert ids(NODE, rank(0, (0,)), rank(1, (1,))) == []


def test_threads_on_cores_of_their_own_are_fine():
    assert ids(NODE, rank(0, (0,), (1,), omp_threads=2), rank(1, (2,), (3,), omp_threads=2)) == []
    assert ids(NODE, rank(0, (0, 1), (0, 1)), rank(1, (2, 3), (2, 3))) == []


def test_unbound_ranks_are_named():
    findings = judge(NODE, [rank(0, ALL), rank(1, ALL)])
    assert [finding.id for finding in findings] == ["unbound-ranks"]
    assert "--bind-to core (instead of none)" in findings[0].fix


def test_binding_is_not_recommended_for_more_ranks_than_pus():
    assert "unbound-ranks" not in ids(NODE, *(rank(number, ALL) for number in range(5)))


def test_threads_stacked_on_the_core_of_their_rank_are_named_with_their_width():
    findings = judge(NODE, [rank(0, (0,), (0,)), rank(1, (1,), (1,))])
    assert findings[0].id == "threads-stacked"
    assert "srun --cpus-per-task=2" in findings[0].fix
    assert findings[1].id == "idle-cores"


def test_threads_nailed_to_one_core_of_several_are_named():
    ranks = (rank(0, (0,), (0,), (1,), places="{0},{0},{1}"),)
    assert ids(NODE, *ranks)[0] == "threads-on-one-core"


def test_the_origin_of_an_inherited_mask_is_reported():
    findings = judge(NODE, [rank(0, (0,)), rank(1, (0,))])
    assert findings[0].id == "ranks-overlap"
    assert "inherited" in findings[0].fix


def test_the_variable_that_binds_all_ranks_to_one_core_is_named():
    first, second = (
        rank(number, (0,), bound_by="OMP_PROC_BIND=true OMP_PLACES={0}", parent_cpus=ALL) for number in (0, 1)
    )
    finding = judge(NODE, [first, second])[0]
    assert finding.says == "OMP_PROC_BIND=true OMP_PLACES={0} binds several ranks to the same cores."
    assert finding.fix.startswith("unset OMP_PROC_BIND and OMP_PLACES, or")


def test_a_mask_that_the_launcher_has_too_is_not_the_work_of_a_variable():
    finding = judge(NODE, [rank(n, (0,), bound_by="OMP_PROC_BIND=true", parent_cpus=(0,)) for n in (0, 1)])[0]
    assert "inherited" in finding.fix


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"OMP_PROC_BIND": "close"}, "OMP_PROC_BIND=close"),
        ({"GOMP_CPU_AFFINITY": "0 1"}, "GOMP_CPU_AFFINITY=0 1"),
        ({"KMP_AFFINITY": "verbose,compact"}, "KMP_AFFINITY=verbose,compact"),
        ({"KMP_AFFINITY": "verbose"}, ""),
        ({"KMP_AFFINITY": "granularity=fine,none"}, ""),
        ({"OMP_PROC_BIND": "FALSE", "OMP_PLACES": "cores"}, ""),
        ({"OMP_NUM_THREADS": "2"}, ""),
    ],
)
def test_variables_that_bind_threads_are_recognised(environment, expected):
    assert openmp_binding(environment) == expected


def test_mapping_by_width_is_recommended_for_wide_ranks():
    findings = judge(NODE, [rank(0, (0, 1), (0, 1)), rank(1, (1, 2), (1, 2))])
    assert findings[0].id == "ranks-overlap"
    assert "-map-by core:T" in findings[0].fix


def test_two_jobs_on_the_same_cores_are_named():
    ranks = [rank(0, (0,)), rank(1, (1,)), rank(2, (0,), job="launcher 2"), rank(3, (1,), job="launcher 2")]
    findings = judge(NODE, ranks)
    assert [finding.id for finding in findings] == ["jobs-overlap"]
    assert "launcher 2" in findings[0].evidence


def test_two_jobs_on_cores_of_their_own_are_fine():
    assert ids(NODE, rank(0, (0,)), rank(0, (1,), job="launcher 2")) == []


def test_a_control_group_smaller_than_the_request_is_named():
    ranks = [rank(i, (0, 1), cgroup_cpus=(0, 1)) for i in range(4)]
    assert ids(NODE, *ranks)[0] == "cgroup-too-small"


def test_a_quota_smaller_than_the_request_is_named():
    assert ids(Node(FOUR, ALL, quota=1.0), rank(0, (0,)), rank(1, (1,)))[0] == "cgroup-too-small"


def test_more_ranks_than_cores_are_oversubscribed():
    assert ids(NODE, *(rank(i, ALL) for i in range(6)))[0] == "oversubscribed"


def busy(number: int, **facts) -> ProcessSeen:
    return rank(number, ALL, ALL, ALL, ALL, **facts)


def test_threads_of_a_library_without_a_limit_are_explained_by_its_variable():
    pool = unlimited_pool(["/usr/lib/libopenblas.so.0", "/usr/lib/libgomp.so.1"], {})
    finding = judge(NODE, [busy(n, unlimited_pool=pool) for n in (0, 1)])[0]
    assert finding.id == "oversubscribed"
    assert (
        "OpenBLAS starts a thread for each CPU in each rank: OPENBLAS_NUM_THREADS is not set"
        in finding.evidence
    )
    assert finding.fix.startswith("OPENBLAS_NUM_THREADS=2; or ")


def test_more_ranks_than_cores_are_not_the_work_of_a_library():
    pool = unlimited_pool(["libmkl_core.so.2"], {})
    assert "MKL" not in judge(NODE, [busy(n, unlimited_pool=pool) for n in range(5)])[0].fix


def test_a_library_with_a_limit_is_no_unlimited_pool():
    assert unlimited_pool(["libopenblas.so.0"], {"OMP_NUM_THREADS": "4"}) is None
    assert unlimited_pool(["libopenblas.so.0"], {"OPENBLAS_NUM_THREADS": "4"}) is None
    assert unlimited_pool(["libm.so.6"], {}) is None


def test_ranks_as_planned_are_fine():
    plan = placed(FOUR, 2, threads=2, policy="compact")
    assert ids(NODE, rank(0, (0, 1), (0, 1)), rank(1, (2, 3), (2, 3)), plan=plan) == []
    assert ids(NODE, rank(0, (0,), (1,)), rank(1, (2,), (3,)), plan=plan) == []


def test_ranks_elsewhere_than_planned_are_named_with_both_places():
    plan = placed(FOUR, 2, policy="compact")
    findings = judge(NODE, [rank(0, (1,)), rank(1, (0,))], plan)
    assert findings[0].id == "not-as-planned"
    assert "may run on 1, but the plan is 0" in findings[0].evidence


def test_a_planned_core_that_nothing_reaches_is_idle():
    plan = placed(FOUR, 2, threads=2, policy="compact")
    ranks = [rank(0, (0,), (0,)), rank(1, (2, 3), (2, 3))]
    idle = [finding for finding in judge(NODE, ranks, plan) if finding.id == "idle-cores"]
    assert idle[0].evidence.endswith("core 1")


def test_memory_on_another_numa_node_is_named():
    two = made_up(2, 2)
    node = Node(two, two.pus)
    assert ids(node, rank(0, (0,), memory_pages={0: 1000, 1: 90000}), rank(1, (1,))) == ["far-memory"]
    assert ids(node, rank(0, (0,), memory_pages={0: 90000, 1: 1000}), rank(1, (1,))) == []


def test_memory_placed_by_one_thread_for_others_is_named():
    two = made_up(2, 2)
    ranks = (rank(0, (0,), (1,), (2,), (3,), memory_pages={0: 90000}),)
    assert ids(Node(two, two.pus), *ranks) == ["first-touch"]


def toucher(*faults: int) -> ProcessSeen:
    threads = tuple(ThreadSeen(i, "app", (i,), i, 10.0, count) for i, count in enumerate(faults))
    return ProcessSeen(1, 0, "/bin/app", threads, (0, 1), memory_pages={0: 60000})


def test_first_touch_is_derived_from_faults_on_one_numa_node():
    assert touched_by_one([toucher(58000, 10)]) is not None
    assert touched_by_one([toucher(30000, 28000)]) is None
    assert touched_by_one([toucher(5000, 10)]) is None  # huge pages: faults cover only part of the memory
    assert touched_by_one([toucher(60000)]) is None


def test_every_selected_job_is_judged():
    ranks = [rank(0, ALL), rank(1, ALL), rank(2, ALL, job="b"), rank(3, ALL, job="b")]
    findings = judge(NODE, ranks, pids={p.pid for p in ranks})
    assert [finding.id for finding in findings] == ["unbound-ranks"] * 2
    assert [finding.evidence.partition(": ")[0] for finding in findings] == ["launcher 1", "b"]


def test_an_idle_node_has_no_findings():
    assert judge(NODE, []) == ()


def test_ranks_bound_to_one_core_by_the_launch_are_reported():
    by_list = judge(NODE, [rank(0, (0,), cpu_list="map_cpu:0,0"), rank(1, (0,), cpu_list="map_cpu:0,0")])
    assert "--cpu-bind=map_cpu:0,0" in by_list[0].fix
    by_mask = judge(NODE, [rank(0, (0,), parent_cpus=ALL), rank(1, (0,), parent_cpus=ALL)])
    assert "inherited" not in by_mask[0].fix
    inherited = judge(NODE, [rank(0, (0,), parent_cpus=(0,)), rank(1, (0,), parent_cpus=(0,))])
    assert "inherited" in inherited[0].fix


def test_cores_to_ask_for_are_counted_for_one_rank():
    few = Node(FOUR, (0, 1))
    findings = judge(few, [rank(0, (0, 1), (0, 1)), rank(1, (0, 1), (0, 1))])
    fix = next(finding.fix for finding in findings if finding.id == "cgroup-too-small")
    assert "4 cores on each node" in fix
    assert "--cpus-per-task=2" in fix


def test_ranks_on_one_gpu_are_named_while_others_idle():
    node = Node(FOUR, FOUR.pus, gpus=2)
    shared = [rank(number, (number,), gpus=("0000:07:00.0",)) for number in (0, 1)]
    finding = judge(node, shared)[0]
    assert finding.id == "gpu-shared"
    assert finding.says == "Ranks share a GPU while 1 GPU of the node is idle."
    assert "ranks 0-1 compute on GPU 0000:07:00.0" in finding.evidence


def test_gpus_of_other_jobs_are_not_idle():
    node = Node(FOUR, FOUR.pus, gpus=2)
    ranks = [rank(number, (number,), gpus=("a",)) for number in (0, 1)]
    assert ids(node, *ranks, rank(2, (2,), job="launcher 2", gpus=("b",))) == []


def test_ranks_may_share_the_only_gpu_of_their_job():
    node = Node(FOUR, FOUR.pus, gpus=4)
    assert ids(node, *(rank(number, (number,), gpus=("a",), gpus_allotted=1) for number in (0, 1))) == []


def test_ranks_that_share_all_gpus_evenly_are_fine():
    node = Node(FOUR, FOUR.pus, gpus=2)
    assert ids(node, *(rank(number, (number,), gpus=("ab"[number % 2],)) for number in range(4))) == []
