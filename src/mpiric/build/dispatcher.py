"""Compilation of the dispatcher with the tables of an executable."""

import shutil
from pathlib import Path

from mpiric.build.driver import Driver
from mpiric.build.tables import DispatchTables, source
from mpiric.build.targets import features
from mpiric.host.packaged import packaged_directory
from mpiric.model.errors import NotFoundError

# General registers only: vector registers hold arguments of other functions when it runs.
_FLAGS = ("-x", "c", "-std=gnu11", "-O2", "-g0", "-w", "-fPIE", "-ffreestanding", "-fno-builtin",
          "-fno-stack-protector", "-fno-lto", "-fno-asynchronous-unwind-tables",
          "-mgeneral-regs-only")  # fmt: skip
_X86_64 = ("-march=x86-64", "-fcf-protection")
_SPEAK_GNU = {"gcc", "clang", "oneapi", "aocc", "cray"}


def compile_dispatcher(driver: Driver, plan: DispatchTables, scratch: Path) -> Path:
    """Compile the object with tables, trampolines and dispatcher."""
    text, object_file = scratch / "mpiric.c", scratch / "mpiric.o"
    text.write_text(source(plan, features(plan.machine)))
    extra = _X86_64 if plan.machine == "x86_64" else ()
    candidates = [driver.command] if driver.identity.family in _SPEAK_GNU else []
    candidates += [(name,) for name in ("gcc", "cc", "clang") if shutil.which(name)]
    headers = packaged_directory("build/dispatch")
    complaint = ""
    for command in candidates:
        done = driver.toolchain.run(
            [*command, *_FLAGS, *extra, f"-I{headers}", "-c", str(text), "-o", str(object_file)]
        )
        if done.status == 0:
            return object_file
        complaint = complaint or done.errors.strip()
    raise NotFoundError(
        f"cannot compile the dispatcher: {complaint or 'there is not any C compiler'}", hint="install gcc"
    )
