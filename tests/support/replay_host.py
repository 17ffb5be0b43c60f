"""Host that answers from a recording of a machine, or from a made-up one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from mpiric.host.host import Changes, Completed, Elf, Space

FORMAT = 1


def command_key(argv: Sequence[str], environment: Mapping[str, str | None] | None) -> str:
    """Return the key of a command and the variables that are set for it."""
    variables = [
        f"{name}={value}" for name, value in sorted((environment or {}).items()) if value is not None
    ]
    return json.dumps([*variables, *argv])


@dataclass
class Recording:
    """Answers by question. ``note`` is their source: recorded, transcribed, made up."""

    note: str = ""
    python: str = "python3"
    environ: dict[str, str] = field(default_factory=dict)
    commands: dict[str, Completed] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    directories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    is_file: dict[str, bool] = field(default_factory=dict)
    is_executable: dict[str, bool] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)  # only paths that differ from their real path
    which: dict[str, str] = field(default_factory=dict)
    spaces: dict[str, Space] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)  # path, NUL, name → value in hex
    addresses: dict[str, tuple[str, ...]] = field(default_factory=dict)
    topologies: dict[str, str] = field(default_factory=dict)
    elfs: dict[str, Elf] = field(default_factory=dict)
    symbols: dict[str, tuple[str, ...]] = field(default_factory=dict)
    imports: dict[str, tuple[str, ...]] = field(default_factory=dict)
    format: int = FORMAT

    def write(self, path: Path) -> None:
        """Write the recording as JSON; repeated recordings give the same text."""
        text = json.dumps(asdict(self), indent=1, sort_keys=True, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")

    @staticmethod
    def read(path: Path) -> "Recording":
        """Read a file written by ``write``. Raises ValueError for another format."""
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if data.get("format") != FORMAT:
            raise ValueError(f"{path}: recording of format {data.get('format')}, not {FORMAT}")
        data["commands"] = {key: Completed(**value) for key, value in data["commands"].items()}
        data["spaces"] = {key: Space(**value) for key, value in data["spaces"].items()}
        data["elfs"] = {
            key: Elf(
                value["soname"],
                tuple(value["needed"]),
                tuple(value["search_path"]),
                value["interpreter"],
                tuple(value.get("fixed_path", ())),
                value.get("bits", 64),
                value.get("processor", ""),
                tuple(value.get("glibc_needed", ())),
                tuple(value.get("glibc_offered", ())),
                value.get("build_id", ""),
            )
            for key, value in data["elfs"].items()
        }
        for name in ("directories", "addresses", "symbols", "imports"):
            data[name] = {key: tuple(value) for key, value in data.get(name, {}).items()}
        return Recording(**data)


class ReplayHost:
    """Gives the answers of a recording; everything else does not exist.

    A made-up recording may hold only files, links and commands: directories, existence and
    PATH look-ups follow from them.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._children = _children_of(recording)

    @staticmethod
    def load(path: str | Path) -> "ReplayHost":
        """Return the host recorded in a JSON file."""
        return ReplayHost(Recording.read(Path(path)))

    @property
    def environ(self) -> Mapping[str, str]:
        """Return the variables that were read during the recording."""
        return self.recording.environ

    @property
    def python(self) -> str:
        """Return the interpreter of the recorded machine."""
        return self.recording.python

    def run(
        self, argv: Sequence[str], *, environment: Changes = None, timeout_s: float = 20, **_: object
    ) -> Completed:
        """Return the recorded answer; an answer recorded without variables is valid for all variables."""
        commands = self.recording.commands
        exact, plain = command_key(argv, environment), command_key(argv, None)
        return commands.get(exact) or commands.get(plain) or Completed(127, "", f"{argv[0]}: not recorded")

    def run_cached(
        self,
        argv: Sequence[str],
        files: Sequence[str],
        *,
        environment: Changes = None,
        timeout_s: float = 20,
        identity: Sequence[str] = (),
        **_: object,
    ) -> Completed:
        """Return the recorded answer."""
        return self.run(argv, environment=environment, timeout_s=timeout_s)

    def read_text(self, path: str) -> str | None:
        """Return the recorded text."""
        return self.recording.files.get(path)

    def list_dir(self, path: str) -> tuple[str, ...]:
        """Return the recorded names, or the names implied by the recorded files."""
        names = self.recording.directories.get(path)
        return names if names is not None else tuple(sorted(self._children.get(path.rstrip("/"), ())))

    def is_file(self, path: str) -> bool:
        """Return whether the recording contains the file."""
        recording = self.recording
        files = (recording.is_file, recording.files, recording.elfs)
        return any(path in paths for paths in files) or self._target(path)

    def is_executable(self, path: str) -> bool:
        """Return whether the file was executable, or is in a ``bin`` directory."""
        return self.recording.is_executable.get(path, False) or (
            PurePosixPath(path).parent.name in {"bin", "sbin"} and self.is_file(path)
        )

    def real_path(self, path: str) -> str:
        """Return the recorded real path."""
        return self.recording.links.get(path, path)

    def which(self, name: str, **_: object) -> str | None:
        """Return the recorded path of a command, or its first occurrence in the recorded PATH."""
        if name in self.recording.which:
            return self.recording.which[name]
        candidates = (
            [name] if "/" in name else [f"{d}/{name}" for d in self.environ.get("PATH", "").split(":")]
        )
        return next((path for path in candidates if self.is_executable(path)), None)

    def space(self, path: str) -> Space | None:
        """Return the recorded space."""
        return self.recording.spaces.get(path)

    def attribute(self, path: str, name: str) -> bytes | None:
        """Return the recorded bytes."""
        value = self.recording.attributes.get(f"{path}\0{name}")
        return bytes.fromhex(value) if value is not None else None

    def addresses(self) -> Mapping[str, tuple[str, ...]]:
        """Return the recorded addresses."""
        return self.recording.addresses

    def topology_xml(self, source: str = "", libraries: Sequence[str] = ()) -> str | None:
        """Return the recorded XML of a source."""
        return self.recording.topologies.get(source)

    def elf(self, path: str) -> Elf | None:
        """Return the recorded dynamic section."""
        return self.recording.elfs.get(path) or self.recording.elfs.get(self.real_path(path))

    def exported_symbols(self, path: str) -> frozenset[str]:
        """Return the recorded symbols."""
        return frozenset(self.recording.symbols.get(path, ()))

    def imported_symbols(self, path: str) -> frozenset[str]:
        """Return the recorded symbols."""
        return frozenset(self.recording.imports.get(path, ()))

    def _target(self, path: str) -> bool:
        target = self.recording.links.get(path)
        return target is not None and target != path and self.is_file(target)


def _children_of(recording: Recording) -> dict[str, set[str]]:
    children: dict[str, set[str]] = {}
    for text in {*recording.files, *recording.links, *recording.is_file, *recording.elfs}:
        path = PurePosixPath(text)
        for child, parent in zip([path, *path.parents], path.parents, strict=False):
            children.setdefault(str(parent).rstrip("/"), set()).add(child.name)
    return children
