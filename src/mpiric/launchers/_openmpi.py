"""Common parts of the launchers of Open MPI 4 and 5: map-by with qualifiers, -x, MCA parameters."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from re import fullmatch

from mpiric.launchers._dialect import (
    Dialect,
    Facet,
    Grammar,
    HostFormat,
    Option,
    Scope,
    Speller,
    Words,
    Writer,
    by_commas,
    colon,
    of_launcher,
    placement_above,
    separate,
    words,
)
from mpiric.launchers._emission import (
    hosts_with_ranks,
    openmp_variables,
    ranks_in_all,
    seat_of_each,
    shared_variables,
)
from mpiric.launchers._spellers import by_variable, cores_for, crowded, ranks_on_each, route_speller
from mpiric.model.amount import count_of
from mpiric.model.dataclass import dataclass
from mpiric.model.job import HostSlots, Job, LaunchOption, Meaning, Spelling
from mpiric.model.placement import Emission, Plan, Seat
from mpiric.model.situation import Situation

_NAMES = words("mpirun mpiexec orterun prterun prun mpirun.openmpi mpiexec.openmpi shmemrun oshrun")


@dataclass(frozen=True)
class PlacementWords:
    """Keyword for a package of cores in a version, and its variables for placement."""

    package: str
    binding: str
    mapping: str
    ranking: str


_LAUNCHER_ONLY = """verbose v quiet q report-state-on-timeout get-stack-traces display-map display-devel-map
    display-allocation report-bindings debug-daemons debug-daemons-file leave-session-attached show-progress
    allow-run-as-root noprefix do-not-resolve"""


def placing_options(placement: PlacementWords, environment: Scope) -> tuple[Option, ...]:
    """Return the options that all versions have; ``environment`` is the scope of ``-x``."""
    binding, mapping, ranking = placement.binding, placement.mapping, placement.ranking
    return (
        Option(("np", "n", "c"), 1, Meaning.RANKS),
        Option(("pernode",), 0, Meaning.RANKS_PER_NODE, implied="1"),
        Option(("cpus-per-proc", "cpus-per-rank"), 1, Meaning.THREADS_PER_RANK),
        Option(("host", "H"), 1, Meaning.HOSTS),
        Option(("x",), 1, Meaning.ENVIRONMENT, scope=environment),
        Option(("bind-to",), 1, Meaning.BINDING, variable=binding, scope=Scope.LAUNCH),
        Option(("bind-to-core",), 0, Meaning.BINDING, implied="core", variable=binding),
        Option(("bind-to-socket",), 0, Meaning.BINDING, implied=placement.package, variable=binding),
        Option(("map-by",), 1, Meaning.MAPPING, variable=mapping, scope=Scope.LAUNCH),
        Option(("bycore",), 0, Meaning.MAPPING, implied="core", variable=mapping),
        Option(("bynode",), 0, Meaning.MAPPING, implied="node", variable=mapping),
        Option(("byslot",), 0, Meaning.MAPPING, implied="slot", variable=mapping),
        Option(("rank-by",), 1, Meaning.RANKING, variable=ranking, scope=Scope.LAUNCH),
        Option(("wdir", "wd"), 1, Meaning.WORKING_DIRECTORY),
        Option(("launch-agent",), 1, Meaning.BOOTSTRAP),
        Option(("stdin",), 1, Meaning.STDIN),
        Option(("app",), 1, Meaning.PROGRAM_FILE),
        Option(("tag-output",), 0, Meaning.LABEL),
        *of_launcher(_LAUNCHER_ONLY),
    )


def _line(text: str) -> Iterator[HostSlots]:
    """Parse ``n1 slots=4``; ``count`` and ``cpus`` are synonyms of slots."""
    name, *settings = text.replace(" = ", "=").split()
    values = dict(word.lower().partition("=")[::2] for word in settings)
    count = next((values[key] for key in ("slots", "count", "cpu", "cpus") if key in values), "")
    yield HostSlots(name.rpartition("@")[2], count_of(count))


def _with_slots(host: HostSlots) -> str:
    return f"{host.name} slots={host.slots}" if host.slots else host.name


# orte/util/hostfile; "Scheduling: hostfiles" of the PRRTE docs.
_HOSTS = HostFormat(by_commas, _line, colon, _with_slots, has_slots=True, fills=True)


def write_environment(values: Words) -> Words:
    """Write ``-x NAME``, which forwards a variable of the launcher, or ``-x NAME=VALUE``, which sets it."""
    return ("-x", "=".join(values))


_WRITE: Mapping[Meaning, Writer] = {
    **separate(
        {
            Meaning.RANKS: "-np",
            Meaning.HOSTS: "--host",
            Meaning.HOSTFILE: "--hostfile",
            Meaning.WORKING_DIRECTORY: "--wdir",
            Meaning.BINDING: "--bind-to",
            Meaning.MAPPING: "--map-by",
            Meaning.RANKING: "--rank-by",
            Meaning.MPI_PARAMETER: "--mca",
        }
    ),
    Meaning.RANKS_PER_NODE: lambda values: ("--map-by", f"ppr:{values[0]}:node"),
    Meaning.THREADS_PER_RANK: lambda values: ("--map-by", f":pe={values[0]}"),
    Meaning.ENVIRONMENT: write_environment,
    Meaning.OVERSUBSCRIBE: lambda _values: ("--oversubscribe",),
    Meaning.LABEL: lambda _values: ("--tag-output",),
}


def _merge(meaning: Meaning, under: str, over: str) -> str | None:
    """Merge mappings: ``numa`` over ``:pe=2`` is ``numa:pe=2``; qualifiers stay, a missing policy too."""
    if meaning is not Meaning.MAPPING:
        return placement_above(meaning, under, over)
    below, above = _split(under), _split(over)
    policy = above[0] or below[0]
    qualifiers = {**below[1], **above[1]}
    return ":".join([policy, ",".join(qualifiers.values())]) if qualifiers else policy


def _split(value: str) -> tuple[str, dict[str, str]]:
    """Return the policy and its qualifiers by name; the resource list of ``ppr:2:node`` is in the policy."""
    parts = value.split(":")
    count = 3 if parts[0].lower() == "ppr" else 2 if parts[0].lower().startswith("pe-list") else 1
    qualifiers = [word for part in parts[count:] for word in part.split(",") if word]
    return ":".join(parts[:count]), {word.split("=")[0].lower(): word for word in qualifiers}


_QUALIFIERS = {"pe": Meaning.THREADS_PER_RANK, "oversubscribe": Meaning.OVERSUBSCRIBE}


def _facets(option: LaunchOption) -> tuple[Facet, ...]:
    """Return the meanings of an option: ``ppr:2:node:pe=4`` sets ranks per node and threads per rank."""
    if option.meaning is not Meaning.MAPPING:
        return ((option.meaning, option.values),)
    policy, qualifiers = _split(option.values[0])
    facets: list[Facet] = []
    per_node = fullmatch(r"ppr:(\d+):node", policy.lower())
    if per_node:
        facets.append((Meaning.RANKS_PER_NODE, (per_node[1],)))
    elif policy and policy != "slot":  # all launchers fill slots in order by default
        facets.append((Meaning.MAPPING, (policy,)))
    for name, qualifier in qualifiers.items():
        facets.append((_QUALIFIERS.get(name, Meaning.OTHER), (qualifier.partition("=")[2],)))
    return tuple(facets)


def policy_of(job: Job) -> str:
    """Return the user's mapping policy without qualifiers, "" if there is none."""
    option = job.segments[0].first(Meaning.MAPPING)
    return _split(option.values[0])[0] if option is not None else ""


