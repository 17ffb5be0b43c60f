"""Host that stores all answers of this machine in a `Recording`, for a ReplayHost."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from tests.support.replay_host import Recording, command_key

from mpiric.host.host import Changes, Completed, Elf, Host, Space

_Answer = TypeVar("_Answer")


class _WatchedEnvironment(Mapping[str, str]):
    """Environment that records only the variables that are read, so that it contains no secrets."""

    def __init__(self, inner: Mapping[str, str], variables: dict[str, str]) -> None:
        self._inner, self._kept = inner, variables

    def __getitem__(self, name: str) -> str:
        value = self._inner[name]
        self._kept[name] = value
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._inner)

    def __len__(self) -> int:
        return len(self._inner)


class RecordingHost:
    """Host that forwards each question to another host and records the answer, unless there is none."""

    def __init__(self, inner: Host) -> None:
        self._inner = inner
        self.recording = Recording()
        self._environ = _WatchedEnvironment(inner.environ, self.recording.environ)

    @property
    def environ(self) -> Mapping[str, str]:
        """Return the environment of the inner host; variables that are read are recorded."""
        return self._environ

    @property
    def python(self) -> str:
        """Return the interpreter of the inner host."""
        return self._inner.python

    def run(
        self, argv: Sequence[str], *, environment: Changes = None, timeout_s: float = 20, **more: str
    ) -> Completed:
        """Run a command and record status and output."""
        answer = self._inner.run(argv, environment=environment, timeout_s=timeout_s, **more)
        self._keep(argv, environment, answer)
        return answer

    def run_cached(
        self,
        argv: Sequence[str],
        files: Sequence[str],
        *,
        environment: Changes = None,
        timeout_s: float = 20,
        identity: Sequence[str] = (),
        **more: str,
    ) -> Completed:
        """Run a command or take the cached answer; record status and output."""
        answer = self._inner.run_cached(
            argv, files, environment=environment, timeout_s=timeout_s, identity=identity, **more
        )
        self._keep(argv, environment, answer)
        return answer

    def _keep(
        self, argv: Sequence[str], environment: Mapping[str, str | None] | None, answer: Completed
    ) -> None:
        # The path of the interpreter is not a property of the machine.
        portable_argv = [self.recording.python if word == self._inner.python else word for word in argv]
        self.recording.commands[command_key(portable_argv, environment)] = answer

    def read_text(self, path: str) -> str | None:
        """Read a file and record the text."""
        return _kept(self.recording.files, path, self._inner.read_text(path))

    def list_dir(self, path: str) -> tuple[str, ...]:
        """List a directory and record the names."""
        return _kept(self.recording.directories, path, self._inner.list_dir(path))

    def is_file(self, path: str) -> bool:
        """Return whether a path is a file, and record it."""
        return _kept(self.recording.is_file, path, self._inner.is_file(path))

    def is_executable(self, path: str) -> bool:
        """Return whether a file is executable, and record it."""
        return _kept(self.recording.is_executable, path, self._inner.is_executable(path))

    def real_path(self, path: str) -> str:
        """Resolve links and record the result if it differs from the path."""
        answer = self._inner.real_path(path)
        if answer != path:
            self.recording.links[path] = answer
        return answer

    def which(self, name: str, **_: object) -> str | None:
        """Find a command and record its path."""
        return _kept(self.recording.which, name, self._inner.which(name))

    def space(self, path: str) -> Space | None:
        """Read and record the space of a file system."""
        return _kept(self.recording.spaces, path, self._inner.space(path))

    def attribute(self, path: str, name: str) -> bytes | None:
        """Read and record an extended attribute."""
        value = self._inner.attribute(path, name)
        _kept(self.recording.attributes, f"{path}\0{name}", value.hex() if value is not None else None)
        return value

    def addresses(self) -> Mapping[str, tuple[str, ...]]:
        """Read and record all addresses."""
        self.recording.addresses = dict(self._inner.addresses())
        return self.recording.addresses

    def topology_xml(self, source: str = "", libraries: Sequence[str] = ()) -> str | None:
        """Read a topology and record its XML."""
        return _kept(self.recording.topologies, source, self._inner.topology_xml(source, libraries))

    def elf(self, path: str) -> Elf | None:
        """Read and record the dynamic section of a file."""
        return _kept(self.recording.elfs, path, self._inner.elf(path))

    def exported_symbols(self, path: str) -> frozenset[str]:
        """Read symbols and record them, sorted."""
        names = tuple(sorted(self._inner.exported_symbols(path)))
        return frozenset(_kept(self.recording.symbols, path, names))

    def imported_symbols(self, path: str) -> frozenset[str]:
        """Read symbols and record them, sorted."""
        names = tuple(sorted(self._inner.imported_symbols(path)))
        return frozenset(_kept(self.recording.imports, path, names))


def _kept(table: dict[str, Any], key: str, answer: _Answer) -> _Answer:
    """Store an answer in the table, unless it is empty, and return it."""
    if answer not in (None, False, ()):
        table[key] = answer
    return answer
