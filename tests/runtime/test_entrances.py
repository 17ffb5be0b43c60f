"""The entrances of each processor: every argument arrives, and the second call goes straight on."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "src/runtime"
HERE = Path(__file__).parent / "symbols"
SYSROOT = "/usr/aarch64-linux-gnu"
# processor → compiler, and command that runs its programs
HOW = {
    "x86_64": ("gcc", ()),
    "aarch64": ("aarch64-linux-gnu-gcc", ("qemu-aarch64", "-L", SYSROOT)),
}


def test_each_processor_is_tried():
    assert {place.name for place in (RUNTIME / "base/arch").iterdir()} == set(HOW)


@pytest.mark.parametrize(
    "processor",
    [
        pytest.param(name, marks=pytest.mark.requires(compiler, *runner[:1]))
        for name, (compiler, runner) in HOW.items()
    ],
)
def test_arguments_pass_unharmed(processor, tmp_path):
    compiler, runner = HOW[processor]
    if not runner and os.uname().machine != processor:
        pytest.skip(f"not on {processor}")
    (tmp_path / "posix").mkdir()
    (tmp_path / "posix/names.inc").touch()  # the names of libc keep leading there
    (tmp_path / "symbols").mkdir()
    (tmp_path / "symbols/functions.inc").write_text(
        "".join(
            f"MPIRIC_FUNCTION({name}, send, always, program, 0x0, everywhere)\n"
            for name in ("MPI_Absent", "MPI_Send")
        )
    )
    (tmp_path / "mpiric_available.h").write_text(
        "#define MPIRIC_HAS_MPI_Absent 0\n#define MPIRIC_HAS_MPI_Send 1\n"
    )
    includes = [f"-I{place}" for place in (tmp_path, RUNTIME, RUNTIME / "base/arch" / processor)]
    library = tmp_path / "libentrances.so"
    sources = [RUNTIME / "symbols/entrances.S", HERE / "entrance_library.c"]
    subprocess.run(
        [compiler, "-O1", "-fPIC", "-shared", *includes, *sources, "-ldl", "-o", library], check=True
    )
    program = tmp_path / "program"
    subprocess.run([compiler, HERE / "entrance_program.c", library, "-ldl", "-o", program], check=True)
    where = ["-E", f"LD_LIBRARY_PATH={tmp_path}"] if runner else []
    done = subprocess.run(
        [*runner, *where, program],
        env={**os.environ, **({} if runner else {"LD_LIBRARY_PATH": str(tmp_path)})},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("891.0 891.0 1 1\n", "")
