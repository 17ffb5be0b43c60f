"""Safe defaults: the rules of knobs/_defaults.toml as variables, except where the user has decided."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mpiric import knobs, launchers, mpis
from mpiric.host.host import Host
from mpiric.knobs import DefaultRule
from mpiric.lab.render import as_variables
from mpiric.machine import read_machine
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import Finding, MismatchError, MpiricError, NotFoundError
from mpiric.model.job import Job, Launch, LaunchOption, Meaning, Segment, Spelling
from mpiric.model.knob import Try
from mpiric.model.machine import Machine
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.quoting import sh_with_variables
from mpiric.model.situation import Observation, RankSeen, Situation
from mpiric.schedulers import find_allocation
from mpiric.workflows.launch.parameter_files import settings_of_user

MISSED = "default-"  # beginning of the ids of findings about safe defaults
AS_ROOT = "run-as-root"  # rule that only applies on request
_NO_LIBRARY = MpiLibrary("none", "", (), "", "", "", "", "direct", "")


@dataclass(frozen=True)
class SafeDefault:
    """A rule that holds, its variables, and the user's setting that takes precedence ("" if none)."""

    rule: DefaultRule
    library: str  # label of the MPI library
    variables: Mapping[str, str]
    users_setting: str = ""

    @property
    def label(self) -> str:
        """Return the setting in the syntax of a configuration."""
        return f"{self.rule.knob}={self.rule.value}" if self.rule.knob else self.rule.name


@dataclass(frozen=True)
class DefaultLaunch:
    """Launch of a command with its safe defaults, and a sentence that names them."""

    launch: Launch
    sentence: str


@dataclass(frozen=True)
class EnvRequest:
    """The options of `mpiric env`."""

    argv: tuple[str, ...]  # empty, since no command is started
    working_directory: str
    environment: Mapping[str, str]
    ranks: int | None = None
    ranks_per_node: int | None = None
    nodes: int | None = None
    threads: int | None = None
    mpi: str = ""  # beginning of the labels of libraries; "" for all that are installed
    as_root: bool = False


def safe_defaults(
    situation: Situation, host: Host, threads: int = 0, requested: frozenset[str] = frozenset()
) -> tuple[SafeDefault, ...]:
    """Return the rules that hold in a situation, with the settings of the user that replace some of them.

    A number of ranks that the command does not say is unknown, and no rule holds then.
    """
    if situation.job.ranks is None or situation.job.container is not None:
        return ()
    situation = replace(situation, machine=_as_allocated(situation.machine, host))
    in_files = settings_of_user(host, host.environ.get("HOME", ""))
    defaults = []
    for rule in knobs.default_rules(situation, threads, requested):
        configuration = Configuration.of({rule.knob: rule.value} if rule.knob else {})
        try:
            written = as_variables(configuration, situation).environment
        except MismatchError:
            continue  # this library has no variable for it
        variables = {name: value for name, value in written.items() if name not in rule.omit}
        variables |= rule.variables
        users = ""
        for name in (*variables, *rule.unless):
            value = situation.in_force(name)
            users = users or ("" if value is None else f"{name}={value}")
            users = users or (f"{name} in {in_files[name].place}" if name in in_files else "")
        defaults.append(SafeDefault(rule, situation.mpi.label, variables, users))
    return tuple(defaults)


def with_safe_defaults(situation: Situation, host: Host) -> DefaultLaunch | None:
    """Return the launch of a job with its safe defaults, None if there are none."""
    applied = [default for default in safe_defaults(situation, host) if not default.users_setting]
    parts = [
        (default.rule.knob or default.rule.name, default.rule.value, Spelling(environment=default.variables))
        for default in applied
    ]
    settings = ", ".join(default.label for default in applied)
    sentence = f"applying the safe defaults of this machine: {settings} (--as-is runs without them)"
    return DefaultLaunch(launchers.render(situation.job, parts), sentence) if applied else None


