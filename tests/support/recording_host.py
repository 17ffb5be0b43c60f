"""The host of this machine, with every answer kept in a `Recording`, to be given again by a ReplayHost."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from tests.support.replay_host import Recording, command_key

from mpiric.host.host import Changes, Completed, Elf, Host, Space

_Answer = TypeVar("_Answer")


class _WatchedEnvironment(Mapping[str, str]):
    """An environment that keeps the variables looked up, so that secrets nobody requests stay out."""

    def __init__(self, inner: Mapping[str, str], kept: dict[str, str]) -> None:
        self._inner, self._kept = inner, kept

    def __getitem__(self, name: str) -> str:
        value = self._inner[name]
        self._kept[name] = value
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._inner)

    def __len__(self) -> int:
        return len(self._inner)


class RecordingHost:
    """A host that passes every question on to another and keeps the answer; absence is not kept."""

    def __init__(self, inner: Host) -> None:
        self._inner = inner
        self.recording = Recording()
        self._environ = _WatchedEnvironment(inner.environ, self.recording.environ)

    @property
    def environ(self) -> Mapping[str, str]:
        """The inner host's environment; variables looked up are kept."""
        return self._environ

    @property
    def python(self) -> str:
        """The inner host's interpreter."""
        return self._inner.python

    def run(
        self, argv: Sequence[str], *, environment: Changes = None, timeout_s: float = 20, **more: str
    ) -> Completed:
        """Run it and keep status and output."""
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
        """Run it or take the cached answer; keep status and output."""
        answer = self._inner.run_cached(
            argv, files, environment=environment, timeout_s=timeout_s, identity=identity, **more
        )
        self._keep(argv, environment, answer)
        return answer

    def _keep(
        self, argv: Sequence[str], environment: Mapping[str, str | None] | None, answer: Completed
    ) -> None:
        # Where the interpreter stands says nothing of the machine.
        words = [self.recording.python if word == self._inner.python else word for word in argv]
        self.recording.commands[command_key(words, environment)] = answer

    def read_text(self, path: str) -> str | None:
        """Read it and keep the text."""
        return _kept(self.recording.files, path, self._inner.read_text(path))

    def list_dir(self, path: str) -> tuple[str, ...]:
        """List it and keep the names."""
        return _kept(self.recording.directories, path, self._inner.list_dir(path))

    def is_file(self, path: str) -> bool:
        """Look and keep that it is one."""
        return _kept(self.recording.is_file, path, self._inner.is_file(path))

    def is_executable(self, path: str) -> bool:
        """Look and keep that it is."""
        return _kept(self.recording.is_executable, path, self._inner.is_executable(path))

    def real_path(self, path: str) -> str:
        """Resolve it and keep where it leads, when elsewhere."""
        answer = self._inner.real_path(path)
        if answer != path:
            self.recording.links[path] = answer
        return answer

    def which(self, name: str, **_: object) -> str | None:
        """Look it up and keep its path."""
        return _kept(self.recording.which, name, self._inner.which(name))

    def space(self, path: str) -> Space | None:
        """Read it and keep it."""
        return _kept(self.recording.spaces, path, self._inner.space(path))

    def attribute(self, path: str, name: str) -> bytes | None:
        """Read it and keep it."""
        value = self._inner.attribute(path, name)
        _kept(self.recording.attributes, f"{path}\0{name}", value.hex() if value is not None else None)
        return value

    def addresses(self) -> Mapping[str, tuple[str, ...]]:
        """Read them and keep them all."""
        self.recording.addresses = dict(self._inner.addresses())
        return self.recording.addresses

    def topology_xml(self, source: str = "", libraries: Sequence[str] = ()) -> str | None:
        """Read it and keep the XML."""
        return _kept(self.recording.topologies, source, self._inner.topology_xml(source, libraries))

    def elf(self, path: str) -> Elf | None:
        """Read it and keep it."""
        return _kept(self.recording.elfs, path, self._inner.elf(path))

    def exported_symbols(self, path: str) -> frozenset[str]:
        """Read them and keep them, sorted."""
        names = tuple(sorted(self._inner.exported_symbols(path)))
        return frozenset(_kept(self.recording.symbols, path, names))

    def imported_symbols(self, path: str) -> frozenset[str]:
        """Read them and keep them, sorted."""
        names = tuple(sorted(self._inner.imported_symbols(path)))
        return frozenset(_kept(self.recording.imports, path, names))


def _kept(table: dict[str, Any], key: str, answer: _Answer) -> _Answer:
    """The answer, put into the table unless it says that there is nothing."""
    if answer not in (None, False, ()):
        table[key] = answer
    return answer
