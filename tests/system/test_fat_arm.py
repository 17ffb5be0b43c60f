"""Fat executables for Arm: built by a cross compiler, run under QEMU's CPUs."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.requires("aarch64-linux-gnu-gcc", "qemu-aarch64")
Run = Callable[..., "subprocess.CompletedProcess[str]"]
LIBRARIES = "/usr/aarch64-linux-gnu"

PROGRAM = """
#include <stdio.h>
const char *which(void);
static double x[100], y[100];
__attribute__((constructor(200))) static void fill(void) { for (int i = 0; i < 100; i++) x[i] = i; }
int main(void) {
  double sum = 0;
  for (int i = 0; i < 100; i++) y[i] += 2 * x[i];
  for (int i = 0; i < 100; i++) sum += y[i];
  printf("%s %g\\n", which(), sum);
  return 0;
}
"""
WHICH = """
const char *which(void) {
#if defined(__ARM_FEATURE_SVE)
  return "sve";
#elif defined(__ARM_FEATURE_ATOMICS)
  return "atomics";
#else
  return "base";
#endif
}
"""


def answer(program: Path, cpu: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["qemu-aarch64", "-cpu", cpu, "-L", LIBRARIES, str(program)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.fixture
def fat(tmp_path: Path, run_mpiric: Run) -> Path:
    (tmp_path / "main.c").write_text(PROGRAM)
    (tmp_path / "which.c").write_text(WHICH)
    for arguments in (["-c", "main.c"], ["-c", "which.c"], ["main.o", "which.o", "-o", "fat"]):
        done = run_mpiric("cc", "aarch64-linux-gnu-gcc", "-O2", *arguments)
        assert done.returncode == 0, done.stderr
    return tmp_path / "fat"


@pytest.mark.parametrize(
    ("cpu", "says"),
    [
        ("cortex-a57", "base 9900\n"),
        ("cortex-a76", "atomics 9900\n"),
        ("max", "sve 9900\n"),
        ("max,sve=off", "atomics 9900\n"),
    ],
)
def test_each_arm_cpu_takes_the_best_variant_it_can_run(fat: Path, cpu: str, says: str) -> None:
    done = answer(fat, cpu)
    assert (done.returncode, done.stdout) == (0, says), done.stderr


def test_an_arm_variant_that_cannot_run_is_not_taken_by_name(fat: Path) -> None:
    done = answer(fat, "cortex-a57", MPIRIC_TARGET="neoverse_v1", MPIRIC_EXPLAIN="1")
    assert done.stdout == "base 9900\n"
    assert "neoverse_v1 cannot run here" in done.stderr
    assert "aarch64 chosen" in done.stderr


def test_vectors_of_any_length_give_the_same_answer(fat: Path, run_mpiric: Run) -> None:
    done = run_mpiric(
        "cc",
        "aarch64-linux-gnu-gcc",
        "-O3",
        "--targets",
        "a64fx",
        "-msve-vector-bits=512",
        "main.c",
        "which.c",
        "-o",
        "wide",
    )
    assert "-msve-vector-bits=512 is ignored" in done.stderr
    inspected = json.loads(run_mpiric("inspect", "--json", "wide").stdout)
    assert not any("vector-bits" in variant["flags"] for variant in inspected["variants"])
    for bits in (128, 256, 512):
        cpu = f"max,sve{bits}=on,sve-default-vector-length={bits // 8}"
        assert answer(fat.with_name("wide"), cpu).stdout == "sve 9900\n"


@pytest.mark.requires("aarch64-linux-gnu-gfortran")
def test_arm_fortran_modules_work_in_every_variant(tmp_path: Path, run_mpiric: Run) -> None:
    (tmp_path / "m.f90").write_text(
        "module field\n  real(8) :: a(100) = 1\n  integer :: n\n  common /block/ n\nend module\n"
    )
    (tmp_path / "p.f90").write_text(
        "program p\n  use field\n  integer :: i\n  do i = 1, 100\n    a(i) = a(i) + i\n  end do\n  n = 7\n"
        "  print '(f8.1,i3)', sum(a), n\nend program\n"
    )
    done = run_mpiric("fc", "aarch64-linux-gnu-gfortran", "-O3", "m.f90", "p.f90", "-o", "fortran")
    assert done.returncode == 0, done.stderr
    for target in ("aarch64", "armv8.2a", "neoverse_v1"):
        done = answer(tmp_path / "fortran", "max", MPIRIC_TARGET=target, MPIRIC_EXPLAIN="1")
        assert (done.returncode, done.stdout) == (0, "  5150.0  7\n"), done.stderr
        assert f"{target} chosen" in done.stderr
