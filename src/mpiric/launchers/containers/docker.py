"""Docker, whose command line Podman copies.

Source: docker run reference.
"""

from dataclasses import replace

from mpiric.launchers.containers import podman

ENGINE = replace(podman.ENGINE, name="docker", programs=("docker",))
