"""A benchmark decides the keys that a learning run left open, for important calls only."""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.situations import MPIS, situation

from mpiric import launchers
from mpiric.host.facts.local import LocalHost
from mpiric.lab.render import line_without_program
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.job import Segment, Spelling
from mpiric.model.policy import LIBRARY, LearnedKey, LearnedPolicy, Measured, Shape
from mpiric.model.run import Narrator, Plan
from mpiric.model.situation import Allowed, Situation, Tuner
from mpiric.tuning.policy_files import read_learned, write_learned
from mpiric.tuning.policy_merge import condense
from mpiric.tuning.store import Store, TuneLog
from mpiric.workflows.policies import all_learned, benchmark_file, learned_file, origins
from mpiric.workflows.sweep import explore as sweep_launch
from mpiric.workflows.sweep import plan as sweep_plan
from mpiric.workflows.tune.collectives import benchmark_remaining, that_matter, undecided

FOUR = Shape(4, 2, 2)
WORLD = Shape(4, 2, 2, "block", "0123456789abcdef")
MPICH = next(library for library in MPIS if library.label == "mpich-5.0.2")
GOOD = "library:pipelined_tree"


def key(collective: str, start: int, calls: int = 100, shape: Shape = WORLD) -> LearnedKey:
    end = 2 * start if start else 1
    return LearnedKey(collective, shape, start, end, LIBRARY, decided=False, confidence=0.0, calls=calls)


def measured_once(own_s: float, learned_key: LearnedKey) -> LearnedKey:
    return replace(learned_key, candidates=(Measured(LIBRARY, 4, own_s, own_s, own_s),))


def learned(*keys: LearnedKey) -> LearnedPolicy:
    return LearnedPolicy("mpich", "5.0.2", FOUR, keys)


@pytest.mark.parametrize(
    ("dialect", "line", "expected"),
    [
        ("hydra", "mpiexec -n 4 ./app in", "mpiexec -n 4"),
        ("hydra", "mpiexec -bind-to core -genv A 1 -hosts n1,n2 -n 4 ./app", None),
        ("openmpi5", "env A=1 mpirun --host n1:2,n2:2 --mca pml ob1 -- ./app -n 3", None),
        ("srun", "srun -n 4 --mpi=pmi2 ./app", None),
    ],
)
def test_the_launch_line_keeps_all_but_its_program(dialect: str, line: str, expected: str | None) -> None:
    job = launchers.parse_command(shlex.split(line), "/", {}, dialect=dialect)
    assert " ".join(line_without_program(job)) == expected or line.partition(" ./app")[0]


@pytest.mark.parametrize(
    ("dialect", "line", "why"),
    [
        ("hydra", "mpiexec -n 2 ./a : -n 2 ./b", "several programs"),
        ("srun", "srun -n 4 --multi-prog plan.conf", "several programs"),
        ("openmpi5", "mpirun -n 2 apptainer exec image.sif ./app", "in the container image.sif"),
        ("direct", "./run.sh", "no launcher"),
    ],
)
def test_a_line_whose_program_cannot_be_replaced_is_refused(dialect: str, line: str, why: str) -> None:
    argv = shlex.split(line)
    job = launchers.parse_command(
        argv, "/", {}, dialect=None if dialect == "direct" else dialect, is_program=lambda _: True
    )
    with pytest.raises(MpiricError, match=why):
        line_without_program(job)


def test_keys_are_taken_that_are_open_and_that_the_benchmark_can_call() -> None:
    decided = replace(key("bcast", 1024), decided=True)
    open_keys = (key("bcast", 64), key("barrier", 0), key("alltoallv", 0), key("ibcast", 64))
    reducing = (key("allreduce", 8), key("iallreduce", 8), key("scan", 8))
    refused = (decided, key("alltoallw", 0), key("bcast_init", 64), key("alltoall", 1 << 25))
    assert undecided(learned(*open_keys, *reducing, *refused), rounding=False) == open_keys
    assert undecided(learned(*open_keys, *reducing, *refused), rounding=True) == (*open_keys, *reducing)


def test_calls_matter_by_their_total_time_on_all_parts_of_the_job() -> None:
    elsewhere = replace(WORLD, placement="f" * 16)
    halves = (key("bcast", 64, 600), key("bcast", 64, 600, elsewhere))
    rare, slow, unknown = key("bcast", 8, 10), key("barrier", 0, 20), key("gather", 8, 10**6)
    waited = measured_once(1.0, key("bcast", 32, 10))
    own_s = {**{kind(call_key): 10e-6 for call_key in (*halves, rare, waited)}, kind(slow): 1e-3}
    assert that_matter([*halves, rare, slow, unknown, waited], own_s, wall_s=1.0) == (*halves, slow)
    assert that_matter([*halves, rare, slow, unknown, waited], own_s, wall_s=10.0) == ()


