"""Description of a cluster: its hosts, networks and shared directories. No I/O."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tests.lab.errors import LabError

MOST_HOSTS = 64  # ports of the userspace switch
_INTERFACE = re.compile(r"[a-z][a-z0-9]{0,11}")
_HOST = re.compile(r"[a-z][a-z0-9]{0,31}")
_UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6, "mbit": 1.0, "gbit": 1e3}


@dataclass(frozen=True)
class Network:
    """Network of all hosts: the kernel's, or with a delay the userspace switch."""

    name: str  # name of the interface on every host
    delay_us: float  # one way
    rate_mbit: float  # speed of each host's link in each direction
    mtu: int = 1500


SLOW = Network("eth0", delay_us=1000, rate_mbit=100)
FAST = Network("fast0", delay_us=0, rate_mbit=2000, mtu=9000)


@dataclass(frozen=True)
class Plan:
    """Description of a cluster; host names resolve to addresses on the first network."""

    hosts: tuple[str, ...]
    networks: tuple[Network, ...] = (SLOW, FAST)
    shares: tuple[str, ...] = ()  # directories that every host sees at the same path

    def address(self, network: Network, host: str) -> str:
        """Return an IPv4 address; all clusters use the same ones, since no packet leaves a cluster."""
        return f"10.77.{self.networks.index(network) + 1}.{self.hosts.index(host) + 1}"

    def mac(self, network: Network, host: str) -> str:
        """Return a locally administered Ethernet address."""
        return f"02:77:00:00:{self.networks.index(network) + 1:02x}:{self.hosts.index(host) + 1:02x}"

    def hosts_file(self) -> str:
        """Return /etc/hosts: ``n1`` on the first network, ``n1-fast0`` on the network fast0."""
        return "\n".join(["127.0.0.1 localhost", *self._host_lines()]) + "\n"

    def _host_lines(self) -> Iterator[str]:
        for position, network in enumerate(self.networks):
            for host in self.hosts:
                plain = f"{host} " if position == 0 else ""
                yield f"{self.address(network, host)} {plain}{host}-{network.name}"

    def as_json(self) -> dict[str, Any]:
        """Return the plan in the format of the state file."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Plan":
        """Read the output of ``as_json``."""
        networks = tuple(Network(**network) for network in data["networks"])
        return Plan(tuple(data["hosts"]), networks, tuple(data["shares"]))


def host_names(text: str) -> tuple[str, ...]:
    """Parse ``4`` as n1 … n4, or names separated by commas."""
    names = tuple(f"n{i + 1}" for i in range(int(text))) if text.isdigit() else tuple(text.split(","))
    wrong = [name for name in names if not _HOST.fullmatch(name)]
    if wrong or not names or len(set(names)) < len(names) or len(names) > MOST_HOSTS:
        raise LabError(
            f"these hosts cannot be made: {text!r}",
            hint=f"--hosts takes a number from 1 to {MOST_HOSTS}, or names such as n1,n2,login",
        )
    return names


def network(text: str) -> Network:
    """Parse ``fast0:rate=2gbit,mtu=9000`` or ``eth0:delay=1ms,rate=100mbit``."""
    name, _, remaining = text.partition(":")
    variables = dict(part.partition("=")[::2] for part in remaining.split(",") if part)
    try:
        if not _INTERFACE.fullmatch(name) or name == "lo" or set(variables) - {"delay", "rate", "mtu"}:
            raise ValueError(name)
        result = Network(
            name,
            _quantity(variables.get("delay", "0us"), ("us", "ms", "s")),
            _quantity(variables["rate"], ("mbit", "gbit")),
            int(variables.get("mtu", "1500")),
        )
    except (KeyError, ValueError) as error:
        raise LabError(
            f"this network cannot be made: {text!r}",
            hint="write it like eth0:delay=1ms,rate=100mbit or fast0:rate=2gbit,mtu=9000",
        ) from error
    if result.rate_mbit <= 0 or not 576 <= result.mtu <= 65535:
        raise LabError(f"the network {name} needs a rate above 0 and an MTU from 576 to 65535")
    return result


def networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Return the requested networks, by default the slow and the fast one."""
    result = tuple(network(text) for text in texts) or (SLOW, FAST)
    if len({entry.name for entry in result}) < len(result):
        raise LabError("two networks have the same name", hint="give each --network a name of its own")
    return result


def _quantity(text: str, units: Sequence[str]) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]+)", text)
    if not match or match[2] not in units:
        raise ValueError(text)
    return float(match[1]) * _UNITS[match[2]]
