"""Whether another MPI library can be put under a program at all, from what its file says."""

import re
from collections.abc import Iterable

from mpiric import mpis
from mpiric.host.host import Host

_NUMBERED = re.compile(r"libmpi(ch)?\.so\.\d+")
# Whoever starts such a program gets rights that are not his, and the dynamic linker listens to him no more.
_SECURE = 'if [ -u "$1" ]; then [ ! -O "$1" ]; else [ -g "$1" ] && [ ! -G "$1" ]; fi'


def why_not_switchable(path: str, names: Iterable[str], host: Host) -> str:
    """Why no other library can be put under the program, "" where one can or its file does not say.

    ``names`` are the MPI libraries that it asks for.
    """
    elf = host.elf(path) if path else None
    if elf is None:  # a script's programs show when they run
        return ""
    ours = host.elf(host.real_path(host.python))
    if ours and elf.processor != ours.processor and elf.processor and ours.processor:
        return (
            f"{path} is a program for {elf.processor}, and this machine's libraries are for {ours.processor}"
        )
    if not elf.interpreter and not elf.needed:
        return f"{path} is linked statically: its MPI library is a part of it"
    if host.run(("sh", "-c", _SECURE, "sh", path)).status == 0 or host.attribute(path, "security.capability"):
        return f"{path} is setuid, setgid or has capabilities: the dynamic linker ignores what is set for it"
    if both := two_families(names):
        return f"{path} {both}"
    needed = (name for name in elf.needed if _NUMBERED.fullmatch(name))
    strange = next((name for name in needed if mpis.family_of_soname(name) is None), "")
    return f"{path} is linked to {strange}, which is of no ABI family that is known" if strange else ""


def two_families(names: Iterable[str]) -> str:
    """Say that libraries of these names are of two ABI families, "" when they are not."""
    families = {family.value: name for name in sorted(names) if (family := mpis.family_of_soname(name))}
    both = " and ".join(families.values())
    return f"loads {both}: MPI libraries of two ABI families in one process" if len(families) > 1 else ""
