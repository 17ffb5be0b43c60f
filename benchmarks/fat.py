"""Fat executables against native builds of the same code, and against GCC's and Clang's function clones.

Every build runs interleaved with the others, so that a noisy machine is noisy for all. Prints one table and
writes one JSON: speed relative to the native build of each level, start-up cost, size, compile time.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

KERNELS = {
    "dgemm": """
#define N 256
static double a[N][N], b[N][N], c[N][N];
CLONES static void work(void) {
  for (int i = 0; i < N; i++) for (int k = 0; k < N; k++)
    for (int j = 0; j < N; j++) c[i][j] += a[i][k] * b[k][j];
}
static double result(void) { return c[17][23]; }
static void fill(void) {
  for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) { a[i][j] = i % 7; b[i][j] = j % 5; }
}
""",
    "stencil": """
#define N 1024
static float u[N][N], v[N][N];
CLONES static void work(void) {
  for (int i = 1; i < N - 1; i++) for (int j = 1; j < N - 1; j++)
    v[i][j] = 0.25f * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
  for (int i = 1; i < N - 1; i++) for (int j = 1; j < N - 1; j++) u[i][j] = v[i][j];
}
static double result(void) { return u[17][23]; }
static void fill(void) {
  for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) u[i][j] = (float)((i * j) % 11);
}
""",
    "inlined": """
#define N 4096
static double x[N], y[N];
static double weight(double v);
CLONES static void work(void) {
  for (int r = 0; r < 200; r++) for (int i = 0; i < N; i++) y[i] += weight(x[i]);
}
CLONES static double weight(double v) { return v * (1.0 + v * (0.5 + v * (0.25 + v * 0.125))); }
static double result(void) { return y[23]; }
static void fill(void) { for (int i = 0; i < N; i++) x[i] = 1e-3 * i; }
""",
}
MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifndef CLONES
#define CLONES
#endif
%s
int main(int count, char **words) {
  struct timespec s, e;
  int rounds = atoi(words[1]);
  fill();
  clock_gettime(CLOCK_MONOTONIC, &s);
  for (int i = 0; i < rounds; i++) work();
  clock_gettime(CLOCK_MONOTONIC, &e);
  printf("%%.9f %%.6g\\n", (double)(e.tv_sec - s.tv_sec) + 1e-9 * (double)(e.tv_nsec - s.tv_nsec), result());
  return 0;
}
"""
CLONES = '__attribute__((target_clones("default","arch=x86-64-v2","arch=x86-64-v3","arch=x86-64-v4")))'
PRAGMA = (
    '#pragma clang attribute push(__attribute__((target_clones("default","avx2"))), apply_to = function)\n'
)
LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")


@dataclass
class Build:
    """One way to build a kernel."""

    name: str
    program: Path
    seconds: float
    environment: dict[str, str]


