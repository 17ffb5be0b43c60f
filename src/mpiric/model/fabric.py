"""Routes of messages by class of rank pairs, alternative routes, and their speeds."""

from collections.abc import Mapping
from dataclasses import field, replace
from enum import Enum

from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import Finding
from mpiric.model.job import Launch
from mpiric.model.situation import HostNames


class PairClass(str, Enum):
    """Relative position of two ranks."""

    SELF = "self"
    SAME_NUMA = "same NUMA"
    SAME_NODE = "same node"
    OTHER_NODE = "other node"


@dataclass(frozen=True)
class TransportPath:
    """Transport that the library reports for a class of pairs; "" if it reports none."""

    transport: str = ""  # "tcp", "rc_mlx5", "psm2", "sysv, cma"
    devices: tuple[str, ...] = ()  # "eth0", "mlx5_0:1"


@dataclass(frozen=True)
class TransportReport:
    """Transports that the output of a run reports."""

    layer: str = ""  # "pml ob1", "netmod ucx", "libfabric"
    paths: Mapping[PairClass, TransportPath] = field(default_factory=dict)
    why: tuple[str, ...] = ()  # priorities, rejected transports
    provider: str = ""  # provider of libfabric

    def completed_by(self, other: "TransportReport") -> "TransportReport":
        """Add the paths of another report for pairs without messages here; return it if this is empty."""
        if not self.layer:
            return other
        why = tuple(dict.fromkeys((*self.why, *other.why)))
        return replace(self, paths={**other.paths, **self.paths}, why=why)


@dataclass(frozen=True)
class Point:
    """Measurement of one message size between two ranks: half a round trip, median of several batches."""

    size_bytes: int
    latency_us: float
    latency_us_min: float
    bandwidth_mb_s: float
    preempted: float = 0.0  # share of the batches in which a rank lost its CPU


@dataclass(frozen=True)
class Moved:
    """Traffic while the ranks of a class exchanged messages: bytes by network device and by local address."""

    payload_bytes: int = 0
    devices: Mapping[str, int] = field(default_factory=dict)
    sockets: Mapping[str, int] = field(default_factory=dict)
    shared: tuple[str, ...] = ()  # kinds of shared memory that are mapped


@dataclass(frozen=True)
class PlainNetwork:
    """Speed of a network with plain TCP sockets."""

    name: str
    address: str
    latency_us: float
    bandwidth_mb_s: float


@dataclass(frozen=True)
class Probe:
    """Result of one run of the probe."""

    hosts: tuple[str, ...] = ()  # host of each rank
    points: Mapping[PairClass, tuple[Point, ...]] = field(default_factory=dict)
    moved: Mapping[PairClass, Moved] = field(default_factory=dict)
    networks: tuple[PlainNetwork, ...] = ()
    copy_mb_s: float = 0.0  # copy bandwidth of one core


@dataclass(frozen=True)
class Route:
    """Choice of transport and network as knob values, with its runs; empty: the library's default."""

    configuration: Configuration
    probes: tuple[Probe, ...] = ()
    refused: str = ""  # reason why it does not work here, "" if it does
    pair_classes: tuple[PairClass, ...] = ()  # pairs whose route it changes

    @property
    def is_default(self) -> bool:
        """Return whether this is the user's unchanged command."""
        return not self.configuration


@dataclass(frozen=True)
class Alternative:
    """Alternative transport for one class of pairs; medians of its runs."""

    configuration: Configuration
    transport: str
    devices: tuple[str, ...]
    latency_us: float
    bandwidth_mb_s: float
    refused: str = ""


@dataclass(frozen=True)
class Winner:
    """Fastest transport for one message size; ``gain`` is the default's time divided by its time."""

    size_bytes: int
    configuration: Configuration
    latency_us: float
    gain: float


@dataclass(frozen=True)
class PairReport:
    """Results for one class of pairs."""

    pair_class: PairClass
    layer: str
    transport: str
    devices: tuple[str, ...]
    why: tuple[str, ...]
    seen: str  # open devices and traffic, as text
    latency_us: float  # latency of the smallest message
    bandwidth_mb_s: float  # bandwidth of the largest message
    possible: str  # expected speed of the device, as text; "" if unknown
    alternatives: tuple[Alternative, ...] = ()
    winners: tuple[Winner, ...] = ()


@dataclass(frozen=True)
class Fabric:
    """Results on the transports of a job."""

    library: str  # label of the MPI library
    hosts: tuple[str, ...]
    pairs: tuple[PairReport, ...]
    recommended: Configuration
    launch: Launch  # launch with the recommended settings; the user's command if none is better
    gain: float  # geometric mean over sizes and classes for the recommended settings; 1.0 if none is better
    spread: tuple[float, float]  # range of the gain over interleaved rounds
    warnings: tuple[Finding, ...] = ()
    networks: tuple[PlainNetwork, ...] = ()
    host_names: HostNames = field(default_factory=HostNames)
    copy_mb_s: float = 0.0
    baseline_us: Mapping[PairClass, tuple[float, ...]] = field(default_factory=dict)  # one value per run
