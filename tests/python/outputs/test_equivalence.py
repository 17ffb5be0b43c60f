import re
import tracemalloc
from datetime import datetime
from itertools import permutations
from pathlib import Path
from random import Random

import pytest

from mpiric.model.errors import MpiricError
from mpiric.outputs import time_forms
from mpiric.outputs.equivalence import AcceptedDifferences, learn

ROUNDED = AcceptedDifferences(rounding=True)

DATA = Path(__file__).parents[2] / "data" / "equivalence"
LAMMPS = [DATA / f"lammps-lj-{run}.txt" for run in range(1, 5)]
HPCC = [DATA / f"hpcc-{run}.txt" for run in range(1, 5)]

ORIGINALS = [
    "rank 0 of 2 on pid 4711\nrank 1 of 2 on pid 4712\nEnergy = -1.234567890123\nelapsed 1.31 s\n",
    "rank 1 of 2 on pid 5712\nrank 0 of 2 on pid 5711\nEnergy = -1.234567890123\nelapsed 1.29 s\n",
    "rank 1 of 2 on pid 6712\nEnergy = -1.234567890123\nrank 0 of 2 on pid 6711\nelapsed 1.33 s\n",
]


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_another_run_of_lammps_agrees(order: tuple[int, ...]) -> None:
    assert learn([LAMMPS[run] for run in order[:3]]).compare(LAMMPS[order[3]]) is None


def test_another_run_of_hpcc_agrees_after_one_more_lesson_at_the_most() -> None:
    expectation = learn(HPCC[:2]).widened(HPCC[2])
    assert expectation.compare(HPCC[3]) is None or expectation.widened(HPCC[3]).compare(HPCC[3]) is None


def test_a_wrong_last_digit_of_any_thermodynamic_value_of_lammps_is_caught() -> None:
    expectation, text = learn(LAMMPS[:3]), LAMMPS[3].read_text()
    rows = [line for line in text.splitlines() if re.match(r"\s+\d+\s+\d+\.\d+\s+-\d+\.\d+", line)]
    assert len(rows) == 6
    for row in rows:
        for value in re.findall(r"-?\d+\.\d+", row):
            wrong = value[:-1] + str((int(value[-1]) + 1) % 10)
            disagreement = expectation.compare(text.replace(row, row.replace(value, wrong)))
            assert disagreement is not None
            assert wrong in disagreement.sentence
            assert row.split()[0] in disagreement.sentence


def test_a_wrong_residual_of_hpcc_is_caught() -> None:
    text = HPCC[3].read_text()
    match = re.search(r"\|\|Ax-b\|\|\S*=\s+(\d\.\d+)", text)
    assert match is not None
    wrong = match[0][:-1] + str((int(match[0][-1]) + 1) % 10)
    disagreement = learn(HPCC[:3]).compare(text.replace(match[0], wrong))
    assert disagreement is not None


def test_a_failed_check_of_hpcc_is_caught() -> None:
    text = HPCC[3].read_text().replace("PASSED", "FAILED", 1)
    disagreement = learn(HPCC[:3]).compare(text)
    assert disagreement is not None
    assert "FAILED" in disagreement.sentence


def test_interleaved_ranks_other_pids_and_times_agree() -> None:
    new = "Energy = -1.234567890123\nrank 0 of 2 on pid 99\nelapsed 7.77 s\nrank 1 of 2 on pid 98\n"
    assert learn(ORIGINALS).compare(new) is None


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        ("0123", "0124", "line 3: -1.234567890124 where the original has -1.234567890123: 'Energy = "),
        ("-1.234567890123", "nan", "nan"),
        ("rank 1 of 2 on pid 5712\n", "", "'rank # of # on pid #' comes 1 times, 2 times in the original"),
        ("Energy = -1.234567890123\n", "", "the line 'Energy = #' is missing"),
        ("rank 1 of", "rank 0 of", "rank"),
        ("Energy", "Enthalpy", "the original never prints 'Enthalpy = #'"),
        ("Energy", "ERROR: lost atoms\nEnergy", "line 3: the original never prints 'ERROR: lost atoms'"),
    ],
)
def test_a_wrong_output_is_caught_and_named(old: str, new: str, difference: str) -> None:
    disagreement = learn(ORIGINALS).compare(ORIGINALS[1].replace(old, new))
    assert disagreement is not None
    assert difference in disagreement.sentence
    assert "\n" not in disagreement.sentence


