"""Open MPI up to 4: ``orterun``. Words are matched whole, after one dash or two; no ``--name=value``.

Source: orte/mca/schizo/ompi/schizo_ompi.c and opal/util/cmd_line.c of Open MPI 4.1.
"""

from mpiric.launchers._banner import version_by
from mpiric.launchers._dialect import Grammar, Option, flags, valued
from mpiric.launchers._openmpi import dialect, placing_options
from mpiric.model.job import Meaning

_PACKAGE = "socket"

_OPTIONS = (
    *placing_options(
        _PACKAGE,
        binding="OMPI_MCA_hwloc_base_binding_policy",
        mapping="OMPI_MCA_rmaps_base_mapping_policy",
        ranking="OMPI_MCA_rmaps_base_ranking_policy",
    ),
    Option(("npernode", "N"), 1, Meaning.RANKS_PER_NODE, variable="OMPI_MCA_rmaps_ppr_n_pernode"),
    Option(("hostfile", "machinefile"), 1, Meaning.HOSTFILE),
    Option(("default-hostfile",), 1, Meaning.HOSTFILE, variable="OMPI_MCA_orte_default_hostfile"),
    Option(("mca", "gmca"), 2, Meaning.MPI_PARAMETER, variable="OMPI_MCA_{}"),
    Option(("oversubscribe",), 0, Meaning.OVERSUBSCRIBE, variable="OMPI_MCA_rmaps_base_oversubscribe"),
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

DIALECT = dialect(
    name="openmpi4",
    package=_PACKAGE,
    grammar=Grammar(long_after_one_dash=True, flags_together=True),
    options=_OPTIONS,
    recognise_version=version_by(r"\(Open MPI\) ([1-4]\.\S+)"),
    travels=("OMPI_MCA_", "PMIX_MCA_"),
)
