"""Storage: what a file system is made of and how it spreads files over its targets."""

from dataclasses import dataclass, field

ALL_TARGETS = -1  # as a stripe count


@dataclass(frozen=True)
class Mount:
    """One line of the mount table."""

    point: str
    kind: str  # "lustre", "nfs4", "fuse.sshfs", ...
    source: str = ""  # "10.0.0.1@o2ib:/scratch", "mfs#master:9421", ...
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stripes:
    """How one extent of a file is spread: ``count`` stripes of ``size_bytes``, one after the other."""

    count: int  # `ALL_TARGETS`: over all
    size_bytes: int
    end_bytes: int | None = None  # of the extent, from the start of the file; None: the end of the file
    pool: str = ""


@dataclass(frozen=True)
class FileLayout:
    """Extents of a file in order, one where it is plain, more where it is progressive."""

    stripes: tuple[Stripes, ...]
    directory_stripes: int = 0  # metadata servers that a directory's entries are spread over, 0: not set
    overstriped: bool = False  # more stripes than targets are meant

    @property
    def count(self) -> int:
        """The largest stripe count of any extent, `ALL_TARGETS` when one is over all."""
        counts = [extent.count for extent in self.stripes]
        return ALL_TARGETS if ALL_TARGETS in counts else max(counts, default=0)


@dataclass(frozen=True)
class LayoutLimits:
    """What a layout may be; 0 where nothing is known."""

    stripe_unit_bytes: int = 0  # a stripe's size is a multiple of it
    stripe_count: int = 0  # the most stripes of a file


@dataclass(frozen=True)
class StorageFacts:
    """What a file system says of itself; None where it does not."""

    targets: int | None = None
    metadata_servers: int | None = None
    default_layout: FileLayout | None = None
    limits: LayoutLimits = field(default_factory=LayoutLimits)
    quota_free_bytes: int | None = None
    locks: str = ""  # flock holds between "all nodes", on "this node", or there is "none"; "" when unknown
