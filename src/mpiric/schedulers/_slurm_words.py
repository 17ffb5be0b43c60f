"""What sbatch, squeue and scontrol print, understood. Pure: text → model.

Job states are those of squeue(1), "JOB STATE CODES".
"""

from collections.abc import Sequence
from re import MULTILINE, escape, findall, search

from mpiric.model.allocation import BatchJob, Stage
from mpiric.model.batch import NodeShape, ScriptCheck
from mpiric.model.host_list import hosts_of

QUEUE_FORMAT = "%i|%T|%r|%N"
_WAITING = {
    "PENDING",
    "CONFIGURING",
    "REQUEUED",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "SPECIAL_EXIT",
    "RESV_DEL_HOLD",
}
_RUNNING = {"RUNNING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING", "STAGE_OUT"}
_AWAY = ("Unable to contact slurm controller", "Socket timed out", "Connection refused", "Connection reset")
_AWAY_TOO = (
    "slurmctld",
    "Zero Bytes were transmitted",
    "Transport endpoint",
    "Communication connection failure",
)
_FAILED = (
    "ode failure",
    "NODE FAILURE",
    "Job step creation temporarily disabled",
    "Unable to confirm allocation",
    "Communication connection failure",
)


def controller_is_away(stderr: str) -> bool:
    """Whether the controller, not the request, is the reason of a failure: being restarted, or overloaded."""
    return any(words in stderr for words in (*_AWAY, *_AWAY_TOO))


def blames_slurm(stderr: str) -> str:
    """The line in which srun says that Slurm or a host failed, not the program; "" when there is none."""
    lines = (line.strip() for line in stderr.splitlines() if line.startswith(("srun: ", "slurmstepd: ")))
    return next(
        (line for line in lines if any(words in line for words in (*_AWAY, *_AWAY_TOO, *_FAILED))), ""
    )


def unusable(stdout: str) -> tuple[str, ...]:
    """Lines of ``sinfo --Node --format=%N|%T``: nodes that are down; ``*`` marks one that does not answer."""
    pairs = (line.strip().partition("|")[::2] for line in stdout.splitlines())
    return tuple(
        dict.fromkeys(name for name, word in pairs if word.startswith(("down", "fail")) or "*" in word)
    )


def unreachable(stderr: str, names: Sequence[str]) -> tuple[str, ...]:
    """Hosts that srun complains about: "Task launch … failed on node n3: …", "Node failure on n3"."""
    said = " ".join(line for line in stderr.splitlines() if "on node" in line or "ode failure on" in line)
    return tuple(name for name in names if search(rf"\b{escape(name)}\b", said))


def is_unknown_job(stderr: str) -> bool:
    """Whether Slurm says that it does not know (any more) what it was asked about."""
    return "Invalid job id specified" in stderr


def stage_of(word: str) -> Stage:
    """From a state as squeue %T writes it."""
    if word in _WAITING:
        return Stage.WAITING
    if word in _RUNNING:
        return Stage.RUNNING
    return Stage.ENDING if word == "COMPLETING" else Stage.ENDED


def submitted(stdout: str) -> str:
    """Job id of ``sbatch --parsable``, which appends ``;cluster`` on federations; "" when there is none."""
    match = search(r"^(\d+)(?:;\S+)?$", stdout, MULTILINE)
    return match[1] if match else ""


def queue(stdout: str) -> dict[str, BatchJob]:
    """Lines of squeue in QUEUE_FORMAT."""
    jobs = {}
    for line in stdout.splitlines():
        job, bar, rest = line.strip().partition("|")
        if not bar or rest.count("|") < 2:
            continue
        word, reason, hosts = rest.split("|", 2)
        known = hosts_of(hosts) if hosts and not hosts.startswith("(") else ()
        jobs[job] = BatchJob(job, stage_of(word), word, "" if reason == "None" else reason, known)
    return jobs


def job_details(stdout: str) -> BatchJob | None:
    """``scontrol --oneliner show job``: exit status and restarts too."""
    fields = dict(findall(r"(?:^|\s)([A-Za-z][\w/:]*)=(\S*)", stdout))
    word = fields.get("JobState", "")
    if not word:
        return None
    code, _, signal = fields.get("ExitCode", "0:0").partition(":")
    stage = stage_of(word)
    hosts = fields.get("NodeList", "")
    reason = fields.get("Reason", "")
    return BatchJob(
        job=fields.get("JobId", ""),
        stage=stage,
        word=word,
        reason="" if reason == "None" else reason,
        hosts=hosts_of(hosts) if hosts and hosts != "(null)" else (),
        exit_status=None
        if stage is not Stage.ENDED
        else 128 + int(signal)
        if int(signal or 0)
        else int(code),
        restarts=int(fields.get("Restarts", "0")),
    )


def tested(status: int, stderr: str) -> ScriptCheck:
    """What ``sbatch --test-only`` says, on stderr either way."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    said = [line.removeprefix("sbatch: ").removeprefix("error: ") for line in lines]
    return ScriptCheck(status == 0, "; ".join(dict.fromkeys(said)))


def node_shapes(stdout: str) -> tuple[NodeShape, ...]:
    """Lines of ``sinfo --format=%D|%X|%Y|%Z``, the most frequent shape first."""
    counts: dict[NodeShape, int] = {}
    for line in stdout.splitlines():
        numbers = [int(text) for text in findall(r"\d+", line)]
        if len(numbers) == 4 and all(numbers):
            shape = NodeShape(*numbers[1:])
            counts[shape] = counts.get(shape, 0) + numbers[0]
    return tuple(sorted(counts, key=lambda shape: -counts[shape]))
