"""Directory in which tests compile programs, with and without variants for several processors."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

RUNNABLE = ("x86_64", "x86_64_v2", "x86_64_v3")  # targets that QEMU can run


WHICH_C = """
const char *which(void) {
#if defined(__AVX512F__)
  return "v4";
#elif defined(__AVX2__)
  return "v3";
#elif defined(__SSE4_2__)
  return "v2";
#else
  return "base";
#endif
}
"""
MAIN_C = "#include <stdio.h>\nconst char *which(void);\nint main(void) { puts(which()); return 0; }\n"


class Workshop:
    """Directory of one test, created by the fixture ``shop``."""

    def __init__(
        self, place: Path, environment: Mapping[str, str], compile_fat: Callable[..., object]
    ) -> None:
        self.place = place
        self.environment = environment
        self.compile_fat = compile_fat

    def write(self, **files: str) -> None:
        for name, text in files.items():
            stem, _, ending = name.rpartition("_")
            (self.place / f"{stem}.{ending}").write_text(text)

    def fat(self, verb: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        done = self.compile_fat(verb, *arguments, cwd=self.place, env=env)
        assert done.returncode == 0, done.stderr
        return done

    def plain(self, *argv: str) -> str:
        done = subprocess.run(argv, cwd=self.place, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, program: str, *arguments: str, target: str = "", cpu: str = "max", **env: str) -> str:
        """Run under QEMU, which supports all variants except AVX-512, and return the output."""
        done = subprocess.run(
            ["qemu-x86_64", "-cpu", cpu, f"./{program}", *arguments],
            cwd=self.place,
            capture_output=True,
            text=True,
            env={**self.environment, **({"MPIRIC_TARGET": target} if target else {}), **env},
        )
        assert done.returncode == 0, (target, done.returncode, done.stderr)
        assert "SIGILL" not in done.stderr
        return done.stdout

    def same_everywhere(self, program: str, expected: str, **env: str) -> None:
        for target in RUNNABLE:
            assert self.run(program, target=target, **env) == expected, target
