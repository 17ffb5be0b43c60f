"""MPICH and its derivatives: ``MPIR_CVAR_DEBUG_SUMMARY`` prints what the network module was set up with."""

import re

from mpiric.model.fabric import PairClass, Path, TransportReport

ASK = {"MPIR_CVAR_DEBUG_SUMMARY": "1"}

_UCX = "==== UCX netmod Capability ===="
_PROVIDER = re.compile(r"^libfabric provider: (\S+)(?: - (\S+))?", re.M)
_CANDIDATE = re.compile(r"^provider: (\S+), score = (\d+), pref = (-?\d+), ", re.M)
_NODE = (PairClass.SAME_NUMA, PairClass.SAME_NODE)


def recognise_connections(text: str) -> TransportReport:
    """The network module, and with libfabric its provider and those that came off worse."""
    shared = {pair_class: Path("shared memory") for pair_class in _NODE}
    if _UCX in text:
        return TransportReport("ch4, netmod ucx", shared)
    provider = _PROVIDER.search(text)
    if not provider:
        return TransportReport()
    found: dict[str, str] = {}
    for name, score, preference in _CANDIDATE.findall(text):
        found[name] = max(found.get(name, ""), f"score {score}, preference {preference}")
    why = (
        [f"MPICH rates libfabric's providers: {'; '.join(f'{n} {s}' for n, s in found.items())}"]
        if found
        else []
    )
    own = found.get(provider[1])
    if own:
        why.append(f"{provider[1]} is taken: {own}")
    return TransportReport(
        "ch4, netmod ofi",
        {**shared, PairClass.OTHER_NODE: Path(provider[1])},
        tuple(why),
        provider[1],
    )
