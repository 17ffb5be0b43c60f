"""Compare fat executables with native builds of the same code, and with GCC's and Clang's function clones.

Every variant of a fat program runs in turns with a plain program, built by the same compiler for that target
alone, and with the peers. The costs are start-up, size and compile time.
"""

import os
import random
import shutil
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks._kernels import CLONES, KERNELS, LARGE_CXX, MAIN, PRAGMA, TINY
from benchmarks._report import Result, options, run, tell
from benchmarks._statistics import best_of, ratio
from mpiric.build.driver import Driver
from mpiric.build.inspection import features_here
from mpiric.build.link import really_needed
from mpiric.host.toolchain import Toolchain
from mpiric.model.errors import NotFoundError, ProgramFailedError
from mpiric.statistics.confidence_sequence import centre

BASELINE = "x86_64"
TARGETS = ("x86_64_v2", "x86_64_v3", "x86_64_v4", "haswell", "skylake_avx512", "sapphirerapids")
COSTS = "costs"  # start-up and compile time
RUN_S = 0.02
GOAL = 0.98  # fraction of the native build's speed
ALLOWED_START_MS = 0.2
ALLOWED_COMPILE = 0.3  # plain compilations, on top of one for each variant


@dataclass(frozen=True)
class Build:
    """A program of a kernel; ``against`` is the program with which its speed is compared."""

    name: str
    argv: tuple[str, ...]
    against: str
    environment: Mapping[str, str]


