"""What a fat executable says about itself: written into it at the link, read by `mpiric inspect`."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mpiric.build.elf import ElfFile, is_elf
from mpiric.build.partial import Variant
from mpiric.build.payload import Origin
from mpiric.build.tables import INFO_MAGIC

INFO_SECTION = ".mpiric.info"
ONLY_SECTION = ".mpiric.only"


def describe(
    variants: Sequence[Variant],
    origins: Mapping[str, Sequence[Origin]],
    needs: Mapping[str, Sequence[str]],
    made_for: Mapping[str, Sequence[str]],
    baseline: str,
) -> dict[str, object]:
    """Variants in the order in which a CPU tries them, and how each was made."""
    rows = []
    for variant in variants:
        made = Counter((o.compiler, o.flags) for o in origins.get(variant.target, ()))
        common = made.most_common()
        rows.append(
            {
                "target": variant.target,
                "bytes": variant.code_bytes,
                "compiler": ", ".join(sorted({compiler for (compiler, _), _ in common})),
                "flags": common[0][0][1] if common else "",
                "other_flags": sorted({flags for (_, flags), _ in common[1:]})[:20],
                "files": sum(made.values()),
                "needs": list(needs.get(variant.target, ())),
                "made_for": list(made_for.get(variant.target, ())),
            }
        )
    return {"format": 1, "baseline": baseline, "variants": rows}


def read(data: bytes) -> dict[str, Any] | None:
    """What a program says about itself, None for one that was not linked by mpiric."""
    if not is_elf(data) or INFO_SECTION.encode() not in data:
        return None
    elf = ElfFile(data)
    section = elf.section(INFO_SECTION)
    text = elf.contents(section).rstrip(b"\0") if section else b""
    if not text.startswith(INFO_MAGIC.encode()):
        return None
    info: dict[str, Any] = json.loads(text[len(INFO_MAGIC) :])
    only = elf.section(ONLY_SECTION)
    info["only"] = elf.contents(only).rstrip(b"\0").decode() if only else ""
    return info
