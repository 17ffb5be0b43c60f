"""Kinds of network, with the transports that suit them and that do not; the data is networks.toml."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from functools import cache

from mpiric.algorithms.library import version_numbers
from mpiric.host.packaged import packaged_table
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import Finding
from mpiric.model.machine import Nic


@dataclass(frozen=True)
class NetworkKind:
    """A kind of network."""

    name: str
    native: tuple[str, ...]
    inferior: Mapping[str, str] = field(default_factory=dict)  # pattern → reason why it is slow
    # Implementation, or its label from a version on ("intelmpi-2021.19") → knob → value.
    choose: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    share: float = 1.0
    latency_us: float = 0.0
    source: str = ""

    def is_native(self, transport: str) -> bool:
        """Return whether a transport in the list (``rc_mlx5, cma``) is native to this network."""
        return any(fnmatchcase(name, pattern) for name in _names(transport) for pattern in self.native)

    def objection(self, transport: str) -> str:
        """Return why a transport suits this network badly; "" if no reason is known."""
        if self.is_native(transport):
            return ""
        for pattern, why in self.inferior.items():
            if any(fnmatchcase(name, pattern) for name in _names(transport)):
                return why
        return ""


def _names(transport: str) -> list[str]:
    return [name for name in transport.replace(";", ", ").split(", ") if name] + [transport]


@cache
def kinds() -> Mapping[str, NetworkKind]:
    """Return each kind of network by its name, preferred ones first."""
    tables = packaged_table("fabric/networks")
    return {name: _kind(name, tables[name]) for name in tables}


def _kind(name: str, table: Mapping[str, object]) -> NetworkKind:
    values = dict(table)
    native = values.pop("native")
    assert isinstance(native, list)
    return NetworkKind(name, tuple(native), latency_us=values.pop("latency"), **values)  # type: ignore[arg-type]


def best_network(nics: Iterable[Nic]) -> Nic | None:
    """Return the interface or adapter that a job between nodes should use, judged by kind and rate."""
    usable = [nic for nic in nics if nic.up and nic.kind in kinds()]
    preference = list(kinds())
    return min(usable, key=lambda nic: (preference.index(nic.kind), -nic.speed_mbit, nic.name), default=None)


def misdriven(transport: str, nics: Iterable[Nic], library: str) -> Finding | None:
    """Return a finding if messages between nodes use a transport that suits the best network badly.

    ``library`` is the label of the MPI library, or its implementation.
    """
    nic = best_network(nics)
    if nic is None or not transport:
        return None
    kind = kinds()[nic.kind]
    why = kind.objection(transport)
    if not why:
        return None
    # The knob values for a library: a label, or an implementation.
    name, _, version = library.partition("-")
    values: Mapping[str, str] = {}
    for key, chosen in kind.choose.items():  # later versions follow
        of, _, since = key.partition("-")
        if of == name and version_numbers(version) >= version_numbers(since):
            values = chosen
    better = (
        " ".join(f"{knob}={value}" for knob, value in values.items()) or f"one of {', '.join(kind.native)}"
    )
    return Finding(
        id="network-misdriven",
        says=f"{transport} carries the messages between nodes although the machine has {nic.kind}",
        evidence=f"{nic.name} ({nic.kind}): {why} [{kind.source}]",
        fix=f"choose {better}",
    )
