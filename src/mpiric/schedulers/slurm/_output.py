"""Parsers of the output of sbatch, squeue, scontrol and sinfo.

Job states are listed in squeue(1), "JOB STATE CODES".
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from re import escape, findall, search

from mpiric.model.amount import count_of, number_of
from mpiric.model.batch import (
    AllocatedHost,
    Allocation,
    BatchJob,
    End,
    NodeShape,
    ScriptCheck,
    Stage,
    counts_of,
    hosts_of,
)
from mpiric.model.errors import MpiricError

QUEUE_FORMAT = "%i|%T|%r|%N"
MARKED_FORMAT = "%i|%k"
_WAITING = set("PENDING CONFIGURING REQUEUED REQUEUE_FED REQUEUE_HOLD SPECIAL_EXIT RESV_DEL_HOLD".split())
_RUNNING = {"RUNNING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING", "STAGE_OUT"}
_ENDS = {
    "COMPLETED": End.COMPLETED,
    "FAILED": End.FAILED,
    "CANCELLED": End.CANCELLED,
    "TIMEOUT": End.TIME_LIMIT,
    "DEADLINE": End.TIME_LIMIT,
    "OUT_OF_MEMORY": End.MEMORY,
    "NODE_FAIL": End.HOST_FAILED,
    "BOOT_FAIL": End.HOST_FAILED,
    "PREEMPTED": End.PREEMPTED,
}
AWAY = (
    "Unable to contact slurm controller",
    "Socket timed out",
    "Connection refused",
    "Connection reset",
    "slurmctld",
    "Zero Bytes were transmitted",
    "Transport endpoint",
    "Communication connection failure",
)
_FAILED = (
    "ode failure",
    "NODE FAILURE",
    "Unable to confirm allocation",
    "Cancelled pending",
    "Slurm is busy, step creation delayed",
)
_NO_STEP = re.compile(r"Unable to create step for job \S+: (.*)")
_WAITS = re.compile(r"\b[Jj]ob (\S+ )?step creation (temporarily|still) disabled")
_STARTED = "tep created for "
# Reasons of `_NO_STEP` caused by the options of srun, and therefore by the settings.
_BY_OPTIONS = ("More processors requested", "configuration is not available", "nvalid", "Memory required")


def blame(stderr: str) -> str:
    """Find the line in which srun reports that Slurm or a host failed, not the program; "" without one."""
    reason = ""
    for line in map(str.strip, stderr.splitlines()):
        if not line.startswith(("srun: ", "slurmstepd: ")):
            continue
        refused = _NO_STEP.search(line)
        if refused:
            reason = "" if any(text in refused[1] for text in _BY_OPTIONS) else reason or line
        elif _WAITS.search(line) or any(text in line for text in (*AWAY, *_FAILED)):
            reason = reason or line
        elif _STARTED in line and _WAITS.search(reason):
            reason = ""  # the job waited, and was started
    return reason


def steps(stdout: str) -> tuple[str, ...]:
    """Parse ``squeue --steps --format=%i``: numbered steps, without the job's own scripts."""
    lines = (line.strip() for line in stdout.splitlines())
    return tuple(line for line in lines if re.fullmatch(r"[\d_+]+\.\d+(\+\d+)?", line))


def unusable(stdout: str) -> tuple[str, ...]:
    """Parse ``sinfo --Node --format=%N|%T``: nodes that are down; ``*`` marks nodes that do not answer."""
    pairs = (line.strip().partition("|")[::2] for line in stdout.splitlines())
    return tuple(
        dict.fromkeys(name for name, word in pairs if word.startswith(("down", "fail")) or "*" in word)
    )