def missed_defaults(situation: Situation, host: Host) -> tuple[Finding, ...]:
    """Return a finding for each safe default that the command lacks and whose knob can matter to it."""
    findings = []
    for default in safe_defaults(situation, host):
        rule = default.rule
        if default.users_setting or not rule.knob:
            continue
        answer = knobs.consider(knobs.all_knobs()[rule.knob], situation)
        if isinstance(answer, Try) and rule.value in answer.values:
            evidence = f"{situation.rank_count} ranks, {situation.cpus_per_node} CPUs; measured: {rule.row}"
            variables = sh_with_variables(sorted(default.variables.items()), "")
            fix = f"{variables} (`mpiric env` prints it, `mpiric run` sets it)"
            findings.append(Finding(f"{MISSED}{rule.knob}", rule.reason, evidence, fix))
    return tuple(findings)


def defaults_here(request: EnvRequest, host: Host) -> tuple[SafeDefault, ...]:
    """Return the safe defaults for a number of ranks under one or all MPI libraries of this machine.

    Raises NotFoundError if no installed library has the requested name, MpiricError without ranks.
    """
    nodes = request.nodes or _allocated_nodes(host)
    per_node = request.ranks_per_node
    ranks = request.ranks or (per_node * nodes if per_node else 0)
    if not ranks:
        raise MpiricError("the number of ranks is missing", hint="mpiric env -n 8, or --ranks-per-node 8")
    if per_node:
        nodes = max(1, -(-ranks // per_node)) if request.nodes is None else nodes
    machine = read_machine(host, request.working_directory, software=False)
    requested = frozenset({AS_ROOT} if request.as_root else ())
    everything: list[SafeDefault] = []
    for library in _libraries(request.mpi, host):
        job = _job(request, ranks, library)
        anywhere = RankSeen(rank=None, program="", cpus_allowed=machine.usable_pus)
        observation = Observation(0.0, (anywhere,) * ranks, machine.usable_cpu_count)
        situation = Situation(machine, job, library, observation)
        situation = replace(situation, nodes=min(nodes, ranks))
        everything += safe_defaults(situation, host, request.threads or 0, requested)
    return _without_conflicts(everything)


def _libraries(word: str, host: Host) -> Sequence[MpiLibrary]:
    libraries = mpis.find_mpis(host)
    chosen = [library for library in libraries if library.label.startswith(word)]
    if word and not chosen:
        installed = ", ".join(library.label for library in libraries) or "none"
        raise NotFoundError(
            f"no installed MPI library is called {word!r}",
            hint=f"installed: {installed}; see `mpiric mpi list`",
        )
    return chosen or (_NO_LIBRARY,)


def _job(request: EnvRequest, ranks: int, library: MpiLibrary) -> Job:
    """Return a job of any program, with the number of ranks and the user's environment."""
    count = LaunchOption(("-n", str(ranks)), Meaning.RANKS, (str(ranks),))
    return Job(
        argv=("mpiexec", *count.tokens, "program"),
        dialect=library.dialect,
        prefix=(),
        launcher_words=("mpiexec",),
        segments=(Segment((count,), ("program",)),),
        working_directory=request.working_directory,
        environment=request.environment,
        launcher=launchers.dialects()[library.dialect].traits,
    )


def _allocated_nodes(host: Host) -> int:
    try:
        return max(1, len(find_allocation(host).hosts))
    except MpiricError:
        return 1  # an inconsistent allocation is reported by the commands that use it


def _as_allocated(machine: Machine, host: Host) -> Machine:
    """Return the machine limited to the CPUs that the scheduler has granted, if it does not enforce it."""
    try:
        granted = min((entry.cpus for entry in find_allocation(host).hosts), default=0)
    except MpiricError:
        return machine
    quota = machine.limits.cgroup_cpus
    if not granted or granted >= machine.usable_cpu_count:
        return machine
    return replace(machine, limits=replace(machine.limits, cgroup_cpus=min(quota or granted, granted)))


def _without_conflicts(defaults: Sequence[SafeDefault]) -> tuple[SafeDefault, ...]:
    """Drop the settings of variables to which libraries need different values."""
    values: dict[str, set[str]] = {}
    for default in defaults:
        for name, value in default.variables.items():
            values.setdefault(name, set()).add(value)
    return tuple(default for default in defaults if all(len(values[name]) == 1 for name in default.variables))
