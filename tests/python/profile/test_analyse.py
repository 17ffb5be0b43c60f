"""Derived numbers of records whose numbers are known."""

from dataclasses import replace

import pytest
from tests.support.records import WORLD, cell, file, rank, record, sent

from mpiric.model.record import CommunicatorRow, RankState, Region, Timeline, TrafficKind
from mpiric.profile.analyse import analyse


def uneven():
    """Rank 0 works 8 of 10 s, rank 1 works 4 and waits for it in the collective."""
    return record(
        rank(0, 10.0, cell("MPI_Init", 1, 0, 3.0), cell("MPI_Allreduce", 4, 400, 2.0, size_bin=7)),
        rank(1, 10.0, cell("MPI_Init", 1, 0, 3.0), cell("MPI_Allreduce", 4, 400, 6.0, size_bin=7)),
    )


def test_start_up_is_not_part_of_the_share_of_mpi():
    assert analyse(uneven()).mpi_share == pytest.approx(8.0 / 20.0)


def test_calls_and_bytes_are_summed_over_ranks():
    use = next(use for use in analyse(uneven()).functions if use.name == "MPI_Allreduce")
    assert (use.calls, use.bytes, use.time_s, use.ranks, use.slowest_rank) == (8, 800, 8.0, 2, 1)


def test_load_balance_is_mean_over_longest_useful_time():
    assert analyse(uneven()).efficiencies.load_balance == pytest.approx(6.0 / 8.0)


def test_parallel_efficiency_is_the_product_of_its_parts():
    e = analyse(uneven()).efficiencies
    assert e.parallel == pytest.approx(0.6)
    assert e.parallel == pytest.approx(e.load_balance * e.serialisation * e.transfer)


def test_ranks_that_never_leave_mpi_are_not_efficient():
    e = analyse(record(*(rank(n, 10.0, cell("MPI_Allreduce", 1, 8, 10.0)) for n in range(2)))).efficiencies
    assert (e.parallel, e.communication, e.load_balance) == (0.0, 0.0, 1.0)


def test_threads_in_mpi_at_once_share_the_time_of_them_all():
    calls = cell("MPI_Recv", 100, 800, 36.0, size_bin=4)
    profile = analyse(record(rank(0, 10.0, calls, thread_level=3), rank(1, 10.0, thread_level=3)))
    assert [use.threads for use in profile.ranks] == [4, 1]
    assert profile.ranks[0].mpi_s == pytest.approx(9.0)
    assert profile.mpi_share == pytest.approx(36.0 / 50.0)
    assert profile.functions[0].time_s == pytest.approx(36.0)
    assert profile.efficiencies.parallel == pytest.approx((1.0 + 10.0) / 20.0)
    assert any("4 threads" in note for note in profile.notes)


def test_a_thread_is_never_longer_in_mpi_than_it_ran():
    (use,) = analyse(record(rank(0, 10.0, cell("MPI_Recv", 1, 8, 36.0, size_bin=4)))).ranks
    assert (use.threads, use.mpi_s) == (1, 10.0)


def test_existing_hardware_counters_are_reported():
    counters = {"instructions": 3_000_000_000, "cycles": 6_000_000_000, "last_level_misses": 60_000_000}
    facts = {"host": "n1", **{f"counter.{name}": str(value) for name, value in counters.items()}}
    profile = analyse(record(rank(0, 2.0, facts=facts), rank(1, 2.0, facts=facts)))
    assert profile.numbers["instructions_per_cycle"] == 0.5
    assert profile.numbers["misses_per_1000_instructions"] == 20.0
    assert profile.numbers["memory_bytes_per_s"] == 2 * 60e6 * 64 / 2.0
    assert "waits-for-memory" in {advice.finding.id for advice in profile.advice}
    assert analyse(record(rank(0, 2.0))).numbers["instructions"] == 0


@pytest.mark.parametrize("text", ["9" * 5000, "\u00b2", "-1", "1e9"])
def test_a_fact_that_is_not_a_number_counts_as_none(text):
    facts = {"host": "n1", "memory.peak_kib": text}
    assert analyse(record(rank(0, 1.0, facts=facts))).ranks[0].peak_bytes == 0


def test_the_quickest_rank_of_a_collective_does_not_wait():
    (use,) = analyse(uneven()).collectives
    assert use.waited_s == pytest.approx(4.0)


def test_a_measured_barrier_counts_as_waiting_and_as_mpi():
    profile = analyse(
        record(*(rank(n, 10.0, cell("MPI_Allreduce", 1, 8, 1.0, waited_s=2.0)) for n in range(2)))
    )
    assert profile.mpi_share == pytest.approx(0.3)
    assert profile.collectives[0].waited_s == pytest.approx(4.0)
    assert "measured" in profile.efficiencies.method


def test_sizes_have_the_bounds_of_their_powers_of_two():
    (use,) = analyse(uneven()).sizes
    assert (use.low_bytes, use.high_bytes, use.calls, use.bytes) == (64, 127, 8, 800)


