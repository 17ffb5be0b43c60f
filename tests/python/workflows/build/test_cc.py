"""`mpiric cc` from a command line to its outcome, with the compiler of this machine."""

import shutil
from pathlib import Path

import pytest

from mpiric.host.toolchain import this_toolchain
from mpiric.workflows.build.cc import build

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is on PATH")


def test_compiler_output_of_each_source_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.c").write_text("#warning of main\nint f(void); int main(void) { return f(); }\n")
    Path("part.c").write_text("int f(void) { return 0; }\n")
    arguments = ("main.c", "part.c", "-o", "program")
    outcome = build("cc", arguments, this_toolchain(), lambda _: ())
    assert outcome.status == 0
    assert "of main" in outcome.messages
    assert "part" not in outcome.messages
    assert ".o\n" not in outcome.messages
