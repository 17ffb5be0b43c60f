"""Intel MPI Library; see its developer reference at https://www.intel.com.

Knobs are set as in 2019 and later, over libfabric only. ``I_MPI_DEBUG=5`` prints the provider,
and in new versions the interfaces.

Tuning variables: `I_MPI_ADJUST_<collective>="preset:sizes;…"`, as in the Developer Reference for Linux,
"I_MPI_ADJUST Family Environment Variables". Both ends of a range are included; preset 0 is the library's
choice, which on AMD processors can differ from the choice without the variable. Behaviour of 2021.19 beyond
the manual, observed by the rounding of its sums: sizes outside all ranges do not get the library's choice, so
every list covers all sizes; ranges of ranks (`@`) make it use one preset for all, so there is a file per
number of ranks. Parameters have variables of their own, without sizes; they also affect preset 0 if it uses
the same algorithm. The size of a reduce_scatter is the total of all blocks, the size of an allgather or
alltoall is one block (observed by the called functions).
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from mpiric.algorithms.library import version_numbers
from mpiric.model.fabric import PairClass, TransportPath, TransportReport
from mpiric.model.job import Spelling
from mpiric.model.knob import Spell, by_value, in_bytes, parse_bytes, plain, word
from mpiric.model.mpi_library import (
    AbiFamily,
    Capabilities,
    CollectiveComponents,
    MpiPackage,
    NodeSetting,
    WheelPart,
)
from mpiric.model.policy import Policy, Span
from mpiric.model.situation import Situation
from mpiric.model.storage import parse_hints
from mpiric.mpis import _ch4, _fabrics
from mpiric.mpis._boxes import Box, boxes, not_expressed
from mpiric.mpis._file_hints import by_hint_file, hint_speller
from mpiric.mpis._implementation import Defaults, Exported, Implementation, Installation, Surroundings
from mpiric.mpis.mpich import WHEEL as MPICH_WHEEL

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


_CELLS_BYTES = 64 << 20  # limit of shared memory for cells per node
_CELL_NUMBERS = ("I_MPI_SHM_CELL_FWD_NUM", "I_MPI_SHM_CELL_BWD_NUM")
_WAITING = {
    "spin": {"I_MPI_WAIT_MODE": "0", "I_MPI_THREAD_YIELD": "0"},
    "yield": {"I_MPI_WAIT_MODE": "0", "I_MPI_THREAD_YIELD": "3", "I_MPI_THREAD_SLEEP": "0"},
    "sleep": {"I_MPI_WAIT_MODE": "1"},
}
_SINGLE_COPY = {
    "cma": {"I_MPI_SHM_CMA": "1", "I_MPI_SHM_XPMEM": "0"},
    "xpmem": {"I_MPI_SHM_CMA": "0", "I_MPI_SHM_XPMEM": "1"},
    "none": {"I_MPI_SHM_CMA": "0", "I_MPI_SHM_XPMEM": "0"},
}


def _node_transport(value: str, situation: Situation) -> Spelling | None:
    if value == "shared-memory":
        return Spelling(environment={"I_MPI_FABRICS": "shm:ofi"}, unset=("I_MPI_SHM", "MPIR_CVAR_NOLOCAL"))
    if situation.nodes > 1:
        return None
    return Spelling(
        environment={"I_MPI_FABRICS": "shm"}, unset=("I_MPI_SHM",), note="for jobs on one node only"
    )


def _eager_node(value: str, situation: Situation) -> Spelling:
    """Set the cell size of both directions; there are fewer cells if they are large."""
    size = parse_bytes(value)
    ranks = max(1, len(situation.observation.ranks) or situation.job.ranks or 1)
    count = str(max(4, min(32, _CELLS_BYTES // ranks // (2 * size))))
    cells = {f"I_MPI_SHM_CELL_{direction}_SIZE": str(size) for direction in ("FWD", "BWD")}
    return Spelling(environment={**cells, **dict.fromkeys(_CELL_NUMBERS, count)})


def _ofi_provider(value: str, _situation: Situation) -> Spelling:
    """Set Intel's variable, which precedes libfabric's and takes the provider name without layers."""
    return Spelling(environment={"I_MPI_OFI_PROVIDER": value}, unset=("FI_PROVIDER",))


def _hints(value: str, situation: Situation) -> Spelling | None:
    """Use the native file-system driver if ranks write independently: the NFS driver loses data."""
    spelling = _all_hints(value, situation)
    alone = any(rule.each_alone for rule in parse_hints(value))
    if spelling is None or not alone or _DRIVERS in {**situation.inherited, **situation.job.environment}:
        return spelling
    return replace(spelling, environment={**spelling.environment, _DRIVERS: "1"})


_all_hints = hint_speller(by_hint_file)
_DRIVERS = "I_MPI_FILESYSTEM"

SPELLERS: Mapping[str, Spell] = {
    **_fabrics.SPELLERS,
    "waiting": by_value(_WAITING),
    "async-progress": word("I_MPI_ASYNC_PROGRESS", {"on": "1"}),
    "node-transport": _node_transport,
    "single-copy": by_value(_SINGLE_COPY),
    "single-copy-threshold": in_bytes("I_MPI_SHM_CMA_THRESHOLD"),
    "network-interface": _fabrics.network_interface,
    "ofi-provider": _ofi_provider,
    "eager-node": _eager_node,
    "eager-network": in_bytes(*_fabrics.NETWORK_EAGER),
    "node-buffers": plain(*_CELL_NUMBERS),
    "mpi-io": _hints,
    "mpi-io-driver": word(_DRIVERS, {"native": "1"}),
    "memory-copy": word("I_MPI_SHM", {"sse": "skx_sse", "avx2": "skx_avx2", "avx512": "skx_avx512"}),
    "collective-component": word("I_MPI_COLL_INTRANODE", {"shared-memory": "shm", "messages": "pt2pt"}),
}


FILES = ("intelmpi-*-ranks.sh",)
_LARGEST = 2**31 - 1
_SUMMED = frozenset(("reduce_scatter",))
_COLLECTIVES = (
    "allgather allgatherv allreduce alltoall alltoallv barrier bcast exscan gather gatherv reduce "
    "reduce_scatter scan scatter scatterv"
).split()


def export(policy: Policy, _defaults: Defaults = ()) -> Exported:
    """Return a shell file per number of ranks, and variables if the policy covers one such number."""
    omitted: list[str] = []
    by_ranks: dict[Span, dict[str, str]] = defaultdict(dict)
    for collective in _COLLECTIVES:
        selected, left_out = boxes(policy, collective, by_node=False)
        omitted += left_out
        if collective in _SUMMED and any(box.ranks.low != box.ranks.high for box in selected):
            omitted.append(f"{collective}: choices for several numbers of ranks at once")
            selected = tuple(box for box in selected if box.ranks.low == box.ranks.high)
        for box in selected:
            variables = by_ranks[box.ranks]
            variables[f"I_MPI_ADJUST_{collective.upper()}"] = _presets(
                box, box.ranks.low if collective in _SUMMED else 1
            )
            parameters, left_out = _parameters(collective, box)
            variables.update(parameters)
            omitted += left_out
    omitted += not_expressed(policy, _COLLECTIVES)
    files = {
        f"intelmpi-{_file_part(ranks)}-ranks.sh": "".join(
            f"export {name}='{value}'\n" for name, value in lines.items()
        )
        for ranks, lines in sorted(by_ranks.items())
    }
    only = next(iter(by_ranks.values())) if len(by_ranks) == 1 else {}
    return Exported(files, only, by_ranks=by_ranks, left_out=tuple(dict.fromkeys(omitted)))


def _presets(box: Box, factor: int) -> str:
    return ";".join(
        f"{piece.candidate.value if piece.candidate else 0}:"
        f"{piece.start * factor}-{_LARGEST if piece.end is None else min(piece.end * factor - 1, _LARGEST)}"
        for piece in box.pieces
        if piece.start * factor <= _LARGEST
    )


def _parameters(collective: str, box: Box) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return variables of the parameters, except parameters that differ by size."""
    values_of: dict[str, set[str | None]] = defaultdict(set)
    sentences: dict[str, str] = {}
    for piece in box.pieces:
        for parameter in piece.candidate.parameters if piece.candidate else ():
            values_of[parameter.environment].add(dict(piece.parameters).get(parameter.key))
            assert piece.candidate is not None
            sentences[parameter.environment] = (
                f"{collective}: {parameter.key} of {piece.candidate.name} by size"
            )
    alike = {name: value for name, (value, *more) in values_of.items() if value and not more}
    differing = tuple(sentences[name] for name, values in values_of.items() if len(values) > 1)
    return alike, differing


