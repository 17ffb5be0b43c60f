"""Trial directories as overlays of the user's directory, so that a trial costs only as much as it changes.

The directory is neither copied nor traversed. Layers from top to bottom: files that the trial writes;
copies of files that the command names or its ranks opened, so that edits in the meantime do not affect the
comparison; the user's directory. Files that a trial changed are copied to the top layer before the next
trial, because the kernel would otherwise copy them within the measured time.
"""

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from mpiric.host.isolation.copying import TreeEntry, close_directory, copy_entry, walk
from mpiric.host.owned_files import remove_tree
from mpiric.host.processes.request import OverlayMount
from mpiric.model.errors import MpiricError

_COPIED_BYTES = 64 << 20  # larger inputs are not copied, only checked for changes
_ALL_COPIED_BYTES = 512 << 20

Stamp = tuple[int, int]  # size, modification time in ns


class Mounter(Protocol):
    """Interface of `Runner` for mounts of launches."""

    @property
    def keeper_pid(self) -> int:
        """Return the pid of the process whose mounts launches see."""

    def can_mount(self, mount: OverlayMount) -> bool:
        """Return whether launches can have this mount."""


class OverlaidTrials:
    """Overlays of one tune in its area."""

    def __init__(self, source: Path, area: Path, store: Path) -> None:
        self._source, self._area = source, area
        self._exempt = (str(store),) if store.is_relative_to(source) else ()
        self._number = 0
        self._stamps: dict[str, Stamp] = {}  # inputs of trials in the user's directory
        self._copied_bytes = 0
        self._rewritten: set[str] = set()  # user's files that a trial opened for writing
        for name in ("root", "inputs"):
            (area / name).mkdir()

    @property
    def inputs(self) -> Path:
        """Return the layer with copied inputs."""
        return self._area / "inputs"

    def mount(self) -> OverlayMount:
        """Return the mount of the current trial, whose layers must exist."""
        upper, work = self._layers()
        return OverlayMount(
            source=str(self._source),
            root=str(self._area / "root"),
            lower=(str(self.inputs), str(self._source)),
            upper=str(upper),
            work=str(work),
            exempt=self._exempt,
        )

    def fresh(self) -> OverlayMount:
        """Create the layers of the next trial and remove the previous trial's layers; return the mount.

        Raises MpiricError if an input that was too large to copy has changed since the start.
        """
        upper, work = self._layers()
        if upper.exists():
            self._rewritten.update(self._laid_above())
            remove_tree(upper)
            remove_tree(work)
        for path, stamp in self._stamps.items():
            if not os.path.lexists(self.inputs / path) and _stamp(self._source / path) != stamp:
                raise MpiricError(
                    f"{self._source / path} has changed since the start: trials are no longer comparable",
                    hint="start again when nothing else writes there",
                )
        self._number += 1
        upper, work = self._layers()
        upper.mkdir()
        work.mkdir()
        for path in sorted(self._rewritten):
            self._lay(path, upper, self.below(path))
        close_directory(TreeEntry("", self._source.stat()), str(upper))
        return self.mount()

    def written(self) -> dict[str, Path]:
        """Return the regular files that the trial created or changed, by relative path."""
        upper, _ = self._layers()
        changed = {}
        for entry in walk(str(upper)):
            stamp = (entry.status.st_size, entry.status.st_mtime_ns)
            if entry.is_file and _stamp(self.below(entry.path)) != stamp:
                changed[entry.path] = upper / entry.path
            elif entry.is_dir and (origin := _renamed_from(upper, entry.path)):
                moved = self._source / origin
                files = [inner.path for inner in walk(str(moved)) if inner.is_file] if moved.is_dir() else []
                changed |= {f"{entry.path}/{path}": moved / path for path in files}
        return changed

    def depend_on(self, paths: Iterable[str]) -> None:
        """Copy these inputs for later trials, or check them for changes if they are too large."""
        seen_by_trials = self.mount().path
        for path in paths:
            relative_name = path.removeprefix(f"{seen_by_trials}/")
            relative = os.path.relpath(os.path.join(self._source, relative_name), self._source)  # noqa: PTH118
            stamp = _stamp(self._source / relative)
            if relative.startswith("..") or relative in self._stamps or stamp is None:
                continue
            self._stamps[relative] = stamp
            size = stamp[0]
            if size <= _COPIED_BYTES and self._copied_bytes + size <= _ALL_COPIED_BYTES:
                self._copied_bytes += size
                self._lay(relative, self.inputs, self._source / relative)

    def _layers(self) -> tuple[Path, Path]:
        return self._area / f"upper-{self._number}", self._area / f"work-{self._number}"

    def below(self, path: str) -> Path:
        """Return the file that a trial finds at a path before it writes."""
        copied = self.inputs / path
        return copied if os.path.lexists(copied) else self._source / path

    def _laid_above(self) -> set[str]:
        """Return the user's files that the last trial opened for writing."""
        upper, _ = self._layers()
        return {
            entry.path
            for entry in walk(str(upper))
            if entry.is_file and _stamp(self.below(entry.path)) is not None
        }

    def _lay(self, path: str, layer: Path, file: Path) -> None:
        """Copy a file into a layer; create its parent directories with the user's modes and times."""
        parents = [parent for parent in reversed(Path(path).parents) if str(parent) != "."]
        missing = [parent for parent in parents if not (layer / parent).is_dir()]
        for parent in missing:
            (layer / parent).mkdir()
        source = str(file).removesuffix(f"/{path}")
        try:
            copy_entry(TreeEntry(path, file.lstat()), source, str(layer))
        except FileNotFoundError:
            return
        finally:
            for parent in reversed(missing):
                close_directory(TreeEntry(str(parent), (self._source / parent).stat()), str(layer))


