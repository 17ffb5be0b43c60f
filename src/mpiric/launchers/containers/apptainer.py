"""Apptainer: the host's environment is passed inside, except what the image or ``--cleanenv`` hides.

``APPTAINERENV_X`` sets X inside whatever hides the host's, takes values with commas (which ``--env`` splits),
and keeps LD_PRELOAD away from the engine itself.
Source: Apptainer user guide, "Environment and Metadata".
"""

from mpiric.launchers.containers._by_prefix import prefixed_engine

ENGINE = prefixed_engine("apptainer", "APPTAINERENV_")
