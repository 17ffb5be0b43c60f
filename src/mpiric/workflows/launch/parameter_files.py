"""Settings in files of Open MPI, PRRTE, PMIx, Intel MPI and UCX, which count like environment variables."""

import re
from collections.abc import Iterator
from pathlib import PurePath

from mpiric.host.host import Host
from mpiric.model.job import Job
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
# Options in files: `-mca NAME VALUE` and `-x NAME=VALUE` of Open MPI, `-genv NAME VALUE` of Intel MPI
_OPTION = re.compile(r"(?<!\S)--?(mca|gmca|x|genv|env)\s+(\w+)(?:\s*=\s*|\s+)(\"[^\"]*\"|\S+)")
_FILES_ON_LINE = ("am", "amca", "tune")  # options of Open MPI, the last one has precedence


def settings_of_user(host: Host, home: str) -> dict[str, FileSetting]:
    """Return the MCA parameters in the files of the home directory, by the name of their variable."""
    settings: dict[str, FileSetting] = {}
    for prefix, directory, _ in _MCA_FILES:
        settings |= _read(host, f"{home}/{directory}/mca-params.conf", prefix)
    return settings


def settings_in_files(mpi: MpiLibrary, job: Job, host: Host) -> dict[str, FileSetting]:
    """Return the settings that library, launcher and UCX read from files.

    The files of the launch line have precedence before the user's, and those before the system's.
    """
    home = job.environment.get("HOME", "")
    settings: dict[str, FileSetting] = {}
    if mpi.implementation == "openmpi":
        for prefix, _, name in _MCA_FILES:
            directories = (f"{mpi.prefix}/etc", *([_DEBIAN_DIRECTORY] if mpi.prefix == "/usr" else []))
            for directory in directories:
                settings |= _read(host, f"{directory}/{name}", prefix)
        settings |= settings_of_user(host, home)
        for path in _files_on_line(job):
            settings |= _read(host, path, "OMPI_MCA_")
    if mpi.implementation == "intelmpi":
        for path in (f"{mpi.prefix}/etc/mpiexec.conf", f"{home}/.mpiexec.conf"):
            settings |= _read(host, path, "")
    # The order in which ucp_config_read of UCX opens them; a later file overrides an earlier one.
    for directory in ("/etc/ucx", home, job.environment.get("UCX_CONFIG_DIR", ""), job.working_directory):
        if directory:
            settings |= _read(host, f"{directory}/ucx.conf", "")
    return settings


def _files_on_line(job: Job) -> Iterator[str]:
    """Yield the files of MCA parameters that the options of a launch line name."""
    options = [option.tokens for segment in job.segments for option in segment.options]
    for name in _FILES_ON_LINE:
        for tokens in options:
            if len(tokens) == 2 and tokens[0].lstrip("-") == name:
                for path in re.split("[,:]", tokens[1]):
                    yield str(PurePath(job.working_directory, path))


def _read(host: Host, path: str, prefix: str) -> Iterator[tuple[str, FileSetting]]:
    """Yield the settings of a file up to its first section; sections of ucx.conf hold for some CPUs only.

    ``prefix`` makes a variable of the name of an MCA parameter.
    """
    for number, line in enumerate((host.read_text(path) or "").splitlines(), 1):
        if line.lstrip().startswith("["):
            return
        place = f"{path}:{number}"
        if match := _SETTING.fullmatch(line):
            name, value = match[1], match[2].strip("\"'")
            yield prefix + name, FileSetting(name, value, place)
        for option, name, quoted in _OPTION.findall(line.partition("#")[0]):
            variable = prefix + name if option in ("mca", "gmca") else name
            yield variable, FileSetting(name, quoted.strip('"'), place)