def kind(learned_key: LearnedKey) -> tuple[sweep_plan.Subject, int]:
    return sweep_plan.Subject(learned_key.collective, learned_key.shape.anywhere()), learned_key.start


@dataclass
class Probe:
    """Fake launches: `GOOD` takes a fifth of the library's time for every bcast."""

    points: list[str] = field(default_factory=list)
    calls: int = 0
    stop_at: int = -1
    fails: Callable[[str], bool] = lambda _: False
    times: Callable[[str, str], float] = lambda word, algorithm: (
        0.2 if word.startswith("bcast") and algorithm == GOOD.removeprefix("library:") else 1.0
    )

    def __call__(
        self, launched: Situation, setting: Spelling, limit_s: float, directory: Path
    ) -> Plan[list[dict[str, str]]]:
        yield from ()
        program = launched.job.program
        if program[1] == "identity":
            return [{"host": name} for name in ("n1", "n1", "n2", "n2")]
        self.calls += 1
        if self.calls == self.stop_at:
            raise KeyboardInterrupt
        rows = []
        for word in program[2:]:
            name = word.partition(":")[0].upper()
            algorithm = setting.environment.get(f"MPIR_CVAR_{name}_INTRA_ALGORITHM", "")
            if self.fails(algorithm):
                raise ProgramFailedError("it hung")
            self.points.append(f"{word}:{algorithm}")
            rows.append(dict(self.row(word, algorithm)))
        return rows

    def row(self, word: str, algorithm: str) -> Iterator[tuple[str, object]]:
        yield from zip(("collective", "ranks", "per_node", "bytes"), word.split(":"), strict=True)
        yield "calls", 50
        for name in ("median_s", "low_s", "high_s"):
            yield name, 2e-4 * self.times(word, algorithm)


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> Probe:
    stands = Probe()
    job = replace(situation_of_four_ranks().job, segments=(Segment((), ("p", "identity")),))
    monkeypatch.setattr(sweep_plan, "_first_launch", lambda *_: replace(situation_of_four_ranks(), job=job))
    for module in (sweep_launch, sweep_plan):
        monkeypatch.setattr(module, "run_launch", stands)
        monkeypatch.setattr(module, "native_part", lambda name, _: name)
        monkeypatch.setattr(module, "tuner_for", lambda _: Tuner())
    return stands


@pytest.fixture
def record(tmp_path: Path) -> Iterator[TuneLog]:
    with Store(tmp_path).create("app", "job", ("mpiexec", "app")) as tune:
        yield tune


def situation_of_four_ranks(*, rounding: bool = False) -> Situation:
    return situation(MPICH, ranks=4, nodes=2, allowed=Allowed(rounding=rounding))


def settle(record: TuneLog, seconds: float = 60.0, **options: bool) -> str:
    return benchmark_remaining(record, situation_of_four_ranks(**options), seconds, LocalHost(), Narrator())


def event(record: TuneLog) -> dict[str, Any]:
    return next(dict(event) for event in record.read().events if event["event"] == "benchmark")


def test_only_important_calls_are_measured_and_confirmed_winners_are_chosen(
    probe: Probe, record: TuneLog
) -> None:
    mine = replace(key("bcast", 64), decided=True, candidate="library:binomial")
    write_learned(
        learned_file(record.path),
        learned(mine, key("bcast", 4096), key("bcast", 8, calls=2), key("allreduce", 8), key("barrier", 0)),
    )
    assert settle(record) == ""
    tried = {word.rpartition(":")[0] for word in probe.points if word.rpartition(":")[2]}
    assert {word for word in tried if word.startswith("bcast")} == {"bcast:4:2:4096"}
    assert "bcast:4:2:8:" in probe.points, "unimportant keys are called once, with the library's choice"
    policy = read_learned(benchmark_file(record.path))
    assert [(k.collective, k.shape, k.start, k.end, k.candidate) for k in policy.keys] == [
        ("bcast", WORLD, 4096, 8192, GOOD),
        ("barrier", WORLD, 0, 1, LIBRARY),
    ]
    both = all_learned(record.path)
    assert both is not None
    assert condense(both).choose("bcast", WORLD, 64) == "library:binomial"
    assert condense(both).choose("bcast", WORLD, 5000) == GOOD
    result = event(record)
    assert result["calls"] == 2
    assert result["by_program"] == ["choose bcast 4 2 2 block * 64 128 library:binomial"]
    assert f"choose bcast 4 2 2 block * 4096 8192 {GOOD}" in result["by_benchmark"]
    assert origins(record.path) == [
        "of its kinds of collective calls 1 were decided in the program, 2 by a benchmark of them"
    ]


