"""Runs a test suite of somebody else's with the runtime preloaded and without, and lists each difference.

    python tests/system/compare_suite.py unittest --runtime libmpiric.so -- mpiexec -n 2 python test/main.py -v
    python tests/system/compare_suite.py programs --runtime libmpiric.so -- mpiexec -n 4 BUILT_TESTS_DIR

The suites are brought and built by whoever runs this; nothing of them is kept here. `unittest` compares the status of each
test in the verbose output of Python's unittest; `programs` runs every executable file below a directory and compares
exit status and whether it printed "No Errors", as MPICH's tests do. Exit status 1 when something differs.
"""  # noqa: E501

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

STATUS = re.compile(r"^(\S+ \([\w.]+\)).*\.\.\. .*?(ok|FAIL|ERROR|skipped)", re.MULTILINE)


def environment(runtime: str, record: str) -> dict[str, str]:
    """What is added for the preloaded run; `env` hands it to the ranks alone."""
    return {"LD_PRELOAD": runtime, "MPIRIC_RECORD_DIR": record, "MPIRIC_MERGE": "tree"} if runtime else {}


def before_program(words: list[str], added: dict[str, str]) -> list[str]:
    """The launch line with `env NAME=VALUE…` in front of the program; the launcher stays untouched."""
    at = next((i for i, word in enumerate(words) if "python" in Path(word).name), 0)
    return [*words[:at], "env", *(f"{name}={value}" for name, value in added.items()), *words[at:]]


def unittest_results(words: list[str], added: dict[str, str], limit_s: float) -> dict[str, str]:
    """Test → status. Several ranks print the same test: the worst status counts."""
    done = subprocess.run(before_program(words, added), capture_output=True, text=True, timeout=limit_s)
    results: dict[str, str] = {}
    for name, status in STATUS.findall(done.stdout + done.stderr):
        results[name] = status if status in ("FAIL", "ERROR") else results.get(name, status)
    return results


def program_results(words: list[str], added: dict[str, str], limit_s: float) -> dict[str, str]:
    """Program → what came of it."""
    *launch, directory = words
    results = {}
    for program in sorted(
        path for path in Path(directory).rglob("*") if path.is_file() and os.access(path, os.X_OK)
    ):
        with program.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        line = [*launch, "env", *(f"{name}={value}" for name, value in added.items()), str(program)]
        try:
            done = subprocess.run(line, capture_output=True, text=True, timeout=limit_s, cwd=program.parent)
            passed = "No Errors" in done.stdout or "No errors" in done.stdout
            results[str(program)] = f"status {done.returncode}, {'passed' if passed else 'not passed'}"
        except subprocess.TimeoutExpired:
            results[str(program)] = "too long"
    return results


def main() -> int:
    """Run both ways, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", choices=["unittest", "programs"])
    parser.add_argument("--runtime", required=True, help="the libmpiric.so of the library's ABI family")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds of one run")
    parser.add_argument(
        "words", nargs="+", help="the launch line; for programs, the directory instead of a program"
    )
    given = parser.parse_args()
    results = unittest_results if given.kind == "unittest" else program_results
    with tempfile.TemporaryDirectory(prefix="mpiric-suite-") as record:
        plain = results(given.words, {}, given.limit)
        with_runtime = results(given.words, environment(given.runtime, record), given.limit)
    differing = [name for name in sorted(plain | with_runtime) if plain.get(name) != with_runtime.get(name)]
    for name in differing:
        print(
            f"{name}: {plain.get(name, 'did not run')} without, {with_runtime.get(name, 'did not run')} with"
        )
    print(f"{len(plain)} without, {len(with_runtime)} with, {len(differing)} differ", file=sys.stderr)
    return 1 if differing or not plain else 0


if __name__ == "__main__":
    sys.exit(main())