@pytest.mark.parametrize(
    ("original", "candidate"),
    [
        ("Wall time: 0.1 s", "Wall time: 0.2 s"),
        ("took 1.5 seconds", "took 9.25 seconds"),
        ("efficiency 99.1%", "efficiency 98.7%"),
        ("bandwidth 12.5 GB/s", "bandwidth 13.1 GB/s"),
        ("  3.21 GFlop/s", "  3.99 GFlop/s"),
        ("Total wall time: 0:00:01", "Total wall time: 0:00:02"),
        ("started Sat Nov 21 2026", "started Mon Nov 21 2026"),
        ("finished at 2026-11-21 08:00:01", "finished at 2026-11-21 08:07:31"),
        ("loop 3 in 12 ms", "loop 3 in 14 ms"),
        ("elapsed: 0.5", "elapsed: 0.6"),
        ("Pair | 0.01 | 0.02 | 85.3 |", "Pair | 0.01 | 0.02 | 85.3 |"),
        ("a   b  1.0", "a b 1.0"),
        ("=====---", "=======---"),
    ],
)
def test_a_time_that_was_equal_by_chance_is_not_a_disagreement(
    original: str, candidate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_forms, "now_s", datetime(2026, 11, 21, 12).timestamp)
    assert learn([original] * 3).compare(candidate) is None


@pytest.mark.parametrize(
    ("original", "candidate"),
    [
        ("time step 100: E = -3.5", "time step 100: E = -3.6"),
        ("iterations 41", "iterations 42"),
        ("checksum 0xdeadbeef", "checksum 0xdeadbee0"),
        ("md5 d41d8cd98f00b204e9800998ecf8427e", "md5 d41d8cd98f00b204e9800998ecf8427f"),
        ("x = 1.0e-5", "x = 1.0e-6"),
        ("x = -1", "x = 1"),
        ("x = 1.0", "x = inf"),
        ("PASSED", "FAILED"),
        ("a b", "a  c"),
        ("Loop of 100 steps with 864 atoms", "Loop of 100 steps with 865 atoms"),
    ],
)
def test_a_result_that_differs_is_a_disagreement(original: str, candidate: str) -> None:
    if "E = -3.5" not in original:
        assert learn([original] * 3).compare(candidate) is not None
    assert learn([original] * 3).compare(original) is None


def test_nan_where_numbers_vary_by_themselves_is_caught() -> None:
    disagreement = learn(["residual 1.25e-9", "residual 1.31e-9", "residual 1.27e-9"]).compare("residual NaN")
    assert disagreement is not None


def test_a_timing_table_is_recognised_by_its_varying_numbers() -> None:
    runs = [f"Pair | {t} | {t + 0.013} | {t + 0.021} | 1.6 |" for t in (1.513, 1.524, 1.587)]
    assert learn(runs).compare("Pair | 1.622 | 1.645 | 1.699 | 2.0 |") is None


def test_a_timing_table_is_known_by_its_header() -> None:
    table = "Function  Rate (GB/s)  Avg time\nCopy:  12.5  0.0001\nTriad:  11.5  0.0002\n"
    assert learn([table] * 3).compare(table.replace("0.0001", "0.0003")) is None


def test_operations_a_second_in_a_header_make_a_table_of_rates() -> None:
    table = "Kind  Most(MiB)  Most(OPs)  Mean(s)  Tasks\nwrite  4.70  4.72  3.40  4\n"
    assert learn([table] * 3).compare(table.replace("4.70", "35.72")) is None
    assert learn([table] * 3).compare(table.replace("  4\n", "  8\n")) is not None


def test_progress_bars_of_another_pace_agree() -> None:
    runs = [
        "".join(f"\r[{'#' * i:<20}] {i * 5}%" for i in range(1, 21, step)) + "\nsum 42\n"
        for step in (1, 2, 3)
    ]
    expectation = learn(runs)
    assert expectation.compare("\r[" + "#" * 20 + "] 100%\nsum 42\n") is None
    assert expectation.compare("\r[" + "#" * 20 + "] 100%\nsum 43\n") is not None


def test_thread_ids_and_addresses_may_vary() -> None:
    runs = [f"thread 0x7f{Random(run).randrange(16**8):08x} done\nresult 0.125\n" for run in range(4)]
    assert learn(runs[:3]).compare(runs[3]) is None


