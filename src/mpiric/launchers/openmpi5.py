"""Open MPI 5 and later: ``prterun`` of PRRTE behind ``mpirun``. Read by getopt_long, one dash being made two.

Source: src/mca/schizo/ompi/schizo_ompi.c of PRRTE 3 and src/util/pmix_cmd_line.c of OpenPMIx 5.
"""

from mpiric.launchers._banner import version_by
from mpiric.launchers._dialect import Grammar, Option, flags, valued
from mpiric.launchers._openmpi import dialect, placing_options
from mpiric.model.job import Meaning

_PACKAGE = "package"

_OPTIONS = (
    *placing_options(
        _PACKAGE,
        binding="PRTE_MCA_hwloc_default_binding_policy",
        mapping="PRTE_MCA_rmaps_default_mapping_policy",
        ranking="PRTE_MCA_rmaps_default_ranking_policy",
    ),
    Option(("N", "npernode"), 1, Meaning.RANKS_PER_NODE),
    Option(("hostfile", "machinefile", "default-hostfile"), 1, Meaning.HOSTFILE),
    Option(("mca", "omca", "gmca", "gomca"), 2, Meaning.MPI_PARAMETER, variable="OMPI_MCA_{}"),
    Option(("prtemca", "gprtemca"), 2, Meaning.MPI_PARAMETER, variable="PRTE_MCA_{}"),
    Option(("pmixmca", "gpmixmca"), 2, Meaning.MPI_PARAMETER, variable="PMIX_MCA_{}"),
    Option(("oversubscribe",), 0, Meaning.OVERSUBSCRIBE),
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

DIALECT = dialect(
    name="openmpi5",
    package=_PACKAGE,
    grammar=Grammar(equals=True, long_after_one_dash=True, abbreviations=True, flags_together=True),
    options=_OPTIONS,
    recognise_version=version_by(r"\((?:Open MPI|PRRTE)\) (\d+\.\S+)"),
    travels=("OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_"),
)
