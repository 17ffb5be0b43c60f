"""Run another project's test suite with the runtime preloaded, and without it where a test does not pass.

    python -m tests.support.suites.compare_suite unittest --runtime libmpiric.so -- mpiexec -n 2 python test/main.py -v
    python -m tests.support.suites.compare_suite testlists --mpi mpich-5.0.2 --way rotate BUILT --source SUITE coll io

The caller provides the suite and builds it; this repository contains no part of it. `unittest` compares the status of each
test in the verbose output of Python's unittest. `testlists` runs the programs named by MPICH's test lists below the given
directories, each with the number of ranks, arguments, environment and time limit of the list. A run passes if it exits with
status 0, prints "No Errors" and nothing else, and leaves a readable record. Exit status and output of any other run are
compared with a run without the runtime. If they differ, both sides are repeated three times; the difference is reported if
no outcome occurs on both sides. Each result is a line of `--results` and is not measured again, so that an interrupted
comparison can be continued; only programs that took too long are repeated with a higher `--limit`.
The exit status is 1 if there is a difference.
"""  # noqa: E501

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from zlib import crc32

from tests.support.suites.suite_bench import PASS, TOO_LONG, TRANSLATED, WAYS, Bench, settings_of
from tests.support.suites.testlists import Listed, read_testlists

from mpiric.host.facts.local import LocalHost
from mpiric.host.installation.stand_ins import write_stand_in
from mpiric.host.processes.execution import Runner
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.translation import own_family
from mpiric.mpis import find_mpis

STATUS = re.compile(r"^(\S+) \(([\w.]+)\).*\.\.\. .*?(ok|FAIL|ERROR|skipped)", re.MULTILINE)
REPEATS = 3


def before_program(argv: list[str], added: Mapping[str, str], outputs: str) -> list[str]:
    """Return the launch line with settings in front of the program and a separate output file per rank."""
    at = next((i for i, word in enumerate(argv) if "python" in Path(word).name), 0)
    settings = (f"{name}={value}" for name, value in added.items())
    apart = ("sh", "-c", f'exec "$@" > {shlex.quote(outputs)}/$$ 2>&1', "rank")
    return [*argv[:at], *apart, "env", *settings, *argv[at:]]


def unittest_results(argv: list[str], added: Mapping[str, str], limit_s: float) -> tuple[int, dict[str, str]]:
    """Return the exit status, and test → status: the worst one if several ranks run the same test."""
    results: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="mpiric-suite-") as outputs:
        try:
            done = subprocess.run(
                before_program(argv, added, outputs), stdout=subprocess.DEVNULL, timeout=limit_s
            )
        except subprocess.TimeoutExpired:
            side = "with the runtime" if added else "without the runtime"
            raise MpiricError(
                f"the suite did not end within {limit_s:.0f} s {side}", hint="--limit"
            ) from None
        for output in Path(outputs).iterdir():
            for method, owner, status in STATUS.findall(output.read_text(errors="replace")):
                name = f"{owner.removesuffix(f'.{method}')}.{method}"
                results[name] = status if status in ("FAIL", "ERROR") else results.get(name, status)
    return done.returncode, results


class Results:
    """Outcomes of each test and way, written to a file at once."""

    def __init__(self, path: Path | None, limit_s: float) -> None:
        self.path = path
        self.limit_s = limit_s
        self.outcomes: dict[tuple[str, str], list[str]] = {}
        if path and path.exists():
            for line in path.read_text().splitlines():
                row = json.loads(line)
                if row["outcome"] != TOO_LONG or row["limit"] >= limit_s:
                    self.outcomes.setdefault((row["test"], row["way"]), []).append(row["outcome"])

    def of(self, test: Listed, way: str, count: int, run: Callable[[Listed, str], str]) -> list[str]:
        """Return at least ``count`` outcomes; missing ones are measured."""
        outcomes = self.outcomes.setdefault((test.name, way), [])
        while len(outcomes) < count:
            started = time.monotonic()
            outcome = run(test, way)
            outcomes.append(outcome)
            row = {
                "test": test.name,
                "way": way,
                "outcome": outcome,
                "limit": self.limit_s,
                "seconds": round(time.monotonic() - started, 2),
            }
            if self.path:
                with self.path.open("a") as file:
                    file.write(json.dumps(row) + "\n")
        return outcomes