def test_temporary_paths_may_vary() -> None:
    runs = [f"reading /tmp/trial-{run}x/in.dat\nresult {7}\n" for run in ("ab", "cd", "ef", "gh")]
    assert learn(runs[:3]).compare(runs[3]) is None


def test_lines_that_tear_are_forgiven_as_often_as_in_the_original() -> None:
    runs = ["Hello from Hello\nfrom A\n", "Hello from A\nHello\n", "HelloHello from A\nfrom\n"]
    assert learn(runs).compare("HeHello from A\nllo\n") is None
    assert learn(runs).compare("HeHello from A\nError: llo\n") is not None


def test_rounding_must_be_allowed() -> None:
    expectation = learn(["norm 1.23456789012345"] * 2)
    assert expectation.compare("norm 1.23456789012346") is not None
    assert expectation.compare("norm 1.23456789012346", ROUNDED) is None


@pytest.mark.parametrize("wrong", ["norm 1.2345680", "norm 1.3", "norm -1.2345678", "norm nan"])
def test_allowed_rounding_does_not_accept_large_differences(wrong: str) -> None:
    assert learn(["norm 1.2345678"] * 2).compare(wrong, ROUNDED) is not None


def test_rounding_may_move_the_last_digit_printed() -> None:
    assert learn(["E -4.6246136"] * 2).compare("E -4.6246137", ROUNDED) is None


def test_rounding_is_judged_value_by_value_in_any_order() -> None:
    original = "".join(f"v {number}.00000000001\n" for number in range(50))
    new = "".join(f"v {number}.00000000002\n" for number in reversed(range(50)))
    expectation = learn([original, original])
    assert expectation.compare(new, ROUNDED) is None
    assert expectation.compare(new.replace("v 7.00000000002", "v 7.50000000002"), ROUNDED) is not None


def test_an_expectation_is_widened_by_one_more_run_of_the_original() -> None:
    expectation = learn(["score 5\nok\n"] * 3)
    assert expectation.compare("score 6\nok\n") is not None
    assert expectation.widened("score 6\nok\n").compare("score 7\nok\n") is None


def test_output_is_not_learned_from_one_run() -> None:
    with pytest.raises(MpiricError):
        learn(["x"])


def test_a_program_that_prints_nothing_leaves_nothing_to_compare() -> None:
    assert learn(["", ""]).compare("surprise") is not None


@pytest.mark.slow
def test_huge_outputs_need_little_memory(tmp_path: Path) -> None:
    random = Random(1)
    paths = [tmp_path / f"{run}.txt" for run in range(3)]
    for path in paths:
        with path.open("w") as file:
            for step in range(20_000):
                file.write(f"{step} {random.random()} word{step % 7} {step * 0.5}\n")
                file.write(f"unique {random.getrandbits(64):016x}{'-' * 200}\n" if step % 50 == 0 else "")
    tracemalloc.start()
    assert learn(paths[:2]).compare(paths[2]) is None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


@pytest.mark.parametrize(
    "text", ["\x00\xff" * 50, "\ud800", "9" * 100_000, "1e999999 -1e-999999", "\r" * 1000]
)
def test_strange_output_does_not_crash_the_comparison(text: str) -> None:
    assert learn([text, text]).compare(text) is None
    learn([text, text]).compare("other")


def test_a_line_that_names_a_variable_that_was_set_may_go() -> None:
    line = "OMP_NUM_THREADS environment is not set. Defaulting to 1 thread.\nEnergy = -1.25\n"
    assert (disagreement := learn([line, line]).compare("Energy = -1.25\n")) is not None
    assert "OMP_NUM_THREADS" in disagreement.sentence
    assert (
        learn([line, line]).compare("Energy = -1.25\n", AcceptedDifferences(settings=("OMP_NUM_THREADS",)))
        is None
    )
    assert (
        learn([line, line]).compare("Energy = -1.26\n", AcceptedDifferences(settings=("OMP_NUM_THREADS",)))
        is not None
    )


def test_a_variable_with_digits_in_its_name_is_found_in_a_line() -> None:
    line = "MPIR_CVAR_CH4_NETMOD=ofi is in force\n"
    assert (
        learn(["a b\n", "a b\n"]).compare(
            "a b\n" + line, AcceptedDifferences(settings=("MPIR_CVAR_CH4_NETMOD",))
        )
        is None
    )
