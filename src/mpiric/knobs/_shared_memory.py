"""Whether something keeps ranks of one node from using shared memory."""

from mpiric.knobs._reading import in_force, is_on
from mpiric.model.situation import Situation


def _btl_lacks_shared_memory(components: str) -> bool:
    names = components.strip().lstrip("^").split(",")
    has_it = any(name.strip() in ("sm", "vader") for name in names)
    return has_it if components.strip().startswith("^") else not has_it


def _ucx_lacks_shared_memory(transports: str) -> bool:
    names = transports.strip().lstrip("^").split(",")
    ways = ("all", "sm", "shm", "mm", "posix", "sysv")
    has_it = any(name.strip() in ways for name in names)
    return has_it if transports.strip().startswith("^") else not has_it


def shared_memory_is_off(situation: Situation) -> str:
    """The setting of the user's that keeps ranks of a node from using shared memory; "" when none does."""
    implementation = situation.mpi.implementation
    btl = in_force(situation, "OMPI_MCA_btl")
    if implementation == "openmpi":
        return f"OMPI_MCA_btl={btl}" if btl and _btl_lacks_shared_memory(btl) else ""
    if is_on(situation, "MPIR_CVAR_NOLOCAL"):
        return "MPIR_CVAR_NOLOCAL=1"
    fabrics = in_force(situation, "I_MPI_FABRICS")
    if implementation == "intelmpi" and fabrics and not fabrics.startswith("shm"):
        return f"I_MPI_FABRICS={fabrics}"
    tls = in_force(situation, "UCX_TLS")
    if (
        implementation == "mpich"
        and tls
        and "ucx" in situation.mpi.transports
        and _ucx_lacks_shared_memory(tls)
    ):
        return f"UCX_TLS={tls}"
    return ""
