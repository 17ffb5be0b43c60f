"""hydra of MPICH and MVAPICH, which binds by its own options, and its parts that Intel MPI shares.

Options take any number of dashes, either case, and ``-name=value``; ``-genv`` takes NAME VALUE or NAME=VALUE.
A plan becomes a level of the machine if that describes it, else a mask for each rank. ``-bind-to core:4``
needs ``-map-by core:4``: mapped by core, ranks would start only one core apart. ``-map-by numa`` assigns
ranks round-robin, so it only describes plans with one rank per NUMA node. Masks of ``user:`` use the numbers
of the kernel. Sources: src/pm/hydra/mpiexec/options.c, src/pm/hydra/lib/utils/args.c and
src/pm/hydra/lib/tools/topo of MPICH.
"""

from collections.abc import Mapping, Sequence

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
    first_word,
    flags,
    of_launcher,
    placement_above,
    separate,
    valued,
    words,
)
from mpiric.launchers._emission import (
    Filled,
    bound_inside,
    fillings,
    hosts_with_ranks,
    openmp_variables,
    ranks_in_all,
)
from mpiric.launchers._spellers import by_variable, by_word, cores_for, ranks_on_each, route_speller
from mpiric.model.amount import count_of, version_by
from mpiric.model.job import LaunchOption, Meaning, Spelling
from mpiric.model.machine import Level
from mpiric.model.placement import Emission, Plan
from mpiric.model.situation import Situation

GRAMMAR = Grammar(equals=True, fold_case=True, long_after_one_dash=True, pair_in_one_word=True)


def _limits(prefix: str, scope: Scope) -> tuple[Option, ...]:
    """Return ``-envlist``, ``-envnone`` and ``-envall``, or with ``g`` their forms for all programs."""
    limit, variable = Meaning.ENVIRONMENT_LIMIT, "HYDRA_ENV"
    return (
        Option((f"{prefix}envlist",), 1, limit, variable=variable, scope=scope),
        Option((f"{prefix}envnone",), 0, limit, implied="none", variable=variable, scope=scope),
        Option((f"{prefix}envall",), 0, limit, implied="all", variable=variable, scope=scope),
    )


OPTIONS = (
    Option(("n", "np"), 1, Meaning.RANKS),
    Option(("ppn",), 1, Meaning.RANKS_PER_NODE, scope=Scope.LAUNCH),
    Option(
        ("hosts", "host", "hostlist", "machine", "machines", "machinelist"),
        1,
        Meaning.HOSTS,
        scope=Scope.LAUNCH,
    ),
    Option(
        ("f", "hostfile", "machinefile"), 1, Meaning.HOSTFILE, variable="HYDRA_HOST_FILE", scope=Scope.LAUNCH
    ),
    Option(("genv",), 2, Meaning.ENVIRONMENT, scope=Scope.LAUNCH),
    Option(("env",), 2, Meaning.ENVIRONMENT),
    *_limits("g", Scope.LAUNCH),
    *_limits("", Scope.SEGMENT),
    Option(("wdir",), 1, Meaning.WORKING_DIRECTORY),
    Option(("configfile",), 1, Meaning.PROGRAM_FILE),
    Option(("launcher", "bootstrap"), 1, Meaning.BOOTSTRAP, variable="HYDRA_LAUNCHER"),
    Option(("launcher-exec", "bootstrap-exec"), 1, Meaning.BOOTSTRAP, variable="HYDRA_LAUNCHER_EXEC"),
    Option(("rmk",), 1, Meaning.LAUNCHER_ONLY, variable="HYDRA_RMK"),
    Option(("iface",), 1, Meaning.LAUNCHER_ONLY, variable="HYDRA_IFACE"),
    Option(("topolib",), 1, Meaning.LAUNCHER_ONLY, variable="HYDRA_TOPOLIB"),
    Option(("l", "prepend-rank"), 0, Meaning.LABEL),
    *of_launcher("enable-x disable-x report-bindings debug disable-hostname-propagation print-all-exitcodes"),
    *of_launcher("enable-hostname-propagation hybrid-hosts v verbose"),
    *of_launcher("demux localhost nameserver", arity=1),
    *flags("help h profile disable-auto-cleanup dac enable-auto-cleanup info pmi-port skip-launch-node"),
    *flags("version pmi_args"),
    *valued("rankmap output-from prepend-pattern outfile-pattern errfile-pattern outfile errfile"),
    *valued("memory-alloc-kinds g gpus-per-proc gpu-subdevs-per-proc order-nodes usize"),
)