def counts_ranks(job: Job) -> bool:
    """Return whether the mapping also determines the number of ranks, so that it cannot be replaced."""
    policy = policy_of(job).lower()
    listed = policy.startswith(("ppr", "rankfile", "pe-list", "seq"))
    return listed or job.segments[0].first(Meaning.RANKS_PER_NODE) is not None


def _spellings(binding_words: Mapping[str, str], mapping_words: Mapping[str, str]) -> dict[str, Speller]:
    """Return the spellers of the launch knobs, from the keywords of a version."""

    def binding(situation: Situation, value: str) -> Spelling | None:
        if value not in binding_words:
            return None
        shared = value != "none" and crowded(situation)
        word = binding_words[value] + (":overload-allowed" if shared else "")
        return Spelling(options=(("--bind-to", word),))

    def mapping(situation: Situation, value: str) -> Spelling | None:
        if value not in mapping_words or counts_ranks(situation.job):
            return None
        return Spelling(options=(("--map-by", mapping_words[value]),))

    def threads(situation: Situation, value: str) -> Spelling | None:
        flags_of_user = {option.tokens[0].lstrip("-") for option in situation.job.segments[0].options}
        count = int(value) if "use-hwthread-cpus" in flags_of_user else cores_for(situation, value)
        # Without a policy before the colon, the current policy stays in effect.
        if not count_of(value) or policy_of(situation.job).lower().startswith(("rankfile", "pe-list", "seq")):
            return None
        return Spelling(options=(("--map-by", f":pe={count}"), ("--bind-to", "core")))

    def nodes(situation: Situation, value: str) -> Spelling:
        return Spelling(options=(("--map-by", f"ppr:{ranks_on_each(situation, int(value))}:node"),))

    return {
        "binding": binding,
        "mapping": mapping,
        "nodes": nodes,
        "threads-per-rank": threads,
        "launch-route": route_speller,
    }


