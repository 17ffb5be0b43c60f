"""Open MPI 5 and later: ``prterun`` of PRRTE as ``mpirun``. Parsed by getopt_long; one dash counts as two.

A plan becomes ``ppr`` with ``pe``, an ordered list of cores, or a rankfile. ``pe-list`` and rankfiles count
cores as hwloc does, or hardware threads with ``hwtcpus``, as ``--display map`` of PRRTE 3 shows. An ordered
list has one entry per rank, so wide ranks need a rankfile. Sources: src/mca/schizo/ompi/schizo_ompi.c of
PRRTE 3 and src/util/pmix_cmd_line.c of OpenPMIx 5.
"""

from collections.abc import Sequence

from mpiric.launchers._dialect import Grammar, Option, Scope, flags, of_launcher, valued
from mpiric.launchers._emission import fillings, logical_pus, whole_cores
from mpiric.launchers._openmpi import (
    PlacementWords,
    dialect,
    forwarded,
    placing_options,
    rankfile,
    uneven,
    words_for_hosts,
)
from mpiric.model.amount import version_by
from mpiric.model.job import Meaning
from mpiric.model.machine import Level, pu_list
from mpiric.model.placement import Emission, Plan, Seat

_WORDS = PlacementWords(
    package="package",
    binding="PRTE_MCA_hwloc_default_binding_policy",
    mapping="PRTE_MCA_rmaps_default_mapping_policy",
    ranking="PRTE_MCA_rmaps_default_ranking_policy",
)

_OPTIONS = (
    *placing_options(_WORDS, Scope.FOLLOWING),
    *of_launcher("display", arity=1),
    Option(("N", "npernode"), 1, Meaning.RANKS_PER_NODE),
    Option(("hostfile", "machinefile", "default-hostfile"), 1, Meaning.HOSTFILE),
    Option(("mca", "omca", "gmca", "gomca"), 2, Meaning.MPI_PARAMETER, variable="OMPI_MCA_{}"),
    Option(("prtemca", "gprtemca"), 2, Meaning.MPI_PARAMETER, variable="PRTE_MCA_{}"),
    Option(("pmixmca", "gpmixmca"), 2, Meaning.MPI_PARAMETER, variable="PMIX_MCA_{}"),
    Option(("oversubscribe",), 0, Meaning.OVERSUBSCRIBE),
    Option(("help", "h"), 1, attached_only=True),
    Option(("fwd-environment",), 1, attached_only=True),
    Option(("output-proctable",), 1, attached_only=True),
    *flags("version V parseable parsable p do-not-launch"),
    *flags("report-child-jobs-separately hetero-nodes stop-on-exec stop-in-init stop-in-app"),
    *flags("do-not-aggregate-help preload-binary s no-app-prefix enable-recovery disable-recovery"),
    *flags("continuous display-comm display-comm-finalize soft xml timestamp-output nolocal"),
    *flags("merge-stderr-to-stdout"),
    *flags("nooversubscribe use-hwthread-cpus debug"),
    *valued("report-pid report-uri personality dvm tune max-vm-size tmpdir prefix forward-signals xterm"),
    *valued("timeout spawn-timeout output preload-files set-env prepend-env append-env unset-env path"),
    *valued("pset memory-alloc-kinds gpu-support app-prefix runtime-options rtos max-restarts"),
    *valued("with-ft initial-errhandler arch file output-directory output-filename display-topo cpu-set"),
    *valued("cpu-list npersocket ppr amca am rankfile stream-buffering"),
)


_OBJECTS = {None: "node", Level.SOCKET: "package", Level.NUMA: "numa", Level.CACHE: "l3cache"}
_FILE = "openmpi5.rankfile"


def _emit(plan: Plan) -> Emission:
    """Return the options of ``mpirun``."""
    forward, variables = forwarded(plan)
    mapping, files = _mapping(plan)
    return Emission(
        ("mpirun", "-np", str(plan.request.ranks), *words_for_hosts(plan), *mapping, *forward),
        variables,
        files,
    )


def _emit_uneven(plans: Sequence[Plan]) -> Emission:
    """Return a launch with a rankfile, which counts cores if all ranks have full ones."""
    full_cores = all(map(whole_cores, plans))
    return uneven(
        plans, _file_words(full_cores), _FILE, lambda plan, seat: pu_list(_numbers(plan, seat, full_cores))
    )


def _file_words(full_cores: bool) -> tuple[str, ...]:  # noqa: FBT001
    unit = "" if full_cores else ":hwtcpus"
    return ("--map-by", f"rankfile:file={_FILE}{unit}", "--bind-to", "core" if full_cores else "hwthread")


def _mapping(plan: Plan) -> tuple[tuple[str, ...], dict[str, str]]:
    if filled := fillings(plan):
        shape = filled[0]
        return (
            "--map-by",
            f"ppr:{shape.ranks}:{_OBJECTS[shape.level]}:pe={shape.width}",
            "--bind-to",
            "core",
        ), {}
    full_cores = whole_cores(plan)
    if all(len(_units(plan, seat)) == 1 for seat in plan.seats):
        entries = ",".join(str(_units(plan, seat)[0]) for seat in plan.seats)
        unit = "" if full_cores else ":hwtcpus"
        return (
            "--map-by",
            f"pe-list={entries}:ordered{unit}",
            "--bind-to",
            "core" if full_cores else "hwthread",
        ), {}
    return _file_words(full_cores), {_FILE: rankfile(plan, lambda seat: pu_list(_units(plan, seat)))}


def _units(plan: Plan, seat: Seat) -> tuple[int, ...]:
    """Return numbers as PRRTE counts: cores, or hardware threads if a core is shared or used in part."""
    return _numbers(plan, seat, whole_cores(plan))


def _numbers(plan: Plan, seat: Seat, full_cores: bool) -> tuple[int, ...]:  # noqa: FBT001
    if full_cores:
        return tuple(core.index for core in seat.cores)
    logical = logical_pus(plan)
    return tuple(sorted(logical[pu] for pu in seat.pus))


DIALECT = dialect(
    name="openmpi5",
    placement=_WORDS,
    grammar=Grammar(equals=True, long_after_one_dash=True, abbreviations=True, flags_together=True),
    options=_OPTIONS,
    recognise_version=version_by(r"\((?:Open MPI|PRRTE)\) (\d+\.\S+)"),
    travels=("OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_"),
    emit=_emit,
    emit_uneven=_emit_uneven,
)