def _file_part(ranks: Span) -> str:
    if ranks.low == ranks.high:
        return str(ranks.low)
    return f"{ranks.low}-to-{ranks.high}" if ranks.high is not None else f"{ranks.low}-and-more"


# The wheel requires a `libfabric` that PyPI does not have, and loads any `libfabric.so.1` that the loader
# finds. Debian's is preferred (it selects tcp;ofi_rxm; the one of the MPICH wheel falls back to `sockets`);
# without one, lib/ links to the copy in the directory that Intel's installer uses.
_PACKAGE = MpiPackage(
    "intelmpi",
    (
        WheelPart(
            "impi-rt", "2021.19.0", ("708b4336c9d303a3d807b58054c502ed4f716dfb074dfa48904180b46d14bb40",)
        ),
        WheelPart(
            "impi-devel", "2021.19.0", ("50efbbc6eb3c41681fac95d2e9443af128d73b6bfbb61d827d894f93bab4b6ad",)
        ),
        replace(MPICH_WHEEL, moves={"lib/mpich/libfabric": "opt/mpi/libfabric/lib/libfabric"}),
    ),
    substitutions={
        "I_MPI_SUBSTITUTE_INSTALLDIR": '$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)',
        "__EXEC_PREFIX_TO_BE_FILLED_AT_INSTALL_TIME__": "${prefix}",
    },
    fallbacks={"lib/libfabric.so.1": "../opt/mpi/libfabric/lib/libfabric.so.1"},
)