def dialect(
    name: str,
    placement: PlacementWords,
    grammar: Grammar,
    options: tuple[Option, ...],
    recognise_version: Callable[[str], str | None],
    travels: Words,
    emit: Callable[[Plan], Emission],
    emit_uneven: Callable[[Sequence[Plan]], Emission],
) -> Dialect:
    """Return the dialect of a range of versions."""
    same = {name: name for name in ("none", "core", "hwthread", "numa")}
    binding = {**same, "l3": "l3cache", "package": placement.package}
    mapping = {"compact": "slot", "spread-numa": "numa", "spread-package": placement.package}
    mapping["node-round-robin"] = "node"
    return Dialect(
        name=name,
        launcher_names=_NAMES,
        grammar=grammar,
        options=options,
        recognise_version=recognise_version,
        write=_WRITE,
        spellings=_spellings(binding, mapping),
        merge=_merge,
        facets=_facets,
        program_file_replaces_options=True,
        travels=travels,
        travel_list="OMPI_MCA_mca_base_env_list",
        in_scripts={
            "binding": by_variable(placement.binding, binding),
            "mapping": by_variable(placement.mapping, mapping),
        },
        process_manager="pmix",
        hosts=_HOSTS,
        binding_words=binding,
        mapping_words=mapping,
        emit=emit,
        emit_uneven=emit_uneven,
        inherits_cpus=True,
        rank_variable="OMPI_COMM_WORLD_RANK",
    )


def words_for_hosts(plan: Plan) -> tuple[str, ...]:
    """Return ``--host`` with slots; a host without a number has one slot."""
    hosts = plan.hosts
    return ("--host", ",".join(f"{host}:{plan.ranks_per_node}" for host in hosts)) if hosts else ()


def forwarded(plan: Plan) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Return the options that forward the OpenMP variables to other nodes, and the variables."""
    variables = openmp_variables(plan)
    return (_exports(variables) if plan.nodes > 1 else ()), variables


def _exports(variables: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(word for name in variables for word in ("-x", name))


def uneven(
    plans: Sequence[Plan], options: tuple[str, ...], file: str, slots: Callable[[Plan, Seat], str]
) -> Emission:
    """Return a launch with a rankfile, which has a line for each rank."""
    variables = shared_variables(plans)
    hosts = ",".join(f"{host}:{count}" for host, count in hosts_with_ranks(plans))
    text = "".join(
        f"rank {rank}={host} slot={slots(plans[0], seat)}\n" for rank, host, seat in seat_of_each(plans)
    )
    start = ("mpirun", "-np", str(ranks_in_all(plans)), "--host", hosts)
    return Emission((*start, *options, *_exports(variables)), variables, {file: text})


def rankfile(plan: Plan, slots: Callable[[Seat], str]) -> str:
    """Return one line per rank; without host names, ``+nK`` is the K-th node of the allocation."""
    hosts = plan.request.hosts or (("localhost",) if plan.nodes == 1 else ())
    lines = (
        f"rank {placed.rank}={hosts[placed.node] if placed.node < len(hosts) else f'+n{placed.node}'} "
        f"slot={slots(placed.seat)}\n"
        for placed in plan.ranks
    )
    return "".join(lines)