def main() -> None:
    """Build, run interleaved, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--output", type=Path, default=Path("fat.json"))
    given = parser.parse_args()
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as place:
        for kernel, body in KERNELS.items():
            builds = make(Path(place), kernel, MAIN % body)
            times = measure(builds, given.repeats, given.rounds)
            rows.extend(summary(kernel, builds, times))
        start = start_up(Path(place), given.repeats * 10)
    print_table(rows, start)
    given.output.write_text(json.dumps({"kernels": rows, "start_up": start}, indent=2) + "\n")


def make(place: Path, kernel: str, text: str) -> list[Build]:
    """The fat build, forced and free, each native level, and the peers that compile."""
    source = place / f"{kernel}.c"
    source.write_text(text)
    builds: list[Build] = []
    mpiric = [sys.executable, "-m", "mpiric", "cc", "gcc"]
    fat = compiled("fat", [*mpiric, "-O3", str(source)], place / f"{kernel}.fat")
    if fat:
        builds.append(fat)
        builds += [
            Build(f"fat, {level}", fat.program, fat.seconds, {"MPIRIC_TARGET": level.replace("-", "_")})
            for level in runnable()
        ]
    for level in runnable():
        builds.append(
            compiled(
                level,
                ["gcc", "-O3", f"-march={level}", "-mtune=generic", str(source)],
                place / f"{kernel}.{level}",
            )
        )
    builds.append(
        compiled("native", ["gcc", "-O3", "-march=native", str(source)], place / f"{kernel}.native")
    )
    clones = ["gcc", "-O3", f"-DCLONES={CLONES}", str(source)]
    builds.append(compiled("GCC target_clones", clones, place / f"{kernel}.clones"))
    if shutil.which("clang"):
        pragma = place / f"{kernel}-pragma.c"
        pragma.write_text(PRAGMA + text + "#pragma clang attribute pop\n")
        builds.append(compiled("Clang pragma", ["clang", "-O3", str(pragma)], place / f"{kernel}.pragma"))
    return [build for build in builds if build]


def compiled(name: str, words: list[str], program: Path) -> Build | None:
    """Compile, timed; None with a word on stderr where the compiler refuses."""
    start = time.monotonic()
    done = subprocess.run([*words, "-o", str(program)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{name}: does not compile: {done.stderr.strip().splitlines()[0][:120]}", file=sys.stderr)
        return None
    return Build(name, program, time.monotonic() - start, {})


def runnable() -> list[str]:
    """Levels that this machine runs."""
    import archspec.cpu

    features = archspec.cpu.host().features
    return [level for level in LEVELS if archspec.cpu.TARGETS[level.replace("-", "_")].features <= features]


def measure(builds: list[Build], repeats: int, rounds: int) -> dict[str, list[float]]:
    """Seconds of every repeat of every build, in random order within each repeat."""
    times: dict[str, list[float]] = {build.name: [] for build in builds}
    for _ in range(repeats):
        for build in random.sample(builds, len(builds)):
            environment = {**os.environ, **build.environment}
            done = subprocess.run(
                [build.program, str(rounds)], capture_output=True, text=True, env=environment, check=True
            )
            times[build.name].append(float(done.stdout.split()[0]))
    return times


def summary(kernel: str, builds: list[Build], times: dict[str, list[float]]) -> list[dict[str, object]]:
    """Per build: median seconds, and for a fat one its ratio to the native build of the same level."""
    rows: list[dict[str, object]] = []
    for build in builds:
        peer = build.name.removeprefix("fat, ") if build.name.startswith("fat, ") else "native"
        ratios = [b / a for a, b in zip(times[build.name], times[peer], strict=True)] if peer in times else []
        rows.append(
            {
                "kernel": kernel,
                "build": build.name,
                "seconds": statistics.median(times[build.name]),
                "against": peer,
                "speed_ratio": statistics.median(ratios) if ratios else None,
                "bytes": build.program.stat().st_size,
                "compile_seconds": build.seconds,
            }
        )
    return rows


def start_up(place: Path, repeats: int) -> dict[str, float]:
    """Milliseconds an empty program takes, plain and fat, interleaved; the added cost is of medians."""
    source = place / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    plain = compiled("plain", ["gcc", "-O2", str(source)], place / "empty.plain")
    fat = compiled(
        "fat", [sys.executable, "-m", "mpiric", "cc", "gcc", "-O2", str(source)], place / "empty.fat"
    )
    times: dict[str, list[float]] = {"plain": [], "fat": []}
    for _ in range(repeats):
        for build in (b for b in (plain, fat) if b):
            start = time.perf_counter()
            subprocess.run([build.program], check=True)
            times[build.name].append(1e3 * (time.perf_counter() - start))
    medians = {name: statistics.median(values) for name, values in times.items()}
    return {**medians, "added": medians["fat"] - medians["plain"]}


def print_table(rows: list[dict[str, object]], start: dict[str, float]) -> None:
    """One table for people."""
    print(f"{'kernel':9} {'build':20} {'ms':>9} {'× of':>7} {'':12} {'KiB':>7} {'compile s':>9}")
    for row in rows:
        ratio = f"{row['speed_ratio']:.3f}" if row["speed_ratio"] else "-"
        milliseconds, size = 1e3 * float(str(row["seconds"])), int(str(row["bytes"])) / 1024
        print(
            f"{row['kernel']:9} {row['build']:20} {milliseconds:9.2f} {ratio:>7} {row['against']:12} "
            f"{size:7.1f} {row['compile_seconds']:9.2f}"
        )
    print(
        f"start-up: plain {start['plain']:.3f} ms, fat {start['fat']:.3f} ms, added {start['added']:.3f} ms"
    )


if __name__ == "__main__":
    main()
