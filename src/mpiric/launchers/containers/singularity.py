"""SingularityCE and old Singularity: Apptainer's twin, with its own prefix.

Source: SingularityCE user guide, "Environment and Metadata".
"""

from mpiric.launchers.containers._by_prefix import prefixed_engine

ENGINE = prefixed_engine("singularity", "SINGULARITYENV_")
