"""Compiling the dispatcher with an executable's own tables."""

import shutil
from pathlib import Path

from mpiric.build.driver import Driver
from mpiric.build.tables import DispatchTables, source
from mpiric.build.targets import features
from mpiric.host.packaged import packaged_directory
from mpiric.model.errors import NotFoundError

# General registers only: it runs while arguments of other functions are in the vector registers.
_FLAGS = ("-x", "c", "-std=gnu11", "-O2", "-g0", "-w", "-fPIE", "-ffreestanding", "-fno-builtin",
          "-fno-stack-protector", "-fno-lto", "-fno-asynchronous-unwind-tables",
          "-mgeneral-regs-only")  # fmt: skip
_X86_64 = ("-march=x86-64", "-fcf-protection")
_SPEAK_GNU = {"gcc", "clang", "oneapi", "aocc", "cray"}


def compile_dispatcher(driver: Driver, plan: DispatchTables, scratch: Path) -> Path:
    """The object with tables, trampolines and dispatcher."""
    text, made = scratch / "mpiric.c", scratch / "mpiric.o"
    text.write_text(source(plan, features(plan.machine)))
    extra = _X86_64 if plan.machine == "x86_64" else ()
    candidates = [driver.command] if driver.identity.family in _SPEAK_GNU else []
    candidates += [(name,) for name in ("gcc", "cc", "clang") if shutil.which(name)]
    headers = packaged_directory("build/dispatch")
    complaint = ""
    for command in candidates:
        done = driver.toolchain.run(
            [*command, *_FLAGS, *extra, f"-I{headers}", "-c", str(text), "-o", str(made)]
        )
        if done.status == 0:
            return made
        complaint = complaint or done.words.strip()
    raise NotFoundError(
        f"no C compiler here compiles the dispatcher: {complaint or 'there is none'}", hint="install gcc"
    )