def unreachable(stderr: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the hosts in errors of srun: "Task launch … failed on node n3: …", "Node failure on n3"."""
    messages = " ".join(line for line in stderr.splitlines() if "on node" in line or "ode failure on" in line)
    return tuple(name for name in names if search(rf"\b{escape(name)}\b", messages))


def _state(job: str, word: str, reason: str, hosts: str) -> BatchJob:
    """Return a job from the fields printed by squeue and scontrol."""
    stage = Stage.ENDED
    if word in _WAITING:
        stage = Stage.WAITING
    elif word in _RUNNING:
        stage = Stage.RUNNING
    elif word == "COMPLETING":
        stage = Stage.ENDING
    hosts_of_job = hosts_of(hosts) if hosts and not hosts.startswith("(") else ()
    end = _ENDS.get(word) if stage is Stage.ENDED else None
    return BatchJob(job, stage, word, end, "" if reason == "None" else reason, hosts_of_job)


def marked(stdout: str, mark: str) -> str:
    """Parse squeue in MARKED_FORMAT: the job or array with a comment."""
    pairs = (line.partition("|") for line in stdout.splitlines())
    return next((job.strip().partition("_")[0] for job, _, text in pairs if text.strip() == mark), "")


def queue(stdout: str) -> dict[str, BatchJob]:
    """Parse squeue in QUEUE_FORMAT."""
    jobs = {}
    for line in stdout.splitlines():
        job, bar, fields = line.strip().partition("|")
        if not bar or fields.count("|") < 2:
            continue
        jobs[job] = _state(job, *fields.split("|", 2))
    return jobs


def job_details(stdout: str) -> BatchJob | None:
    """Parse ``scontrol --oneliner show job``, which includes exit status and restarts."""
    fields = dict(findall(r"(?:^|\s)([A-Za-z][\w/:]*)=(\S*)", stdout))
    word = fields.get("JobState", "")
    if not word:
        return None
    code, _, signal = fields.get("ExitCode", "0:0").partition(":")
    state = _state(fields.get("JobId", ""), word, fields.get("Reason", ""), fields.get("NodeList", ""))
    status = 128 + number_of(signal) if number_of(signal) else number_of(code, -1)
    is_over = state.stage is Stage.ENDED and status >= 0
    restarts = number_of(fields.get("Restarts", ""))
    return replace(state, exit_status=status if is_over else None, restarts=restarts)


def tested(status: int, stderr: str) -> ScriptCheck:
    """Parse the output of ``sbatch --test-only``, which is always on stderr."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    messages = [line.removeprefix("sbatch: ").removeprefix("error: ") for line in lines]
    return ScriptCheck(status == 0, "; ".join(dict.fromkeys(messages)))


def node_shapes(stdout: str) -> tuple[NodeShape, ...]:
    """Parse ``sinfo --format=%D|%X|%Y|%Z``: shapes of nodes, the most frequent first."""
    counts: dict[NodeShape, int] = {}
    for line in stdout.splitlines():
        numbers = [number_of(text) for text in findall(r"\d+", line)]
        if len(numbers) == 4 and all(numbers):
            shape = NodeShape(*numbers[1:])
            counts[shape] = counts.get(shape, 0) + numbers[0]
    return tuple(sorted(counts, key=lambda shape: -counts[shape]))


def plugins(text: str) -> tuple[str, ...]:
    """Parse ``srun --mpi=list``: one name per line, or all names after a colon."""
    names = []
    for line in text.splitlines():
        methods = line.removeprefix("srun:").strip().rpartition(":")[2].split()
        names += [word for word in methods if len(methods) == 1 or ":" in line]
    return tuple(dict.fromkeys(names))


def features(stdout: str, partition: str) -> Mapping[str, int]:
    """Parse ``sinfo --format=%P|%D|%b``: features of a partition's nodes → number of nodes."""
    result: dict[str, int] = {}
    for name, count, text in (line.split("|") for line in stdout.splitlines() if line.count("|") == 2):
        if (partition or name.endswith("*")) and number_of(count.strip(), -1) >= 0:
            key = "" if text.strip() in ("(null)", "") else text.strip()
            result[key] = result.get(key, 0) + number_of(count.strip())
    return result


def idle(stdout: str, partition: str) -> tuple[str, ...]:
    """Parse ``sinfo --Node --format=%P|%N|%T``: idle nodes of a partition."""
    lines = (line.strip().split("|") for line in stdout.splitlines() if line.count("|") == 2)
    chosen = (name for of, name, state in lines if (partition or of.endswith("*")) and state == "idle")
    return tuple(dict.fromkeys(chosen))


def recognise(environment: Mapping[str, str]) -> Allocation | None:
    """Return the allocation, None outside of one. Raises MpiricError for contradictory variables."""
    job = environment.get("SLURM_JOB_ID") or environment.get("SLURM_JOBID")
    names = environment.get("SLURM_JOB_NODELIST") or environment.get("SLURM_NODELIST")
    if not job or not names:
        return None
    hosts = hosts_of(names)
    cpus = _per_host(environment.get("SLURM_JOB_CPUS_PER_NODE", ""), len(hosts), "SLURM_JOB_CPUS_PER_NODE")
    per_rank = count_of(environment.get("SLURM_CPUS_PER_TASK", "")) or 1
    # In a step, the variable refers to the step, which may use fewer hosts than the job.
    in_step = "SLURM_STEP_ID" in environment and "SLURM_PROCID" in environment
    tasks = "" if in_step else environment.get("SLURM_TASKS_PER_NODE", "")
    slots = _per_host(tasks, len(hosts), "SLURM_TASKS_PER_NODE") or tuple(count // per_rank for count in cpus)
    return Allocation(
        scheduler="slurm",
        job=job,
        hosts=tuple(
            AllocatedHost(name, max(1, slots[at]) if slots else 1, cpus[at] if cpus else 0)
            for at, name in enumerate(hosts)
        ),
        launch_words=("srun",),
        cpus_per_rank=per_rank,
        partition=environment.get("SLURM_JOB_PARTITION", ""),
        restarts=count_of(environment.get("SLURM_RESTART_COUNT", "")),
    )


def _per_host(text: str, hosts: int, variable: str) -> tuple[int, ...]:
    counts = counts_of(text) if text else ()
    if counts and len(counts) != hosts:
        raise MpiricError(
            f"{variable}={text} has {len(counts)} hosts, but the allocation has {hosts}",
            hint="were SLURM_* variables of another job exported? Unset them, or start from a new shell",
        )
    return counts
