"""MVAPICH, an MPICH derivative; see https://mvapich.cse.ohio-state.edu.

Version 2 has variables of its own; version 3 is based on MPICH's ch4. Settings are transcribed from the
MVAPICH2 User Guide ("MVAPICH2 Parameters"), not tested on a real installation.
"""

import re
from collections.abc import Mapping

from mpiric.model.amount import version_by
from mpiric.model.job import Spelling
from mpiric.model.knob import Spell, in_bytes, parse_bytes, plain, word
from mpiric.model.mpi_library import AbiFamily, Capabilities, CollectiveComponents
from mpiric.model.situation import Situation
from mpiric.mpis import _ch4, _fabrics
from mpiric.mpis._file_hints import by_hint_file, hint_speller
from mpiric.mpis._implementation import Implementation, major
from mpiric.mpis.mpich import ASK, recognise_connections

_UNTRIED = {"node-buffers", "single-copy-threshold"}  # settings of ch4 that are untested with version 3


# ``MVAPICH2 Version : 2.3.7`` up to version 2, ``MVAPICH Version : 3.0`` since version 3.
_recognise = version_by(r"MVAPICH(?:2)?(?:-\w+)? Version\s*:\s*(\S+)")


def _transports(version_text: str, _information: str) -> tuple[str, ...]:
    """Parse ``Device: ch3:mrail`` (InfiniBand verbs with its own shared memory), or the netmods of ch4."""
    match = re.search(r"MVAPICH2?(?:-\w+)? Device\s*:\s*(\S+)", version_text)
    device, _, modules = (match[1] if match else "").partition(":")
    if device == "ch3":
        return ("verbs" if modules == "mrail" else modules, "shm")
    return (*re.split(r"[ ,]+", modules), "shm") if modules else ()


def _eager_node(value: str, _situation: Situation) -> Spelling:
    """Set the eager size, and a queue between two ranks of a node that holds several such messages."""
    size = parse_bytes(value)
    return Spelling(environment={"MV2_SMP_EAGERSIZE": str(size), "MV2_SMPI_LENGTH_QUEUE": str(4 * size)})


_SPELLERS: Mapping[str, Spell] = {
    **_fabrics.SPELLERS,
    # Blocking releases the CPU.
    "waiting": word("MV2_USE_BLOCKING", {"spin": "0", "yield": "1", "sleep": "1"}),
    "single-copy": word("MV2_SMP_USE_CMA", {"cma": "1", "none": "0"}),
    "collective-component": word("MV2_USE_SHMEM_COLL", {"shared-memory": "1", "messages": "0"}),
    "eager-node": _eager_node,
    # The buffers that carry eager messages must hold the largest of them.
    "eager-network": in_bytes("MV2_IBA_EAGER_THRESHOLD", "MV2_VBUF_TOTAL_SIZE"),
    "network-interface": plain("MV2_IBA_HCA"),
    "mpi-io": hint_speller(by_hint_file),
}


def _spellers(version: str) -> Mapping[str, Spell]:
    return _SPELLERS if major(version) < 3 else _ch4.spellers(newer=False)


def _capabilities(version: str, _transports: tuple[str, ...]) -> Capabilities:
    older = major(version) < 3
    return Capabilities(
        settings=frozenset(_spellers(version).keys() - _UNTRIED),
        waiting_switches=("MV2_USE_BLOCKING",) if older else _ch4.WAITING_SWITCHES,
        always_shares_memory=older,
        node_settings=(_ch4.NO_LOCAL,),
        single_copy=("none",) if older else (),
        mpi_io="romio",
        tcp_only={"MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "{interface}"},
        collectives=CollectiveComponents(on_node=("messages", "shared-memory")),
    )


IMPLEMENTATION = Implementation(
    title="MVAPICH",
    family=AbiFamily.MPICH,
    libraries=("libmpi.so.12",),
    compilers={"c": ("mpicc",), "cxx": ("mpicxx", "mpic++"), "fortran": ("mpifort", "mpif90")},
    recognise=_recognise,
    dialect=lambda _version: "hydra",
    transports=_transports,
    capabilities=_capabilities,
    spellers=_spellers,
    launchers=("mpiexec.hydra", "mpiexec", "mpirun"),
    recognise_launcher=_ch4.recognise_hydra,
    modules=r"mvapich",
    home_variables=("EBROOTMVAPICH2",),
    prefixes=("/opt/mvapich*", "/usr/lib64/mvapich*"),
    spack_names=(r"mvapich\w*",),
    prefix="MV2_",
    shared_prefixes=("MPIR_CVAR_",),
    variables=("MV2_",),
    ask_connections=ASK,
    connections=recognise_connections,
)
