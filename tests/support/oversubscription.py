"""Settings that make waiting ranks release their CPU, so that tests can run more ranks than CPUs."""

import atexit
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

OVERSUBSCRIBED = {
    "mpich": {
        f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM": "mpir"
        for name in ("ALLREDUCE", "BARRIER", "BCAST", "REDUCE")
    },
    "openmpi": {
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
    },
    "intelmpi": {"I_MPI_WAIT_MODE": "1", "I_MPI_PIN": "0"},
}

# Open MPI 5 then starts within 0.25 s: libfabric sleeps for 1 s while it looks for devices.
WITHOUT_LIBFABRIC = {"OMPI_MCA_mtl": "^ofi", "OMPI_MCA_btl": "^ofi"}


@cache
def yielding_library() -> str:
    """Return the library built from yielding.c, once per process; "" without a compiler."""
    target = Path(mkdtemp(prefix="mpiric-yielding-")) / "yielding.so"
    argv = ["gcc", "-O2", "-shared", "-fPIC", Path(__file__).with_name("yielding.c"), "-o", target]
    try:
        subprocess.run(argv, check=True)
    except FileNotFoundError:
        return ""
    atexit.register(shutil.rmtree, target.parent, ignore_errors=True)
    return str(target)


def yielding(*preloaded: object) -> str:
    """Return LD_PRELOAD: these libraries and `yielding_library`."""
    return ":".join(filter(None, (*map(str, preloaded), yielding_library())))
