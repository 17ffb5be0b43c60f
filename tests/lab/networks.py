"""Networks between the hosts, made in the supervisor's own network namespace, where nothing else is.

With a delay: a switch of ours in user space, as not every kernel has netem. Without: the kernel's bridge,
each link held to its rate in both directions by a token bucket (tbf), at the kernel's own latency.
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.plan import Network, Plan
from tests.lab.switch import start

_BURST_BYTES = 131072  # two of the largest segments that TCP hands down at once
_QUEUE_MS = 20


def connect(
    network: Network, plan: Plan, pids: Mapping[str, int], switch: Path | None, directory: Path
) -> None:
    """Create an interface of this network in every host; the hosts set the addresses."""
    if network.delay_us and switch is not None:
        start(switch, network, plan, pids, directory)
    else:
        _bridge(network, plan, pids)


def _bridge(network: Network, plan: Plan, pids: Mapping[str, int]) -> None:
    bridge = f"br-{network.name}"
    lines = [f"link add {bridge} mtu {network.mtu} type bridge", f"link set {bridge} up"]
    for position, (host, pid) in enumerate(pids.items()):
        port = f"{network.name}p{position}"
        lines += [
            f"link add {port} mtu {network.mtu} type veth peer name {network.name} mtu {network.mtu} "
            f"address {plan.mac(network, host)} netns {pid}",
            f"link set {port} master {bridge} up",
        ]
    _batch("ip", lines)
    _batch("tc", [_shaped(f"{network.name}p{position}", network) for position in range(len(pids))])
    for pid in pids.values():
        _batch("tc", [_shaped(network.name, network)], within=pid)


def _shaped(interface: str, network: Network) -> str:
    rate = f"rate {network.rate_mbit:g}mbit burst {_BURST_BYTES} latency {_QUEUE_MS}ms"
    return f"qdisc add dev {interface} root tbf {rate}"


def _batch(command: str, lines: list[str], within: int = 0) -> None:
    inside = ["nsenter", f"--net=/proc/{within}/ns/net", "--"] if within else []
    done = subprocess.run(
        [*inside, command, "-batch", "-"],
        input="\n".join(lines),
        text=True,
        capture_output=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    if done.returncode != 0:
        output = done.stderr.strip().splitlines()
        lacking = any(
            "unknown" in line.lower() or "not found" in line or "not supported" in line for line in output
        )
        raise LabError(
            f"{command} says: {'; '.join(output[:2]) or 'nothing'}",
            hint="the kernel needs CONFIG_BRIDGE, VETH and NET_SCH_TBF; or give the network a delay: "
            "--network fast0:delay=10us,rate=2gbit"
            if lacking
            else "",
        )
