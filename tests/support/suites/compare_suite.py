"""Runs a test suite of somebody else's with the runtime preloaded and, where it does not pass, without.

    python -m tests.support.suites.compare_suite unittest --runtime libmpiric.so -- mpiexec -n 2 python test/main.py -v
    python -m tests.support.suites.compare_suite testlists --mpi mpich-5.0.2 --way rotate BUILT --source SUITE coll io

The suites are brought and built by whoever runs this; nothing of them is kept here. `unittest` compares the status of each
test in the verbose output of Python's unittest. `testlists` runs what the lists of MPICH's tests name below the given
directories, each with its own number of ranks, arguments, environment and time limit. A run passes that ends with status 0,
prints "No Errors" and nothing else, and leaves a readable record; of any other, exit status and what it printed are
compared with those of a run without the runtime. What differs is run again: a difference stands when three further runs of
both sides show no outcome in common. Each result is a line of `--results`, and what is there is not run again, so that a run
cut short, by `--stop-after` or otherwise, goes on where it was; only what took too long runs again under a higher `--limit`.
Exit status 1 when something differs.
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

from tests.support.suites.suite_bench import PASS, TOO_LONG, TRANSLATED, WAYS, Bench, asked
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


def before_program(words: list[str], added: Mapping[str, str], outputs: str) -> list[str]:
    """The launch line with settings in front of the program, each rank's output in a file of its own."""
    at = next((i for i, word in enumerate(words) if "python" in Path(word).name), 0)
    settings = (f"{name}={value}" for name, value in added.items())
    apart = ("sh", "-c", f'exec "$@" > {shlex.quote(outputs)}/$$ 2>&1', "rank")
    return [*words[:at], *apart, "env", *settings, *words[at:]]


