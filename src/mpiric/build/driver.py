"""Compiler driver: command, identity, and meaning of targets.

Answers of a compiler are cached in the user's cache directory, because a configure script calls it thousands
of times.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple
from zlib import crc32

from mpiric.build.compilers import (
    CompilerFamily,
    Identity,
    families,
    family,
    predefined_macros,
    recognise,
    target_flags,
)
from mpiric.build.elf import MACHINES
from mpiric.build.plan import Witness, witness
from mpiric.build.targets import BASELINE, canonical, generic_features, needs_from_macros
from mpiric.host import user_directories
from mpiric.host.toolchain import Scratch, Toolchain, which
from mpiric.model.errors import MpiricError, NotFoundError

_WRAPPED = ("OMPI_CC", "OMPI_CXX", "OMPI_FC", "MPICH_CC", "MPICH_CXX", "MPICH_FC", "MPICH_F90",
            "I_MPI_CC", "I_MPI_CXX", "I_MPI_FC", "I_MPI_F90")  # fmt: skip
_FORMAT = 6


class Target(NamedTuple):
    """Target of a specific compiler."""

    name: str
    flags: tuple[str, ...]
    needs: tuple[str, ...]


class Driver:
    """Compiler command (``gcc``, ``ccache g++``, ``mpicc``); its answers are cached."""

    def __init__(self, command: Sequence[str], toolchain: Toolchain) -> None:
        self.command = tuple(command)
        self.toolchain = toolchain
        if which(self.command[0], toolchain.environ.get("PATH")) is None:
            raise NotFoundError(
                f"the compiler '{self.command[0]}' is not on PATH",
                hint="select one with MPIRIC_CC, MPIRIC_CXX, MPIRIC_FC or --compiler",
            )

    @cached_property
    def identity(self) -> Identity:
        """Family, version and architecture."""
        answer = self._remember("identity", self._ask_identity)
        return Identity(str(answer["family"]), str(answer["version"]), str(answer["machine"]))

    @property
    def family(self) -> CompilerFamily:
        """Family of the compiler."""
        return family(self.identity.family)

    def target(self, name: str, no_fma: bool = False) -> Target:  # noqa: FBT001, FBT002
        """Return flags and needed features of a target. Raises MpiricError if it cannot be built."""
        answer = self._remember(f"target {name}", lambda: self._ask_target(name))
        extra = self.family.flag_list("no_fma") if no_fma else ()
        return Target(name, (*_strings(answer["flags"]), *extra), _strings(answer["needs"]))

    def name_of(self, word: str, machine: str) -> str:
        """Return the cached `canonical`; reading archspec takes longer than compiling a small file."""
        if not word.replace("_", "").replace("-", "").isalnum():
            return canonical(word, machine)
        answer = self._remember(f"name {word}", lambda: {"name": canonical(word, machine)})
        return str(answer["name"])

    def program(self, name: str) -> str:
        """Return the path of a tool of this compiler, such as ``ld`` or ``objcopy``."""
        answer = self._remember(f"program {name}", lambda: {"path": self._ask_program(name)})
        return str(answer["path"])

    def _ask_program(self, name: str) -> str:
        printed = self.toolchain.run([*self.command, f"-print-prog-name={name}"]).printed.strip()
        program = which(printed) if printed else None
        if program is None and self.identity.machine != os.uname().machine:
            program = which(f"{self.identity.machine}-linux-gnu-{name}")
        program = program or which(name)
        if program is None:
            raise NotFoundError(
                f"'{name}' is missing",
                hint="load a module with GNU binutils, or install them (apt-get install binutils)",
            )
        return program

    def _ask_identity(self) -> dict[str, object]:
        """Identify by the banner, and the architecture by compiling an empty file."""
        with Scratch() as scratch:
            source, object_file = f"{scratch}/empty.c", f"{scratch}/empty.o"
            _write(source, "")
            self.toolchain.run([*self.command, "-x", "c", "-c", source, "-o", object_file])
            head = _head(object_file)
        machine = MACHINES.get(int.from_bytes(head[18:20], "little"), "") if head else os.uname().machine
        if machine not in BASELINE:
            raise MpiricError(
                f"fat executables are for x86_64 and aarch64; {self.command[0]} builds for another",
                hint="use the compiler without `mpiric cc`",
            )
        for question in ("--version", "-V", "-v"):
            answer = self.toolchain.run([*self.command, question])
            identity = recognise(answer.printed + answer.errors, machine)
            if identity:
                return identity._asdict()
        raise MpiricError(
            f"'{' '.join(self.command)}' is not a compiler that mpiric knows",
            hint="known compilers: " + ", ".join(sorted(families())),
        )

    def _ask_target(self, name: str) -> dict[str, object]:
        flags = target_flags(self.identity, name)
        with Scratch() as scratch:
            source = f"{scratch}/probe.c"
            _write(
                source,
                "double probe(double *a, int n)\n{ double s = 0; while (n--) s += a[n] * a[n]; return s; }\n",
            )
            arguments = ["-x", "c", "-O2", "-c", source, "-o", f"{scratch}/probe.o"]
            tried = self.toolchain.run([*self.command, *flags, *arguments])
            if tried.status != 0 and "cc1" not in tried.errors:  # a Fortran-only driver cannot compile C
                reason = (tried.errors.strip().splitlines() or ["no reason given"])[0]
                raise MpiricError(
                    f"{self.identity.label} or its assembler cannot build for {name}: {reason}",
                    hint="omit the target, or use newer binutils and compiler",
                )
            defined = self.toolchain.run([*self.command, *flags, "-x", "c", "-dM", "-E", source])
        macros = predefined_macros(defined.printed)
        needs = needs_from_macros(self.identity.machine, macros) or tuple(sorted(generic_features(name)))
        return {"flags": list(flags), "needs": list(needs)}

    def _remember(self, question: str, ask: Callable[[], Mapping[str, object]]) -> Mapping[str, object]:
        """Return the cached answer if it belongs to exactly this compiler."""
        path = f"{self._cache}/{question.replace(' ', '-')}.json" if self._cache else ""
        with suppress(ValueError, KeyError, TypeError):
            entry = json.loads(user_directories.read_cached(path) or "{}")
            if entry["of"] == self._state:
                answer: Mapping[str, object] = entry["answer"]
                return answer
        answer = ask()
        if path:
            user_directories.write_cached(path, json.dumps({"of": self._state, "answer": answer}))
        return answer

    @cached_property
    def witnesses(self) -> tuple[Witness, ...]:
        """Return the programs behind the command with their state; a changed program invalidates answers."""
        environ = self.toolchain.environ
        underlying = [environ[name].split()[0] for name in _WRAPPED if environ.get(name, "").strip()]
        names = dict.fromkeys([*self.command, *underlying, "cc", "gcc", "as", "ld"])
        paths = ((name, which(name, environ.get("PATH"))) for name in names)
        return tuple(state for name, path in paths if path and (state := witness(name, path)))

    @cached_property
    def _state(self) -> str:
        """Return a key of compiler, version and wrapped compiler."""
        wrapped = [self.toolchain.environ.get(name, "") for name in _WRAPPED]
        return json.dumps([_FORMAT, self.command, wrapped, self.witnesses])

    @cached_property
    def _cache(self) -> str:
        root = user_directories.cache_directory(self.toolchain.environ)
        return f"{root}/compilers/{crc32(self._state.encode()):08x}" if root else ""


def _strings(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, (list, tuple)) else ()


def _head(path: str) -> bytes:
    """Return the first bytes of a file, empty if it is missing."""
    try:
        with open(path, "rb") as file:
            return file.read(20)
    except OSError:
        return b""


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