def _limit(values: Words) -> Words:
    return (f"-genv{values[0]}",) if values[0] in {"all", "none"} else ("-genvlist", *values)


def _environment(values: Words) -> Words | None:
    """Write ``-genv`` for a variable that is set; the launcher passes on all others by default."""
    return ("-genv", *values) if len(values) == 2 else ()


def write_in_segment(values: Words) -> Words:
    """Write ``-env``, which sets a variable for one program of the launch."""
    return ("-env", *values)


WRITE: Mapping[Meaning, Writer] = {
    **separate(
        {
            Meaning.RANKS: "-n",
            Meaning.RANKS_PER_NODE: "-ppn",
            Meaning.HOSTS: "-hosts",
            Meaning.HOSTFILE: "-f",
            Meaning.WORKING_DIRECTORY: "-wdir",
            Meaning.BOOTSTRAP: "-launcher",
        }
    ),
    Meaning.ENVIRONMENT: _environment,
    Meaning.ENVIRONMENT_LIMIT: _limit,
    Meaning.LABEL: lambda _values: ("-l",),
}


def _nodes(situation: Situation, value: str) -> Spelling:
    return Spelling(options=(("-ppn", str(ranks_on_each(situation, int(value)))),))


SPELLINGS: Mapping[str, Speller] = {"nodes": _nodes}

# ``n1:4`` in lists and lines: HYDU_parse_hostfile.
HOSTS = HostFormat(by_commas, first_word, colon, colon, has_slots=True)


_BINDING = {
    "none": "none",
    "core": "core",
    "hwthread": "hwthread",
    "l3": "l3cache",
    "numa": "numa",
    "package": "socket",
}
_MAPPING = {"compact": "core", "spread-numa": "numa", "spread-package": "socket"}


def _mapping(situation: Situation, value: str) -> Spelling | None:
    if value == "node-round-robin":
        return Spelling(options=(("-ppn", "1"),)) if situation.nodes > 1 else None
    if value not in _MAPPING:
        return None
    # hydra ignores a mapping without a binding; any other binding overrides "core".
    bound = situation.job.segments[0].first(Meaning.BINDING)
    is_bound = bound is not None or "HYDRA_BINDING" in situation.job.environment
    word = _MAPPING[value]
    if bound is not None and word == "core" and bound.values[0].startswith("core:"):
        word = bound.values[0]
    binding = () if is_bound else (("-bind-to", "core"),)
    return Spelling(options=(*binding, ("-map-by", word)))


def _carried_binding(situation: Situation, value: str) -> Spelling | None:
    """Keep the default binding of another library by a variable, which does not break MPI_Comm_spawn.

    With ``-bind-to`` on the command line, hydra of MPICH 5.0 ends a program that spawns: "duplicate setting:
    binding". Proxies on other nodes do not get the variable.
    """
    if value not in _BINDING or situation.nodes > 1:
        return None
    return Spelling(launcher_environment={"HYDRA_BINDING": _BINDING[value]})


def _threads(situation: Situation, value: str) -> Spelling | None:
    """Map by the width of the binding; ``-map-by core`` would place ranks only one core apart."""
    if not count_of(value):
        return None
    wide = f"core:{cores_for(situation, value)}"
    return Spelling(options=(("-bind-to", wide), ("-map-by", wide)))


def _merge(meaning: Meaning, under: str, over: str) -> str | None:
    """Merge placements: a width stays if ``core`` follows, and never changes the level of a mapping."""
    if over == "core" and under.startswith("core:"):
        return under
    if meaning is Meaning.MAPPING and over.startswith("core:") and under != "core":
        return under
    return placement_above(meaning, under, over)


