"""Transports of Open MPI: ``hook_comm_method`` prints a table, and frameworks their selection.

The table lists, for pairs on one host and on two, the point-to-point component and its transport: a BTL, an
MTL, or (from UCX 1.14 on) UCX's transports and devices.
"""

import re
from collections.abc import Mapping

from mpiric.model.fabric import PairClass, TransportPath, TransportReport

ASK = {
    "OMPI_MCA_hook_comm_method_display": "mpi_init",
    "OMPI_MCA_pml_base_verbose": "10",
    "OMPI_MCA_mtl_base_verbose": "10",
    "OMPI_MCA_btl_base_verbose": "30",
}
_SUMMARY = re.compile(r"Connection summary: \((\w+)\)\s+on-host: +(.*?)\n\s+off-host: +(.*?)\n")
_SELECTED = re.compile(r"selected (\w+) best priority (\d+)")
_PRIORITY = re.compile(r"select: init returned priority (\d+)")
_FAILED = re.compile(
    r"select: (?:init returned failure for component (\w+)|init of component (\w+) returned failure)"
)
_MTL = re.compile(r"\( +mtl\) Selected component \[(\w+)\]")
_TCP_INTERFACE = re.compile(r"btl:tcp: \S+ if (\S+) kidx \d+ cnt \d+ addr \S+ \S+ bw (\d+) lt (\d+)")
_PROVIDER = re.compile(
    r"mtl_ofi_component\.c:\d+: mtl:ofi:prov(?:ider)?: (\S+)|mtl:ofi:provider(?::|_include|) +\"?(\S+?)\"?$",
    re.M,
)
_NODE = (PairClass.SAME_NUMA, PairClass.SAME_NODE)


def recognise_connections(text: str) -> TransportReport:
    """Return the transports according to the table and the frameworks."""
    summary, selected = _SUMMARY.search(text), _SELECTED.search(text)
    if not summary and not selected:
        return TransportReport()
    failed = tuple(dict.fromkeys(pml or btl for pml, btl in _FAILED.findall(text)))
    why = [f"pml {selected[1]} has the highest priority, {selected[2]}"] if selected else []
    if failed:
        why.append(f"not usable here: {', '.join(failed)}")
    interfaces = _interfaces(text)
    if len(interfaces) > 1:
        speeds = ", ".join(f"{name} {bandwidth} Mbit/s" for name, (bandwidth, _) in interfaces.items())
        why.append(f"btl tcp stripes over every interface by its nominal speed: {speeds}")
        fastest = min(interfaces, key=lambda name: interfaces[name][1])
        slower_ones = {name: latency for name, (_, latency) in interfaces.items() if name != fastest}
        if interfaces[fastest][1] < min(slower_ones.values()):
            slower = ", ".join(f"{name} {latency}" for name, latency in slower_ones.items())
            why.append(
                f"small messages go over {fastest}: its latency is set to {interfaces[fastest][1]} ({slower})"
            )
    pml = selected[1] if selected else ""
    layer = f"pml {pml}" if pml else ""
    paths: dict[PairClass, TransportPath] = {}
    if summary:
        layer = layer or f"{summary[1]} {'ucx' if 'ucx=' in summary[0] else ''}".strip()
        for pair_class in _NODE:
            paths[pair_class] = _path(summary[2], interfaces)
        paths[PairClass.OTHER_NODE] = _path(summary[3], interfaces)
    mtl = _MTL.search(text)
    if pml == "cm" and mtl:
        layer += f", mtl {mtl[1]}"
        paths.setdefault(PairClass.OTHER_NODE, TransportPath(mtl[1]))
    if pml == "ob1":
        paths[PairClass.SELF] = TransportPath("self")
    return TransportReport(
        layer, {k: p for k, p in paths.items() if p.transport}, tuple(why), _provider(text)
    )


def _path(text: str, interfaces: Mapping[str, object]) -> TransportPath:
    """Parse ``all connections are tcp`` or ``… are ucx=tcp;eth0,tcp;fast0``; mixtures are kept as printed."""
    connection = text.removeprefix("all connections are ").strip()
    if connection.startswith("ucx="):
        lanes = [lane.partition(";") for lane in connection.removeprefix("ucx=").split(",")]
        devices = tuple(dict.fromkeys(device for _, _, device in lanes if device not in ("", "memory")))
        return TransportPath(", ".join(dict.fromkeys(name for name, _, _ in lanes)), devices)
    if connection in ("", "none", "n/a"):
        return TransportPath()
    return TransportPath(connection, tuple(interfaces) if connection == "tcp" else ())


def _interfaces(text: str) -> dict[str, tuple[int, int]]:
    """Return the interfaces of the first process that reports them, with nominal speeds and latencies."""
    return {name: (int(speed), int(latency)) for name, speed, latency in _TCP_INTERFACE.findall(text)}


def _provider(text: str) -> str:
    match = _PROVIDER.search(text)
    return next((part for part in match.groups() if part), "") if match else ""
