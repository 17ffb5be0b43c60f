"""PBS Professional and OpenPBS: jobs submitted with qsub. Torque's allocations are recognised too.

Sources: qsub(1B), qstat(1B), qrerun(1B), qselect(1B), pbs_job_attributes(7B) of OpenPBS 23; PBS Professional
User's Guide, "The Machine File" and "Job Exit Status Codes". Written from these manuals, and tested with a
stand-in that follows them. An ended job is known while the server keeps a job history.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mpiric.host.host import Host
from mpiric.model.amount import count_of
from mpiric.model.batch import AllocatedHost, Allocation, BatchJob, End, NodeShape, Stage
from mpiric.model.errors import MpiricError
from mpiric.schedulers._batch import COMMAND_TIMEOUT_S, BatchScheduler, arguments
from mpiric.schedulers._scheduler import JobRequest, SubmitSettings, clock_s

_STAGES = {**dict.fromkeys("QHTWM", Stage.WAITING), **dict.fromkeys("RBSU", Stage.RUNNING), "E": Stage.ENDING}
_DELETED = "91"  # substate of a job that was deleted
_ENDS = {-26: End.MEMORY, -27: End.MEMORY, -29: End.TIME_LIMIT}  # exit status; others below 0: PBS or a host
_SIGNALLED = 256  # added to the number of a signal that ended a job
_DOWN = {"down", "stale", "state-unknown", "unresolvable"}
_PLAIN = {"arch", "host", "vnode", "mem", "vmem", "ncpus"}  # resources that every node has


class Pbs(BatchScheduler):
    """Commands of PBS."""

    name = "pbs"
    title = "PBS"
    submitter = "qsub"
    library_launcher = "mpiexec"  # finds the hosts by PBS_NODEFILE
    directive = "#PBS"
    fixed_options = ("-V", "-r y", "-j oe")
    element_variable = "${PBS_ARRAY_INDEX-}"
    time_pattern = r"\d+|\d+(:\d{1,2}){1,2}"
    time_hint = "30 are seconds; or 2:00:00"
    submitted_pattern = r"^(\d+(?:\[\])?\S*)$"
    marked_command = ("qselect", "-x", "-N", "{mark}")
    cancel_command = ("qdel",)
    end_words = ("PBS: job killed",)
    requeue_command = ("qrerun",)  # restricted to operators and managers
    limit_command = ("qstat", "-B", "-f")
    limit_pattern = r"^\s*max_array_size = (\d+)"
    array_limit_by_default = 10000
    element_log = "^array_index^"
    forms: Mapping[str, str] = {
        "name": "-N {}", "account": "-A {}", "partition": "-q {}", "time": "-l walltime={}",
        "select": "-l select={}", "exclusive": "-l place={}",
    }  # fmt: skip
    fields: Mapping[str, str] = {
        "-N": "name", "-A": "account", "-P": "account", "-q": "partition", "walltime": "time",
        "select": "select", "nodes": "select exclusive", "ncpus": "select", "place": "exclusive",
    }  # fmt: skip
    server_hint = "`qstat -B`"
    away = ("cannot connect to server", "Communication failure", "Connection refused", "Connection timed out")
    unknown = ("Unknown Job Id",)
    too_many = ("limit", "exceed")
    own_variables = "PBS_"
    kept_variables = ("PBS_CONF_FILE", "PBS_SERVER", "PBS_DEFAULT", "PBS_EXEC", "PBS_HOME")

    def recognise(self, host: Host) -> Allocation | None:
        """Read the node file: one line per rank, with repeated names; Torque writes one line per core."""
        environment = host.environ
        job, file = environment.get("PBS_JOBID"), environment.get("PBS_NODEFILE")
        if not job or not file:
            return None
        text = host.read_text(file)
        lines = Counter(line.strip() for line in (text or "").splitlines() if line.strip())
        if not lines:
            raise MpiricError(
                f"PBS_NODEFILE names {file}, which cannot be read or is empty",
                hint="it is on the job's first host only: run mpiric in the job script itself",
            )
        threads = environment.get("OMP_NUM_THREADS", "")
        cpus = environment.get("NCPUS", "") or environment.get("PBS_NUM_PPN", "")
        return Allocation(
            scheduler="pbs",
            job=job,
            hosts=tuple(AllocatedHost(name, count, count_of(cpus)) for name, count in lines.items()),
            launch_words=("mpiexec",),
            cpus_per_rank=max(1, count_of(threads)),
            partition=environment.get("PBS_QUEUE", ""),
        )

    def values(self, request: JobRequest) -> Mapping[str, object]:
        """Return chunks of the same kind, each on a separate host if the number of nodes is specified."""
        place = "scatter:exclhost" if request.nodes else "free:exclhost"
        texts = {"name": _job_name(request.name)}
        return {**super().values(request), **texts, "select": _select(request), "exclusive": place}

    def key(self, option: str) -> frozenset[str]:
        """Return the fields that an option sets; ``-l`` has a list of resources."""
        if not option.startswith("-l"):
            return super().key(option)
        names = re.findall(r"(?:^-l\s*|,)(\w+)=", option)
        return frozenset(field for name in names for field in self.fields.get(name, name).split())

    def time_text(self, minutes: int) -> str:
        """Render hours, minutes and seconds."""
        return f"{minutes // 60:02}:{minutes % 60:02}:00"

    def submission(self, script: str, settings: SubmitSettings) -> list[str]:
        """Render qsub. A range has at least two indices, so an array of one has a step beyond its end."""
        last = f"{settings.elements - 1}" if settings.elements > 1 else "1:2"
        throttle = f"%{settings.at_once}" if 0 < settings.at_once < settings.elements else ""
        command = ["qsub", "-N", _job_name(settings.mark or settings.name), "-o", f"{self.log(settings)}.pbs"]
        command += ["-J", f"0-{last}{throttle}"] if settings.elements else []
        command += ["-W", f"depend=afterany:{settings.after}"] if settings.after else []
        return [*command, *arguments(settings.options), script]

    def query(self, jobs: Sequence[str]) -> list[str]:
        """Render qstat, finished jobs included."""
        return ["qstat", "-x", "-f", *jobs]

    def states(self, stdout: str) -> Mapping[str, BatchJob]:
        """Read the attributes of each job."""
        return {job: _state(job, attributes) for job, attributes in _blocks(stdout, r"Job Id: (\S+)")}

    def elements(self, array: str, count: int) -> tuple[str, ...]:
        """Return the ids of the subjobs as ``12[3].server``."""
        return tuple(array.replace("[]", f"[{index}]") for index in range(count))

    def own_job(self, environment: Mapping[str, str]) -> str:
        """Return the id of this job or subjob."""
        return environment.get("PBS_JOBID", "")

    def time_left_query(self, job: str) -> list[str]:
        """Render qstat."""
        return ["qstat", "-f", job]

    def time_left(self, stdout: str) -> float | None:
        """Read requested and used resources."""
        attributes = next((block for _, block in _blocks(stdout, r"Job Id: (\S+)")), {})
        limit_s = clock_s(attributes.get("Resource_List.walltime", "unlimited"))
        used_s = clock_s(attributes.get("resources_used.walltime", "0:0"))
        return None if not attributes or limit_s is None or used_s is None else limit_s - used_s

    def health_query(self, names: Sequence[str]) -> list[str]:
        """Render pbsnodes."""
        return ["pbsnodes", *names]

    def unusable(self, stdout: str, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Read which nodes are down."""
        return tuple(node for node, attributes in _nodes(stdout) if _is_down(attributes))

    def node_shapes(self, host: Host, partition: str = "") -> tuple[NodeShape, ...]:  # noqa: ARG002
        """Read the CPUs of nodes; PBS does not print the number of sockets."""
        done = host.run(["pbsnodes", "-a"], timeout_s=COMMAND_TIMEOUT_S)
        counts = Counter(
            count_of(node.get("resources_available.ncpus", "")) for _, node in _nodes(done.stdout)
        )
        return tuple(NodeShape(1, cores) for cores, _ in counts.most_common() if cores)

    def node_types(self, host: Host, partition: str = "") -> Mapping[str, int]:  # noqa: ARG002
        """Read the named resources that a site has defined for its nodes, such as ``model=milan``."""
        done = host.run(["pbsnodes", "-a"], timeout_s=COMMAND_TIMEOUT_S)
        if done.status != 0:
            raise self.refused(done, "pbsnodes")
        up = (attributes for _, attributes in _nodes(done.stdout) if not _is_down(attributes))
        return Counter(",".join(_features(attributes)) for attributes in up)

    def idle_nodes(self, host: Host, partition: str = "") -> tuple[str, ...]:
        """Read the free nodes without jobs; some belong to one queue."""
        done = host.run(["pbsnodes", "-a"], timeout_s=COMMAND_TIMEOUT_S)
        if done.status != 0:
            raise self.refused(done, "pbsnodes")
        return tuple(
            node
            for node, attributes in _nodes(done.stdout)
            if attributes.get("state") == "free" and not attributes.get("jobs")
            if not partition or attributes.get("queue", partition) == partition
        )


