"""CPU features that a variant's code needs, read from its disassembly."""

import subprocess
from pathlib import Path

import pytest

from mpiric.build.link import really_needed
from mpiric.host.toolchain import Finished, Toolchain

pytestmark = pytest.mark.requires("gcc", "objdump")
ALLOWED = ("avx2", "pku", "serialize")


def compiled(place: Path, text: str) -> Path:
    (place / "a.c").write_text(text)
    subprocess.run(["gcc", "-O2", "-c", "a.c", "-o", "a.o"], cwd=place, check=True)
    return place / "a.o"


def needs(code: Path, objdump: str = "objdump") -> tuple[str, ...]:
    import os

    return really_needed(code, ALLOWED, "x86_64", objdump, Toolchain(os.environ, 1))


def test_only_instructions_that_occur_are_needed(tmp_path: Path) -> None:
    assert needs(compiled(tmp_path, "int f(int x) { return x + 1; }\n")) == ("avx2",)
    code = compiled(tmp_path, 'void f(void) { __asm__ volatile(".byte 0x0f, 0x01, 0xe8"); }\n')
    assert needs(code) == ("avx2", "serialize")


def test_code_that_cannot_be_read_may_need_everything(tmp_path: Path) -> None:
    code = compiled(tmp_path, "int f(int x) { return x + 1; }\n")
    assert needs(code, "no-such-objdump") == ALLOWED
    assert needs(code, "false") == ALLOWED
    unknown = compiled(tmp_path, 'void f(void) { __asm__ volatile(".byte 0x0f, 0x0a, 0x0f, 0xff"); }\n')
    assert needs(unknown) == ALLOWED


def test_an_object_is_not_read_when_no_feature_could_go(tmp_path: Path) -> None:
    class Nothing(Toolchain):
        def run(self, argv, **_) -> Finished:  # type: ignore[no-untyped-def,override]
            raise AssertionError(argv)

    assert really_needed(tmp_path, ("avx2",), "x86_64", "objdump", Nothing({}, 1)) == ("avx2",)
    assert really_needed(tmp_path, (), "x86_64", "objdump", Nothing({}, 1)) == ()
