"""UCX: ``UCX_LOG_LEVEL=info`` prints one line for each kind of connection that a worker makes.

``intra-node cfg#2 tag(sysv/memory cma/memory)``; each lane is TRANSPORT/DEVICE, the first for small messages.
Older versions leave out the space before ``tag``, and the words for the kind of connection.
"""

import re

from mpiric.model.fabric import PairClass, Path, Words

IMPLEMENTATIONS: tuple[str, ...] = ()
ASK = {"UCX_LOG_LEVEL": "info"}

_LANES = re.compile(r"UCX +INFO +\S+ (self|intra-node|inter-node) cfg#\d+ ?(?:tag|am)\(([^)]*)\)")
_VERSION = re.compile(r"UCX +INFO +Version (\S+)")
_SETTINGS = re.compile(r"UCX_\* env variables?: (.*)")
_CLASSES = {
    "self": (PairClass.SELF,),
    "intra-node": (PairClass.SAME_NUMA, PairClass.SAME_NODE),
    "inter-node": (PairClass.OTHER_NODE,),
}


def recognise(text: str) -> Words:
    """The lanes of the first connection of each kind."""
    paths: dict[PairClass, Path] = {}
    for kind, lanes in _LANES.findall(text):
        pairs = [lane.split("/", 1) for lane in lanes.split() if "/" in lane]
        transports = dict.fromkeys(pair[0] for pair in pairs)
        devices = tuple(dict.fromkeys(pair[1] for pair in pairs if pair[1] != "memory"))
        for pair_class in _CLASSES[kind]:
            paths.setdefault(pair_class, Path(", ".join(transports), devices))
    version = _VERSION.search(text)
    if not paths:
        return Words()  # loaded, and then not used
    settings = [word for word in _settings(text) if not word.startswith("UCX_LOG_LEVEL=")]
    why: tuple[str, ...] = (f"UCX is told {' '.join(settings)}",) if settings else ()
    if len(paths.get(PairClass.OTHER_NODE, Path()).devices) > 1:
        why += ("UCX spreads large messages over every device it may use, and sends small ones on the first",)
    return Words(f"UCX {version[1]}" if version else "UCX", paths, why)


def _settings(text: str) -> list[str]:
    found = _SETTINGS.search(text)
    return found[1].split() if found else []