def main() -> int:
    """Build the programs, run them in turns, print and save the results."""
    parser = options("fat", __doc__ or "")
    parser.add_argument("--rounds", type=int, default=121, help="number of rounds of each kernel")
    parser.add_argument("--only", choices=[*KERNELS, COSTS], action="append", help="run only these kernels")
    return run("fat", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Measure all kernels, then the costs."""
    rounds = 3 if arguments.quick else arguments.rounds
    toolchain = Toolchain(os.environ, len(os.sched_getaffinity(0)))
    rows: list[Mapping[str, object]] = []
    with TemporaryDirectory(prefix="mpiric-bench-") as name:
        place = Path(name)
        only = arguments.only or [*KERNELS, COSTS]
        for kernel in [name for name in KERNELS if name in only]:
            tell(f"{kernel}: building")
            builds, sizes = make(kernel, place, toolchain)
            steps = calibrated(builds[0])
            tell(f"{kernel}: {len(builds)} programs in {rounds} rounds")
            times = in_turns(builds, steps, rounds, random.Random(arguments.seed))
            rows.extend(rows_of(kernel, builds, times, sizes))
        start: Mapping[str, float] = {}
        compiling: Sequence[Mapping[str, object]] = ()
        if COSTS in only:
            tell("start-up and compile time")
            start = start_up(place, 50 if arguments.quick else 400)
            compiling = compile_times(place, 2 if arguments.quick else 7)
    columns = {
        "kernel": "kernel",
        "build": "build",
        "ms": "CPU ms",
        "against": "against",
        "speed": "speed of it",
        "interval": "95 %",
        "kib": "KiB",
    }
    facts = {"start_up": start, "compile": compiling}
    return Result(columns, rows, summary_of(rows, start, compiling), facts)


def in_turns(
    builds: Sequence[Build], steps: int, rounds: int, order: random.Random
) -> dict[str, list[float]]:
    """Return the CPU seconds of every build in each round, in random order, after one warm-up round.

    The programs have one thread and do no I/O, so CPU time excludes the load of other processes.
    """
    times: dict[str, list[float]] = {build.name: [] for build in builds}
    for count in range(rounds + 1):
        for build in order.sample(list(builds), len(builds)):
            seconds = cpu_seconds([*build.argv, str(steps)], {**os.environ, **build.environment})
            if count:
                times[build.name].append(seconds)
    return times


def cpu_seconds(argv: Sequence[str], environment: Mapping[str, str]) -> float:
    """Run a program to its end; ProgramFailedError when it fails."""
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(argv[0], list(argv), environment, file_actions=silent)
    _, status, used = os.wait4(child, 0)
    if status != 0:
        raise ProgramFailedError(f"{argv[0]} ends with status {status}")
    return used.ru_utime + used.ru_stime


def make(kernel: str, place: Path, toolchain: Toolchain) -> tuple[list[Build], dict[str, int]]:
    """Build the fat program for every target of this CPU, each native one, and the peers that compile."""
    language, text = KERNELS[kernel]
    source = place / f"{kernel}.{language}"
    source.write_text(MAIN % text if language == "c" else text)
    compiler, verb = ("gcc", "cc") if language == "c" else ("gfortran", "fc")
    if shutil.which(compiler) is None:
        raise NotFoundError(f"{compiler} is not installed", hint=f"apt-get install {compiler}")
    driver = Driver(["gcc"], toolchain)
    builds: list[Build] = []
    sizes: dict[str, int] = {}

    def built(command: Sequence[str], name: str) -> str:
        program = place / f"{kernel}.{len(sizes)}"
        compiled([*command, str(source), "-o", str(program)])
        sizes[name] = program.stat().st_size
        return str(program)

    natives: dict[str, str] = {}
    for target in (BASELINE, *TARGETS):
        flags = driver.target(target).flags
        program = built([compiler, "-O3", *flags], f"{target} alone")
        if runs_here(Path(program), driver.target(target).needs, toolchain):
            natives[target] = program
    fat = built([*mpiric(verb), compiler, "-O3", "--targets", ",".join(TARGETS)], "all targets")
    usual = built([*mpiric(verb), compiler, "-O3"], "fat")
    for target, program in natives.items():
        sizes[f"fat, {target}"] = sizes["all targets"]
        builds.append(Build(f"{target} alone", (program,), "", {}))
        builds.append(Build(f"fat, {target}", (fat,), f"{target} alone", {"MPIRIC_TARGET": target}))
    builds.append(Build("fat", (usual,), f"{BASELINE} alone", {}))  # default targets: four levels
    if language == "c":
        clones = built([compiler, "-O3", f"-DCLONES={CLONES}"], "GCC target_clones")
        builds.append(Build("GCC target_clones", (clones,), "fat", {}))
        source.write_text(MAIN % f"{PRAGMA}{text}#pragma clang attribute pop\n")
        if shutil.which("clang"):
            try:
                pragma = built(["clang", "-O3"], "Clang pragma")
                builds.append(Build("Clang pragma", (pragma,), "fat", {}))
            except ProgramFailedError as error:
                tell(f"{kernel}: Clang's pragma form: {error.message}")
    return builds, sizes


def mpiric(verb: str) -> list[str]:
    """Return the command of the compiler verb: the installed script, else the module."""
    script = Path(sys.executable).with_name(f"mpiric-{verb}")
    return [str(script)] if script.exists() else [sys.executable, "-m", "mpiric", verb]


def compiled(command: Sequence[str], jobs: int = 1) -> float:
    """Return the seconds of a compilation. Raises ProgramFailedError with the compiler's first line."""
    environment = {**os.environ, "MPIRIC_JOBS": str(jobs)}
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        first = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        raise ProgramFailedError(f"'{' '.join(command[:3])} …' does not compile: {first[:160]}")
    return time.perf_counter() - start


def runs_here(program: Path, allowed: Sequence[str], toolchain: Toolchain) -> bool:
    """Return whether this CPU has all features that the program's code uses."""
    have = features_here("x86_64") | {"fxsr", "lahf_lm", "prefetchw"}
    return have.issuperset(really_needed(program, allowed, "x86_64", "objdump", toolchain))


def calibrated(build: Build) -> int:
    """Return the number of steps with which the slowest build takes between `RUN_S` and twice that time.

    With short runs in many rounds, disturbances by other processes affect all builds alike.
    """
    steps = 1
    cpu_seconds([*build.argv, "1"], os.environ)  # the first run of a file is slow
    while cpu_seconds([*build.argv, str(steps)], os.environ) < RUN_S:
        steps *= 2
    return steps


def rows_of(
    kernel: str, builds: Sequence[Build], times: Mapping[str, Sequence[float]], sizes: Mapping[str, int]
) -> list[Mapping[str, object]]:
    """Return a row per build: median time, and speed relative to the compared build."""
    rows: list[Mapping[str, object]] = []
    for build in builds:
        speed = ratio(times[build.against], times[build.name]) if build.against else None
        rows.append(
            {
                "kernel": kernel,
                "build": build.name,
                "ms": 1e3 * centre(times[build.name]),
                "against": build.against or None,
                "speed": round(speed.middle, 4) if speed else None,
                "interval": speed.interval if speed else None,
                "kib": round(sizes[build.name] / 1024, 1),
            }
        )
    natives = {b.name: times[b.name] for b in builds if b.name.endswith(" alone")}
    best = best_of(natives)
    speed = ratio(times[best], times["fat"])
    rows.append(
        {
            "kernel": kernel,
            "build": "fat",
            "against": f"best: {best}",
            "speed": round(speed.middle, 4),
            "interval": speed.interval,
        }
    )
    return rows


def start_up(place: Path, repeats: int) -> dict[str, float]:
    """Return the ms from spawn to exit of an empty program: plain, fat, median of the differences."""
    source = place / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    programs = {"plain": place / "empty.plain", "fat": place / "empty.fat"}
    compiled(["gcc", "-O2", str(source), "-o", str(programs["plain"])])
    compiled([*mpiric("cc"), "gcc", "-O2", str(source), "-o", str(programs["fat"])])
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(repeats):
        for name in random.sample(list(programs), len(programs)):
            start = time.perf_counter()
            os.waitpid(os.posix_spawn(programs[name], [str(programs[name])], os.environ), 0)
            times[name].append(1e3 * (time.perf_counter() - start))
    added = [fat - plain for plain, fat in zip(times["plain"], times["fat"], strict=True)]
    return {
        **{name: round(centre(values), 4) for name, values in times.items()},
        "added": round(centre(added), 4),
    }


def compile_times(place: Path, repeats: int) -> list[dict[str, object]]:
    """Measure ``-c``: plain, and with four variants one after the other and on all CPUs.

    The lower bound is also measured: the same four compilations, each by the compiler itself.
    """
    sources = {"tiny.c": TINY, "dgemm.c": MAIN % KERNELS["dgemm"][1], "large.cc": LARGE_CXX}
    rows: list[dict[str, object]] = []
    object_file = str(place / "compiled.o")
    driver = Driver(["gcc"], Toolchain(os.environ, 1))
    for name, text in sources.items():
        source = place / name
        source.write_text(text)
        verb, compiler = ("cc", "gcc") if name.endswith(".c") else ("cxx", "g++")
        plain = [compiler, "-O3", "-c", str(source), "-o", object_file]
        fat = [*mpiric(verb), *plain, "--targets", "v2,v3,v4"]
        alone = [[*plain, *driver.target(target).flags] for target in (BASELINE, *TARGETS[:3])]
        ways = {
            "plain": ([plain], 1),
            "one at a time": ([fat], 1),
            "on all CPUs": ([fat], len(os.sched_getaffinity(0))),
            "by the compiler alone": (alone, 1),
        }
        times: dict[str, list[float]] = {way: [] for way in ways}
        compiled(fat)
        for _ in range(repeats if text is LARGE_CXX else 5 * repeats):
            for way in random.sample(list(ways), len(ways)):
                times[way].append(sum(compiled(command, ways[way][1]) for command in ways[way][0]))
        for way in list(ways)[1:]:
            cost = ratio(times[way], times["plain"])
            row = {
                "source": name,
                "how": way,
                "variants": 4,
                "plain_s": round(centre(times["plain"]), 3),
            }
            rows.append({**row, "times_plain": round(cost.middle, 2), "allowed": 4 + ALLOWED_COMPILE})
    return rows


def summary_of(
    rows: Sequence[Mapping[str, object]],
    start: Mapping[str, float],
    compiling: Sequence[Mapping[str, object]],
) -> str:
    """Return the summary: speed, start-up and compile time compared with the goals."""
    sentences: list[str] = []
    forced = [float(str(row["speed"])) for row in rows if str(row["build"]).startswith("fat, ")]
    below = [
        f"{row['kernel']} {row['build']}"
        for row in rows
        if str(row["build"]).startswith("fat, ") and float(str(row["speed"])) < GOAL
    ]
    if forced:
        speed = f"Speed of native builds: {min(forced):.3f} to {max(forced):.3f}, median {centre(forced):.3f}"
        sentences.append(
            speed + (f"; below {GOAL}: {', '.join(below)}." if below else f"; none below {GOAL}.")
        )
    if start:
        mark = "within" if start["added"] <= ALLOWED_START_MS else "above"
        sentences.append(f"Start-up: {start['added']:+.3f} ms, {mark} {ALLOWED_START_MS} ms.")
    took = [
        f"{row['source']} ({row['plain_s']} s plain) {row['times_plain']}× {row['how']}" for row in compiling
    ]
    if took:
        sentences.append(f"Compile time, of {4 + ALLOWED_COMPILE} allowed: {'; '.join(took)}.")
    return " ".join(sentences)


if __name__ == "__main__":
    sys.exit(main())
