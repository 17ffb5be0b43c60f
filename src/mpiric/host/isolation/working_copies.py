"""Isolation of trials: each trial starts in a directory with the initial content of the working directory.

If all processes of a launch see the mounts of the keeper, the directory is an overlay: see `overlaid`.
Otherwise it is a copy: a template is made at the start, so that later edits do not affect the comparison,
and each trial gets a clone of it. The path is the same for all trials, so that printed paths agree. Only
one directory exists at a time, because simultaneous runs would disturb each other.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType

from mpiric.host.isolation.copying import (
    FileState,
    Manifest,
    TreeEntry,
    can_reflink,
    close_directory,
    copy_entry,
    manifest_of,
    restore,
    state_of,
    states_in,
    walk,
    written_files,
)
from mpiric.host.isolation.overlaid import Mounter, OverlaidTrials, keeps_times, why_no_overlay
from mpiric.host.isolation.trial_area import PREFIX, make_area, make_area_outside, mirror_surroundings
from mpiric.host.owned_files import remove_tree
from mpiric.host.processes.request import OverlayMount, entering
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, NoRoomError

_SPARE_BYTES = 64 << 20  # free space for output of the program


@dataclass(frozen=True)
class CopyPolicy:
    """Limits and methods for copies."""

    in_place: bool = False
    files_limit: int = 100_000
    bytes_limit: int = 2 << 30  # limit of copied data, without shared data
    # Larger files are hard links to the template, checked for changes afterwards.
    link_from_bytes: int = 64 << 20
    on_this_node: bool = False  # all files of a launch are written on this node
    mounter: Mounter | None = None  # None if some processes of a launch cannot see its mounts
    temporary: tuple[str, ...] = ("/tmp", "/dev/shm")  # noqa: S108  directories of this node that are never overlaid


@dataclass(frozen=True)
class TrialDirectory:
    """Directory of one trial. With a ``mount``, ``path`` exists only for its launch."""

    path: Path
    before: Manifest
    mount: OverlayMount | None = None
    overlaid: OverlaidTrials | None = None
    mounter: Mounter | None = None
    skip: Callable[[str], bool] | None = None  # matches paths of mpiric in the directory
    input_files: frozenset[str] = frozenset()  # files that are written for the trial, by relative path

    def written(self) -> dict[str, Path]:
        """Return the regular files that the trial created or changed, by relative path."""
        if self.overlaid is not None:
            written = self.overlaid.written()
        else:
            written = written_files(self.path, self.before, self.skip or _is_area)
        return {name: path for name, path in written.items() if name not in self.input_files}

    def where(self, path: str) -> Path:
        """Return the location of a file before the trial, for a relative or absolute path of the trial."""
        relative = Path(path).relative_to(self.path) if Path(path).is_relative_to(self.path) else Path(path)
        if self.overlaid is not None and not relative.is_absolute():
            return self.overlaid.below(str(relative))
        return self.path / relative

    @property
    def entering(self) -> Callable[[], None] | None:
        """Return a function that a child calls before exec to enter the directory; None if not needed."""
        return entering(self.mounter.keeper_pid, str(self.path)) if self.mounter is not None else None


class WorkingCopies:
    """Trial directories of one tune; a context manager that removes them at the end.

    ``notes`` collects messages for the user. Raises MpiricError if the directory is too large to copy,
    NoRoomError if the disk is full.
    """

    def __init__(self, source: Path, store: Path, policy: CopyPolicy | None = None) -> None:
        self._source = source.resolve()
        self._store = store.resolve()
        self._policy = policy or CopyPolicy()
        self._area: Path | None = None
        self._path = self._source
        self._entries: dict[str, TreeEntry] = {}  # entries of the template, parents first
        self._manifest: Manifest = {}
        self._linked: dict[str, FileState] = {}
        self._states: dict[str, FileState] = {}  # states in the trial's directory, if it can be restored
        self._unlinkable: set[str] = set()
        self._shares = False  # copies share their data with the original
        self._overlaid: OverlaidTrials | None = None
        self.notes: list[str] = []

    def __enter__(self) -> "WorkingCopies":
        if self._policy.in_place:
            return self
        try:
            self._overlaid = self._lay_over()
            if self._overlaid is None:
                self._take_template()
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise _no_room(error) from error
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove all directories."""
        self._written_links()
        area, self._area = self._area, None
        if area is not None:
            remove_tree(area)

    def fresh(self) -> TrialDirectory:
        """Return a directory with the initial content; the previous one is removed or reused."""
        if self._policy.in_place or self._area is None:
            manifest = manifest_of(walk(str(self._source), self._skip))
            return TrialDirectory(self._source, manifest, skip=self._skip)
        try:
            if self._overlaid is not None:
                mount = self._overlaid.fresh()
                return TrialDirectory(Path(mount.path), {}, mount, self._overlaid, self._policy.mounter)
            for path in self._written_links():
                self._restore(self._entries[path])
            self._make_anew()
        except OSError as error:
            raise _no_room(error) from error
        return TrialDirectory(self._path, self._manifest)

    def _make_anew(self) -> None:
        """Restore the changes of the last trial in the directory, or clone it again."""
        if self._states and self._path.exists():
            try:
                restore(self._entries, self._states, str(self._template), str(self._path), self._may_link)
                close_directory(TreeEntry("", self._source.stat()), str(self._path))
                self._linked = {
                    path: _state(f"{self._template}/{path}")
                    for path, entry in self._entries.items()
                    if self._may_link(entry)
                }
            except OSError:
                self._states = {}
            else:
                return
        if self._path.exists():
            remove_tree(self._path)
        template, target = str(self._template), str(self._path)
        self._path.mkdir()
        for entry in self._entries.values():
            link = self._may_link(entry)
            copy_entry(entry, template, target, link=link)
            if link:
                self._linked[entry.path] = _state(f"{template}/{entry.path}")
        for entry in reversed(list(self._entries.values())):
            if entry.is_dir:
                close_directory(entry, target)
        close_directory(TreeEntry("", self._source.stat()), target)
        if self._policy.on_this_node and keeps_times(self._area or self._path):
            self._states = states_in(str(self._path))

    def depend_on(self, paths: Iterable[str]) -> None:
        """Keep these inputs unchanged for later trials; paths are absolute or relative to the directory."""
        if self._overlaid is not None:
            self._overlaid.depend_on(paths)

    def renew(self) -> None:
        """Force a complete clone for the next trial, because this trial changed more than files."""
        self._states = {}
        if self._area is not None and self._overlaid is None and self._path.exists():
            remove_tree(self._path)

    def copy_instead(self) -> None:
        """Replace overlays by copies, for a command that fails with mounts. Raises as entering does."""
        self.close()
        self._overlaid = None
        try:
            self._take_template()
        except OSError as error:
            raise _no_room(error) from error

    @property
    def _template(self) -> Path:
        assert self._area is not None
        return self._area / "template"

    def _skip(self, path: str) -> bool:
        return path == str(self._store) or _is_area(path)

    def _lay_over(self) -> OverlaidTrials | None:
        """Return overlays, or None if the directory or the kernel does not support them."""
        mounter = self._policy.mounter
        if mounter is None or why_no_overlay(self._source, self._policy.temporary):
            return None
        self._area = make_area_outside(self._source, self._store)
        if self._area is None:
            return None
        overlaid = OverlaidTrials(self._source, self._area, self._store)
        if mounter.can_mount(overlaid.fresh()):
            return overlaid
        self.close()
        return None

    def _take_template(self) -> None:
        entries = self._survey()
        self._area = make_area(self._source, self._store)
        self._path, note = mirror_surroundings(self._area, self._source)
        self.notes += [note] if note else []
        files = [entry for entry in entries if entry.is_file and entry.status.st_size]
        self._shares = bool(files) and can_reflink(f"{self._source}/{files[0].path}", str(self._area))
        if not self._shares:
            self._check_size(files)
        self._template.mkdir()
        unread = [
            entry.path for entry in entries if not copy_entry(entry, str(self._source), str(self._template))
        ]
        if unread:
            self.notes.append(f"cannot be read and is missing in trials: {', '.join(unread[:3])}")
        missing = set(unread)
        copied = [
            (entry if not entry.is_link else TreeEntry(entry.path, (self._template / entry.path).lstat()))
            for entry in entries
            if entry.path not in missing
        ]
        self._entries = {entry.path: entry for entry in copied}
        self._manifest = manifest_of(copied)

    def _survey(self) -> list[TreeEntry]:
        entries: list[TreeEntry] = []
        for entry in walk(str(self._source), self._skip):
            entries.append(entry)
            if len(entries) > self._policy.files_limit:
                where, count = Counter(item.path.split("/")[0] for item in entries).most_common(1)[0]
                raise MpiricError(
                    f"{self._source} holds more than {self._policy.files_limit:,} files "
                    f"(at least {count:,} in {where}): too many to copy for each trial",
                    hint="run from a directory with only what the program needs, or use --in-place",
                )
        return entries

    def _check_size(self, files: list[TreeEntry]) -> None:
        total = sum(entry.status.st_blocks * 512 for entry in files)
        largest = sorted(files, key=lambda entry: -entry.status.st_blocks)[:3]
        names = ", ".join(f"{entry.path} {_mib(entry.status.st_blocks * 512)}" for entry in largest)
        if total > self._policy.bytes_limit:
            raise MpiricError(
                f"{self._source} holds {_mib(total)}, more than the {_mib(self._policy.bytes_limit)} "
                f"that are copied for trials (largest: {names})",
                hint="link large inputs from elsewhere (ln -s), or use --in-place",
            )
        trial_bytes = sum(entry.status.st_blocks * 512 for entry in files if not self._may_link(entry))
        assert self._area is not None
        room = os.statvfs(self._area)
        if room.f_bavail * room.f_frsize < total + trial_bytes + _SPARE_BYTES:
            raise NoRoomError(
                f"{self._area.parent} has {_mib(room.f_bavail * room.f_frsize)} free, copies of "
                f"{self._source} need {_mib(total + trial_bytes + _SPARE_BYTES)} (largest: {names})",
                hint="make room, name another directory with --store, or use --in-place",
            )

    def _may_link(self, entry: TreeEntry) -> bool:
        large = entry.status.st_size > self._policy.link_from_bytes and entry.is_file
        return large and not self._shares and entry.path not in self._unlinkable

    def _written_links(self) -> list[str]:
        """Return hard-linked files of the template that the program has changed."""
        linked, self._linked = self._linked, {}
        if self._area is None:
            return []
        written = [path for path, state in linked.items() if _state(f"{self._template}/{path}") != state]
        self._unlinkable.update(written)
        self.notes += [f"the program writes into {path}: it is copied for each trial" for path in written]
        return written

    def _restore(self, entry: TreeEntry) -> None:
        now = (self._source / entry.path).stat()
        before = entry.status
        if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise MpiricError(
                f"{self._source / entry.path} has changed since the start: trials are no longer comparable",
                hint="start again when nothing else writes there",
            )
        (self._template / entry.path).unlink()
        copy_entry(entry, str(self._source), str(self._template))


def _is_area(path: str) -> bool:
    return path.rsplit("/", 1)[-1].startswith(PREFIX)


def _state(path: str) -> FileState:
    return state_of(os.lstat(path))


def _mib(count_bytes: int) -> str:
    return f"{count_bytes / (1 << 20):,.0f} MiB"


def _no_room(error: OSError) -> NoRoomError:
    return NoRoomError(
        f"the working directory cannot be copied: {error.filename or 'the system'}: {error.strerror}",
        hint="make room, name another directory with --store, or use --in-place",
    )
