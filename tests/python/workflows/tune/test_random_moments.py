"""A tune that ends at any moment (kill -9, Ctrl-C, full disk, lost node) continues to the same answer."""

import os
import re
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from tests.support.recorded_tune import RecordedTune
from tests.support.scripted_runner import FAILS, Behaviour, ScriptedRunner

from mpiric.lab.failures import LostAllocationError
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.tuning.store import Store, TuneSummary
from mpiric.workflows.tune import start

MAX_RUNS = 30
_BEFORE_THE_END = 0.95  # part of a tune in which a signal comes; the number of calls varies a little
ENDED, INTERRUPTED, REFUSED = 0, 130, 71  # exit statuses of the process of a tune


def new_tune(place: Path) -> RecordedTune:
    tune = RecordedTune(place)
    tune.runner.settings = {"binding": Behaviour(0.8)}
    return tune


def result_of(store: Path) -> TuneSummary:
    (tune,) = Store(store).tunes()
    return tune


def files_of(place: Path) -> set[str]:
    """Return the paths of all files of the tune and of its working directory, without numbers."""
    roots = (place / "work", result_of(place / "store").path)
    paths = [path.relative_to(root) for root in roots for path in root.rglob("*") if not path.is_dir()]
    return {re.sub(r"\d+", "N", str(path)) for path in paths}


class Undisturbed:
    """A complete tune: its answer, its files, and how many calls, bytes and runs it takes."""

    def __init__(self, place: Path) -> None:
        new_tune(place)(max_runs=MAX_RUNS)  # fills caches, so that the calls of the next one can be counted
        shutil.rmtree(place / "store")
        tune, self.calls = new_tune(place), 0

        def count(_frame: object, event: str, _argument: object) -> None:
            self.calls += event == "call"

        sys.setprofile(count)
        try:
            tune(max_runs=MAX_RUNS)
        finally:
            sys.setprofile(None)
        self.runs, self.files = len(tune.runner.launches), files_of(place)
        self.result = result_of(place / "store").result
        self.log_bytes = (result_of(place / "store").path / "events.jsonl").stat().st_size


@pytest.fixture(scope="module")
def undisturbed() -> Iterator[Undisturbed]:
    with tempfile.TemporaryDirectory() as place:
        yield Undisturbed(Path(place))


def raise_signal(number: signal.Signals) -> Callable[[RecordedTune, float, Undisturbed], None]:
    """Return a disturbance that raises a signal in the n-th call of any Python function."""

    def disturb(_tune: RecordedTune, moment: float, undisturbed: Undisturbed) -> None:
        remaining = int(_BEFORE_THE_END * moment * undisturbed.calls)

        def count(_frame: object, event: str, _argument: object) -> None:
            nonlocal remaining
            remaining -= event == "call"
            if remaining <= 0 and event == "call":
                sys.setprofile(None)
                signal.raise_signal(number)

        sys.setprofile(count)

    return disturb


def fill_the_disk(_tune: RecordedTune, moment: float, undisturbed: Undisturbed) -> None:
    """Let the log of the tune grow no further than to some size."""
    limit = int(moment * undisturbed.log_bytes)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def lose_a_node(tune: RecordedTune, moment: float, undisturbed: Undisturbed) -> None:
    """Let a run fail because a host of the allocation is gone."""
    tune.runner.nth = {1 + int(moment * undisturbed.runs): FAILS}

    class LostHost:
        def excuse(self, _stderr: Path) -> str:
            raise LostAllocationError("the allocation has lost n2")

        def leave(self) -> None:
            """Do nothing."""

    start.allocation_hosts = lambda _host: LostHost()  # type: ignore[assignment]


DISTURBANCES = {
    "kill -9": raise_signal(signal.SIGKILL),
    "Ctrl-C": raise_signal(signal.SIGINT),
    "full disk": fill_the_disk,
    "lost node": lose_a_node,
}
MOMENTS = [
    (name, Random(f"{name} {number}").random())
    for name, count in (("kill -9", 16), ("Ctrl-C", 16), ("full disk", 9), ("lost node", 9))
    for number in range(count)
]


def run_in_a_process(tune: RecordedTune, disturb: Callable[[], None]) -> int:
    """Run a tune in a child process; return its exit status, negative for a signal."""
    child = os.fork()
    if not child:
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            disturb()
            tune(max_runs=MAX_RUNS)
            status = ENDED
        except KeyboardInterrupt:
            status = INTERRUPTED
        except MpiricError:
            status = REFUSED
        finally:
            sys.setprofile(None)
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "moment"), MOMENTS)
def test_a_tune_that_ends_at_a_random_moment_continues_to_the_same_answer(
    name: str, moment: float, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    tune = new_tune(tmp_path)
    status = run_in_a_process(tune, lambda: DISTURBANCES[name](tune, moment, undisturbed))
    assert (
        status
        in {
            "kill -9": (-signal.SIGKILL,),
            "Ctrl-C": (INTERRUPTED, ENDED),
            "full disk": (REFUSED,),
            "lost node": (REFUSED,),
        }[name]
    )
    continued = RecordedTune(tmp_path, ScriptedRunner(settings=tune.runner.settings, ranks=tune.runner.ranks))
    try:
        continued(max_runs=MAX_RUNS, resume=True)
    except NotFoundError:  # it had not begun, or had ended already
        if not list((tmp_path / "store").glob("*/events.jsonl")):
            continued(max_runs=MAX_RUNS)
    tune_after = result_of(tmp_path / "store")
    assert tune_after.finished
    assert tune_after.damaged_lines <= 1
    for key in ("verdict", "configuration"):
        assert tune_after.result[key] == undisturbed.result[key]
    assert files_of(tmp_path) == undisturbed.files