def test_messages_are_kept_by_direction_and_gets_flow_back():
    profile = analyse(
        record(
            rank(0, 1.0, peers=(sent(1, 3, 30), sent(1, 2, 16, TrafficKind.GET), sent(None, 1, 5))),
            rank(1, 1.0, peers=(sent(0, 1, 7),)),
        )
    )
    assert [(m.source, m.destination, m.messages, m.bytes) for m in profile.p2p] == [
        (0, 1, 3, 30),
        (1, 0, 1, 7),
    ]
    assert [(m.source, m.destination, m.bytes) for m in profile.one_sided] == [(1, 0, 16)]
    assert profile.numbers["outside_world_bytes"] == 5


def test_node_traffic_is_that_of_the_ranks_on_them():
    ranks = [rank(n, 1.0, facts={"host": f"n{n // 2}"}, peers=(sent((n + 1) % 4, 1, 10),)) for n in range(4)]
    profile = analyse(record(*ranks))
    assert profile.nodes == ("n0", "n1")
    assert [(m.source, m.destination, m.bytes) for m in profile.node_traffic] == [
        (0, 0, 10),
        (0, 1, 10),
        (1, 0, 10),
        (1, 1, 10),
    ]
    assert profile.numbers["off_node_share"] == 0.5


def test_a_communicator_is_merged_over_its_ranks_and_single_rank_ones_are_grouped():
    alone = [CommunicatorRow(n, 0, 1, 0, 0, False, False, False, "MPI_COMM_SELF") for n in range(2)]
    ranks = [
        rank(
            n,
            1.0,
            cell("MPI_Allreduce", 1, 8, 0.1),
            replace(cell("MPI_Allreduce", 2, 8, 0.1), communicator=1),
            communicators=(WORLD, alone[n]),
        )
        for n in range(2)
    ]
    uses = {use.label: use for use in analyse(record(*ranks)).communicators}
    assert {label: (use.size, use.ranks, use.calls) for label, use in uses.items()} == {
        "MPI_COMM_WORLD": (2, (0, 1), 2),
        "MPI_COMM_SELF": (1, (0, 1), 4),
    }


def test_communicators_of_one_name_are_numbered():
    rows = [CommunicatorRow(m, 0, 2, 0, 0, False, False, False, "row") for m in (5, 6)]
    ranks = [rank(n, 1.0, cell("MPI_Allreduce", 1, 8, 0.1), communicators=(rows[n],)) for n in range(2)]
    assert {use.label for use in analyse(record(*ranks)).communicators} == {"row #1", "row #2"}


def test_files_are_summed_over_the_ranks_that_share_them():
    ranks = [
        rank(n, 1.0, files=(file("/d/out", writes=10, bytes_written=100, small=10, write_s=0.1),))
        for n in (0, 1)
    ]
    profile = analyse(record(*ranks))
    assert (profile.files[0].ranks, profile.files[0].writes, profile.files[0].bytes_written) == (2, 20, 200)
    assert profile.numbers["io_share"] == pytest.approx(0.1)
    assert profile.numbers["one_rank_write_share"] == 0


def test_ranks_that_died_or_left_nothing_are_named():
    notes = analyse(record(rank(0, 1.0), rank(2, 1.0, state=RankState.RUNNING), world_size=3)).notes
    assert any("1 of 3 ranks left no data: 1" in note for note in notes)
    assert any(note.endswith("(their records are partial): 2") for note in notes)


def test_ranks_that_had_no_file_are_named_with_the_reason():
    facts = {"host": "n2", "record.in_memory": "No space left on device"}
    notes = analyse(record(rank(0, 1.0), rank(1, 1.0, facts=facts))).notes
    assert any("(No space left on device)" in note and note.endswith(": 1") for note in notes)


def test_a_record_of_ranks_that_died_at_once_can_be_read():
    profile = analyse(record(rank(0, 0.0, cell("MPI_Send", 1, 8, 0.0), state=RankState.RUNNING)))
    assert profile.mpi_share == 0.0
    assert profile.functions[0].calls == 1


def test_two_ranks_on_one_cpu_are_a_crowd():
    ranks = [rank(n, 1.0, facts={"host": "n1", "affinity": "0"}) for n in range(2)]
    assert analyse(record(*ranks)).numbers["ranks_per_cpu"] == 2.0


def test_ranks_on_one_of_several_usable_cpus_share_it():
    ranks = [rank(n, 1.0, facts={"host": "n1", "affinity": "0,4"}) for n in range(4)]
    profile = analyse(record(*ranks), usable_cpus={"n1": 8})
    assert profile.numbers["ranks_on_a_taken_cpu"] == 2
    assert profile.numbers["shared_cpu_share"] == 0.5
    names = {advice.finding.id for advice in profile.advice}
    assert "ranks-share-a-cpu" in names
    assert "more-ranks-than-cpus" not in names


def test_ranks_that_share_a_cpu_do_not_accuse_other_processes():
    facts = {"host": "n1", "affinity": "0", "time.user_us": "500000", "switches.involuntary": "100"}
    advice = analyse(record(*(rank(n, 1.0, facts=facts) for n in range(2))), usable_cpus={"n1": 8}).advice
    assert "cpus-taken" not in {item.finding.id for item in advice}


