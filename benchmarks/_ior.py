"""IOR and mdtest (https://github.com/hpc/ior), built from a checkout: access patterns and builds."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchmarks._programs import Bed
from benchmarks._report import RESULTS
from mpiric.model.errors import MpiricError, NotFoundError

_FOUND = ("UNISTD_H", "SYSCONF", "STATFS", "SYS_STATFS_H", "SYS_STATVFS_H", "SYS_PARAM_H", "SYS_MOUNT_H")
_MORE = ("SYS_IOCTL_H", "STRINGS_H", "STRING_H", "STDLIB_H", "FCNTL_H", "WCHAR_H", "GETTIMEOFDAY", "UNAME")
_SHARED = ("ior", "utilities", "parse_options", "ior-output", "option", "mdtest", "md-workbench")
_WAYS = ("aiori", "aiori-DUMMY", "aiori-POSIX", "aiori-MPIIO")
_LARGE_COUNTS = ("mpich", "intelmpi")  # libraries with the MPI_File_…_c of MPI 4


@dataclass(frozen=True)
class Pattern:
    """Access pattern: a program and its arguments; names and sizes follow IO500."""

    name: str
    program: str  # "ior" or "mdtest"
    arguments: tuple[str, ...]
    through_mpi: bool = False
    shared: bool = True  # one file of all ranks

    def words(self, mebibytes: int) -> tuple[str, ...]:
        """Return the arguments that write about this number of MiB per rank."""
        sizes = {"MIB": f"{mebibytes}m", "SEGMENTS": str(mebibytes * 22), "FILES": str(mebibytes * 20)}
        return tuple(sizes.get(word, word) for word in self.arguments)

    def rate(self, stdout: str) -> float:
        """Return the printed rate: MiB written, or files created, per second. Raises MpiricError."""
        match = _RATES[self.program].search(stdout)
        if match is None:
            raise MpiricError(f"{self.program} has printed no rate: {stdout.strip()[-200:]}")
        return float(match[1])


# A fixed seed (-G): the bytes of every run are the same, and are compared. The clock stops after fsync (-e).
_IOR = ("-w", "-k", "-e", "-G", "7", "-o", "out/data")
_RATES = {
    "ior": re.compile(r"^write +([\d.]+)", re.MULTILINE),
    "mdtest": re.compile(r"File creation +([\d.]+)"),
}
PATTERNS = (
    Pattern(
        "easy, one file, MPI-IO",
        "ior",
        ("-a", "MPIIO", "-c", "-t", "1m", "-b", "MIB", *_IOR),
        through_mpi=True,
    ),
    Pattern(
        "hard, one file, MPI-IO",
        "ior",
        ("-a", "MPIIO", "-c", "-t", "47008", "-b", "47008", "-s", "SEGMENTS", *_IOR),
        through_mpi=True,
    ),
    Pattern("easy, one file, POSIX", "ior", ("-a", "POSIX", "-t", "1m", "-b", "MIB", *_IOR)),
    Pattern(
        "easy, a file a rank", "ior", ("-a", "POSIX", "-F", "-t", "1m", "-b", "MIB", *_IOR), shared=False
    ),
    Pattern("mdtest easy", "mdtest", ("-C", "-n", "FILES", "-u", "-d", "out/tree"), shared=False),
    Pattern("mdtest hard", "mdtest", ("-C", "-n", "FILES", "-w", "3901", "-d", "out/tree"), shared=False),
)


def built(program: str, bed: Bed, sources: Path | None) -> str:
    """Return the path of a program for a library. Raises NotFoundError without a checkout."""
    source = sources / "ior" / "src" if sources is not None else None
    if source is None or not (source / "ior.c").is_file():
        raise NotFoundError(
            "no checkout of ior was found", hint="--sources DIR names the directory that holds `ior`"
        )
    target = RESULTS / "programs" / bed.mpi.label / program
    if target.exists():
        return str(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    lines = ['#define META_NAME "ior"', '#define META_VERSION "checkout"', '#define META_RELEASE ""']
    lines += ['#define PACKAGE_NAME "ior"', '#define PACKAGE_VERSION "checkout"']
    lines += [f"#define HAVE_{name} 1" for name in (*_FOUND, *_MORE)]
    lines += ["#define USE_POSIX_AIORI 1", "#define USE_MPIIO_AIORI 1"]
    lines += ["#define HAVE_MPI_FILE_READ_C 1"] if bed.mpi.implementation in _LARGE_COUNTS else []
    (target.parent / "config.h").write_text("\n".join(lines) + "\n")
    flags = (
        "-std=gnu11",
        "-O2",
        "-w",
        "-D_GNU_SOURCE",
        "-DHAVE_CONFIG_H",
        f"-I{target.parent}",
        f"-I{source}",
    )
    files = [str(source / f"{name}.c") for name in (f"{program}-main", *_SHARED, *_WAYS)]
    command = [bed.mpi.compilers["c"], *flags, *files, "-o", str(target), "-lm"]
    done = subprocess.run(command, env=bed.environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MpiricError(f"{program} does not compile: {done.stderr.strip()[-300:]}")
    return str(target)
