"""Storage: properties of a file system and layouts of files on its targets."""

from dataclasses import field

from mpiric.model.dataclass import dataclass

ALL_TARGETS = -1  # value of a stripe count


@dataclass(frozen=True)
class Mount:
    """Line of the mount table."""

    point: str
    kind: str  # "lustre", "nfs4", "fuse.sshfs", ...
    source: str = ""  # "10.0.0.1@o2ib:/scratch", "mfs#master:9421", ...
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stripes:
    """Layout of one extent of a file: ``count`` stripes of ``size_bytes`` in turn."""

    count: int  # `ALL_TARGETS`: all targets
    size_bytes: int
    end_bytes: int | None = None  # end of the extent in the file; None: the end of the file
    pool: str = ""


@dataclass(frozen=True)
class FileLayout:
    """Layout of a file: its extents in order; a progressive layout has several."""

    stripes: tuple[Stripes, ...]
    directory_stripes: int = 0  # number of metadata servers for the entries of a directory, 0: not set
    overstriped: bool = False  # allow more stripes than targets

    @property
    def count(self) -> int:
        """Return the largest stripe count of an extent, or `ALL_TARGETS` if one has it."""
        counts = [extent.count for extent in self.stripes]
        return ALL_TARGETS if ALL_TARGETS in counts else max(counts, default=0)


@dataclass(frozen=True)
class LayoutLimits:
    """Limits of layouts; 0 if unknown."""

    stripe_unit_bytes: int = 0  # stripe sizes must be multiples of it
    stripe_count: int = 0  # maximum number of stripes


@dataclass(frozen=True)
class StorageFacts:
    """Properties that a file system reports; None if it does not report them."""

    targets: int | None = None
    metadata_servers: int | None = None
    default_layout: FileLayout | None = None
    limits: LayoutLimits = field(default_factory=LayoutLimits)
    quota_free_bytes: int | None = None
    locks: str = ""  # scope of flock: "all nodes", "this node" or "none"; "" if unknown