def test_the_fastest_candidate_of_the_programs_own_calls_is_tried_first(
    probe: Probe, record: TuneLog
) -> None:
    times = {LIBRARY: 1.0, "library:binomial": 3.0, GOOD: 0.5, "library:scatter_ring_allgather": 0.9}
    called = tuple(
        Measured(name, 1, seconds_each, seconds_each, seconds_each) for name, seconds_each in times.items()
    )
    write_learned(learned_file(record.path), learned(replace(key("bcast", 4096), candidates=called)))
    assert settle(record) == ""
    order = list(dict.fromkeys(word.rpartition(":")[2] for word in probe.points))
    assert order[:3] == ["", GOOD.removeprefix("library:"), "scatter_ring_allgather"]
    assert order[-1] == "binomial"
    assert len(order) > 5


def test_reductions_are_measured_where_rounding_may_change(probe: Probe, record: TuneLog) -> None:
    write_learned(learned_file(record.path), learned(key("allreduce", 8, 1000)))
    assert settle(record) == ""
    assert not probe.points
    assert settle(record, rounding=True) == ""
    assert {word.split(":")[0] for word in probe.points} == {"allreduce"}


def test_calls_of_unknown_size_are_measured_at_several_and_who_is_slower_at_one_is_not_chosen(
    probe: Probe, record: TuneLog
) -> None:
    probe.times = lambda word, algorithm: {
        ("alltoallv", "scattered"): 0.5,
        ("alltoallv", "nb"): 0.1 if not word.endswith(":64") else 1.5,
    }.get((word.partition(":")[0], algorithm), 1.0)
    write_learned(learned_file(record.path), learned(key("alltoallv", 0)))
    assert settle(record) == ""
    sizes = {word.split(":")[3] for word in probe.points}
    assert len(sizes) > 2
    (decided_key,) = read_learned(benchmark_file(record.path)).keys
    assert (decided_key.start, decided_key.end, decided_key.candidate) == (0, 1, "library:scattered")
    assert decided_key.gain == pytest.approx(2.0)


def test_a_nonblocking_collective_is_measured_as_such(probe: Probe, record: TuneLog) -> None:
    probe.times = lambda word, algorithm: 0.2 if algorithm == "tsp_tree" else 1.0
    write_learned(learned_file(record.path), learned(key("ibcast", 64)))
    assert settle(record) == ""
    (decided_key,) = read_learned(benchmark_file(record.path)).keys
    assert (decided_key.collective, decided_key.candidate) == ("ibcast", "library:tsp_tree")


def test_a_benchmark_that_was_interrupted_goes_on_and_one_that_is_done_stays(
    probe: Probe, record: TuneLog
) -> None:
    write_learned(learned_file(record.path), learned(key("bcast", 4096)))
    probe.stop_at = 4
    with pytest.raises(KeyboardInterrupt):
        settle(record)
    assert not benchmark_file(record.path).is_file()
    probe.stop_at = -1
    settle(record)
    assert read_learned(benchmark_file(record.path)).keys[0].candidate == GOOD
    explored = [word for word in probe.points if not word.endswith((":", GOOD.removeprefix("library:")))]
    assert len(explored) == len(set(explored)), "measured twice"
    calls = probe.calls
    assert settle(record) == ""
    assert probe.calls == calls


def test_a_candidate_that_hangs_is_excluded_and_reported(probe: Probe, record: TuneLog) -> None:
    write_learned(learned_file(record.path), learned(key("bcast", 4096)))
    probe.fails = lambda algorithm: algorithm == "binomial"
    assert settle(record) == ""
    assert read_learned(benchmark_file(record.path)).keys[0].candidate == GOOD
    assert "bcast library:binomial" in str(event(record)["failed"])


def test_without_time_or_with_a_benchmark_that_does_not_run_the_tune_goes_on(
    probe: Probe, record: TuneLog
) -> None:
    write_learned(learned_file(record.path), learned(key("bcast", 4096)))
    assert "budget" in settle(record, seconds=1.0)
    probe.fails = lambda algorithm: not algorithm
    assert "it hung" in settle(record)
    assert not benchmark_file(record.path).is_file()


def test_communicators_that_the_benchmark_cannot_make_are_left_out(probe: Probe, record: TuneLog) -> None:
    cyclic = replace(WORLD, order="cyclic")
    write_learned(learned_file(record.path), learned(key("bcast", 4096), key("bcast", 64, shape=cyclic)))
    settle(record)
    assert {k.shape for k in read_learned(benchmark_file(record.path)).keys} == {WORLD}


def test_a_tune_that_decided_all_by_itself_makes_none(probe: Probe, record: TuneLog) -> None:
    write_learned(learned_file(record.path), learned(replace(key("bcast", 64), decided=True)))
    assert settle(record) == ""
    assert (probe.calls, origins(record.path)) == (0, [])
    assert all_learned(record.path) is not None
