"""Settings in files of Open MPI, PRRTE, PMIx and UCX, which count like variables of the environment."""

import re
from collections.abc import Iterator, Mapping

from mpiric.host.host import Host
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.situation import FileSetting

# Prefix of the variables, directory of the user's file, name of the file of the installation.
_MCA_FILES = (
    ("OMPI_MCA_", ".openmpi", "openmpi-mca-params.conf"),
    ("PRTE_MCA_", ".prte", "prte-mca-params.conf"),
    ("PMIX_MCA_", ".pmix", "pmix-mca-params.conf"),
)
_DEBIAN_DIRECTORY = "/etc/openmpi"  # system settings of the packages with the prefix /usr
_SETTING = re.compile(r"\s*(\w+)\s*=\s*(.*?)\s*")


def settings_of_user(host: Host, home: str) -> dict[str, FileSetting]:
    """Return the MCA parameters in the files of the home directory, by the name of their variable."""
    settings: dict[str, FileSetting] = {}
    for prefix, directory, _ in _MCA_FILES:
        settings |= _read(host, f"{home}/{directory}/mca-params.conf", prefix)
    return settings


def settings_in_files(
    mpi: MpiLibrary, environment: Mapping[str, str], working_directory: str, host: Host
) -> dict[str, FileSetting]:
    """Return the settings that the library and UCX read from files; the user's files have precedence."""
    home = environment.get("HOME", "")
    settings: dict[str, FileSetting] = {}
    if mpi.implementation == "openmpi":
        for prefix, _, name in _MCA_FILES:
            directories = (f"{mpi.prefix}/etc", *([_DEBIAN_DIRECTORY] if mpi.prefix == "/usr" else []))
            for directory in directories:
                settings |= _read(host, f"{directory}/{name}", prefix)
        settings |= settings_of_user(host, home)
    # The order in which ucp_config_read of UCX opens them; a later file overrides an earlier one.
    for directory in ("/etc/ucx", home, environment.get("UCX_CONFIG_DIR", ""), working_directory):
        if directory:
            settings |= _read(host, f"{directory}/ucx.conf", "")
    return settings


def _read(host: Host, path: str, prefix: str) -> Iterator[tuple[str, FileSetting]]:
    """Yield the settings of a file up to its first section; sections of ucx.conf hold for some CPUs only."""
    for number, line in enumerate((host.read_text(path) or "").splitlines(), 1):
        if line.lstrip().startswith("["):
            return
        if match := _SETTING.fullmatch(line):
            name, value = match[1], match[2].strip("\"'")
            yield prefix + name, FileSetting(name, value, f"{path}:{number}")
