"""Check if another MPI library can be used for a program, from its file."""

import re
from collections.abc import Iterable

from mpiric import mpis
from mpiric.host.host import Host

_NUMBERED = re.compile(r"libmpi(ch)?\.so\.\d+")
# Programs with such rights ignore LD_LIBRARY_PATH and LD_PRELOAD.
_SECURE = 'if [ -u "$1" ]; then [ ! -O "$1" ]; else [ -g "$1" ] && [ ! -G "$1" ]; fi'


def why_not_switchable(path: str, names: Iterable[str], host: Host) -> str:
    """Return why no other library can be used for the program, "" if one can or if it is unknown.

    ``names`` are the MPI libraries that it needs.
    """
    elf = host.elf(path) if path else None
    if elf is None:  # programs of a script are unknown before they run
        return ""
    own_elf = host.elf(host.real_path(host.python))
    if own_elf and elf.processor != own_elf.processor and elf.processor and own_elf.processor:
        return f"{path} is for {elf.processor}, and this machine's libraries are for {own_elf.processor}"
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
    """Return a sentence if libraries of these names belong to two ABI families, else ""."""
    families = {family.value: name for name in sorted(names) if (family := mpis.family_of_soname(name))}
    both = " and ".join(families.values())
    return f"loads {both}: MPI libraries of two ABI families in one process" if len(families) > 1 else ""
