"""Submit jobs to Slurm and follow them, without accounting (sacct), which many clusters do not have.

A restarted or overloaded controller is waited for. A job that Slurm begins again, because a node went down
or it was preempted, is followed on. A job that Slurm has forgotten (MinJobAge, 300 s after its end) says so.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mpiric.host.host import Completed, Host
from mpiric.model.allocation import BatchJob, Stage
from mpiric.model.batch import NodeShape, ScriptCheck
from mpiric.model.errors import MismatchError, MpiricError, NotFoundError
from mpiric.schedulers import _slurm_words as words

_TIMEOUT_S = 30.0
_STEP_TIMEOUT_S = 120.0
_NO_CLUSTER = "could not establish a configuration source"  # the commands are here, slurm.conf is not


@dataclass(frozen=True)
class Patience:
    """How often to ask, and how long to wait for a controller that does not answer."""

    first_s: float = 1.0
    longest_s: float = 15.0  # a controller serves thousands of users
    controller_s: float = 1800.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


def submit(
    host: Host,
    script: str,
    options: Sequence[str] = (),
    patience: Patience | None = None,
    mark: str = "",
    arguments: Sequence[str] = (),
) -> str:
    """Submit a script with its arguments, also from within a job; returns the new job's id.

    ``mark``, a word of the caller's that no other job has, is kept as the job's comment: a submission whose
    answer was lost is found again by it instead of being made twice. Raises MpiricError with Slurm's reason.
    """
    patience = patience or Patience()
    given = [*options, *([f"--comment={mark}"] if mark else [])]
    for _ in _attempts(patience):
        done = host.run(
            ["sbatch", "--parsable", *given, script, *arguments],
            environment=_not_this_job(host),
            timeout_s=_TIMEOUT_S,
        )
        if done.status == 0 and (job := words.submitted(done.stdout)):
            return job
        if not _is_away(done):
            raise _refused("sbatch", done)
        if mark and (job := marked(host, mark, patience)):
            return job
        if not mark and "Unable to contact" not in done.stderr:
            raise MpiricError(
                "it is unknown whether the job was submitted: Slurm did not answer in time",
                hint="see squeue --me",
            )
    raise _no_controller(patience)


def look(host: Host, jobs: Sequence[str], patience: Patience | None = None) -> Mapping[str, BatchJob]:
    """How jobs are now; an element of an array is ``12_3``. Waits while the controller is away."""
    patience = patience or Patience()
    for _ in _attempts(patience):
        query = ["squeue", "--noheader", "--array", "--states=all", f"--format={words.QUEUE_FORMAT}"]
        done = host.run([*query, f"--jobs={','.join(jobs)}"], timeout_s=_TIMEOUT_S)
        if done.status == 0 or words.is_unknown_job(done.stderr):
            seen = words.queue(done.stdout)
            return {job: seen.get(job, BatchJob(job, Stage.FORGOTTEN)) for job in jobs}
        if not _is_away(done):
            raise _refused("squeue", done)
    raise _no_controller(patience)


def follow(host: Host, jobs: Sequence[str], patience: Patience | None = None) -> Iterator[BatchJob]:
    """Each job whenever something about it changes, until all of them are over."""
    patience = patience or Patience()
    last: dict[str, BatchJob] = {}
    pause = patience.first_s
    while True:
        open_jobs = [job for job in jobs if job not in last or not last[job].is_over]
        if not open_jobs:
            return
        changed = False
        for job, seen in look(host, open_jobs, patience).items():
            now = _in_full(host, seen, last.get(job), patience)
            if now != last.get(job):
                changed = True
                last[job] = now
                yield now
        pause = patience.first_s if changed else min(patience.longest_s, pause * 1.5)
        if not all(job in last and last[job].is_over for job in jobs):
            patience.sleep(pause)


def cancel(host: Host, jobs: Sequence[str]) -> None:
    """End jobs; those that have ended already do not matter."""
    host.run(["scancel", *jobs], timeout_s=_TIMEOUT_S)


def requeue(host: Host, job: str) -> bool:
    """Have a running job ended and begun again from its start; whether Slurm will."""
    return host.run(["scontrol", "requeue", job], timeout_s=_TIMEOUT_S).status == 0


@dataclass(frozen=True)
class Footing:
    """How an allocation stands."""

    lost: tuple[str, ...] = ()  # hosts that are down, or where no job step can be started any more
    waited_s: float = 0.0  # for Slurm to start a step of nothing


def footing(host: Host, job: str, names: Sequence[str], patience: Patience | None = None) -> Footing:
    """Look at the hosts of a running job by starting a step on all of them.

    Waits while the controller is away, or has just come back and lets steps wait (a minute, in 22.05), which
    says nothing about hosts.
    """
    patience = patience or Patience()
    began, late = patience.clock(), 0
    query = ["sinfo", "--noheader", "--Node", "--format=%N|%T", f"--nodes={','.join(names)}"]
    own = dict.fromkeys(name for name in host.environ if name.startswith(("SLURM_STEP", "SLURM_CPU")))
    for _ in _attempts(patience):
        asked = host.run(query, timeout_s=_TIMEOUT_S)
        if _is_away(asked):
            continue
        if down := words.unusable(asked.stdout):
            return Footing(down)
        tried = host.run(_empty_step(job, len(names)), environment=own, timeout_s=_STEP_TIMEOUT_S)
        late += tried.status == 124
        if tried.status == 0:
            return Footing(waited_s=patience.clock() - began)
        if late > 2:
            return Footing(tuple(names))
        if (lost := words.unreachable(tried.stderr, names)) or not _is_away(tried):
            return Footing(lost)
    raise _no_controller(patience)


def _empty_step(job: str, count: int) -> list[str]:
    step = ["srun", f"--jobid={job}", "--overlap", f"--nodes={count}", f"--ntasks={count}", "--mpi=none"]
    return [*step, "--ntasks-per-node=1", "--cpu-bind=none", "--input=none", "--quiet", "/bin/true"]


def check(host: Host, script: str) -> ScriptCheck | None:
    """What Slurm would do with a script; None when there is no Slurm here, or it does not answer."""
    if host.which("sbatch") is None:
        return None
    done = host.run(["sbatch", "--test-only", script], timeout_s=_TIMEOUT_S)
    return (
        None
        if _NO_CLUSTER in done.stderr.lower() or _is_away(done)
        else words.tested(done.status, done.stderr)
    )


def read_node_shapes(host: Host, partition: str = "") -> tuple[NodeShape, ...]:
    """Shapes of the nodes of a partition (the default one when none is named), the most frequent first."""
    if host.which("sinfo") is None:
        return ()
    query = ["sinfo", "--noheader", "--exact", "--format=%P|%D|%X|%Y|%Z"]
    done = host.run([*query, *([f"--partition={partition}"] if partition else [])], timeout_s=_TIMEOUT_S)
    lines = [line.partition("|") for line in done.stdout.splitlines()]
    chosen = [rest for name, _, rest in lines if partition or name.endswith("*")]
    return words.node_shapes("\n".join(chosen))


def read_features(host: Host, partition: str = "") -> Mapping[str, int]:
    """Features of nodes that can be used (``-C``), as sinfo writes them ("" for none) → how many have them.

    Of the default partition when none is named. Raises MpiricError when Slurm does not say.
    """
    query = ["sinfo", "--noheader", "--exact", "--responding", "--format=%P|%D|%b"]
    done = host.run([*query, *([f"--partition={partition}"] if partition else [])], timeout_s=_TIMEOUT_S)
    if done.status != 0:
        raise _refused("sinfo", done)
    found: dict[str, int] = {}
    for name, count, features in (
        line.split("|") for line in done.stdout.splitlines() if line.count("|") == 2
    ):
        if (partition or name.endswith("*")) and count.strip().isdigit():
            key = "" if features.strip() in ("(null)", "") else features.strip()
            found[key] = found.get(key, 0) + int(count)
    return found


def _in_full(host: Host, seen: BatchJob, before: BatchJob | None, patience: Patience) -> BatchJob:
    """With exit status and restarts, which squeue does not tell; asked only when the stage has changed."""
    if before is not None and (seen.stage, seen.word, seen.hosts) == (
        before.stage,
        before.word,
        before.hosts,
    ):
        return replace(seen, exit_status=before.exit_status, restarts=before.restarts)
    if seen.stage is Stage.FORGOTTEN:
        return replace(seen, restarts=before.restarts if before else 0)
    for _ in _attempts(patience):
        done = host.run(["scontrol", "--oneliner", "show", "job", seen.job], timeout_s=_TIMEOUT_S)
        details = words.job_details(done.stdout) if done.status == 0 else None
        if details is not None:
            return replace(details, job=seen.job)
        if not _is_away(done):
            return seen  # forgotten in between
    raise _no_controller(patience)


def most_elements(host: Host) -> int:
    """Of one array (``MaxArraySize``); Slurm's default where it does not say."""
    done = host.run(["scontrol", "show", "config"], timeout_s=_TIMEOUT_S)
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", done.stdout, re.MULTILINE)
    return int(found[1]) if found else 1001


