"""Extraction of the objects of a variant from fat objects and archives into files for the linker."""

import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mpiric.build.elf import SECTION
from mpiric.build.payload import SECTION_PREFIX, Origin, payloads
from mpiric.build.targets import substitute
from mpiric.build.trace import Loaded, all_members, elf_of
from mpiric.host.toolchain import Toolchain
from mpiric.model.errors import MpiricError
from mpiric.model.quoting import response_file_word


def variants_in(items: Sequence[Loaded]) -> dict[str, list[Origin]]:
    """Return the origins of each target over all objects, including the baseline."""
    origins_by_target: dict[str, list[Origin]] = {}
    for item in items:
        for payload in payloads(item.data):
            origins_by_target.setdefault(payload.origin.target, []).append(payload.origin)
    return origins_by_target


def plain(data: bytes) -> bytes:
    """Return a fat object without its variants: their sections are emptied in place."""
    if SECTION_PREFIX.encode() not in data:
        return data
    elf = elf_of(data)
    out = bytearray(data)
    for section in elf.sections:
        if section.name.startswith(SECTION_PREFIX):
            header = elf.section_table_offset + section.number * SECTION.size
            struct.pack_into("<Q", out, header + 32, 0)
    return bytes(out)


def write_objects(
    items: Sequence[Loaded],
    target: str,
    needs: Sequence[str],
    directory: Path,
    change: Callable[[bytes, int], bytes] = lambda data, _: data,
) -> list[Path]:
    """Write the objects of a variant in link order; ``change`` receives each with its number."""
    directory.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for number, item in enumerate(items):
        # A fat object's data for a variant: its own, the nearest compatible one, or the baseline.
        by_target: dict[str, list[bytes]] = {}
        offered: dict[str, tuple[str, ...]] = {}
        for payload in payloads(item.data):
            offered[payload.origin.target] = payload.origin.needs
            if not payload.origin.is_baseline:
                by_target.setdefault(payload.origin.target, []).append(payload.data)
        nearest = substitute(target, offered, needs)
        for part, data in enumerate(by_target.get(nearest or "") or [plain(item.data)]):
            path = directory / f"{number:05d}-{part}-{Path(item.member or item.path.name).name}"
            path.write_bytes(change(data, number))
            written.append(path)
    return written


def write_archive(
    archive: Path, target: str, needs: Sequence[str], directory: Path, toolchain: Toolchain, ar: str
) -> Path:
    """Write the archive for this variant: the same members in the same order."""
    directory.mkdir(parents=True, exist_ok=True)
    items = [Loaded(archive, Path(m.name).name, m.data) for m in all_members(archive)]
    members = write_objects(items, target, needs, directory / f"{archive.name}.d")
    variant_archive = directory / archive.name
    listing = directory / f"{archive.name}.list"
    listing.write_text("".join(f"{response_file_word(str(path))}\n" for path in members))
    done = toolchain.run([ar, "qcs", str(variant_archive), f"@{listing}"])
    if done.status != 0:
        raise MpiricError(
            f"{ar} cannot write the archive of {target}: {done.errors.strip()}",
            hint="make room in the temporary directory, or set TMPDIR to another one",
        )
    return variant_archive


def write_list(paths: Sequence[Path], where: Path) -> str:
    """Write a response file with these files, because command lines are limited."""
    where.write_text("".join(f"{response_file_word(str(path))}\n" for path in paths))
    return f"@{where}"


def union_of_needs(origins: Mapping[str, Sequence[Origin]]) -> dict[str, tuple[str, ...]]:
    """Return the CPU features each target requires: all that its objects may use."""
    return {
        target: tuple(sorted({need for origin in target_origins for need in origin.needs}))
        for target, target_origins in origins.items()
    }
