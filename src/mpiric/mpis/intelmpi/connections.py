"""Transports of Intel MPI: ``I_MPI_DEBUG=5`` prints the provider, and in new versions the interfaces."""

import re

from mpiric.model.fabric import PairClass, TransportPath, TransportReport

ASK = {"I_MPI_DEBUG": "5"}

_PROVIDER = re.compile(r"MPI startup\(\): libfabric provider: (\S+)")
_VERSION = re.compile(r"MPI startup\(\): libfabric (?:loaded|version): (\S+)")
_PINNED = re.compile(r"MPI startup\(\): \d+ +\d+ +([A-Za-z]\S*)\s*$", re.M)
_SHM = re.compile(r"MPI startup\(\): shm segment size|MPI startup\(\): (?:Load|File).*shm-ofi")
_FORCED = re.compile(r"MPI startup\(\): (I_MPI_(?:FABRICS|OFI_PROVIDER|SHM)=\S+)")


def recognise_connections(text: str) -> TransportReport:
    """Return the provider between nodes, and its interface."""
    provider = _PROVIDER.search(text)
    if not provider:
        return TransportReport()
    pinned = tuple(dict.fromkeys(_PINNED.findall(text)))
    version = _VERSION.search(text)
    why = [f"set by {setting}" for setting in dict.fromkeys(_FORCED.findall(text))]
    if version:
        why.append(f"libfabric {version[1]} offers {provider[1]} first")
    paths = {PairClass.OTHER_NODE: TransportPath(provider[1], pinned)}
    if _SHM.search(text):
        paths |= {c: TransportPath("shared memory") for c in (PairClass.SAME_NUMA, PairClass.SAME_NODE)}
    return TransportReport(
        "fabrics shm:ofi" if len(paths) > 1 else "fabrics ofi", paths, tuple(why), provider[1]
    )
