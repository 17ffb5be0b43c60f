"""Fabric: the route of messages between ranks that sit alike, what else there is, and how fast each is."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from mpiric.model.configuration import Configuration
from mpiric.model.finding import Finding
from mpiric.model.launch import Launch
from mpiric.model.situation import HostNames


class PairClass(str, Enum):
    """How two ranks sit to one another."""

    SELF = "self"
    SAME_NUMA = "same NUMA"
    SAME_NODE = "same node"
    OTHER_NODE = "other node"


@dataclass(frozen=True)
class TransportPath:
    """What a library says carries the messages of a class; "" where it does not say."""

    transport: str = ""  # "tcp", "rc_mlx5", "psm2", "sysv, cma"
    devices: tuple[str, ...] = ()  # "eth0", "mlx5_0:1"


@dataclass(frozen=True)
class TransportReport:
    """What a run's own output tells of its transports."""

    layer: str = ""  # "pml ob1", "netmod ucx", "libfabric"
    paths: Mapping[PairClass, TransportPath] = field(default_factory=dict)
    why: tuple[str, ...] = ()  # priorities, what was rejected
    provider: str = ""  # of libfabric

    def completed_by(self, other: "TransportReport") -> "TransportReport":
        """The report with another's paths for pairs that sent nothing here; the other where this is empty."""
        if not self.layer:
            return other
        why = tuple(dict.fromkeys((*self.why, *other.why)))
        return replace(self, paths={**other.paths, **self.paths}, why=why)


@dataclass(frozen=True)
class Point:
    """One message size between two ranks: half a round trip, the median of several batches."""

    size_bytes: int
    latency_us: float
    latency_us_min: float
    bandwidth_mb_s: float
    preempted: float = 0.0  # share of the batches in which a rank lost its CPU


@dataclass(frozen=True)
class Moved:
    """What moved while the ranks of a class talked: bytes by device of the node and by own address."""

    payload_bytes: int = 0
    devices: Mapping[str, int] = field(default_factory=dict)
    sockets: Mapping[str, int] = field(default_factory=dict)
    shared: tuple[str, ...] = ()  # kinds of shared memory that are mapped


@dataclass(frozen=True)
class PlainNetwork:
    """What a network gives to a program that speaks TCP itself."""

    name: str
    address: str
    latency_us: float
    bandwidth_mb_s: float


@dataclass(frozen=True)
class Probe:
    """One run of the probe."""

    hosts: tuple[str, ...] = ()  # of each rank
    points: Mapping[PairClass, tuple[Point, ...]] = field(default_factory=dict)
    moved: Mapping[PairClass, Moved] = field(default_factory=dict)
    networks: tuple[PlainNetwork, ...] = ()
    copy_mb_s: float = 0.0  # memory copied by one core


@dataclass(frozen=True)
class Route:
    """One choice of transport and network: knob values, and its runs; the empty one is the library's own."""

    configuration: Configuration
    probes: tuple[Probe, ...] = ()
    refused: str = ""  # why it does not work here, "" when it does
    pair_classes: tuple[PairClass, ...] = ()  # the pairs whose route it changes

    @property
    def is_default(self) -> bool:
        """Whether it is the command as it stands."""
        return not self.configuration


@dataclass(frozen=True)
class Alternative:
    """Another choice of transport for one class of pairs, by the medians of its runs."""

    configuration: Configuration
    transport: str
    devices: tuple[str, ...]
    latency_us: float
    bandwidth_mb_s: float
    refused: str = ""


@dataclass(frozen=True)
class Winner:
    """The fastest choice of transport for one message size; ``gain`` is the default's time over its own."""

    size_bytes: int
    configuration: Configuration
    latency_us: float
    gain: float


@dataclass(frozen=True)
class PairReport:
    """What is known of one class of pairs."""

    pair_class: PairClass
    layer: str
    transport: str
    devices: tuple[str, ...]
    why: tuple[str, ...]
    seen: str  # what was open and moving, in words
    latency_us: float  # of the smallest message measured
    bandwidth_mb_s: float  # of the largest
    possible: str  # what the device should deliver, in words; "" when that is unknown
    alternatives: tuple[Alternative, ...] = ()
    winners: tuple[Winner, ...] = ()


@dataclass(frozen=True)
class Fabric:
    """What is known of the transports of a job."""

    library: str  # label of the MPI
    hosts: tuple[str, ...]
    pairs: tuple[PairReport, ...]
    recommended: Configuration
    launch: Launch  # with the recommended settings; the user's own command when nothing is better
    gain: float  # of the recommended, geometric mean over sizes and classes; 1.0 when nothing is better
    spread: tuple[float, float]  # of that gain over interleaved rounds
    warnings: tuple[Finding, ...] = ()
    networks: tuple[PlainNetwork, ...] = ()
    host_names: HostNames = field(default_factory=HostNames)
    copy_mb_s: float = 0.0
    baseline_us: Mapping[PairClass, tuple[float, ...]] = field(default_factory=dict)  # a number a run