def _not_this_job(host: Host) -> dict[str, None]:
    """What would make a job submitted from within another take itself for that one."""
    kept = ("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT")
    return dict.fromkeys(name for name in host.environ if name.startswith("SLURM_") and name not in kept)


def marked(host: Host, mark: str, patience: Patience | None = None) -> str:
    """The job that was submitted with this mark, "" when there is none that Slurm still knows."""
    patience = patience or Patience()
    for _ in _attempts(patience):
        done = host.run(
            ["squeue", "--noheader", "--me", "--states=all", "--format=%i|%k"], timeout_s=_TIMEOUT_S
        )
        if done.status == 0:
            found = (line.partition("|") for line in done.stdout.splitlines())
            return next((job.strip().partition("_")[0] for job, _, text in found if text.strip() == mark), "")
    return ""


def _attempts(patience: Patience) -> Iterator[None]:
    began = patience.clock()
    pause = patience.first_s
    while True:
        yield
        if patience.clock() - began > patience.controller_s:
            return
        patience.sleep(pause)
        pause = min(patience.longest_s, pause * 2)


def _is_away(done: Completed) -> bool:
    return done.status == 124 or (done.status != 0 and words.controller_is_away(done.stderr))


def _refused(command: str, done: Completed) -> MpiricError:
    if done.status == 127 or _NO_CLUSTER in done.stderr.lower():
        missing = "is not there" if done.status == 127 else "knows no cluster here"
        return NotFoundError(f"{command} {missing}", hint="run this on a login node of a Slurm cluster")
    said = words.tested(done.status, done.stderr).words
    fits = "`mpiric script` writes a script that fits"
    return MismatchError(
        f"{command} says: {said or 'nothing'}", hint=fits if command == "sbatch" else "see `scontrol ping`"
    )


def _no_controller(patience: Patience) -> MpiricError:
    minutes = patience.controller_s / 60
    return NotFoundError(
        f"Slurm's controller has not answered for {minutes:.0f} minutes", hint="see `scontrol ping`"
    )
