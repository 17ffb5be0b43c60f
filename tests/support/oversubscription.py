"""Settings with which more ranks than free CPUs wait instead of spin: no test is decided by their number."""

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

# Open MPI 5 starts within a quarter of a second then: libfabric sleeps for one while it looks for devices.
WITHOUT_LIBFABRIC = {"OMPI_MCA_mtl": "^ofi", "OMPI_MCA_btl": "^ofi"}


@cache
def yielding_library() -> str:
    """The library of yielding.c, made once a process; nothing where there is no compiler."""
    target = Path(mkdtemp(prefix="mpiric-yielding-")) / "yielding.so"
    words = ["gcc", "-O2", "-shared", "-fPIC", Path(__file__).with_name("yielding.c"), "-o", target]
    try:
        subprocess.run(words, check=True)
    except FileNotFoundError:
        return ""
    atexit.register(shutil.rmtree, target.parent, ignore_errors=True)
    return str(target)


def yielding(*preloaded: object) -> str:
    """LD_PRELOAD of these libraries, under which waiting ranks of MPICH give their CPU away."""
    return ":".join(filter(None, (*map(str, preloaded), yielding_library())))