def spans(*shares, span_s=1.0):
    """A timeline of messages alone: the share of each span, and its region."""
    sends, regions = zip(*shares, strict=True)
    nothing = (0.0,) * len(shares)
    return Timeline(span_s, [span_s * share for share in sends], nothing, nothing, nothing, regions)


def test_timelines_of_all_ranks_are_shares_of_the_longest_span():
    phases = (Region("(program)", 1, 2.0), Region("solve", 1, 1.0))
    quick = spans(*[(0.5, 0)] * 4, span_s=0.5)
    profile = analyse(
        record(
            rank(0, 2.0, regions=phases, timeline=spans((0.2, 0), (1.0, 1))),
            rank(1, 2.0, timeline=quick),
        )
    )
    first, second = profile.timeline.rows
    assert profile.timeline.span_s == 1.0
    assert first.point_to_point == (0.2, 1.0)
    assert [profile.regions[at].name for at in first.region] == ["(program)", "solve"]
    assert second.point_to_point == (0.5, 0.5)


def test_neighbouring_ranks_share_a_row_when_there_are_very_many():
    profile = analyse(record(*(rank(n, 1.0, timeline=spans((n % 2, 0))) for n in range(512))))
    assert len(profile.timeline.rows) == 256
    assert profile.timeline.rows[0].point_to_point[0] == 0.5
    assert (profile.timeline.rows[1].first_rank, profile.timeline.rows[1].last_rank) == (2, 3)


def test_a_rank_is_never_longer_in_mpi_than_it_ran():
    outlier = replace(cell("MPI_Send", 6400, 0, 0.5), timed_calls=100)
    assert analyse(record(rank(0, 1.0, outlier))).mpi_share == 1.0


def working(*shares):
    """A rank that works this share of each span and waits in MPI for the rest."""
    return spans(*((1.0 - share, 0) for share in shares))


def test_temporary_and_permanent_imbalance_are_distinguished():
    alone = [0.9] * 3 + [0.5] * 17
    remaining = [0.0] * 3 + [0.5] * 17
    briefly = analyse(
        record(rank(0, 20.0, timeline=working(*alone)), rank(1, 20.0, timeline=working(*remaining)))
    )
    assert briefly.numbers["excess_span_share"] == pytest.approx(0.15)
    assert (briefly.numbers["excess_from_s"], briefly.numbers["excess_to_s"]) == (0.0, 3.0)
    more, less = working(*[0.9] * 20), working(*[0.3] * 20)
    always = analyse(record(rank(0, 20.0, timeline=more), rank(1, 20.0, timeline=less)))
    assert always.numbers["excess_span_share"] >= 0.8
    even = analyse(record(rank(0, 20.0, timeline=more), rank(1, 20.0, timeline=more)))
    assert even.numbers["excess_span_share"] == 0.0
    assert analyse(record(rank(0, 1.0))).numbers["excess_span_share"] == 0.0


def test_start_up_is_the_time_of_the_rank_that_waits_least():
    ranks = (rank(0, 1.0, cell("MPI_Init", 1, 0, 0.5)), rank(1, 1.0, cell("MPI_Init", 1, 0, 0.9)))
    profile = analyse(record(*ranks))
    assert profile.numbers["start_up_s"] == 0.5
    assert profile.numbers["start_up_share"] == pytest.approx(1 / 3)
    (advice,) = [candidate for candidate in profile.advice if candidate.finding.id == "start-up"]
    assert advice.gain_share == pytest.approx(1 / 3)
    assert "node-transport" in advice.knobs


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("Open MPI v5.0.11, package", "another thread may create one meanwhile"),
        ("MPICH Version: 5.0.2", "belongs to the process"),
    ],
)
def test_a_note_tells_why_algorithms_of_the_library_are_not_chosen_under_threads(version, why):
    reduces = cell("MPI_Allreduce", 1000, 8000, 5.0)

    def notes(level):
        facts = {"host": "n1", "mpi.version": version}
        return analyse(record(rank(0, 10.0, reduces, thread_level=level, facts=facts))).notes

    assert any("MPI_THREAD_MULTIPLE" in note and why in note for note in notes(3))
    assert not any("MPI_THREAD_MULTIPLE" in note for note in notes(2))


def test_page_faults_take_a_share_of_the_cpu_time_where_others_use_the_cpus():
    def share(cpu_s, switches):
        facts = {"host": "n1", "faults.minor": "1000000", "fault_ns": "1000", "time.system_us": "1500000"}
        facts |= {"time.user_us": str(int(cpu_s * 1e6) - 1500000), "switches.involuntary": str(switches)}
        return analyse(record(rank(0, 10.0, facts=facts))).numbers["page_fault_share"]

    assert share(2.0, 0) == pytest.approx(0.13)  # it sleeps for the rest
    assert share(2.0, 1000) == pytest.approx(0.65)
