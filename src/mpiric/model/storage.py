"""Storage: properties of a file system, layouts of files on its targets, and knob values with such rules.

Syntax of the values: `4x1MiB`: the working directory, 4 stripes of 1 MiB. `out/:allx4MiB;*.log:1x1MiB`: files
created in `out`, and files in any directory whose names match the pattern. `1x1MiB@4MiB,allx4MiB`: one stripe
up to 4 MiB, all targets after that. `16x1MiB+over`: allow more stripes than targets. `4x1MiB+dirs2`:
distribute the entries of the directory over 2 metadata servers. `cb_nodes=4,romio_cb_write=enable`: hints for
every file; `*.h5:cb_nodes=4`.

Paths are relative and do not contain `..`; names that this syntax cannot express get no rule.
"""

import re
from collections.abc import Iterable, Mapping
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


HERE = "."  # the working directory
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_NAME = r"[A-Za-z0-9_+-][A-Za-z0-9_.+-]{0,99}"
_DIRECTORY = re.compile(rf"{_NAME}(?:/{_NAME}){{0,19}}")
_PATTERN = re.compile(r"[A-Za-z0-9_.*?+-]{1,100}")
_SIZE = r"(\d{1,12})(B|KiB|MiB|GiB)"
_EXTENT = re.compile(rf"(all|\d{{1,4}})x{_SIZE}(?:@{_SIZE})?")
_FLAGS = re.compile(r"((?:\+over)?)(?:\+dirs(\d{1,3}))?")
_HDF5 = re.compile(r"(?:align=(\d{1,6})(KiB|MiB))?(?:(?:^|,)metadata=collective)?")
_HINT_KEY = re.compile(r"[a-z][a-z0-9_]{0,49}")
_HINT_VALUE = re.compile(r"[A-Za-z0-9_.:*-]{1,60}")
# Hints that change neither the bytes nor the time at which they are visible. Hints about locks and file
HINT_KEYS = (
    *("cb_nodes", "cb_config_list", "cb_buffer_size", "collective_buffering"),
    *("romio_cb_read", "romio_cb_write", "romio_ds_read", "romio_ds_write", "romio_no_indep_rw"),
    *(
        "romio_cb_alltoall",
        "romio_cb_pfr",
        "romio_cb_fr_types",
        "romio_cb_fr_alignment",
        "romio_cb_ds_threshold",
    ),
    *("ind_rd_buffer_size", "ind_wr_buffer_size", "striping_factor", "striping_unit"),
)


@dataclass(frozen=True)
class LayoutRule:
    """Layout of new files in a directory, or with ``is_pattern`` of files whose names match."""

    where: str
    layout: FileLayout
    is_pattern: bool = False


@dataclass(frozen=True)
class HintRule:
    """Hints for files whose names match the pattern, as in fnmatch(3)."""

    pattern: str
    hints: Mapping[str, str]

    @property
    def each_alone(self) -> bool:
        """Return whether each rank writes its own data under ROMIO, also in collective calls."""
        return self.hints.get("romio_cb_write") == "disable"


def parse_layouts(text: str) -> tuple[LayoutRule, ...]:
    """Parse a value of the knob `layout`. Raises ValueError."""
    return tuple(_layout_rule(part) for part in text.split(";"))


def _layout_rule(text: str) -> LayoutRule:
    where, colon, layout_text = text.rpartition(":")
    extents, plus, flags = layout_text.partition("+")
    match = _FLAGS.fullmatch(plus + flags)
    if not match:
        raise ValueError(f"not a layout: {text!r}")
    layout = FileLayout(
        tuple(_extent(part) for part in extents.split(",")),
        directory_stripes=int(match[2] or 0),
        overstriped=bool(match[1]),
    )
    ends = [extent.end_bytes or 0 for extent in layout.stripes]
    if ends[-1] or ends[:-1] != sorted({*ends[:-1]} - {0}):
        raise ValueError(f"extents must be in ascending order: {text!r}")
    if not colon:
        return LayoutRule(HERE, layout)
    if where.endswith("/") and is_plain_directory(where[:-1]):
        return LayoutRule(where[:-1], layout)
    if _PATTERN.fullmatch(where) and not layout.directory_stripes:
        return LayoutRule(where, layout, is_pattern=True)
    raise ValueError(f"neither a directory nor a pattern: {where!r}")


