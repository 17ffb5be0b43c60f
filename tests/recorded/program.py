"""Scripted MPI program: duration, output and end of a launch depend on its settings.

Times have seeded noise computed by additions only, so that they are equal on all machines and Pythons.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from tests.support.marks_files import INIT_S, doubles, marks_file
from tests.support.paces import key, key_pace, steps
from tests.support.records import WORLD, cell, file, record, sent
from tests.support.records import rank as recorded_rank

from mpiric.model.job import Launch
from mpiric.model.record import Record
from mpiric.model.run import Execution, Outcome
from mpiric.model.situation import RankSeen

PATH = "/usr/bin/lmp"
LIBRARIES = {
    "openmpi": ("/usr/lib/x86_64-linux-gnu/libmpi.so.40", "/lib/x86_64-linux-gnu/libc.so.6"),
    "mpich": ("/usr/lib/x86_64-linux-gnu/libmpich.so.12", "/lib/x86_64-linux-gnu/libc.so.6"),
}
OUTPUT = "energy -42.0625\n"
STEP = key("MPI_Allreduce", "lmp+0x48f2", ranks=2)
RECORDED_STEPS = 400  # steps that a recorded run makes before it is ended
SCRIPTED_RECORD = "scripted-record"  # file in a record directory that represents the program's record


@dataclass(frozen=True)
class Effect:
    """Effect of a setting on a run, or an event in a single run."""

    times: float = 1.0  # factor of the run time
    outcome: Outcome = Outcome.OK
    reason: str = ""
    stdout: str | None = None  # None: the program's usual output
    stderr: str = ""
    files: Mapping[str, str] = field(default_factory=dict)  # name → contents, in the working directory
    memory: float = 1.0  # factor of the peak memory
    start_s: float = 0.0  # seconds of start-up that are saved
    calls: int = 20  # MPI calls of each step
    result: float = 1.5  # result of the steps' MPI_Allreduce
    reaches_mark: bool = True


FAILS = Effect(0.1, Outcome.FAILED, "ended by signal 11", stderr="segmentation fault\n")
HANGS = Effect(1000.0)
INTERRUPTED = Effect(0.5, Outcome.INTERRUPTED, "stopped by the user")
OTHER_OUTPUT = Effect(stdout="energy -13.5000\n")


@dataclass
class Program:
    """The script.

    A key of ``effects`` is a knob, ``knob=text`` for values that contain this text, or several of them joined
    by ``+`` for settings that act together. Effects that match combine: times multiply, and the last effect
    that sets another field wins. ``runs`` adds an effect to single runs, by their number from 1.
    """

    effects: Mapping[str, Effect] = field(default_factory=dict)
    runs: Mapping[int, Effect] = field(default_factory=dict)
    wall_s: float = 10.0
    noise: float = 0.002  # standard deviation of the run time, relative
    drift: Callable[[int], float] = lambda number: 1.0  # factor of the run time by the number of the run
    output: Callable[[int], str] = lambda number: OUTPUT  # output by the number of the run
    files: Callable[[int], Mapping[str, str]] = lambda number: {}
    stderr: str = ""
    flaky: float = 0.0  # probability that a run fails, with any settings
    seed: int = 1
    library: str = "openmpi"
    rank_count: int = 2
    rss_peak_bytes: int = 1 << 30
    step_s: float | None = None  # seconds of a step; None for a program without steps
    varying_calls: bool = False  # whether the steps do different work in each run
    init_s: float = 0.5
    path: str = PATH  # path of the executable
    # Record of a recorded run, or a function of the factor of its time; None: an unreadable record.
    record: Record | Callable[[float], Record] | None = field(default_factory=lambda: usual_record())
    launches: list[Launch] = field(default_factory=list)

    def execute(
        self,
        clock: "Clock",
        launch: Launch,
        directory: Path,
        stdout_path: Path,
        stderr_path: Path,
        limit_s: float | None,
        early_end: Any = None,
    ) -> Execution:
        """Play one launch: write its output and files, advance the clock and return how it ended."""
        self.launches.append(launch)
        number = len(self.launches)
        random = Random(f"{self.seed} {number}")
        effect = self._effect(launch, number, random)
        # Added one by one: sum() of floats is another number from Python 3.12 on.
        spread = random.random() + random.random() + random.random() + random.random() - 2
        noise = 1 + self.noise * 1.7320508 * spread
        pace = effect.times * self.drift(number) * noise
        values = {setting.name: setting.value for setting in launch.settings}
        mark, record_to = values.get("MPIRIC_MARK", ""), values.get("MPIRIC_RECORD_DIR", "")
        last_step = 0
        wall_s = self.wall_s * pace
        output = self.output(number) if effect.stdout is None else effect.stdout
        named = int(mark.rpartition(",")[2]) if "," in mark else RECORDED_STEPS if record_to else 0
        if early_end is not None and self.step_s is not None and named * self.step_s < self.wall_s:
            last_step = named
        if last_step and self.step_s is not None:
            wall_s = self.init_s - effect.start_s + last_step * self.step_s * pace
            output = "".join(f"step {step} energy -1.5\n" for step in range(0, last_step, 100))
        wall_s = round(wall_s, 6)
        outcome, reason = effect.outcome, effect.reason
        if limit_s is not None and wall_s > limit_s:
            outcome, reason, wall_s = Outcome.TIMED_OUT, f"took longer than {limit_s:g} s", limit_s
        begun_s = clock.now_s
        stdout_path.write_text(output, encoding="utf-8")
        stderr_path.write_text(effect.stderr or self.stderr, encoding="utf-8")
        came_early = last_step > 0 and outcome is Outcome.OK and effect.reaches_mark
        if early_end is not None and not last_step:
            wall_s, came_early = self._until_due(clock, early_end, wall_s)
        clock.now_s = begun_s + wall_s + 0.1
        if record_to and self.record is not None:
            Path(record_to, SCRIPTED_RECORD).write_text(repr(round(pace, 6)))
        if "MPIRIC_MARK_OUT" in values and outcome is Outcome.OK:
            self._leave_marks(
                clock, Path(values["MPIRIC_MARK_OUT"]), begun_s, wall_s, mark, last_step, pace, effect, number
            )
        for name, text in {**self.files(number), **effect.files}.items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_text(text, encoding="utf-8")
        return Execution(
            outcome,
            wall_s,
            {Outcome.OK: 0, Outcome.FAILED: 1}.get(outcome, -15),
            reason,
            rss_peak_bytes=int(effect.memory * self.rss_peak_bytes),
            ranks=self.ranks(),
            started_ns=int(begun_s * 1e9) if last_step else 0,
            came_early=came_early,
        )

    def ranks(self) -> tuple[RankSeen, ...]:
        """Return the ranks as observed through /proc: free to run on both cores."""
        libraries = LIBRARIES[self.library]
        return tuple(
            RankSeen(
                number, self.path, (0, 1), 1, 5.0, 0.1, 500, 0, 10, 10, self.rss_peak_bytes, 0, libraries
            )
            for number in range(self.rank_count)
        )

    def _effect(self, launch: Launch, number: int, random: Random) -> Effect:
        effect = Effect()
        for keys, change in self.effects.items():
            if all(_is_set(launch, *part.partition("=")[::2]) for part in keys.split("+")):
                effect = _combined(effect, change)
        if self.flaky and random.random() < self.flaky:
            effect = _combined(
                effect, Effect(0.3, Outcome.FAILED, "ended with status 1", stderr="lost a packet\n")
            )
        if number in self.runs:
            effect = _combined(effect, self.runs[number])
        return effect

    @staticmethod
    def _until_due(clock: "Clock", early_end: Any, wall_s: float) -> tuple[float, bool]:
        """Let the time of a run pass in 500 parts, until its early end is due."""
        begun_s = clock.now_s
        for part in range(1, 501):
            clock.now_s = begun_s + part / 500 * wall_s
            if early_end.is_due():
                return round(clock.now_s - begun_s, 6), True
        return wall_s, False

    def _leave_marks(
        self,
        clock: "Clock",
        directory: Path,
        begun_s: float,
        wall_s: float,
        mark: str,
        last_step: int,
        pace: float,
        effect: Effect,
        number: int,
    ) -> None:
        start_s = self.init_s - effect.start_s
        begun_unix_s = clock.unix_s(begun_s) + start_s - INIT_S
        if not last_step or self.step_s is None:
            whole_s = wall_s - start_s
            step_s = (self.step_s or whole_s) * pace
            times = key_pace(STEP, steps(int(whole_s / step_s), step_s, step_s))
            marks_file(
                directory,
                world=1,
                state=2,
                begun_s=begun_unix_s,
                finalized_s=whole_s,
                times_s=times.times_s if "," in mark else (),
                stride=times.stride,
                has_tables=False,
            )
            return
        if not effect.reaches_mark:
            return
        for path in directory.glob("*.marks"):
            path.unlink()
        first, last = (int(step) for step in mark.rpartition(":")[2].split(","))
        step_s = self.step_s * pace
        times = key_pace(STEP, steps(last, step_s, step_s))
        calls = effect.calls + 2 * number if self.varying_calls else effect.calls
        for rank in range(self.rank_count):
            marks_file(
                directory,
                rank,
                begun_s=begun_unix_s,
                crossings=(
                    (first * step_s, first * calls, first << 10),
                    (last * step_s, last * calls, last << 10),
                ),
                times_s=times.times_s,
                stride=times.stride,
                results=(doubles(effect.result, results=last, digest=round(1000 * effect.result)),),
            )


@dataclass
class Clock:
    """Virtual time: it passes only while the program runs or somebody sleeps."""

    epoch_s: float = 1767600000.0  # 2026-01-05 08:00 UTC, at the monotonic time 0
    now_s: float = 1000.0

    def unix_s(self, monotonic_s: float | None = None) -> float:
        """Seconds since 1970 at a monotonic time, by default now."""
        return self.epoch_s + (self.now_s if monotonic_s is None else monotonic_s)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds


def usual_record() -> Record:
    """Record of two ranks that compute, exchange halos and reduce for ten seconds."""
    cells = (
        cell("MPI_Init", 1, 0, 0.2),
        cell("MPI_Send", 2000, 2000 << 13, 0.3, size_bin=14),
        cell("MPI_Recv", 2000, 2000 << 13, 0.5, size_bin=14, waited_s=0.2),
        cell("MPI_Allreduce", 4000, 4000 << 3, 1.2, size_bin=4, waited_s=0.4),
    )
    return record(
        *(
            recorded_rank(number, 9.8, *cells, peers=(sent(1 - number, 2000, 2000 << 13),))
            for number in (0, 1)
        )
    )


def writing_record(pace: float) -> Record:
    """Record of two ranks that write a checkpoint together through MPI-IO, half of their time."""
    cells = (cell("MPI_Init", 1, 0, 0.2), cell("MPI_Allreduce", 400, 400 << 3, 0.2, size_bin=4))
    output = file(
        "checkpoint.dat",
        interface="posix",
        processes=1,
        opens=1,
        writes=64,
        bytes_written=64 << 20,
        write_s=5.0 * pace,
        sequential=63,
    )
    return record(*(recorded_rank(number, 9.8 * pace, *cells, files=(output,)) for number in (0, 1)))


def traffic_record() -> Record:
    """Record of four ranks on two hosts, of which the first and the last talk to each other."""
    cells = (cell("MPI_Init", 1, 0, 0.2), cell("MPI_Send", 2000, 2000 << 16, 3.0, size_bin=17))
    world = replace(WORLD, size=4)
    partners = {0: 3, 3: 0, 1: 2, 2: 1}
    return record(
        *(
            recorded_rank(
                number,
                9.8,
                *cells,
                peers=(sent(partner, 2000, 2000 << 16),),
                communicators=(replace(world, rank=number),),
                facts={"host": f"n{1 + number // 2}", "affinity": str(number % 2)},
            )
            for number, partner in sorted(partners.items())
        )
    )


def stepping_record(step_s: float) -> Record:
    """Record of a program of equal steps, two ranks, ended after `RECORDED_STEPS`."""
    times = steps(RECORDED_STEPS, step_s, step_s)
    paces = (key_pace(STEP, times),)
    return record(*(recorded_rank(number, times[-1], pace=paces) for number in (0, 1)))


def _is_set(launch: Launch, knob: str, text: str) -> bool:
    return any(setting.knob == knob and text in setting.value for setting in launch.settings)


def _combined(first: Effect, second: Effect) -> Effect:
    usual = Effect()
    return replace(
        second,
        times=first.times * second.times,
        outcome=first.outcome if second.outcome is Outcome.OK else second.outcome,
        reason=second.reason or first.reason,
        stdout=first.stdout if second.stdout is None else second.stdout,
        stderr=second.stderr or first.stderr,
        files={**first.files, **second.files},
        memory=first.memory * second.memory,
        start_s=first.start_s + second.start_s,
        calls=first.calls if second.calls == usual.calls else second.calls,
        result=first.result if second.result == usual.result else second.result,
        reaches_mark=first.reaches_mark and second.reaches_mark,
    )
