"""Open MPI up to 4: ``orterun``. Options are matched completely, with one dash or two; no ``--name=value``.

A plan becomes ``ppr`` with ``pe``, or a rankfile of hardware threads by the kernel's numbers, which
``rmaps_rank_file_physical`` selects (orte/mca/rmaps/rank_file). ``--cpu-list`` sorts its numbers, so it
cannot express an order. Sources: orte/mca/schizo/ompi/schizo_ompi.c and opal/util/cmd_line.c of Open MPI 4.1.
"""

from collections.abc import Sequence

from mpiric.launchers._dialect import Grammar, Option, Scope, flags, of_launcher, valued
from mpiric.launchers._emission import fillings
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
from mpiric.model.placement import Emission, Plan

_WORDS = PlacementWords(
    package="socket",
    binding="OMPI_MCA_hwloc_base_binding_policy",
    mapping="OMPI_MCA_rmaps_base_mapping_policy",
    ranking="OMPI_MCA_rmaps_base_ranking_policy",
)

_OPTIONS = (
    *placing_options(_WORDS, Scope.SEGMENT),
    *of_launcher("display-topo display-diffable-map display-devel-allocation"),
    Option(("npernode", "N"), 1, Meaning.RANKS_PER_NODE, variable="OMPI_MCA_rmaps_ppr_n_pernode"),
    Option(("hostfile", "machinefile"), 1, Meaning.HOSTFILE),
    Option(("default-hostfile",), 1, Meaning.HOSTFILE, variable="OMPI_MCA_orte_default_hostfile"),
    Option(("mca", "gmca"), 2, Meaning.MPI_PARAMETER, variable="OMPI_MCA_{}"),
    Option(("oversubscribe",), 0, Meaning.OVERSUBSCRIBE, variable="OMPI_MCA_rmaps_base_oversubscribe"),
    Option(("help", "h"), 1),
    *flags("version V xml"),
    *flags("report-child-jobs-separately timestamp-output merge-stderr-to-stdout index-argv-by-rank s"),
    *flags("preload-binary nolocal dvm novm nooversubscribe use-hwthread-cpus do-not-launch"),
    *flags("set-cwd-to-session-dir tv debug output-proctable debug-devel d"),
    *flags("use-regexp enable-recovery disable-recovery continuous fwd-mpirun-port"),
    *flags("enable-instant-on-support"),
    *valued("report-pid report-uri timeout hnp xml-file output-filename xterm preload-files max-vm-size"),
    *valued("ompi-server cartofile cf rankfile rf npersocket ppr cpu-list cpu-set path debugger prefix"),
    *valued("report-events max-restarts personality am amca tune"),
)


_OBJECTS = {None: "node", Level.SOCKET: "socket", Level.NUMA: "numa", Level.CACHE: "l3cache"}
_FILE = "openmpi4.rankfile"
_RANKFILE = ("--mca", "rmaps_rank_file_physical", "1", "--rankfile", _FILE)


def _emit(plan: Plan) -> Emission:
    """Return the options of ``mpirun``."""
    forward, variables = forwarded(plan)
    start = ("mpirun", "-np", str(plan.request.ranks), *words_for_hosts(plan))
    if filled := fillings(plan):
        shape = filled[0]
        mapping = f"ppr:{shape.ranks}:{_OBJECTS[shape.level]}:pe={shape.width}"
        return Emission((*start, "--map-by", mapping, "--bind-to", "core", *forward), variables)
    text = rankfile(plan, lambda seat: pu_list(seat.pus))
    return Emission((*start, *_RANKFILE, *forward), variables, {_FILE: text})


def _emit_uneven(plans: Sequence[Plan]) -> Emission:
    """Return a launch with a rankfile."""
    return uneven(plans, _RANKFILE, _FILE, lambda _, seat: pu_list(seat.pus))


DIALECT = dialect(
    name="openmpi4",
    placement=_WORDS,
    grammar=Grammar(long_after_one_dash=True, flags_together=True),
    options=_OPTIONS,
    recognise_version=version_by(r"\(Open MPI\) ([1-4]\.\S+)"),
    travels=("OMPI_MCA_", "PMIX_MCA_"),
    emit=_emit,
    emit_uneven=_emit_uneven,
)
