"""Sizes of a scaling study, and the launch of a command at each of them."""

from collections.abc import Iterable
from dataclasses import replace
from math import ceil

from mpiric import launchers
from mpiric.host.host import Host
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.job import Job, Meaning, Spelling
from mpiric.model.scaling import Size
from mpiric.model.situation import Situation
from mpiric.schedulers import find_allocation
from mpiric.workflows.launch.nodes import stated
from mpiric.workflows.scale.request import ScaleRequest

PLACEHOLDERS = ("{ranks}", "{nodes}", "{threads}")
_HINT = "for example: mpiric scale --weak -- mpirun -n 8 ./app -nx '{ranks}'"


def sized(argv: Iterable[str], size: Size) -> tuple[str, ...]:
    """Replace {ranks}, {nodes} and {threads} in the arguments by the numbers of a size."""
    values = dict(zip(PLACEHOLDERS, (size.ranks, size.nodes, size.threads), strict=True))

    def filled(word: str) -> str:
        for placeholder, value in values.items():
            word = word.replace(placeholder, str(value))
        return word

    return tuple(map(filled, argv))


def check_job(request: ScaleRequest, job: Job) -> None:
    """Raise MpiricError for a command whose number of ranks cannot be varied."""
    if not job.launcher_words:
        raise MpiricError(
            "the command has no launcher, so that its number of ranks cannot be varied",
            hint="mpiric scale -- mpirun -n 4 ./app",
        )
    if job.is_of_several_programs or len(job.segments) > 1:
        raise MpiricError(
            "the number of ranks of a launch with several programs cannot be varied",
            hint="give a launch line with one program",
        )
    has_placeholder = any(name in word for word in request.argv for name in PLACEHOLDERS)
    if request.weak and not has_placeholder:
        raise MpiricError("--weak needs {ranks}, {nodes} or {threads} in the command", hint=_HINT)
    if has_placeholder and not request.weak:
        raise MpiricError("the command contains placeholders of --weak", hint=_HINT)
    if request.weak and request.output is not None:
        raise MpiricError(
            "a recipe cannot hold the arguments that --weak changes",
            hint="remove --output; --json has the launch line of each size",
        )
    if request.weak and job.ranks is None:
        raise MpiricError("--weak needs the number of ranks in the command", hint=_HINT)


