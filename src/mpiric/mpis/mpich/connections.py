"""Transports of MPICH and derivatives: ``MPIR_CVAR_DEBUG_SUMMARY`` prints the network module."""

import re

from mpiric.model.fabric import PairClass, TransportPath, TransportReport

ASK = {"MPIR_CVAR_DEBUG_SUMMARY": "1"}

_UCX = "==== UCX netmod Capability ===="
_PROVIDER = re.compile(r"^libfabric provider: (\S+)(?: - (\S+))?", re.M)
_CANDIDATE = re.compile(r"^provider: (\S+), score = (\d+), pref = (-?\d+), ", re.M)
_NODE = (PairClass.SAME_NUMA, PairClass.SAME_NODE)


def recognise_connections(text: str) -> TransportReport:
    """Return the network module, with libfabric also its provider and the rejected ones."""
    shared = {pair_class: TransportPath("shared memory") for pair_class in _NODE}
    if _UCX in text:
        return TransportReport("ch4, netmod ucx", shared)
    provider = _PROVIDER.search(text)
    if not provider:
        return TransportReport()
    ratings: dict[str, str] = {}
    for name, score, preference in _CANDIDATE.findall(text):
        ratings[name] = max(ratings.get(name, ""), f"score {score}, preference {preference}")
    why = []
    if ratings:
        why.append(f"MPICH rates libfabric's providers: {'; '.join(f'{n} {s}' for n, s in ratings.items())}")
    if provider[1] in ratings:
        why.append(f"{provider[1]} is selected: {ratings[provider[1]]}")
    return TransportReport(
        "ch4, netmod ofi",
        {**shared, PairClass.OTHER_NODE: TransportPath(provider[1])},
        tuple(why),
        provider[1],
    )