def unittest_results(
    words: list[str], added: Mapping[str, str], limit_s: float
) -> tuple[int, dict[str, str]]:
    """Exit status, and test → status. Several ranks run the same test: the worst status counts."""
    results: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="mpiric-suite-") as outputs:
        try:
            done = subprocess.run(
                before_program(words, added, outputs), stdout=subprocess.DEVNULL, timeout=limit_s
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
    """Outcomes of each test and way, on disk as they come."""

    def __init__(self, path: Path | None, limit_s: float) -> None:
        self.path = path
        self.limit_s = limit_s
        self.outcomes: dict[tuple[str, str], list[str]] = {}
        if path and path.exists():
            for line in path.read_text().splitlines():
                row = json.loads(line)
                if row["outcome"] != TOO_LONG or row["limit"] >= limit_s:
                    self.outcomes.setdefault((row["test"], row["way"]), []).append(row["outcome"])

    def of(self, test: Listed, way: str, least: int, run: Callable[[Listed, str], str]) -> list[str]:
        """Return at least so many outcomes, from the file as far as it has them."""
        known = self.outcomes.setdefault((test.name, way), [])
        while len(known) < least:
            begun = time.monotonic()
            outcome = run(test, way)
            known.append(outcome)
            row = {
                "test": test.name,
                "way": way,
                "outcome": outcome,
                "limit": self.limit_s,
                "seconds": round(time.monotonic() - begun, 2),
            }
            if self.path:
                with self.path.open("a") as file:
                    file.write(json.dumps(row) + "\n")
        return known


def in_turn(tests: Iterable[Listed]) -> list[Listed]:
    """Runs, each once: the first of every program before further ones of any, from all directories mixed.

    What is done when time runs out is a fair sample then.
    """
    seen: Counter[tuple[str, str]] = Counter()
    keyed = []
    for test in {test.name: test for test in tests}.values():
        program = test.directory, test.program
        keyed.append((seen[program], test))
        seen[program] += 1
    return [test for _, test in sorted(keyed, key=lambda pair: (pair[0], crc32(pair[1].name.encode())))]


def verdict(test: Listed, way: str, results: Results, run: Callable[[Listed, str], str]) -> str:
    """What the runtime does to a run: "passes", "the same" as without, "unsteady" or "differs"."""
    mine = results.of(test, way, 1, run)
    if set(mine) == {PASS}:
        return "passes"
    plain = results.of(test, "", 1, run)
    if set(plain) == set(mine):
        return "too long both ways" if TOO_LONG in plain else "the same"
    plain, mine = (results.of(test, each, 1 + REPEATS, run) for each in ("", way))
    return "unsteady" if set(plain) & set(mine) else "differs"


def verdicts(
    tests: list[Listed], way: str, results: Results, run: Callable[[Listed, str], str], until: float
) -> dict[Listed, str]:
    """The verdict of each test that its turn came to; those that take too long come last."""
    reached = []
    for test in tests:
        if time.monotonic() < until:
            results.of(test, way, 1, run)
            reached.append(test)
    reached.sort(key=lambda test: TOO_LONG in results.of(test, way, 1, run))
    return {test: verdict(test, way, results, run) for test in reached if time.monotonic() < until}


def stand_in_for(given: argparse.Namespace, mpi: MpiLibrary, place: Path) -> str:
    """The stand-in for programs of `--family`; of the way back, for the library's own by another family."""
    if given.way == "translated":
        return write_stand_in(place, AbiFamily(given.family), mpi)
    own = own_family(mpi)
    assert own is not None
    inner = write_stand_in(place / "inner", AbiFamily(given.family), mpi)
    behind = replace(mpi, library=inner, abi_families=(AbiFamily(given.family),))
    return write_stand_in(place / "outer", own, behind)


def compare_testlists(given: argparse.Namespace) -> tuple[list[str], str]:
    """Differences, and sentences with the numbers."""
    mpi = next((mpi for mpi in find_mpis(LocalHost()) if mpi.label == given.mpi), None)
    if mpi is None:
        raise NotFoundError(f"no MPI library {given.mpi!r} is here", hint="`mpiric mpi list` has the labels")
    built, source = given.built.resolve(), (given.source or given.built).resolve()
    lines = [
        test
        for directory in given.directories
        for test in read_testlists(built, source, directory, given.ranks)
    ]
    listed = in_turn(lines)
    absent = [test for test in listed if not os.access(built / test.directory / test.program, os.X_OK)]
    tests = [test for test in listed if test not in absent and not test.needs]
    results, until = Results(given.results, given.limit), time.monotonic() + given.stop_after
    with Runner() as runner, tempfile.TemporaryDirectory(prefix="mpiric-stand-in-") as place:
        stand_in = stand_in_for(given, mpi, Path(place)) if given.way in TRANSLATED else ""
        settings, foreign = dict(given.setting), given.foreign and given.foreign.resolve()
        run = Bench(mpi, built, runner, given.limit, settings, foreign, stand_in).outcome
        judged = verdicts(tests, given.way, results, run, until)

    def told(word: str) -> list[str]:
        return [
            f"{test.name}: {' | '.join(results.outcomes[test.name, ''])}; "
            f"{given.way}: {' | '.join(results.outcomes[test.name, given.way])}"
            for test in judged
            if judged[test] == word
        ]

    counts = ", ".join(f"{number} {word}" for word, number in Counter(judged.values()).most_common())
    programs = {(test.directory, test.program) for test in tests}
    needs = Counter(test.needs for test in listed if test.needs)
    return told("differs"), "\n".join(
        [
            f"{len(judged)} of {len(tests)} runs of {len(programs)} programs: {counts}",
            f"{len(lines)} lines; {len(lines) - len(listed)} are the same with at most {given.ranks} ranks; "
            f"{sum(test.fewer_ranks for test in tests)} run with fewer ranks than they ask for",
            *(f"{number} need {what}" for what, number in needs.items()),
            *(f"not built: {test.name}" for test in absent if not test.needs),
            *(f"~ {line}" for line in told("unsteady")),
            *(f"= {line}" for word in ("the same", "too long both ways") for line in told(word)),
        ]
    )


def compare_unittest(given: argparse.Namespace) -> tuple[list[str], str]:
    """Differences, and a sentence with the numbers.

    A suite that ends well needs a second run only of the tests that it skipped.
    """
    with tempfile.TemporaryDirectory(prefix="mpiric-suite-") as scratch:
        settings = asked(given.way, given.runtime, f"{scratch}/record", given.ranks)
        status, mine = unittest_results(given.words, settings, given.limit)
    doubtful = sorted(name for name, outcome in mine.items() if outcome != "ok")
    whole = status != 0 or not mine
    chosen = [] if whole else [word for name in doubtful for word in ("-k", name)]
    plain: dict[str, str] = {}
    plain_status = status
    if whole or doubtful:
        ended, plain = unittest_results([*given.words, *chosen], {}, given.limit)
        plain_status = ended if whole else status
    differing = [
        f"{name}: {plain.get(name, 'did not run')} without, {mine.get(name, 'did not run')} with"
        for name in (sorted(plain | mine) if whole else doubtful)
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
    """Run both ways, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--way", choices=list(WAYS), default="profile", help="what the runtime is asked to do"
    )
    unittest = kinds.add_parser("unittest", parents=[shared])
    unittest.add_argument("--runtime", required=True, help="the libmpiric.so of the library's ABI family")
    unittest.add_argument("--limit", type=float, default=1800.0, help="seconds of one run of the suite")
    unittest.add_argument("--ranks", type=int, default=2, help="ranks of the launch line, for `reorder`")
    unittest.add_argument("words", nargs="+", help="the launch line")
    lists = kinds.add_parser("testlists", parents=[shared])
    lists.add_argument("--mpi", required=True, help="label of the library, as `mpiric mpi list` prints it")
    lists.add_argument("--source", type=Path, help="the suite, when it was built elsewhere")
    lists.add_argument(
        "--setting",
        type=lambda text: text.split("=", 1),
        action="append",
        default=[],
        help="NAME=VALUE in the environment of all runs",
    )
    lists.add_argument("--foreign", type=Path, help="the suite built for `--family`, for `translated`")
    lists.add_argument("--family", choices=[each.value for each in AbiFamily], help="for `translated`")
    lists.add_argument("--results", type=Path, help="JSON Lines; what it holds is not run again")
    lists.add_argument("--ranks", type=int, default=8, help="most ranks of a run")
    lists.add_argument("--limit", type=float, default=60.0, help="most seconds of one program")
    lists.add_argument("--stop-after", type=float, default=float("inf"), help="seconds; go on by --results")
    lists.add_argument("built", type=Path, help="the suite, configured and built with that library")
    lists.add_argument("directories", nargs="+", help="directories of the suite")
    given = parser.parse_args()
    try:
        differing, summary = (compare_unittest if given.kind == "unittest" else compare_testlists)(given)
    except MpiricError as error:
        print(f"{error}\nhint: {error.hint}" if error.hint else error, file=sys.stderr)
        return 2
    for line in differing:
        print(line)
    print(summary, file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
