"""IBM Spectrum LSF: jobs submitted with bsub.

Sources: LSF Command Reference 10.1 (bsub, bjobs, bkill, brequeue, bhosts, lshosts, bparams); Configuration
Reference, "Environment variables set for job execution" and MAX_JOB_ARRAY_SIZE; "Job termination reasons".
Written from these manuals, and tested with a stand-in that follows them. Indices of an array begin at 1.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import inf

from mpiric.host.host import Host
from mpiric.model.amount import count_of, number_of
from mpiric.model.batch import AllocatedHost, Allocation, BatchJob, End, NodeShape, Stage
from mpiric.model.errors import MpiricError
from mpiric.schedulers._batch import COMMAND_TIMEOUT_S, BatchScheduler, arguments
from mpiric.schedulers._scheduler import JobRequest, SubmitSettings, clock_s

_STAGES = {
    **dict.fromkeys(("PEND", "PROV", "PSUSP", "WAIT"), Stage.WAITING),
    **dict.fromkeys(("RUN", "USUSP", "SSUSP", "UNKWN"), Stage.RUNNING),  # UNKWN: its host does not answer
}
_ENDS = {
    **dict.fromkeys(("TERM_OWNER", "TERM_FORCE_OWNER", "TERM_ADMIN", "TERM_FORCE_ADMIN"), End.CANCELLED),
    **dict.fromkeys(("TERM_RUNLIMIT", "TERM_DEADLINE", "TERM_WINDOW"), End.TIME_LIMIT),
    **dict.fromkeys(("TERM_MEMLIMIT", "TERM_SWAP"), End.MEMORY),
    **dict.fromkeys(("TERM_ZOMBIE", "TERM_RC_RECLAIM", "TERM_RC_TTL"), End.HOST_FAILED),
    **dict.fromkeys(("TERM_PREEMPT", "TERM_LOAD"), End.PREEMPTED),
}
_STATES = "jobid jobindex stat exec_host exit_code exit_reason pend_reason delimiter='|'"


class Lsf(BatchScheduler):
    """Commands of LSF."""

    name = "lsf"
    title = "LSF"
    submitter = "bsub"
    library_launcher = "mpirun"  # finds the hosts by LSB_* variables
    directive = "#BSUB"
    fixed_options = ("-r",)  # restarted if a host fails
    element_variable = '$(if [ "${LSB_JOBINDEX:-0}" -gt 0 ]; then echo $((LSB_JOBINDEX - 1)); fi)'
    time_pattern = r"\d+(:\d{1,2})?"
    time_hint = "30 are minutes; or 2:00 for hours:minutes"
    submitted_pattern = r"^Job <(\d+)>"
    marked_command = ("bjobs", "-a", "-noheader", "-o", "jobid", "-J", "{mark}")
    cancel_command = ("bkill",)
    requeue_command = ("brequeue",)
    limit_command = ("bparams", "-a")
    limit_pattern = r"MAX_JOB_ARRAY_SIZE\s*=\s*(\d+)"
    element_form = "{array}[{index}]"
    first_element = 1
    element_log = "%I"
    forms: Mapping[str, str] = {
        "name": "-J {}", "account": "-P {}", "partition": "-q {}", "time": "-W {}", "ranks": "-n {}",
        "ranks_per_node": '-R "span[ptile={}]"', "gpus_per_node": '-gpu "num={}"',
        "features": '-R "select[{}]"', "hosts": '-m "{}"', "exclusive": "-x",
    }  # fmt: skip
    fields: Mapping[str, str] = {
        "-J": "name", "-P": "account", "-q": "partition", "-W": "time", "-n": "ranks", "-x": "exclusive",
        "-m": "hosts", "-gpu": "gpus_per_node", "-R span": "ranks_per_node", "-R select": "features",
    }  # fmt: skip
    server_hint = "`lsid`"
    away = ("mbatchd", "not responding", "LSF is down", "still trying")
    unknown = ("is not found", "No matching job found")
    too_many = ("array", "limit")
    own_variables = "LSB_"
    kept_variables = ("LSB_DEFAULTQUEUE", "LSB_DEFAULTPROJECT")

    def recognise(self, host: Host) -> Allocation | None:
        """Read the hosts of the job; LSB_DJOB_HOSTFILE contains them if a variable would be too long."""
        job = host.environ.get("LSB_JOBID")
        if not job:
            return None
        slots = _slots(host.environ, host.read_text)
        if not slots:
            return None
        return Allocation(
            scheduler="lsf",
            job=job,
            hosts=tuple(AllocatedHost(name, count) for name, count in slots.items()),
            launch_words=("mpirun",),
            partition=host.environ.get("LSB_QUEUE", ""),
        )

    def values(self, request: JobRequest) -> Mapping[str, object]:
        """Return the number of ranks, and of ranks per host: LSF has no number of nodes."""
        ranks = request.ranks or request.nodes * max(1, request.ranks_per_node)
        per_host = request.ranks_per_node or (-(-ranks // request.nodes) if request.nodes else 0)
        values = {
            "ranks": ranks,
            "ranks_per_node": per_host,
            "features": request.features.replace(",", " && "),
            "hosts": request.hosts.replace(",", " "),
        }
        return {**super().values(request), **values}

    def key(self, option: str) -> frozenset[str]:
        """Return the fields that an option sets; ``-R`` has sections."""
        if not option.startswith("-R"):
            return super().key(option)
        return frozenset(self.fields.get(f"-R {name}", name) for name in re.findall(r"(\w+)\[", option))

    def submission(self, script: str, settings: SubmitSettings) -> list[str]:
        """Render bsub, which reads the lines of a script only from its standard input."""
        throttle = f"%{settings.at_once}" if 0 < settings.at_once < settings.elements else ""
        array = f"[1-{settings.elements}]{throttle}" if settings.elements else ""
        command = ["-J", f"{settings.mark or settings.name}{array}", "-o", f"{self.log(settings)}.lsf"]
        command += ["-w", f"ended({settings.after})"] if settings.after else []
        return ["sh", "-c", 'exec bsub "$@" < "$0"', script, *command, *arguments(settings.options)]

    def query(self, jobs: Sequence[str]) -> list[str]:
        """Render bjobs, ended jobs included."""
        return ["bjobs", "-a", "-noheader", "-o", _STATES, *jobs]

    def states(self, stdout: str) -> Mapping[str, BatchJob]:
        """Read the lines of bjobs."""
        lines = (line.split("|", 6) for line in stdout.splitlines() if line.count("|") >= 6)
        jobs = (_state(*("" if part.strip() == "-" else part.strip() for part in line)) for line in lines)
        return {job.job: job for job in jobs}

    def own_job(self, environment: Mapping[str, str]) -> str:
        """Return the id of this job, as ``12[3]`` in an array."""
        job, index = environment.get("LSB_JOBID", ""), environment.get("LSB_JOBINDEX", "0")
        return job if index == "0" else f"{job}[{index}]"

    def time_left_query(self, job: str) -> list[str]:
        """Render bjobs."""
        return ["bjobs", "-noheader", "-o", "time_left", job]

    def time_left(self, stdout: str) -> float | None:
        """Read ``hours:minutes L``, or ``-`` without a limit; a following X marks an estimate."""
        word = stdout.split()[0] if stdout.split() else ""
        return inf if word == "-" else clock_s(f"{word}:00")

    def health_query(self, names: Sequence[str]) -> list[str]:
        """Render bhosts."""
        return ["bhosts", "-w", *names]

    def unusable(self, stdout: str, names: Sequence[str]) -> tuple[str, ...]:
        """Read which hosts are down or unreachable for LSF."""
        pairs = (line.split()[:2] for line in stdout.splitlines() if len(line.split()) > 1)
        return tuple(name for name, word in pairs if name in names and word.startswith("un"))

    def node_shapes(self, host: Host, partition: str = "") -> tuple[NodeShape, ...]:  # noqa: ARG002
        """Read the cores of hosts (``ncpus``); lshosts does not print the number of sockets."""
        counts = Counter(count_of(node.get("ncpus", "")) for node in self._hosts(host))
        return tuple(NodeShape(1, cores) for cores, _ in counts.most_common() if cores)

    def node_types(self, host: Host, partition: str = "") -> Mapping[str, int]:  # noqa: ARG002
        """Read the boolean resources of hosts."""
        resources = (node.get("RESOURCES", "").strip("()").split() for node in self._hosts(host))
        return Counter(",".join(name for name in names if name != "mg") for names in resources)

    def idle_nodes(self, host: Host, partition: str = "") -> tuple[str, ...]:
        """Read the hosts in state ``ok`` without jobs; ``bqueues`` prints the hosts of a queue."""
        names: tuple[str, ...] = ()
        if partition:
            queue = host.run(["bqueues", "-o", "hosts", "-noheader", partition], timeout_s=COMMAND_TIMEOUT_S)
            if queue.status != 0:
                raise self.refused(queue, "bqueues")
            names = tuple(name.rstrip("/") for name in queue.stdout.split() if name != "all")
        done = host.run(["bhosts", "-w", *names], timeout_s=COMMAND_TIMEOUT_S)
        if done.status != 0:
            raise self.refused(done, "bhosts")
        heads, *lines = [line.split() for line in done.stdout.splitlines()] or [[]]
        rows = (dict(zip(heads, line, strict=False)) for line in lines)
        return tuple(
            row["HOST_NAME"] for row in rows if row.get("STATUS") == "ok" and row.get("NJOBS") == "0"
        )

    def _hosts(self, host: Host) -> list[dict[str, str]]:
        done = host.run(["lshosts", "-w"], timeout_s=COMMAND_TIMEOUT_S)
        if done.status != 0:
            raise self.refused(done, "lshosts")
        heads, *lines = [line.split(None, 8) for line in done.stdout.splitlines()] or [[]]
        return [dict(zip(heads, line, strict=False)) for line in lines]


def _state(job: str, index: str, word: str, hosts: str, code: str, why: str, pending: str) -> BatchJob:
    stage = _STAGES.get(word, Stage.ENDED)
    end = None
    if stage is Stage.ENDED:
        by_itself = End.COMPLETED if word == "DONE" else End.HOST_FAILED if word == "ZOMBI" else End.FAILED
        end = _ENDS.get(why.partition(":")[0], by_itself)
    return BatchJob(
        job if index in ("", "0") else f"{job}[{index}]",
        stage,
        word,
        end,
        why if stage is Stage.ENDED else pending,
        tuple(dict.fromkeys(part.rpartition("*")[2] for part in hosts.split(":") if part)),
        exit_status=number_of(code) if stage is Stage.ENDED else None,
    )


def _slots(environment: Mapping[str, str], read: Callable[[str], str | None]) -> Mapping[str, int]:
    fields = environment.get("LSB_MCPU_HOSTS", "").split()
    if fields:
        names, counts = fields[::2], fields[1::2]
        if len(names) != len(counts) or not all(map(count_of, counts)):
            raise MpiricError(
                f"LSB_MCPU_HOSTS cannot be read: {' '.join(fields)!r}", hint="it holds pairs: hostA 2 hostB 4"
            )
        return {name: int(count) for name, count in zip(names, counts, strict=True)}
    file = environment.get("LSB_DJOB_HOSTFILE", "")
    listed = (read(file) or "") if file else environment.get("LSB_HOSTS", "")
    return Counter(listed.split())


SCHEDULER = Lsf()