def _renamed_from(upper: Path, directory: str) -> str:
    """Return the original path of a directory that the trial renamed, "" for others."""
    try:
        origin = os.fsdecode(os.getxattr(upper / directory, "trusted.overlay.redirect"))
    except OSError:
        return ""
    return origin.strip("/") if origin.startswith("/") else str(Path(directory).parent / origin)


def _stamp(path: Path) -> Stamp | None:
    """Return size and time of a regular file, None for anything else."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def why_no_overlay(source: Path, temporary: Iterable[str]) -> str:
    """Return why a directory cannot be overlaid, "" if it can.

    ``temporary``: directories of this node through which processes communicate; they must not be overlaid.
    """
    mounts = _mounts()
    above = _mount_above(source, mounts)
    if mounts[above] not in _LOCAL:
        return f"{above} is of type {mounts[above]}"
    if inside := [at for at in mounts if at != source and at.is_relative_to(source)]:
        return f"{inside[0]} is mounted in it"
    if any(Path(path).is_relative_to(source) for path in temporary):
        return "it holds the directory of temporary files"
    if os.geteuid() != 0 and not _is_all_ours(source):
        return "it holds files of others, which a namespace of one user cannot copy"
    return ""


def keeps_times(path: Path) -> bool:
    """Return whether each write to a file here updates its times; on tmpfs writes through mmap do not."""
    mounts = _mounts()
    return mounts[_mount_above(path, mounts)] not in ("tmpfs", "ramfs")


def _mount_above(path: Path, mounts: Mapping[Path, str]) -> Path:
    return max((at for at in mounts if path.is_relative_to(at)), key=lambda at: len(at.parts))


_LOCAL = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs"})
_MOST_LOOKED_AT = 10_000


def _mounts() -> dict[Path, str]:
    """Return the type of the file system by mount point."""
    types = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        at = fields[4].encode().decode("unicode_escape")
        types[Path(at)] = fields[fields.index("-") + 1]
    return types


def _is_all_ours(source: Path) -> bool:
    """Return whether the directory and its direct entries belong to the user and the user's group."""
    ids = (os.geteuid(), os.getegid())
    statuses = [source.stat()]
    with os.scandir(source) as entries:
        for entry, _ in zip(entries, range(_MOST_LOOKED_AT), strict=False):
            statuses.append(entry.stat(follow_symlinks=False))
    return all((status.st_uid, status.st_gid) == ids for status in statuses)
