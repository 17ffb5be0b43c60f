"""Open MPI up to 4: ``orterun``. Words are matched whole, after one dash or two; no ``--name=value``.

Source: orte/mca/schizo/ompi/schizo_ompi.c and opal/util/cmd_line.c of Open MPI 4.1.
"""

from mpiric.launchers._banner import version_by
from mpiric.launchers._dialect import Dialect, Grammar, Option, flags, valued
from mpiric.launchers._openmpi import NAMES, WRITE, facets, merge, spellings
from mpiric.model.job import Meaning

_BINDING = {
    "none": "none",
    "core": "core",
    "hwthread": "hwthread",
    "l3": "l3cache",
    "numa": "numa",
    "package": "socket",
}
_MAPPING = {"compact": "slot", "spread-numa": "numa", "spread-package": "socket", "node-round-robin": "node"}

_BIND = "OMPI_MCA_hwloc_base_binding_policy"
_MAP = "OMPI_MCA_rmaps_base_mapping_policy"

_OPTIONS = (
    Option(("np", "n", "c"), 1, Meaning.RANKS),
    Option(("npernode", "N"), 1, Meaning.RANKS_PER_NODE, variable="OMPI_MCA_rmaps_ppr_n_pernode"),
    Option(("pernode",), 0, Meaning.RANKS_PER_NODE, implied="1"),
    Option(("cpus-per-proc", "cpus-per-rank"), 1, Meaning.THREADS_PER_RANK),
    Option(("host", "H"), 1, Meaning.HOSTS),
    Option(("hostfile", "machinefile"), 1, Meaning.HOSTFILE),
    Option(("default-hostfile",), 1, Meaning.HOSTFILE, variable="OMPI_MCA_orte_default_hostfile"),
    Option(("x",), 1, Meaning.ENVIRONMENT),
    Option(("mca", "gmca"), 2, Meaning.MPI_PARAMETER, variable="OMPI_MCA_{}"),
    Option(("bind-to",), 1, Meaning.BINDING, variable=_BIND),
    Option(("bind-to-core",), 0, Meaning.BINDING, implied="core", variable=_BIND),
    Option(("bind-to-socket",), 0, Meaning.BINDING, implied="socket", variable=_BIND),
    Option(("map-by",), 1, Meaning.MAPPING, variable=_MAP),
    Option(("bycore",), 0, Meaning.MAPPING, implied="core", variable=_MAP),
    Option(("bynode",), 0, Meaning.MAPPING, implied="node", variable=_MAP),
    Option(("byslot",), 0, Meaning.MAPPING, implied="slot", variable=_MAP),
    Option(("rank-by",), 1, Meaning.RANKING, variable="OMPI_MCA_rmaps_base_ranking_policy"),
    Option(("wdir", "wd"), 1, Meaning.WORKING_DIRECTORY),
    Option(("oversubscribe",), 0, Meaning.OVERSUBSCRIBE, variable="OMPI_MCA_rmaps_base_oversubscribe"),
    Option(("launch-agent",), 1, Meaning.BOOTSTRAP),
    Option(("stdin",), 1, Meaning.STDIN),
    Option(("app",), 1, Meaning.PROGRAM_FILE),
    Option(("help", "h"), 1),
    *flags("version V verbose v quiet q report-state-on-timeout get-stack-traces xml tag-output"),
    *flags("report-child-jobs-separately timestamp-output merge-stderr-to-stdout index-argv-by-rank s"),
    *flags("preload-binary do-not-resolve display-map display-devel-map display-topo nolocal dvm novm"),
    *flags("display-diffable-map nooversubscribe use-hwthread-cpus report-bindings display-allocation"),
    *flags("display-devel-allocation set-cwd-to-session-dir tv debug output-proctable debug-devel d"),
    *flags("debug-daemons debug-daemons-file leave-session-attached do-not-launch noprefix show-progress"),
    *flags("use-regexp enable-recovery disable-recovery continuous allow-run-as-root fwd-mpirun-port"),
    *flags("enable-instant-on-support"),
    *valued("report-pid report-uri timeout hnp xml-file output-filename xterm preload-files max-vm-size"),
    *valued("ompi-server cartofile cf rankfile rf npersocket ppr cpu-list cpu-set path debugger prefix"),
    *valued("report-events max-restarts personality am amca tune"),
)

DIALECT = Dialect(
    name="openmpi4",
    launcher_names=NAMES,
    grammar=Grammar(long_after_one_dash=True, flags_together=True),
    options=_OPTIONS,
    recognise_version=version_by(r"\(Open MPI\) ([1-4]\.\S+)"),
    write=WRITE,
    spellings=spellings(_BINDING, _MAPPING),
    merge=merge,
    facets=facets,
    travels=("OMPI_MCA_", "PMIX_MCA_"),
    environment_in_every_segment=True,
    host_file_format="openmpi",
    binding_words=_BINDING,
    mapping_words=_MAPPING,
)
