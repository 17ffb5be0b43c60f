"""Lustre: stripes of a file are distributed over object storage targets (OSTs), by a layout set at creation.

See Lustre's operations manual, "Managing File Layout (Striping) and Free Space", and lfs(1). The layout of a
directory applies to files created in it later. Without `lfs`, the attribute `lustre.lov` holds the same
layout.
"""

import re
from collections.abc import Iterator

from mpiric.host.host import HERE, Host
from mpiric.model.amount import number_of
from mpiric.model.storage import ALL_TARGETS, FileLayout, LayoutLimits, Mount, StorageFacts, Stripes
from mpiric.storage import _lov
from mpiric.storage._storage import QUESTION_S, Commands, Storage

UNIT = 64 << 10  # stripe sizes are multiples of it
MOST_STRIPES = 2000
_TARGET = re.compile(r"^\s*\d+:\s*\S+\s+ACTIVE\b", re.MULTILINE)
_FIELD = re.compile(r"\b(?:lmm_)?(stripe_count|stripe_size|pattern|pool|lcme_extent\.e_end):\s*(\S+)")


def _read(host: Host, mount: Mount, path: str) -> StorageFacts:
    targets = _count(_ask(host, "osts", mount.point))
    user = host.environ.get("USER") or host.environ.get("LOGNAME")
    return StorageFacts(
        targets=targets,
        metadata_servers=_count(_ask(host, "mdts", mount.point)),
        default_layout=_default(host, path) or _default(host, mount.point),
        limits=LayoutLimits(UNIT, min(targets or MOST_STRIPES, MOST_STRIPES)),
        quota_free_bytes=quota(_ask(host, "quota", "-q", "-u", user, mount.point)) if user else None,
        locks=_locks(mount.options),
    )


def parse(text: str) -> FileLayout | None:
    """Parse the output of `lfs getstripe` for a file or directory, plain or composite; None without a layout.

    Sizes are in bytes. The end of an extent is a number or `EOF`.
    """
    extents, patterns = [], []
    for fields in _extents(text):
        size, count, end = (
            fields.get(key, "") for key in ("stripe_size", "stripe_count", "lcme_extent.e_end")
        )
        if number_of(size, -1) < 0 or not re.fullmatch(r"-1|[1-9][0-9]{0,8}", count):
            continue  # an extent on a metadata server has no stripes
        last = number_of(end) or None
        extents.append(Stripes(int(count), number_of(size), last, fields.get("pool", "")))
        patterns.append(fields.get("pattern", ""))
    overstriped = any("overstriped" in pattern for pattern in patterns)
    return FileLayout(tuple(extents), overstriped=overstriped) if extents else None


def _extents(text: str) -> Iterator[dict[str, str]]:
    """Yield the fields of each extent; a repeated field starts a new extent."""
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        if name in fields:
            yield fields
            fields = {}
        fields[name] = value
    if fields:
        yield fields


def quota(text: str) -> int | None:
    """Return the free bytes in `lfs quota -q` output: `/mnt 1024* 0 10240 - 3 0 0 -`; None without a limit.

    Numbers are in KiB; a `*` marks a number that exceeds its soft limit. A long path is on a line of its own.
    """
    numbers = re.search(r"\s(\d+)\*?\s+(\d+)\s+(\d+)\s", " ".join(text.split("\n")[:3]))
    if not numbers:
        return None
    used, soft, hard = (number_of(number) for number in numbers.groups())
    limit = hard or soft
    return max(0, limit - used) << 10 if limit else None


def _check(layout: FileLayout, facts: StorageFacts) -> str:
    targets = facts.targets or MOST_STRIPES
    for extent in layout.stripes:
        if extent.size_bytes <= 0 or extent.size_bytes % UNIT:
            return f"the stripe size must be a multiple of {UNIT} bytes, not {extent.size_bytes}"
        if extent.count > targets and not layout.overstriped:
            return f"{extent.count} stripes are requested, but only {targets} targets exist"
        if extent.count > MOST_STRIPES:
            return f"{extent.count} stripes are requested, but a file may have at most {MOST_STRIPES}"
        if extent.count < 1 and extent.count != ALL_TARGETS:
            return f"the number of stripes must be at least 1 or {ALL_TARGETS} for all, not {extent.count}"
        if (extent.end_bytes or 0) % UNIT:
            return f"the end of an extent must be a multiple of {UNIT} bytes, not {extent.end_bytes}"
    if layout.directory_stripes > (facts.metadata_servers or layout.directory_stripes):
        return f"{layout.directory_stripes} directory stripes are more than the number of metadata servers"
    return ""


def _render(layout: FileLayout, path: str) -> Commands:
    options: list[str] = []
    for extent in layout.stripes:
        if len(layout.stripes) > 1:
            options += ["-E", "-1" if extent.end_bytes is None else str(extent.end_bytes)]
        options += ["-C" if layout.overstriped else "-c", str(extent.count), "-S", str(extent.size_bytes)]
        options += ["-p", extent.pool] if extent.pool else []
    commands = [("lfs", "setstripe", *options, path)] if options else []
    if layout.directory_stripes:
        commands.append(("lfs", "setdirstripe", "-D", "-c", str(layout.directory_stripes), path))
    return tuple(commands)


def _default(host: Host, path: str) -> FileLayout | None:
    """Return the layout for files created in a directory, from `lfs` or else from the attribute."""
    layout = parse(_ask(host, "getstripe", "-d", path))
    raw = None if layout else host.attribute(path, _lov.ATTRIBUTE)
    return layout or (_lov.parse(raw) if raw else None)


def _layout(host: Host, path: str) -> FileLayout | None:
    layout = parse(_ask(host, "getstripe", path))
    raw = None if layout else host.attribute(path, _lov.ATTRIBUTE)
    return layout or (_lov.parse(raw) if raw else None)


def _locks(options: tuple[str, ...]) -> str:
    if "noflock" in options:
        return "none"
    return "this node" if "localflock" in options else "all nodes" if "flock" in options else ""


def _count(text: str) -> int | None:
    return len(_TARGET.findall(text)) or None


def _ask(host: Host, *arguments: str) -> str:
    answer = host.run(("lfs", *arguments), timeout_s=QUESTION_S, working_directory=HERE)
    return answer.stdout if answer.status == 0 else ""


STORAGE = Storage(
    title="Lustre",
    types=("lustre",),
    magics=(0x0BD00BD0,),
    drivers=("lustre",),
    read=_read,
    layout=_layout,
    check=_check,
    render=_render,
)