def in_turn(tests: Iterable[Listed]) -> list[Listed]:
    """Return the distinct runs in random order, one run of each program first.

    Any prefix of this order is a fair sample if the time is limited.
    """
    runs_of: Counter[tuple[str, str]] = Counter()
    keyed = []
    for test in {test.name: test for test in tests}.values():
        program = test.directory, test.program
        keyed.append((runs_of[program], test))
        runs_of[program] += 1
    return [test for _, test in sorted(keyed, key=lambda pair: (pair[0], crc32(pair[1].name.encode())))]


def verdict(test: Listed, way: str, results: Results, run: Callable[[Listed, str], str]) -> str:
    """Return the effect of the runtime on a run: "passes", "the same" as without, "unsteady" or "differs"."""
    mine = results.of(test, way, 1, run)
    if set(mine) == {PASS}:
        return "passes"
    plain = results.of(test, "", 1, run)
    if set(plain) == set(mine):
        return "too long both ways" if TOO_LONG in plain else "the same"
    plain, mine = (results.of(test, side, 1 + REPEATS, run) for side in ("", way))
    return "unsteady" if set(plain) & set(mine) else "differs"


def verdicts(
    tests: list[Listed], way: str, results: Results, run: Callable[[Listed, str], str], until: float
) -> dict[Listed, str]:
    """Return the verdicts of the tests that fit into the time; tests that take too long are last."""
    reached = []
    for test in tests:
        if time.monotonic() < until:
            results.of(test, way, 1, run)
            reached.append(test)
    reached.sort(key=lambda test: TOO_LONG in results.of(test, way, 1, run))
    return {test: verdict(test, way, results, run) for test in reached if time.monotonic() < until}


def stand_in_for(options: argparse.Namespace, mpi: MpiLibrary, place: Path) -> str:
    """Return the translation library for programs of `--family`.

    For the way "there-and-back", calls are translated to another family and back to the library's own.
    """
    if options.way == "translated":
        return write_stand_in(place, AbiFamily(options.family), mpi)
    own_abi = own_family(mpi)
    assert own_abi is not None
    inner = write_stand_in(place / "inner", AbiFamily(options.family), mpi)
    behind = replace(mpi, library=inner, abi_families=(AbiFamily(options.family),))
    return write_stand_in(place / "outer", own_abi, behind)


def compare_testlists(options: argparse.Namespace) -> tuple[list[str], str]:
    """Return differences, and sentences with the numbers."""
    mpi = next((mpi for mpi in find_mpis(LocalHost()) if mpi.label == options.mpi), None)
    if mpi is None:
        raise NotFoundError(f"no MPI library {options.mpi!r}", hint="`mpiric mpi list` prints the labels")
    built, source = options.built.resolve(), (options.source or options.built).resolve()
    lines = [
        test
        for directory in options.directories
        for test in read_testlists(built, source, directory, options.ranks)
    ]
    listed = in_turn(lines)
    absent = [test for test in listed if not os.access(built / test.directory / test.program, os.X_OK)]
    tests = [test for test in listed if test not in absent and not test.needs]
    results, until = Results(options.results, options.limit), time.monotonic() + options.stop_after
    with Runner() as runner, tempfile.TemporaryDirectory(prefix="mpiric-stand-in-") as place:
        stand_in = stand_in_for(options, mpi, Path(place)) if options.way in TRANSLATED else ""
        settings = dict(options.setting)
        foreign = options.foreign and options.foreign.resolve()
        run = Bench(mpi, built, runner, options.limit, settings, foreign, stand_in).outcome
        judged = verdicts(tests, options.way, results, run, until)

    def lines_of(word: str) -> list[str]:
        return [
            f"{test.name}: {' | '.join(results.outcomes[test.name, ''])}; "
            f"{options.way}: {' | '.join(results.outcomes[test.name, options.way])}"
            for test in judged
            if judged[test] == word
        ]

    counts = ", ".join(f"{number} {word}" for word, number in Counter(judged.values()).most_common())
    programs = {(test.directory, test.program) for test in tests}
    needs = Counter(test.needs for test in listed if test.needs)
    return lines_of("differs"), "\n".join(
        [
            f"{len(judged)} of {len(tests)} runs of {len(programs)} programs: {counts}",
            f"{len(lines)} lines; {len(lines) - len(listed)} duplicates with at most {options.ranks} ranks; "
            f"{sum(test.fewer_ranks for test in tests)} run with fewer ranks than they ask for",
            *(f"{number} need {need}" for need, number in needs.items()),
            *(f"not built: {test.name}" for test in absent if not test.needs),
            *(f"~ {line}" for line in lines_of("unsteady")),
            *(f"= {line}" for word in ("the same", "too long both ways") for line in lines_of(word)),
        ]
    )