@dataclass(frozen=True)
class Launches:
    """Launches of the user's command at other sizes."""

    request: ScaleRequest
    situation: Situation
    own_size: Size  # size of the user's command
    available_nodes: int  # number of nodes of the allocation, or named by the command
    states_nodes: bool  # the launch line or the allocation distributes ranks over several nodes
    sets_threads: bool  # the number of threads per rank is set at each size

    @property
    def cpus(self) -> int:
        """Return the number of cores of a node that the job may use; its CPUs if cores are unknown."""
        machine = self.situation.machine
        return min(self.situation.cpus_per_node, len(machine.usable_cores) or self.situation.cpus_per_node)

    @property
    def _per_node(self) -> int:
        """Return the ranks of a full node."""
        own_per_node = ceil(self.own_size.ranks / self.own_size.nodes)
        return (
            own_per_node
            if self.own_size.nodes > 1
            else max(own_per_node, self.cpus // self.own_size.threads, 1)
        )

    def of_ranks(self, ranks: int, threads: int) -> Size:
        """Return the size with this number of ranks on as few nodes as the user's command would use."""
        per_node = max(1, self._per_node * self.own_size.threads // threads)
        nodes = 1 if self.available_nodes == 1 else ceil(ranks / per_node)
        return Size(ranks, nodes, threads)

    def is_oversubscribed(self, size: Size) -> bool:
        """Return whether a node has fewer CPUs than ranks and threads."""
        return ceil(size.ranks / size.nodes) * size.threads > self.cpus

    def why_not(self, size: Size) -> str:
        """Return why a size cannot be run, "" if it can; the user's own size always can."""
        cpus = self.available_nodes * self.cpus
        if size.cores <= self.own_size.cores and size.nodes <= max(self.own_size.nodes, self.available_nodes):
            return ""
        if size.nodes > self.available_nodes:
            return f"it needs {size.nodes} nodes, and {self.available_nodes} are available"
        return f"it needs {size.cores} CPUs, and {cpus} are available" if size.cores > cpus else ""

    def sizes(self) -> list[Size]:
        """Return the requested sizes, or powers of two and the user's own size."""
        request, sizes = self.request, []
        for threads in request.threads or (self.own_size.threads,):
            if request.nodes:
                per_node = max(1, self._per_node * self.own_size.threads // threads)
                sizes += [Size(nodes * per_node, nodes, threads) for nodes in request.nodes]
                continue
            most_ranks = max(self.own_size.cores, self.available_nodes * self.cpus) // threads
            powers = [1 << power for power in range(most_ranks.bit_length())]
            chosen = request.ranks or sorted(
                {*powers, *([self.own_size.ranks] if self.own_size.ranks <= most_ranks else [])}
            )
            sizes += [self.of_ranks(ranks, threads) for ranks in chosen]
        return list(dict.fromkeys(sizes))

    def between(self, small: Size, large: Size) -> Size | None:
        """Return a size between two others, if the sizes were not requested; None without one."""
        if self.request.ranks or self.request.nodes or small.threads != large.threads:
            return None
        middle = (small.ranks + large.ranks) // 2
        if large.nodes > 1:
            middle -= middle % max(1, ceil(large.ranks / large.nodes))
        return self.of_ranks(middle, small.threads) if small.ranks < middle < large.ranks else None

    def curve(self, sizes: Iterable[Size]) -> list[Size]:
        """Return the sizes with the user's number of threads, else the smallest, in order of cores."""
        sizes = list(sizes)
        threads = {size.threads for size in sizes}
        chosen = self.own_size.threads if self.own_size.threads in threads else min(threads, default=1)
        return sorted((size for size in sizes if size.threads == chosen), key=lambda size: size.cores)

    def configuration(self, size: Size) -> Configuration:
        """Return the configuration that identifies the runs of a size in the log."""
        values = {"ranks": str(size.ranks)}
        if self.sets_threads:
            values["omp-threads"] = str(size.threads)
        if self.states_nodes and launchers.spell("nodes", str(size.nodes), self.situation) is not None:
            values["nodes"] = str(size.nodes)
        return Configuration.of(values)

    def situation_at(self, size: Size) -> Situation:
        """Return the situation of the command with another number of ranks."""
        situation, job = self.situation, self.situation.job
        if self.request.weak:
            job = self._parsed(sized(self.request.argv, size))
        spelled = [("ranks", str(size.ranks), Spelling(ranks=size.ranks))]
        job = self._parsed(launchers.render(job, spelled).argv)
        ranks = situation.observation.ranks[:1] * size.ranks
        observation = replace(situation.observation, ranks=ranks)
        return replace(situation, job=job, nodes=size.nodes, observation=observation)

    def _parsed(self, argv: tuple[str, ...]) -> Job:
        job = self.situation.job
        parsed = launchers.parse_command(
            argv, job.working_directory, job.environment, job.stdin, dialect=job.dialect
        )
        return replace(parsed, host_files=job.host_files)


def launches_of(request: ScaleRequest, situation: Situation, host: Host) -> Launches:
    """Return the launches of an observed command."""
    job = situation.job
    named = len(launchers.named_hosts(job))
    try:
        allocated = len(find_allocation(host).hosts)
    except MpiricError:
        allocated = 0
    available = max(situation.nodes, named or allocated, 1)
    has_threads = bool(request.threads) or situation.is_threaded
    threads = situation.threads_per_rank if has_threads else 1
    states_nodes = available > 1 and (situation.nodes > 1 or bool(stated(job, Meaning.NODES)))
    own_size = Size(situation.rank_count, situation.nodes, threads)
    return Launches(request, situation, own_size, available, states_nodes, has_threads)
