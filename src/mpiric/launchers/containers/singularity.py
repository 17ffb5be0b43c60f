"""SingularityCE and old Singularity: like Apptainer, with another prefix.

Source: SingularityCE user guide, "Environment and Metadata".
"""

from mpiric.launchers.containers._engine import prefixed_engine

ENGINE = prefixed_engine("singularity", "SINGULARITYENV_")