def _extent(text: str) -> Stripes:
    match = _EXTENT.fullmatch(text)
    if not match:
        raise ValueError(f"not a stripe specification: {text!r}")
    count, size, unit, end, end_unit = match.groups()
    return Stripes(
        ALL_TARGETS if count == "all" else int(count),
        int(size) * _UNITS[unit],
        int(end) * _UNITS[end_unit] if end else None,
    )


def write_layouts(rules: Iterable[LayoutRule]) -> str:
    """Return the text that `parse_layouts` reads."""
    return ";".join(
        (f"{rule.where}:" if rule.is_pattern else ("" if rule.where == HERE else f"{rule.where}/:"))
        + write_layout(rule.layout)
        for rule in rules
    )


def write_layout(layout: FileLayout) -> str:
    """Return a layout as text: `1x1MiB@4MiB,allx4MiB`."""
    parts = []
    for extent in layout.stripes:
        count = "all" if extent.count == ALL_TARGETS else str(extent.count)
        end = "" if extent.end_bytes is None else f"@{binary_size(extent.end_bytes)}"
        parts.append(f"{count}x{binary_size(extent.size_bytes)}{end}")
    over = "+over" if layout.overstriped else ""
    return ",".join(parts) + over + (f"+dirs{layout.directory_stripes}" if layout.directory_stripes else "")


def binary_size(size_bytes: int) -> str:
    """Return a size in the largest unit that gives an integer: 1048576 → ``1MiB``."""
    unit, factor = next(item for item in reversed(_UNITS.items()) if size_bytes % item[1] == 0)
    return f"{size_bytes // factor}{unit}"


def is_plain_directory(path: str) -> bool:
    """Return whether a knob value can contain a relative path."""
    return path == HERE or _DIRECTORY.fullmatch(path) is not None


def is_plain_pattern(pattern: str) -> bool:
    """Return whether a knob value can contain a pattern of file names."""
    return _PATTERN.fullmatch(pattern) is not None


def parse_hints(text: str) -> tuple[HintRule, ...]:
    """Parse a value of the knob `mpi-io`. Raises ValueError."""
    rules = []
    for part in text.split(";"):
        head, colon, tail = part.partition(":")
        has_pattern = bool(colon) and "=" not in head
        pattern, hints_text = (head, tail) if has_pattern else ("*", part)
        hints = dict(_hint(word) for word in hints_text.split(","))
        if not _PATTERN.fullmatch(pattern):
            raise ValueError(f"not a file name pattern: {pattern!r}")
        rules.append(HintRule(pattern, hints))
    return tuple(rules)


def _hint(word: str) -> tuple[str, str]:
    key, _, value = word.partition("=")
    if not _HINT_KEY.fullmatch(key) or key not in HINT_KEYS or not _HINT_VALUE.fullmatch(value):
        raise ValueError(f"not a hint: {word!r}")
    return key, value


@dataclass(frozen=True)
class Hdf5Arrangement:
    """Arrangement of parallel HDF5 files: alignment of objects (0: the program's), kind of metadata I/O."""

    align_bytes: int = 0
    collective_metadata: bool = False


def parse_hdf5(text: str) -> Hdf5Arrangement:
    """Parse a value of the knob `hdf5`. Raises ValueError."""
    match = _HDF5.fullmatch(text)
    if not text or not match:
        raise ValueError(f"not an arrangement of HDF5 files: {text!r}")
    align_bytes = int(match[1]) * _UNITS[match[2]] if match[1] else 0
    if match[1] and not 1 << 10 <= align_bytes <= 512 << 20:
        raise ValueError(f"the alignment must be 1KiB to 512MiB: {text!r}")
    return Hdf5Arrangement(align_bytes, collective_metadata=text.endswith("collective"))
