"""Apptainer: passes the host's environment inside, except what the image or ``--cleanenv`` hides.

``APPTAINERENV_X`` sets X inside in any case, accepts values with commas (at which ``--env`` splits), and does
not apply LD_PRELOAD to the engine itself. Source: Apptainer user guide, "Environment and Metadata".
"""

from mpiric.launchers.containers._engine import prefixed_engine

ENGINE = prefixed_engine("apptainer", "APPTAINERENV_")
