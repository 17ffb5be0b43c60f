"""Run one test of a suite with an MPI library, with or without the runtime, and return its outcome."""

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.conftest import clean_environment
from tests.support.oversubscription import OVERSUBSCRIBED
from tests.support.suites.testlists import Listed

from mpiric.host.installation.native import native_part
from mpiric.host.processes.execution import Runner, Workspace
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.job import Launch
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.run import Outcome
from mpiric.profile.read import read_record

PASSED = re.compile(r"^\s*(No [Ee]rrors|Test Skipped)\s*$", re.MULTILINE)

PASS, TOO_LONG = "status 0, no errors", "too long"

# Way → variables of the runtime; all ways write a record.
WAYS: dict[str, dict[str, str]] = {
    "profile": {},
    "everything": {"MPIRIC_CALL_SITES": "1", "MPIRIC_UNEXPECTED": "1", "MPIRIC_IMBALANCE": "1"},
    # Open MPI 4.1 allows a choice of algorithms only if this variable is set at its start.
    "rotate": {"MPIRIC_COLLECTIVES": "rotate", "OMPI_MCA_coll_tuned_use_dynamic_rules": "1"},
    "reorder": {},
    # No runtime, but a translation library.
    "translated": {},
    "there-and-back": {},
}
TRANSLATED = ("translated", "there-and-back")


def settings_of(way: str, runtime: str, record: str, ranks: int) -> dict[str, str]:
    """Return the variables of the ranks for a way; none for the way ""."""
    if not way:
        return {}
    preload = {"LD_PRELOAD": runtime, "MPIRIC_RECORD_DIR": record, "MPIRIC_MERGE": "tree"}
    order = {"MPIRIC_RANK_ORDER": random_order(Path(f"{record}.order"), ranks)} if way == "reorder" else {}
    return {**preload, **WAYS[way], **order}


def random_order(path: Path, ranks: int) -> str:
    """Return the path of a file with a random rank order that depends only on the number of ranks."""
    slots, drawn = list(range(ranks)), Random(ranks)
    while slots == sorted(slots) and ranks > 1:
        drawn.shuffle(slots)
    path.write_text("".join(f"{slot}\n" for slot in slots))
    return str(path)


@dataclass(frozen=True)
class Bench:
    """Environment of the listed programs: the MPI library, and the suite built for it."""

    mpi: MpiLibrary
    built: Path
    runner: Runner
    most_s: float
    settings: Mapping[str, str] = field(
        default_factory=dict
    )  # variables of runs with and without the runtime
    foreign: Path | None = None  # suite built for another ABI family
    stand_in: str = ""  # translation library for its calls

    def line(self, test: Listed, settings: Mapping[str, str]) -> tuple[str, ...]:
        """Return the launch line; the launcher passes the settings to the ranks and to spawned processes."""
        if self.mpi.implementation == "openmpi":
            handed = [word for name, value in settings.items() for word in ("-x", f"{name}={value}")]
        else:
            handed = [word for pair in settings.items() for word in ("-genv", *pair)]
        start = (self.mpi.launcher, *handed, *test.launcher_options, "-n", str(test.ranks))
        return (*start, f"./{test.program}", *test.arguments)

    def outcome(self, test: Listed, way: str) -> str:
        """Run a test and return its outcome."""
        translates = way in TRANSLATED
        preloaded = self.stand_in if translates else native_part("libmpiric.so", self.mpi.abi_families[0])
        with tempfile.TemporaryDirectory(prefix="mpiric-suite-") as scratch:
            record, out, err = (Path(scratch) / name for name in ("record", "out", "err"))
            directory = (self.foreign if translates and self.foreign else self.built) / test.directory
            added = (
                {"LD_PRELOAD": preloaded}
                if translates
                else settings_of(way, preloaded, str(record), test.ranks)
            )
            ended = self.runner.execute(
                Launch(self.line(test, added), str(directory)),
                {**environment_of(self.mpi), **self.settings, **dict(test.environment)},
                Workspace(directory, out, err),
                min(test.limit_s, self.most_s),
            )
            if ended.outcome is Outcome.TIMED_OUT:
                return TOO_LONG
            text = out.read_text(errors="replace") + err.read_text(errors="replace")
            passed, other_output = PASSED.search(text), PASSED.sub("", text, count=1).strip()
            findings = [passed.group(1).lower() if passed else "", "other output" if other_output else ""]
            parts = [f"status {ended.exit_status}", *filter(None, findings)]
            if passed and way and not translates and not is_readable(record):
                parts.append("no readable record")
            return ", ".join(parts)


def is_readable(record: Path) -> bool:
    """Return whether the record is complete, or missing because no rank called MPI."""
    try:
        read_record(record)
    except NotFoundError:
        return True
    except MpiricError:
        return False
    return True


def environment_of(mpi: MpiLibrary) -> dict[str, str]:
    """Return a clean environment in which only this library is found."""
    clean = clean_environment()
    paths = {"PATH": ":".join([*mpi.search_path, clean["PATH"]])}
    if mpi.library_path:
        paths["LD_LIBRARY_PATH"] = ":".join(mpi.library_path)
    return {**clean, **OVERSUBSCRIBED[mpi.implementation], **mpi.environment, **paths}