def _facets(option: LaunchOption) -> tuple[Facet, ...]:
    """Return the meanings of an option: ``core:4`` is the binding and the width of a rank."""
    level, _, width = option.values[0].partition(":") if option.meaning is Meaning.BINDING else ("", "", "")
    if level == "core" and width.isdigit():
        return ((Meaning.BINDING, (level,)), (Meaning.THREADS_PER_RANK, (width,)))
    return ((option.meaning, option.values),)


_OBJECTS = {Level.SOCKET: "socket", Level.NUMA: "numa"}


def _emit(plan: Plan) -> Emission:
    """Return the options of ``mpiexec``."""
    argv = ["mpiexec", "-n", str(plan.request.ranks)]
    if plan.nodes > 1:
        argv += ["-ppn", str(plan.ranks_per_node)]
    if plan.hosts:
        argv += ["-hosts", ",".join(plan.hosts)]
    return Emission((*argv, *_planned_binding(plan)), openmp_variables(plan))


def _planned_binding(plan: Plan) -> tuple[str, ...]:
    for shape in fillings(plan, (None, Level.SOCKET, Level.NUMA)):
        if argv := _level(shape):
            return argv
    masks = ",".join("+".join(str(pu) for pu in seat.pus) for seat in plan.seats)
    return ("-bind-to", f"user:{masks}")


def _level(shape: Filled) -> tuple[str, ...]:
    wide = "core" if shape.width == 1 else f"core:{shape.width}"
    if shape.level is None:
        return ("-bind-to", wide, "-map-by", wide)
    return ("-bind-to", wide, "-map-by", _OBJECTS[shape.level]) if shape.ranks == 1 else ()


def _emit_uneven(plans: Sequence[Plan]) -> Emission:
    """Let each rank bind itself, because hydra applies one list of masks to the hosts of a launch."""
    hosts = ",".join(f"{host}:{count}" for host, count in hosts_with_ranks(plans))
    argv = ("mpiexec", "-n", str(ranks_in_all(plans)), "-hosts", hosts, "-bind-to", "none")
    return bound_inside(plans, argv)


DIALECT = Dialect(
    name="hydra",
    launcher_names=words("mpirun mpiexec mpiexec.hydra mpirun.mpich mpiexec.mpich mpirun.hydra"),
    grammar=GRAMMAR,
    options=(
        *OPTIONS,
        Option(("bind-to", "binding"), 1, Meaning.BINDING, variable="HYDRA_BINDING", scope=Scope.LAUNCH),
        Option(("map-by",), 1, Meaning.MAPPING, variable="HYDRA_MAPPING", scope=Scope.LAUNCH),
        Option(("membind",), 1, Meaning.MEMORY_BINDING, variable="HYDRA_MEMBIND", scope=Scope.LAUNCH),
    ),
    recognise_version=version_by(r"(?s)HYDRA build details:.*?Version:\s+(\S+)"),
    write={
        **WRITE,
        **separate(
            {Meaning.BINDING: "-bind-to", Meaning.MAPPING: "-map-by", Meaning.MEMORY_BINDING: "-membind"}
        ),
        Meaning.THREADS_PER_RANK: lambda values: ("-bind-to", f"core:{values[0]}"),
    },
    spellings={
        "binding": by_word(_BINDING, lambda word: ("-bind-to", word)),
        "mapping": _mapping,
        "threads-per-rank": _threads,
        "launch-route": route_speller,
        **SPELLINGS,
    },
    spellings_of_carried={"binding": _carried_binding},
    write_in_segment=write_in_segment,
    merge=_merge,
    facets=_facets,
    in_scripts={
        "binding": by_variable("HYDRA_BINDING", _BINDING),
        "mapping": by_variable("HYDRA_MAPPING", _MAPPING),
    },
    process_manager="pmi2",  # part of Slurm; works with all versions of MPICH since 3
    hosts=HOSTS,
    binding_words=_BINDING,
    mapping_words=_MAPPING,
    inherits_cpus=True,
    rank_variable="PMI_RANK",
    emit=_emit,
    emit_uneven=_emit_uneven,
)
