"""A compiler as this room uses it: its command, what it is, and what each target means to it.

What a compiler says about itself is kept in the user's cache directory, for a configure script asks
thousands of times.
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
from mpiric.host import cache
from mpiric.host.toolchain import Scratch, Toolchain, which
from mpiric.model.errors import MpiricError, NotFoundError

_WRAPPED = ("OMPI_CC", "OMPI_CXX", "OMPI_FC", "MPICH_CC", "MPICH_CXX", "MPICH_FC", "MPICH_F90",
            "I_MPI_CC", "I_MPI_CXX", "I_MPI_FC", "I_MPI_F90")  # fmt: skip
_FORMAT = 6


class Target(NamedTuple):
    """One target as a compiler builds it."""

    name: str
    flags: tuple[str, ...]
    needs: tuple[str, ...]


class Driver:
    """A compiler command (``gcc``, ``ccache g++``, ``mpicc``), asked once and remembered."""

    def __init__(self, command: Sequence[str], toolchain: Toolchain) -> None:
        self.command = tuple(command)
        self.toolchain = toolchain
        if which(self.command[0], toolchain.environ.get("PATH")) is None:
            raise NotFoundError(
                f"the compiler '{self.command[0]}' is not on PATH",
                hint="name one with MPIRIC_CC, MPIRIC_CXX, MPIRIC_FC or --compiler",
            )

    @cached_property
    def identity(self) -> Identity:
        """Family, version and the architecture it builds for."""
        known = self._remember("identity", self._ask_identity)
        return Identity(str(known["family"]), str(known["version"]), str(known["machine"]))

    @property
    def family(self) -> CompilerFamily:
        """The family that the compiler belongs to."""
        return family(self.identity.family)

    def target(self, name: str, no_fma: bool = False) -> Target:  # noqa: FBT001, FBT002
        """Flags and needed features of a target; an error when compiler or assembler cannot build it."""
        known = self._remember(f"target {name}", lambda: self._ask_target(name))
        extra = self.family.words("no_fma") if no_fma else ()
        return Target(name, (*_strings(known["flags"]), *extra), _strings(known["needs"]))

    def name_of(self, word: str, machine: str) -> str:
        """What `canonical` says, remembered: to read archspec takes longer than to compile a small file."""
        if not word.replace("_", "").replace("-", "").isalnum():
            return canonical(word, machine)
        known = self._remember(f"name {word}", lambda: {"name": canonical(word, machine)})
        return str(known["name"])

    def program(self, name: str) -> str:
        """The tool of that name that belongs to this compiler: ``ld``, ``objcopy``."""
        known = self._remember(f"program {name}", lambda: {"path": self._ask_program(name)})
        return str(known["path"])

    def _ask_program(self, name: str) -> str:
        printed = self.toolchain.run([*self.command, f"-print-prog-name={name}"]).printed.strip()
        found = which(printed) if printed else None
        if found is None and self.identity.machine != os.uname().machine:
            found = which(f"{self.identity.machine}-linux-gnu-{name}")
        found = found or which(name)
        if found is None:
            raise NotFoundError(
                f"'{name}' is not there", hint="install the GNU binutils (apt-get install binutils)"
            )
        return found

    def _ask_identity(self) -> dict[str, object]:
        """Banner first, then an empty file: the architecture is what the compiler really writes."""
        with Scratch() as scratch:
            source, made = f"{scratch}/empty.c", f"{scratch}/empty.o"
            _write(source, "")
            self.toolchain.run([*self.command, "-x", "c", "-c", source, "-o", made])
            head = _head(made)
        machine = MACHINES.get(int.from_bytes(head[18:20], "little"), "") if head else os.uname().machine
        if machine not in BASELINE:
            raise MpiricError(
                f"fat executables are for x86_64 and aarch64; {self.command[0]} builds for another"
            )
        for question in ("--version", "-V", "-v"):
            answer = self.toolchain.run([*self.command, question])
            found = recognise(answer.printed + answer.words, machine)
            if found:
                return found._asdict()
        raise MpiricError(
            f"'{' '.join(self.command)}' is not a compiler that mpiric knows",
            hint="known are: " + ", ".join(sorted(families())),
        )

    def _ask_target(self, name: str) -> dict[str, object]:
        flags = target_flags(self.identity, name)
        with Scratch() as scratch:
            source = f"{scratch}/probe.c"
            _write(
                source,
                "double probe(double *a, int n)\n{ double s = 0; while (n--) s += a[n] * a[n]; return s; }\n",
            )
            words = ["-x", "c", "-O2", "-c", source, "-o", f"{scratch}/probe.o"]
            tried = self.toolchain.run([*self.command, *flags, *words])
            if tried.status != 0 and "cc1" not in tried.words:  # a Fortran-only driver cannot be asked in C
                reason = (tried.words.strip().splitlines() or ["no reason given"])[0]
                raise MpiricError(
                    f"{self.identity.label} or its assembler cannot build for {name}: {reason}",
                    hint="leave the target out, or take newer binutils and compiler",
                )
            defined = self.toolchain.run([*self.command, *flags, "-x", "c", "-dM", "-E", source])
        macros = predefined_macros(defined.printed)
        needs = needs_from_macros(self.identity.machine, macros) or tuple(sorted(generic_features(name)))
        return {"flags": list(flags), "needs": list(needs)}

    def _remember(self, question: str, ask: Callable[[], Mapping[str, object]]) -> Mapping[str, object]:
        """The answer kept from before, if it was kept for just this compiler."""
        path = f"{self._cache}/{question.replace(' ', '-')}.json" if self._cache else ""
        with suppress(ValueError, KeyError, TypeError):
            known = json.loads(cache.read(path) or "{}")
            if known["of"] == self._state:
                kept: Mapping[str, object] = known["answer"]
                return kept
        answer = ask()
        if path:
            cache.write(path, json.dumps({"of": self._state, "answer": answer}))
        return answer

    @cached_property
    def witnesses(self) -> tuple[Witness, ...]:
        """The programs behind the command, as they are: another one answers differently."""
        environ = self.toolchain.environ
        underlying = [environ[name].split()[0] for name in _WRAPPED if environ.get(name, "").strip()]
        names = dict.fromkeys([*self.command, *underlying, "cc", "gcc", "as", "ld"])
        paths = ((name, which(name, environ.get("PATH"))) for name in names)
        return tuple(found for name, path in paths if path and (found := witness(name, path)))

    @cached_property
    def _state(self) -> str:
        """What differs for another compiler, another version of it or another wrapped one."""
        wrapped = [self.toolchain.environ.get(name, "") for name in _WRAPPED]
        return json.dumps([_FORMAT, self.command, wrapped, self.witnesses])

    @cached_property
    def _cache(self) -> str:
        root = cache.directory(self.toolchain.environ)
        return f"{root}/compilers/{crc32(self._state.encode()):08x}" if root else ""


def _strings(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, (list, tuple)) else ()


def _head(path: str) -> bytes:
    """The first bytes of a file, none where it is not there."""
    try:
        with open(path, "rb") as file:
            return file.read(20)
    except OSError:
        return b""


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
