"""Description of variants in a fat executable, written by the link and read by `mpiric inspect`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mpiric.build.elf import ElfFile, is_elf
from mpiric.build.partial import Variant
from mpiric.build.payload import Origin
from mpiric.build.tables import INFO_MAGIC
from mpiric.model.json_text import parse_json

INFO_SECTION = ".mpiric.info"
ONLY_SECTION = ".mpiric.only"


def describe(
    variants: Sequence[Variant],
    origins: Mapping[str, Sequence[Origin]],
    needs: Mapping[str, Sequence[str]],
    made_for: Mapping[str, Sequence[str]],
    baseline: str,
) -> dict[str, object]:
    """Return the variants in order of preference, with the compilers and flags of each."""
    rows = []
    for variant in variants:
        builds = Counter((o.compiler, o.flags) for o in origins.get(variant.target, ()))
        common = builds.most_common()
        rows.append(
            {
                "target": variant.target,
                "bytes": variant.code_bytes,
                "compiler": ", ".join(sorted({compiler for (compiler, _), _ in common})),
                "flags": common[0][0][1] if common else "",
                "other_flags": sorted({flags for (_, flags), _ in common[1:]})[:20],
                "files": sum(builds.values()),
                "needs": list(needs.get(variant.target, ())),
                "made_for": list(made_for.get(variant.target, ())),
            }
        )
    return {"format": 1, "baseline": baseline, "variants": rows}


def _check(info: Any) -> None:
    """Raise ValueError for an invalid description."""
    texts, lists = ("target", "compiler", "flags"), ("needs", "other_flags", "made_for")
    if not isinstance(info, dict) or not isinstance(info.get("baseline"), str):
        raise ValueError("the description of the variants is damaged")
    for row in info["variants"]:
        if not (
            all(isinstance(row[name], str) for name in texts)
            and isinstance(row["bytes"], int)
            and all(isinstance(word, str) for name in lists for word in row.get(name, ()))
            and isinstance(row["needs"], list)
        ):
            raise ValueError("the description of a variant is damaged")


def read(data: bytes) -> dict[str, Any] | None:
    """Return the description in a program, None if it was not linked by mpiric."""
    if not is_elf(data) or INFO_SECTION.encode() not in data:
        return None
    elf = ElfFile(data)
    section = elf.section(INFO_SECTION)
    text = elf.contents(section).rstrip(b"\0") if section else b""
    if not text.startswith(INFO_MAGIC.encode()):
        return None
    info: dict[str, Any] = parse_json(text[len(INFO_MAGIC) :])
    _check(info)
    only = elf.section(ONLY_SECTION)
    info["only"] = elf.contents(only).rstrip(b"\0").decode() if only else ""
    return info
