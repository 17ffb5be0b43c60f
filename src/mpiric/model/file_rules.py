"""Rules of files in knob values: which layout a directory or a kind of files gets, and which hints of MPI-IO.

`4x1MiB`: the working directory, 4 stripes of 1 MiB. `out/:allx4MiB;*.log:1x1MiB`: files made in `out`, and
those whose names fit the pattern, wherever they are made. `1x1MiB@4MiB,allx4MiB`: one stripe up to 4 MiB,
all targets behind that. `16x1MiB+over`: more stripes than targets are meant. `4x1MiB+dirs2`: entries of the
directory on 2 metadata servers. `cb_nodes=4,romio_cb_write=enable`: hints of every file; `*.h5:cb_nodes=4`.

Paths are relative and do not lead upwards; names that cannot be written so have no rule of their own.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mpiric.model.storage import ALL_TARGETS, FileLayout, Stripes

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
# Hints that change neither bytes nor when they are there; locks and file system types are left alone.
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
    """A layout of what is made in a directory, or with ``is_pattern`` of files whose names fit."""

    where: str
    layout: FileLayout
    is_pattern: bool = False


@dataclass(frozen=True)
class HintRule:
    """Hints of files whose names fit the pattern, as in fnmatch(3)."""

    pattern: str
    hints: Mapping[str, str]

    @property
    def each_alone(self) -> bool:
        """Whether under ROMIO each rank writes for itself, in collective calls too."""
        return self.hints.get("romio_cb_write") == "disable"


def parse_layouts(text: str) -> tuple[LayoutRule, ...]:
    """The rules of a value of the knob `layout`. Raises ValueError for anything else."""
    return tuple(_layout_rule(part) for part in text.split(";"))


def _layout_rule(text: str) -> LayoutRule:
    where, colon, rest = text.rpartition(":")
    extents, plus, flags = rest.partition("+")
    found = _FLAGS.fullmatch(plus + flags)
    if not found:
        raise ValueError(f"no layout: {text!r}")
    layout = FileLayout(
        tuple(_extent(part) for part in extents.split(",")),
        directory_stripes=int(found[2] or 0),
        overstriped=bool(found[1]),
    )
    ends = [extent.end_bytes or 0 for extent in layout.stripes]
    if ends[-1] or ends[:-1] != sorted({*ends[:-1]} - {0}):
        raise ValueError(f"extents that do not follow one another: {text!r}")
    if not colon:
        return LayoutRule(HERE, layout)
    if where.endswith("/") and is_plain_directory(where[:-1]):
        return LayoutRule(where[:-1], layout)
    if _PATTERN.fullmatch(where) and not layout.directory_stripes:
        return LayoutRule(where, layout, is_pattern=True)
    raise ValueError(f"no directory and no pattern: {where!r}")


def _extent(text: str) -> Stripes:
    found = _EXTENT.fullmatch(text)
    if not found:
        raise ValueError(f"no stripes: {text!r}")
    count, size, unit, end, end_unit = found.groups()
    return Stripes(
        ALL_TARGETS if count == "all" else int(count),
        int(size) * _UNITS[unit],
        int(end) * _UNITS[end_unit] if end else None,
    )


def write_layouts(rules: Iterable[LayoutRule]) -> str:
    """The value that `parse_layouts` reads."""
    return ";".join(_where(rule) + write_layout(rule.layout) for rule in rules)


def _where(rule: LayoutRule) -> str:
    if rule.is_pattern:
        return f"{rule.where}:"
    return "" if rule.where == HERE else f"{rule.where}/:"


def write_layout(layout: FileLayout) -> str:
    """`1x1MiB@4MiB,allx4MiB`."""
    parts = []
    for extent in layout.stripes:
        count = "all" if extent.count == ALL_TARGETS else str(extent.count)
        end = "" if extent.end_bytes is None else f"@{binary_size(extent.end_bytes)}"
        parts.append(f"{count}x{binary_size(extent.size_bytes)}{end}")
    over = "+over" if layout.overstriped else ""
    return ",".join(parts) + over + (f"+dirs{layout.directory_stripes}" if layout.directory_stripes else "")


def binary_size(size_bytes: int) -> str:
    """1048576 → ``1MiB``: in the largest unit that leaves a whole number."""
    unit, factor = next(each for each in reversed(_UNITS.items()) if size_bytes % each[1] == 0)
    return f"{size_bytes // factor}{unit}"


def is_plain_directory(path: str) -> bool:
    """Whether a relative path can stand in a value."""
    return path == HERE or _DIRECTORY.fullmatch(path) is not None


def is_plain_pattern(pattern: str) -> bool:
    """Whether a pattern of file names can stand in a value."""
    return _PATTERN.fullmatch(pattern) is not None


def parse_hints(text: str) -> tuple[HintRule, ...]:
    """The rules of a value of the knob `mpi-io`. Raises ValueError for anything else."""
    rules = []
    for part in text.split(";"):
        head, colon, rest = part.partition(":")
        has_pattern = bool(colon) and "=" not in head
        pattern, words = (head, rest) if has_pattern else ("*", part)
        hints = dict(_hint(word) for word in words.split(","))
        if not _PATTERN.fullmatch(pattern):
            raise ValueError(f"no pattern: {pattern!r}")
        rules.append(HintRule(pattern, hints))
    return tuple(rules)


def _hint(word: str) -> tuple[str, str]:
    key, _, value = word.partition("=")
    if not _HINT_KEY.fullmatch(key) or key not in HINT_KEYS or not _HINT_VALUE.fullmatch(value):
        raise ValueError(f"no hint: {word!r}")
    return key, value


@dataclass(frozen=True)
class Hdf5Arrangement:
    """How parallel HDF5 files are arranged: alignment of objects, 0 for the program's, and metadata."""

    align_bytes: int = 0
    collective_metadata: bool = False


def parse_hdf5(text: str) -> Hdf5Arrangement:
    """The value of the knob `hdf5`. Raises ValueError for anything else."""
    found = _HDF5.fullmatch(text)
    if not text or not found:
        raise ValueError(f"no arrangement of HDF5 files: {text!r}")
    align_bytes = int(found[1]) * _UNITS[found[2]] if found[1] else 0
    if found[1] and not 1 << 10 <= align_bytes <= 512 << 20:
        raise ValueError(f"an alignment is 1KiB to 512MiB: {text!r}")
    return Hdf5Arrangement(align_bytes, collective_metadata=text.endswith("collective"))