def _select(request: JobRequest) -> str:
    """Return the chunks of a request; the last host may have fewer ranks than the others."""
    features = "".join(f":{feature}" for feature in request.features.split(",") if feature)
    features += f":host={request.hosts}" if request.hosts else ""
    if request.nodes:
        per_node = request.ranks_per_node or -(-request.ranks // request.nodes) or 1
        ranks = request.ranks or request.nodes * per_node
        full, remainder = divmod(ranks, per_node)
        parts = [(full, per_node), (1, remainder)] if remainder else [(full, per_node)]
    else:
        parts = [(request.ranks, 1)] if request.ranks else []
    cores, threads = max(1, request.cores_per_rank), request.threads_per_rank or request.cores_per_rank
    omp = f":ompthreads={threads}" if threads else ""
    omp += f":ngpus={request.gpus_per_node}" if request.gpus_per_node and request.nodes else ""
    return "+".join(
        f"{chunks}:ncpus={ranks * cores}:mpiprocs={ranks}{omp}{features}" for chunks, ranks in parts if chunks
    )


def _job_name(text: str) -> str:
    return re.sub(r"[^\w.+-]", "-", text)[:236]


def _blocks(stdout: str, head: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield names and attributes in the output of qstat -f and pbsnodes; a tab continues a line."""
    block: tuple[str, dict[str, str]] | None = None
    for line in re.sub(r"\n\t", "", stdout).splitlines():
        if match := re.fullmatch(head, line):
            if block:
                yield block
            block = (match[1], {})
        elif block and " = " in line:
            name, _, value = line.strip().partition(" = ")
            block[1][name] = value
    if block:
        yield block


def _state(job: str, attributes: Mapping[str, str]) -> BatchJob:
    word = attributes.get("job_state", "")
    stage = _STAGES.get(word, Stage.ENDED)
    runs = count_of(attributes.get("run_count", ""))
    hosts = re.findall(r"(?:^|\+)\(?([\w.-]+)", attributes.get("exec_host", ""))
    state = BatchJob(
        job,
        stage,
        word,
        reason=attributes.get("comment", "") if stage is Stage.WAITING else "",
        hosts=tuple(dict.fromkeys(hosts)),
        restarts=runs if stage is Stage.WAITING else max(0, runs - 1),
    )
    if stage is not Stage.ENDED:
        return state
    text = attributes.get("Exit_status", "")
    status = int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else None
    end = None if status is None else End.COMPLETED if status == 0 else End.FAILED
    if status is not None and status < 0:
        end = _ENDS.get(status, End.HOST_FAILED)
    if attributes.get("substate") == _DELETED:
        end = End.CANCELLED
    by_signal = status is not None and status > _SIGNALLED
    return replace(state, end=end, exit_status=status - _SIGNALLED + 128 if by_signal and status else status)


def _nodes(stdout: str) -> Iterator[tuple[str, dict[str, str]]]:
    return _blocks(stdout, r"([\w.-]+)")


def _is_down(attributes: Mapping[str, str]) -> bool:
    return bool(_DOWN & set(re.split(r"[, ]+", attributes.get("state", ""))))


def _features(attributes: Mapping[str, str]) -> Iterator[str]:
    for name, value in sorted(attributes.items()):
        resource = name.removeprefix("resources_available.")
        if resource != name and resource not in _PLAIN and re.fullmatch(r"[A-Za-z][\w-]*", value):
            yield f"{resource}={value}"


SCHEDULER = Pbs()