def _recognise(text: str) -> str | None:
    """Parse ``Intel(R) MPI Library 2021.19.0 for Linux* OS``; old versions print ``2019 Update 9``."""
    match = re.search(r"Intel\(R\) MPI Library (?:Version )?(\d[\w.]*(?: Update \d+)?)", text)
    return _dotted(match[1]) if match else None


def _recognise_launcher(text: str) -> str | None:
    """Parse ``Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 20260929``."""
    match = re.search(r"Intel\(R\) MPI Library for Linux\*? OS, Version (\d[\w. ]*?)(?: Build|$|\n)", text)
    return _dotted(match[1]) if match else None


def _dotted(version: str) -> str:
    """Write updates of old releases as a second number."""
    return version.strip().replace(" Update ", ".")


def _surroundings(installation: Installation) -> Surroundings:
    """Set I_MPI_ROOT, its directories, and an existing libfabric.

    Intel's packages have one below ``opt/mpi/libfabric``; the PyPI wheel has none. Without it, ranks abort in
    MPI_Init even on one node.
    """
    environment = {"I_MPI_ROOT": installation.prefix}
    path = [installation.library_dir]
    fabric = installation.libfabric_dirs[0] if installation.libfabric_dirs else ""
    if fabric and fabric != installation.library_dir:
        path.append(fabric)
    if fabric in installation.provider_dirs:
        environment["FI_PROVIDER_PATH"] = f"{fabric}/prov"
    return Surroundings(environment, tuple(path), (f"{installation.prefix}/bin",))


_OWN_LIBFABRIC = ("verbs", "psm2", "psm3", "mlx", "efa", "tcp")
# From 2021.19 on it comes with the open libfabric, without PSM; mlx is deprecated (release notes).
_OPEN_LIBFABRIC = ("verbs", "ucx", "opx", "efa", "tcp")
_SINCE_OPEN = (2021, 19)


def _capabilities(version: str, _transports: tuple[str, ...]) -> Capabilities:
    is_open = version_numbers(version) >= _SINCE_OPEN
    return Capabilities(
        can_sleep=True,
        waiting_switches=("I_MPI_WAIT_MODE", "I_MPI_THREAD_YIELD"),
        has_node_only_transport=True,
        node_settings=(_ch4.NO_LOCAL, NodeSetting("I_MPI_FABRICS", ("shm",))),
        single_copy=("cma", "none"),
        memory_copies=("avx512", "avx2", "sse"),
        only_over_libfabric=True,
        providers=_OPEN_LIBFABRIC if is_open else _OWN_LIBFABRIC,
        component_variables=("I_MPI_OFI_PROVIDER", "FI_PROVIDER"),
        removed_components=frozenset({"psm2", "psm3"} if is_open else ()),
        provider_variables=("I_MPI_OFI_PROVIDER", "FI_PROVIDER"),
        tcp_only={"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "{interface}"},
        collectives=CollectiveComponents(on_node=("messages", "shared-memory")),
        mpi_io="romio",
        drivers_switch="I_MPI_FILESYSTEM",
    )


IMPLEMENTATION = Implementation(
    title="Intel MPI",
    family=AbiFamily.MPICH,
    libraries=("libmpi.so.12",),
    # Wrappers of GNU compilers come first: Intel's compilers need not be installed.
    compilers={
        "c": ("mpicc", "mpigcc", "mpiicx", "mpiicc"),
        "cxx": ("mpigxx", "mpicxx", "mpiicpx", "mpiicpc"),
        "fortran": ("mpif90", "mpifc", "mpiifx", "mpiifort"),
    },
    recognise=_recognise,
    dialect=lambda _version: "intelmpi",
    transports=lambda _version_text, _information: ("ofi", "shm"),  # always, since 2019
    capabilities=_capabilities,
    spellers=lambda _version: SPELLERS,
    surroundings=_surroundings,
    launchers=("mpiexec.hydra", "mpiexec", "mpirun"),
    recognise_launcher=_recognise_launcher,
    modules=r"(^|/)(impi|intel-?mpi|intel-oneapi-mpi|oneapi/mpi|mpi/20\d\d)",
    home_variables=("I_MPI_ROOT", "EBROOTIMPI"),
    prefixes=("/opt/intel/oneapi/mpi/*", "/opt/intel/impi/*"),
    spack_names=("intel-oneapi-mpi", "intel-mpi"),
    package=_PACKAGE,
    prefix="I_MPI_",
    shared_prefixes=("MPIR_CVAR_",),
    variables=("I_MPI_",),
    ask_connections=ASK,
    connections=recognise_connections,
    export=export,
    export_files=FILES,
)
