"""Open MPI 5 and later: ``prterun`` of PRRTE behind ``mpirun``. Read by getopt_long, one dash being made two.

Source: src/mca/schizo/ompi/schizo_ompi.c of PRRTE 3 and src/util/pmix_cmd_line.c of OpenPMIx 5.
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
    "package": "package",
}
_MAPPING = {"compact": "slot", "spread-numa": "numa", "spread-package": "package", "node-round-robin": "node"}

_BIND = "PRTE_MCA_hwloc_default_binding_policy"
_MAP = "PRTE_MCA_rmaps_default_mapping_policy"

_OPTIONS = (
    Option(("np", "n", "c"), 1, Meaning.RANKS),
    Option(("N", "npernode"), 1, Meaning.RANKS_PER_NODE),
    Option(("pernode",), 0, Meaning.RANKS_PER_NODE, implied="1"),
    Option(("cpus-per-proc", "cpus-per-rank"), 1, Meaning.THREADS_PER_RANK),
    Option(("host", "H"), 1, Meaning.HOSTS),
    Option(("hostfile", "machinefile", "default-hostfile"), 1, Meaning.HOSTFILE),
    Option(("x",), 1, Meaning.ENVIRONMENT),
    Option(("mca", "omca", "gmca", "gomca"), 2, Meaning.MPI_PARAMETER, variable="OMPI_MCA_{}"),
    Option(("prtemca", "gprtemca"), 2, Meaning.MPI_PARAMETER, variable="PRTE_MCA_{}"),
    Option(("pmixmca", "gpmixmca"), 2, Meaning.MPI_PARAMETER, variable="PMIX_MCA_{}"),
    Option(("bind-to",), 1, Meaning.BINDING, variable=_BIND),
    Option(("bind-to-core",), 0, Meaning.BINDING, implied="core", variable=_BIND),
    Option(("bind-to-socket",), 0, Meaning.BINDING, implied="package", variable=_BIND),
    Option(("map-by",), 1, Meaning.MAPPING, variable=_MAP),
    Option(("bycore",), 0, Meaning.MAPPING, implied="core", variable=_MAP),
    Option(("bynode",), 0, Meaning.MAPPING, implied="node", variable=_MAP),
    Option(("byslot",), 0, Meaning.MAPPING, implied="slot", variable=_MAP),
    Option(("rank-by",), 1, Meaning.RANKING, variable="PRTE_MCA_rmaps_default_ranking_policy"),
    Option(("wdir", "wd"), 1, Meaning.WORKING_DIRECTORY),
    Option(("oversubscribe",), 0, Meaning.OVERSUBSCRIBE),
    Option(("launch-agent",), 1, Meaning.BOOTSTRAP),
    Option(("stdin",), 1, Meaning.STDIN),
    Option(("app",), 1, Meaning.PROGRAM_FILE),
    Option(("help", "h"), 1, attached_only=True),
    Option(("fwd-environment",), 1, attached_only=True),
    Option(("output-proctable",), 1, attached_only=True),
    *flags("version V verbose v parseable parsable p debug-daemons debug-daemons-file do-not-launch"),
    *flags("leave-session-attached noprefix allow-run-as-root report-child-jobs-separately hetero-nodes"),
    *flags("stop-on-exec stop-in-init stop-in-app report-state-on-timeout get-stack-traces show-progress"),
    *flags("do-not-aggregate-help preload-binary s no-app-prefix enable-recovery disable-recovery"),
    *flags("continuous display-comm display-comm-finalize soft xml tag-output timestamp-output nolocal"),
    *flags("merge-stderr-to-stdout display-devel-map report-bindings display-map display-allocation"),
    *flags("nooversubscribe use-hwthread-cpus debug"),
    *valued("report-pid report-uri personality dvm tune max-vm-size tmpdir prefix forward-signals xterm"),
    *valued("timeout spawn-timeout output preload-files set-env prepend-env append-env unset-env path"),
    *valued("pset memory-alloc-kinds gpu-support app-prefix display runtime-options rtos max-restarts"),
    *valued("with-ft initial-errhandler arch file output-directory output-filename display-topo cpu-set"),
    *valued("cpu-list npersocket ppr amca am rankfile stream-buffering"),
)

DIALECT = Dialect(
    name="openmpi5",
    launcher_names=NAMES,
    grammar=Grammar(equals=True, long_after_one_dash=True, abbreviations=True, flags_together=True),
    options=_OPTIONS,
    recognise_version=version_by(r"\((?:Open MPI|PRRTE)\) (\d+\.\S+)"),
    write=WRITE,
    spellings=spellings(_BINDING, _MAPPING),
    merge=merge,
    facets=facets,
    travels=("OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_"),
    environment_in_every_segment=True,
    host_file_format="openmpi",
    binding_words=_BINDING,
    mapping_words=_MAPPING,
)
