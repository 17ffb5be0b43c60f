"""Measure a library's collectives over sizes, ranks and ranks a node, and write policies from it."""

import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from mpiric.host.files import is_directory
from mpiric.host.host import Host
from mpiric.model.policy import LearnedPolicy
from mpiric.tuning.policy import write_learned
from mpiric.tuning.policy.sampling import confirmed, learned_keys, winners
from mpiric.tuning.store.lock import Lock
from mpiric.workflows.policies.export import export_policy
from mpiric.workflows.policies.files import site_name
from mpiric.workflows.sweep.directory import LOCK, LOG, make_directory
from mpiric.workflows.sweep.explore import Say, measure
from mpiric.workflows.sweep.log import Log
from mpiric.workflows.sweep.plan import SweepPlan
from mpiric.workflows.sweep.shapes import shape_of

SITE_HINT = "only who may write there can do that; $MPIRIC_POLICIES names another directory"


@dataclass
class Swept:
    """What came of it."""

    learned: LearnedPolicy
    points: int
    launches: int
    elapsed_s: float
    words: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # candidate → why it was given up, ever


def sweep(plan: SweepPlan, host: Host, say: Say, tell: Say | None = None) -> Swept:
    """Measure until nothing more is worth it or the budget is spent; Ctrl-C keeps what there is.

    ``say`` is for what the next sentence may replace, ``tell`` for what shall stay.
    """
    make_directory(plan.request.directory)
    lock = Lock.take(plan.request.directory / LOCK)
    try:
        return _sweep(plan, host, say, tell or say)
    finally:
        lock.release()


def _sweep(plan: SweepPlan, host: Host, say: Say, tell: Say) -> Swept:
    begun = time.monotonic()
    request = plan.request
    log = Log(request.directory / LOG, plan, resume=request.resume)
    effort = measure(plan, host, log, say, tell)
    left_open = set(winners(log.measured)) - log.fresh.keys()
    learned = LearnedPolicy(
        implementation=plan.mpi.implementation,
        version=plan.mpi.version,
        world=shape_of(plan.nodes),
        keys=learned_keys(confirmed(log.measured, log.fresh), plan.sizes, left_open),
        written=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine={"launch": " ".join(request.argv)},
        collective_s=sum(times.calls * times.median_s for times in log.measured.values()),
    )
    words = export_policy(learned, request.directory, host)
    if left_open:
        words.append("gains that are not confirmed yet are left open: go on with --resume")
    if log.excluded:
        words.append(
            "what was given up is chosen nowhere, and left out by --resume; a new sweep tries it again"
        )
    return Swept(learned, effort.points, effort.launches, time.monotonic() - begun, words, log.excluded)


def for_site(learned: LearnedPolicy, directory: Path, host: Host) -> list[str]:
    """The policy where everybody's `mpiric run` looks, and what goes with it in a directory of this MPI."""
    path = directory / site_name(learned.implementation, learned.version)
    beside = path.with_name(path.name.partition(".")[0])
    everybody = replace(learned, machine={})
    words = export_policy(everybody, beside, host)
    write_learned(path, everybody)
    for file in (directory, beside, path, *beside.iterdir()):  # root's umask may hide files from users
        file.chmod(0o755 if is_directory(file) else 0o644)
    return [f"wrote {path}, which everybody's `mpiric run` obeys", *words]