def compare_unittest(options: argparse.Namespace) -> tuple[list[str], str]:
    """Return differences, and a sentence with the numbers.

    If the suite passes, only the skipped tests are run again.
    """
    with tempfile.TemporaryDirectory(prefix="mpiric-suite-") as scratch:
        settings = settings_of(options.way, options.runtime, f"{scratch}/record", options.ranks)
        status, mine = unittest_results(options.words, settings, options.limit)
    doubtful = sorted(name for name, outcome in mine.items() if outcome != "ok")
    run_all = status != 0 or not mine
    chosen = [] if run_all else [word for name in doubtful for word in ("-k", name)]
    plain: dict[str, str] = {}
    plain_status = status
    if run_all or doubtful:
        ended, plain = unittest_results([*options.words, *chosen], {}, options.limit)
        plain_status = ended if run_all else status
    differing = [
        f"{name}: {plain.get(name, 'did not run')} without, {mine.get(name, 'did not run')} with"
        for name in (sorted(plain | mine) if run_all else doubtful)
        if plain.get(name) != mine.get(name)
    ]
    if not mine:
        differing.append("no test ran")
    if status != plain_status:
        differing.append(f"exit status: {plain_status} without, {status} with")
    counts = ", ".join(f"{number} {word}" for word, number in Counter(mine.values()).most_common())
    runs = f"{len(plain)} run without; {len(differing)} differ"
    return differing, f"{len(mine)} tests: {counts}; exit status {status}; {runs}"


def main() -> int:
    """Run the suite with and without the runtime and print the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--way", choices=list(WAYS), default="profile", help="configuration of the runtime")
    unittest = kinds.add_parser("unittest", parents=[shared])
    unittest.add_argument("--runtime", required=True, help="libmpiric.so of the ABI family of the library")
    unittest.add_argument(
        "--limit", type=float, default=1800.0, help="time limit of a run of the suite, in s"
    )
    unittest.add_argument(
        "--ranks", type=int, default=2, help="number of ranks of the launch line, for `reorder`"
    )
    unittest.add_argument("words", nargs="+", help="launch line of the suite")
    lists = kinds.add_parser("testlists", parents=[shared])
    lists.add_argument("--mpi", required=True, help="label of the library, as `mpiric mpi list` prints it")
    lists.add_argument("--source", type=Path, help="source directory of the suite, if it was built elsewhere")
    lists.add_argument(
        "--setting",
        type=lambda text: text.split("=", 1),
        action="append",
        default=[],
        help="NAME=VALUE in the environment of all runs",
    )
    lists.add_argument("--foreign", type=Path, help="suite built for `--family`, for `--way translated`")
    lists.add_argument(
        "--family",
        choices=[family.value for family in AbiFamily],
        help="ABI family that is translated, for `--way translated`",
    )
    lists.add_argument(
        "--results", type=Path, help="file of results in JSON Lines; they are not measured again"
    )
    lists.add_argument("--ranks", type=int, default=8, help="maximum number of ranks of a run")
    lists.add_argument("--limit", type=float, default=60.0, help="time limit of a program, in s")
    lists.add_argument(
        "--stop-after",
        type=float,
        default=float("inf"),
        help="stop after this time, in s; --results can continue",
    )
    lists.add_argument("built", type=Path, help="suite, configured and built with this library")
    lists.add_argument("directories", nargs="+", help="directories of the suite")
    options = parser.parse_args()
    try:
        differing, summary = (compare_unittest if options.kind == "unittest" else compare_testlists)(options)
    except MpiricError as error:
        print(f"{error}\nhint: {error.hint}" if error.hint else error, file=sys.stderr)
        return 2
    for line in differing:
        print(line)
    print(summary, file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
