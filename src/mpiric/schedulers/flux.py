"""Flux: jobs submitted with flux batch; each is an instance in which ``flux run`` starts ranks.

Sources: flux-batch(1), flux-jobs(1), flux-cancel(1), flux-resource(1), flux-environment(7) of flux-core 0.88,
and that version run with several brokers on one node. Flux has no job arrays: an array is a job for each
element, each of which begins when the one ``at_once`` before it is over.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mpiric.host.host import Host
from mpiric.model.amount import count_of, number_of
from mpiric.model.batch import (
    AllocatedHost,
    Allocation,
    BatchJob,
    BatchLayout,
    End,
    NodeShape,
    Stage,
    hosts_of,
)
from mpiric.model.errors import MpiricError
from mpiric.model.json_text import parse_json
from mpiric.model.machine import parse_pu_list
from mpiric.model.quoting import directive_value
from mpiric.schedulers._batch import COMMAND_TIMEOUT_S, BatchScheduler, arguments
from mpiric.schedulers._scheduler import ELEMENT_VARIABLE, JobRequest, Patience, SubmitSettings

_PARENT = "MPIRIC_FLUX_PARENT"  # variable in a job: URI of the instance to which it was submitted
_STAGES = {
    **dict.fromkeys(("NEW", "DEPEND", "PRIORITY", "SCHED"), Stage.WAITING),
    "RUN": Stage.RUNNING,
    "CLEANUP": Stage.ENDING,
}
_ENDS = {
    "COMPLETED": End.COMPLETED,
    "FAILED": End.FAILED,
    "CANCELED": End.CANCELLED,
    "TIMEOUT": End.TIME_LIMIT,
}
_EXCEPTIONS = {"node-failure": End.HOST_FAILED, "oom": End.MEMORY, "preempt": End.PREEMPTED}
_STATES = "{id.f58plain}|{status}|{nodelist}|{returncode}|{exception.type}|{exception.note}"


class Flux(BatchScheduler):
    """Commands of Flux."""

    name = "flux"
    title = "Flux"
    submitter = "flux"
    turn = -1  # an instance may run inside another scheduler's job
    installed_turn = 1  # there are other programs named flux
    directive = "# flux:"
    comments_beside = True
    shell_lines = (f'export {_PARENT}="$(flux getattr parent-uri)"',)
    element_variable = f"${{{ELEMENT_VARIABLE}-}}"
    time_pattern = r"\d+(\.\d+)?[smhd]?"
    time_hint = "30 are minutes; or 2h, or 90s"
    submitted_pattern = r"^([ƒf]\w+)$"
    marked_command = ("flux", "jobs", "-a", "-n", "-o", "{{name}}|{{id.f58plain}}")
    cancel_command = ("flux", "cancel")
    forms: Mapping[str, str] = {
        "name": "--job-name={}", "account": "--bank={}", "partition": "--queue={}", "time": "--time-limit={}",
        "nodes": "--nodes={}", "ranks": "--nslots={}", "cores_per_rank": "--cores-per-slot={}",
        "features": "--requires={}", "exclusive": "--exclusive",
    }  # fmt: skip
    fields: Mapping[str, str] = {
        "--job-name": "name", "--bank": "account", "-B": "account", "--queue": "partition", "-q": "partition",
        "--time-limit": "time", "-t": "time", "--nodes": "nodes", "-N": "nodes", "--nslots": "ranks",
        "-n": "ranks", "--cores-per-slot": "cores_per_rank", "-c": "cores_per_rank", "--requires": "features",
        "--exclusive": "exclusive", "-x": "exclusive",
    }  # fmt: skip
    server_hint = "`flux uptime`"
    away = ("Unable to connect to Flux", "Connection refused", "Connection reset", "Host is unreachable")
    unknown = ("unknown",)

    def recognise(self, host: Host) -> Allocation | None:
        """Query the instance of FLUX_URI."""
        if "FLUX_URI" not in host.environ:
            return None
        done = host.run(["flux", "kvs", "get", "resource.R"], timeout_s=COMMAND_TIMEOUT_S)
        hosts = _hosts(done.stdout) if done.status == 0 else {}
        if not hosts:
            raise MpiricError(
                f"the Flux instance {host.environ['FLUX_URI']} does not answer",
                hint="unset FLUX_URI if that instance has ended",
            )
        job = self.own_job(host.environ)
        allocated = tuple(AllocatedHost(name, cores, cores) for name, cores in hosts.items())
        return Allocation("flux", job, allocated, launch_words=("flux", "run"))

    def values(self, request: JobRequest) -> Mapping[str, object]:
        """Return the values: a slot is a rank; nodes can be exclusive only if their number is specified."""
        slots = request.ranks or request.nodes * request.ranks_per_node or int(not request.nodes)
        required = [*request.features.split(","), f"host:{request.hosts}" if request.hosts else ""]
        texts = {"features": directive_value(" and ".join(filter(None, required)))}
        return {**super().values(request), **texts, "ranks": slots, "exclusive": request.nodes}

    def time_text(self, minutes: int) -> str:
        """Render minutes."""
        return f"{minutes}m"

    def launch(
        self,
        layout: BatchLayout,
        shape: NodeShape,  # noqa: ARG002
        mpi: str,
        dialect: str = "",  # noqa: ARG002
    ) -> tuple[str, ...]:
        """Render flux run with each rank on separate cores."""
        pmi = (f"--setopt=pmi={mpi}",) if mpi else ()
        gpus_per_rank, remainder = divmod(layout.gpus_per_node, layout.ranks_per_node)
        if layout.gpus_per_node and remainder and _fills_nodes(layout):
            # Ranks share GPUs, or some GPUs are idle: options per node, which exclude options per task.
            per_node = (
                f"--tasks-per-node={layout.ranks_per_node}",
                f"--gpus-per-node={layout.gpus_per_node}",
            )
            gpus = f"--setopt=gpu-affinity=map:{';'.join(map(str, layout.gpu_of_rank))}"
            sizes = [f"--nodes={layout.nodes}", *per_node, "--exclusive", gpus]
        else:
            sizes = [
                f"--nodes={layout.nodes}",
                f"--ntasks={layout.ranks}",
                f"--cores-per-task={layout.cores_per_rank}",
            ]
            if gpus_per_rank and not remainder:
                sizes += [f"--gpus-per-task={gpus_per_rank}", "--setopt=gpu-affinity=per-task"]
        return ("flux", "run", *sizes, *pmi, "--setopt=cpu-affinity=per-task")

    def unbound(self, layout: BatchLayout, dialect: str) -> str:
        """Return a sentence if Flux cannot assign GPUs to the ranks of a partly filled node."""
        if layout.gpus_per_node % layout.ranks_per_node and not _fills_nodes(layout):
            return (
                f"Flux gives the ranks no GPUs: it takes one number of them for each rank or each node, and "
                f"{layout.ranks} ranks do not fill {layout.nodes} nodes evenly"
            )
        return super().unbound(layout, dialect)

    def submission(self, script: str, settings: SubmitSettings) -> list[str]:
        """Render flux batch for one job."""
        command = ["flux", "batch", f"--job-name={settings.mark or settings.name}"]
        command += [f"--output={self.log(settings)}.flux"]
        command += [f"--dependency=afterany:{job}" for job in settings.after.split(",") if job]
        return [*command, *arguments(settings.options), script]

    def submit(
        self, host: Host, script: str, settings: SubmitSettings, patience: Patience | None = None
    ) -> str:
        """Submit a job, or one per element; the id of an array is the list of their ids, with commas."""
        if not settings.elements:
            return super().submit(host, script, settings, patience)
        jobs: list[str] = []
        try:
            for element in range(settings.elements):
                before = (
                    jobs[element - settings.at_once] if 0 < settings.at_once <= element else settings.after
                )
                element_request = replace(
                    settings,
                    mark=f"{settings.mark}.{element}",
                    log=settings.log.replace("{element}", str(element)),
                    after=before,
                    elements=0,
                    environment={**settings.environment, ELEMENT_VARIABLE: str(element)},
                )
                jobs.append(self.submit(host, script, element_request, patience))
        except MpiricError:
            if jobs:
                self.cancel(host, jobs)
            raise
        return ",".join(jobs)

    def query(self, jobs: Sequence[str]) -> list[str]:
        """Render flux jobs for these ids, ended ones included."""
        return ["flux", "jobs", "-n", "-o", _STATES, *jobs]

    def states(self, stdout: str) -> Mapping[str, BatchJob]:
        """Read the lines of flux jobs."""
        lines = (line.split("|", 5) for line in stdout.splitlines() if line.count("|") >= 5)
        return {line[0]: _state(*line) for line in lines}

    def marked_job(self, stdout: str, mark: str) -> str:
        """Find the job, or the jobs of an array, whose marks end with the index of an element."""
        named = (line.partition("|")[::2] for line in stdout.splitlines())
        elements = [
            (name.removeprefix(mark), job)
            for name, job in named
            if re.fullmatch(rf"{re.escape(mark)}(\.\d+)?", name)
        ]
        return ",".join(job for _, job in sorted(elements, key=lambda element: number_of(element[0][1:])))

    def job_id(self, text: str) -> str:
        """Return the id in ASCII."""
        return text.replace("ƒ", "f")

    def elements(self, array: str, count: int) -> tuple[str, ...]:  # noqa: ARG002
        """Return the ids of an array."""
        return tuple(array.split(","))

    def own_job(self, environment: Mapping[str, str]) -> str:
        """Return the id of the job whose instance contains this process."""
        return self.job_id(environment.get("FLUX_ENCLOSING_ID", ""))

    def time_left_query(self, job: str) -> list[str]:  # noqa: ARG002
        """Render flux job timeleft, which reports on the enclosing job."""
        return ["flux", "job", "timeleft"]

    def time_left(self, stdout: str) -> float | None:
        """Read seconds; ``infinity`` without a limit."""
        try:
            return float(stdout)
        except ValueError:
            return None

    def health_query(self, names: Sequence[str]) -> list[str]:  # noqa: ARG002
        """Render flux resource for the nodes of this instance that are down."""
        return ["flux", "resource", "list", "-s", "down", "-n", "-o", "{nodelist}"]

    def unusable(self, stdout: str, names: Sequence[str]) -> tuple[str, ...]:
        """Read the lost hosts."""
        down = {name for line in stdout.split() for name in hosts_of(line)}
        return tuple(name for name in names if name in down)

    def command_environment(self, host: Host) -> dict[str, str | None]:
        """Select the instance to which a job of mpiric was submitted, because it contains mpiric's jobs."""
        parent = host.environ.get(_PARENT, "")
        return {"FLUX_URI": parent} if parent else {}

    def node_shapes(self, host: Host, partition: str = "") -> tuple[NodeShape, ...]:
        """Read the cores of nodes."""
        counts = Counter[int]()
        for nodes, cores, *_ in self._resources(host, "{nnodes} {ncores}", partition):
            counts[count_of(cores) // max(1, count_of(nodes))] += count_of(nodes)
        return tuple(NodeShape(1, cores) for cores, _ in counts.most_common() if cores)

    def node_types(self, host: Host, partition: str = "") -> Mapping[str, int]:
        """Read the properties of nodes (``--requires``)."""
        counts = Counter[str]()
        for nodes, *properties in self._resources(host, "{nnodes} {properties}", partition):
            counts[",".join(properties)] += count_of(nodes)
        return counts

    def idle_nodes(self, host: Host, partition: str = "") -> tuple[str, ...]:
        """Read the nodes all of whose cores are free."""
        names: dict[str, list[str]] = {}
        for state in ("free", "allocated"):
            lines = self._resources(host, "{nodelist}", partition, state)
            names[state] = [name for line in lines for nodes in line for name in hosts_of(nodes)]
        return tuple(name for name in names["free"] if name not in names["allocated"])

    def _resources(self, host: Host, form: str, queue: str, states: str = "all") -> list[list[str]]:
        of_queue = [f"--queue={queue}"] if queue else []
        command = ["flux", "resource", "list", "-s", states, "-n", *of_queue, "-o", form]
        done = host.run(command, timeout_s=COMMAND_TIMEOUT_S)
        if done.status != 0:
            raise self.refused(done, "flux resource")
        return [line.split() for line in done.stdout.splitlines() if line.strip()]


def _fills_nodes(layout: BatchLayout) -> bool:
    return layout.ranks == layout.nodes * layout.ranks_per_node


def _hosts(resources: str) -> dict[str, int]:
    """Return host → cores, from a resource set (RFC 20)."""
    try:
        execution = parse_json(resources)["execution"]
        names = [name for part in execution["nodelist"] for name in hosts_of(part)]
        cores = [
            len(parse_pu_list(entry["children"]["core"]))
            for entry in execution["R_lite"]
            for _ in parse_pu_list(entry["rank"])
        ]
    except (ValueError, KeyError, TypeError, AttributeError, MpiricError):
        return {}
    result: dict[str, int] = {}
    for name, count in zip(names, cores, strict=False):
        result[name] = result.get(name, 0) + count
    return result


def _state(job: str, word: str, hosts: str, code: str, exception: str, note: str) -> BatchJob:
    stage = _STAGES.get(word, Stage.ENDED)
    end = _ENDS.get(word) if stage is Stage.ENDED else None
    if end is End.FAILED:
        end = _EXCEPTIONS.get(exception, end)
    status = (
        number_of(code.removeprefix("-")) * (-1 if code[:1] == "-" else 1)
        if stage is Stage.ENDED and code
        else None
    )
    return BatchJob(
        job,
        stage,
        word,
        end,
        note,
        tuple(dict.fromkeys(hosts_of(hosts))) if hosts else (),
        exit_status=128 - status if status is not None and status < 0 else status,
    )


SCHEDULER = Flux()
