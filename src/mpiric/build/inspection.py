"""Inspection of executables: variants, used instruction sets, and the choice of CPUs.

Instruction sets come from the disassembly of any ELF file. The presence of an instruction does not mean that
it is executed: a library with its own dispatch (a BLAS) contains many sets.
"""

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

from mpiric.build.elf import MACHINES, RELOCATABLE, SHF_EXEC, ElfFile, is_elf
from mpiric.build.information import read
from mpiric.build.payload import payloads
from mpiric.build.targets import BASELINE, Offer, best_for, canonical, generic_features, in_order, symbol_word
from mpiric.host.files import read_bounded
from mpiric.host.toolchain import Toolchain, which
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError, MpiricError, NotFoundError

_FMA = re.compile(r"vfn?m(add|sub)|vfmaddsub|vfmsubadd")
_GROUPS = (
    ("amx", re.compile(r"(tdp|tileload|tilestore|tilezero|ldtilecfg)")),
    ("fma", _FMA),
    ("bmi2", re.compile(r"(mulx|pdep|pext|bzhi|rorx|sarx|shlx|shrx)[lq]?$")),
    # tzcnt proves nothing: GCC emits it for every CPU, and CPUs without BMI execute it as bsf.
    ("bmi1", re.compile(r"(andn|bextr|blsi|blsmsk|blsr)[lqw]?$")),
    ("lzcnt", re.compile(r"lzcnt[lqw]?$")),
    ("popcnt", re.compile(r"popcnt[lqw]?$")),
    ("movbe", re.compile(r"movbe")),
    ("f16c", re.compile(r"vcvt(ph2ps|ps2ph)$")),
    ("aes", re.compile(r"v?aes(enc|dec|imc|keygen)")),
    ("sse4_2", re.compile(r"(pcmpestr|pcmpistr|pcmpgtq$|crc32)")),
    ("sse4_1", re.compile(r"(pmulld|pmuldq|pblend|blendv?p[sd]|dpp[sd]|round[ps][sd]|insertps|extractps"
                          r"|pinsr[bdq]|pextr[bdq]|pm(in|ax)(s[bd]|u[wd])|ptest|pmov[sz]x|packusdw|pcmpeqq)")),
    ("ssse3", re.compile(r"(pshufb|palignr|ph(add|sub)|pmaddubsw|pabs|psign|pmulhrsw)")),
    ("sse3", re.compile(r"(h(add|sub)p[sd]|addsubp[sd]|movddup|movs[hl]dup|lddqu)$")),
)  # fmt: skip
_INTEGER_YMM = re.compile(
    r"vp(?!erm2f128|ermilp)|vbroadcasti|vinserti128|vextracti128|vperm(q|d|ps|pd)|vgather|vpgather"
)
_ARM = (
    ("sve", re.compile(r"\bz\d+\.[bhsd]|\bp\d+/[mz]")),
    ("atomics", re.compile(r"^(cas|swp|ld(add|clr|eor|set|s?max|s?min))(a|l|al)?[bh]?$")),
    ("dotprod", re.compile(r"^[us]dot$")),
)
# Equal instructions are counted by awk: Python needs many seconds for objdump's output of a large program.
CONDENSE = r"""NF > 1 { line = $2; sub(/[<#].*/, "", line); gsub(/0x[0-9a-f]+/, "", line); seen[line]++ }
END { for (line in seen) print seen[line] "\t" line }"""
_LINE = re.compile(r"^(\d+)\t(?:(?:data16|lock|notrack|bnd|cs|ds|rex\S*) )*(\S+) *(.*)$", re.MULTILINE)
_MASKED = re.compile(r"%k[0-7]|[xyz]mm(1[6-9]|2\d|3[01])\b")


def sets_in(text: str, machine: str) -> dict[str, int]:
    """Return the instruction sets and the number of their uses, from lines that `CONDENSE` produced."""
    uses: Counter[tuple[str, str]] = Counter()
    for times, mnemonic, operands in _LINE.findall(text):
        uses[mnemonic, operands if machine == "aarch64" else _x86_kind(operands)] += int(times)
    counts: Counter[str] = Counter()
    for (mnemonic, operands), times in uses.items():
        for name in _arm_sets(mnemonic, operands) if machine == "aarch64" else _x86_sets(mnemonic, operands):
            counts[name] += times
    return dict(sorted(counts.items()))


def _x86_kind(operands: str) -> str:
    """Return the operands' hint at an instruction set: the widest register, or "k" for mask registers."""
    if "mm" not in operands and "%k" not in operands:
        return ""
    width = next((name for name in ("zmm", "ymm", "xmm") if name in operands), "")
    return width + ("k" if _MASKED.search(operands) else "")


def _x86_sets(mnemonic: str, operands: str) -> set[str]:
    sets = {name for name, pattern in _GROUPS if pattern.match(mnemonic)}
    if "zmm" in operands or (operands.endswith("k") and mnemonic.startswith(("v", "k"))):
        sets.add("avx512")
    elif "ymm" in operands and _INTEGER_YMM.match(mnemonic):
        sets.add("avx2")
    elif mnemonic.startswith("v") and operands and mnemonic not in ("verr", "verw"):
        sets.add("avx")
    elif operands == "xmm" and not sets:
        sets.add("sse2")
    return sets


def _arm_sets(mnemonic: str, operands: str) -> set[str]:
    sets = {name for name, pattern in _ARM if pattern.search(operands) or pattern.search(mnemonic)}
    return sets or ({"asimd"} if re.search(r"\bv\d+\.|\bq\d+\b", operands) else set())


_LARGEST_BYTES = 4 << 30
# Exceptions of the ELF and description readers for damaged files.
_DAMAGE = (ValueError, TypeError, LookupError, struct.error, MemoryError, OverflowError, RecursionError)
_GENERATIONS = {
    "x86_64": ("nehalem", "sandybridge", "haswell", "skylake_avx512", "icelake", "sapphirerapids", "zen",
               "zen2", "zen3", "zen4", "zen5"),
    "aarch64": ("cortex_a72", "thunderx2", "neoverse_n1", "a64fx", "neoverse_v1", "neoverse_v2"),
}  # fmt: skip
# Features missing in archspec's lists because all CPUs of the family have them.
_UNLISTED = {
    "x86_64": frozenset({"fxsr", "lahf_lm", "prefetchw", "fsgsbase"}),
    "aarch64": frozenset({"fp", "asimd"}),
}
_LADDER = ("sse4_2", "avx", "avx2", "avx512f")  # widths of vectors, each a step of about two in speed


@dataclass(frozen=True)
class VariantInfo:
    """Variant according to the executable's description, with the features that its code uses."""

    target: str
    bytes: int
    compiler: str
    flags: str
    other_flags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # CPU features that its code requires
    made_for: tuple[str, ...] = ()  # CPU features of its target
    instruction_sets: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Inspection:
    """Inspected ELF file."""

    path: str
    machine: str
    variants: tuple[VariantInfo, ...]  # variants in order of preference, baseline last
    baseline: str
    only: str  # target of an extracted executable
    instruction_sets: Mapping[str, int]  # set → number of instructions in the file
    warnings: tuple[str, ...] = ()
    is_object: bool = False  # not linked yet: required CPU features are unknown

    def chosen_by(self, features: frozenset[str]) -> str:
        """Return the variant for a CPU with these features, "" if none can run."""
        have = features | _UNLISTED[self.machine]
        offered = [v for v in self.variants if not self.only or v.target == self.only]
        return best_for(have, [Offer(v.target, v.needs, v.made_for) for v in offered])

    def chosen_by_all(self, machines: Iterable[frozenset[str]]) -> str:
        """Return the best variant that all of these CPUs can run, "" if there is none."""
        cpus = list(machines)
        return self.chosen_by(frozenset.intersection(*cpus)) if cpus else ""

    def by_generation(self) -> dict[str, str]:
        """Return CPU generation → variant."""
        return {name: self.chosen_by(generic_features(name)) for name in _GENERATIONS[self.machine]}


def inspect_file(
    path: Path, toolchain: Toolchain, watch: Callable[[str], None] = lambda _: None
) -> Inspection:
    """Inspect an ELF file. Raises MpiricError for other files. ``watch`` receives progress."""
    data = read_executable(path)
    if not is_elf(data):
        raise MismatchError(
            f"{path} is not a 64-bit ELF file", hint="give the executable, not a script that starts it"
        )
    with reading_elf(path):
        elf = ElfFile(data)
        machine = MACHINES.get(elf.machine, "")
        if not machine:
            raise MismatchError(f"{path} is for an architecture that is not known here")
        info = read(data)
        sets = _sections(path, elf, machine, toolchain, watch)
        variants = tuple(_variant(row, sets) for row in info["variants"]) if info else carried(data)
    total: dict[str, int] = {}
    for counts in sets.values():
        for name, count in counts.items():
            total[name] = total.get(name, 0) + count
    baseline = str(info["baseline"]) if info else BASELINE[machine]
    return Inspection(
        str(path), machine, variants, baseline, str(info["only"]) if info else "",
        dict(sorted(total.items())),
        gaps(variants, machine) if info else (),
        elf.kind == RELOCATABLE,
    )  # fmt: skip


def read_executable(path: Path) -> bytes:
    """Read an executable, library or object. Raises MpiricError unless it is a regular file."""
    return read_bounded(path, "executable", _LARGEST_BYTES, "give the path of an executable")


@contextmanager
def reading_elf(path: Path) -> Iterator[None]:
    """Convert errors that a damaged ELF file causes in the block to MismatchError."""
    try:
        yield
    except _DAMAGE as error:
        raise MismatchError(
            f"{path} is damaged: its ELF tables cannot be read",
            hint="link or copy it again; `readelf -a` shows what can be read",
        ) from error


def carried(data: bytes) -> tuple[VariantInfo, ...]:
    """Return the variants of an object that is not linked yet."""
    variants: dict[str, VariantInfo] = {}
    for origin, inner in payloads(data):
        code = sum(s.size_bytes for s in ElfFile(inner or data).sections if s.flags & SHF_EXEC)
        before = variants[origin.target].bytes if origin.target in variants else 0
        variants[origin.target] = VariantInfo(
            origin.target, before + code, origin.compiler, origin.flags, made_for=origin.needs
        )
    return tuple(variants[name] for name in in_order({name: v.made_for for name, v in variants.items()}))


def gaps(variants: Sequence[VariantInfo], machine: str) -> tuple[str, ...]:
    """Return generations two or more vector widths below their potential although better variants exist."""
    if machine != "x86_64" or len(variants) < 2:
        return ()
    losing = []
    for generation, instead in (("sandybridge", "sandybridge or x86_64_v2"), ("haswell", "x86_64_v3")):
        features = generic_features(generation) | _UNLISTED[machine]
        chosen = next((v for v in variants if features.issuperset(v.needs)), variants[-1])
        if _step(features) - _step(chosen.needs) >= 2 and any(
            _step(v.needs) > _step(features) for v in variants
        ):
            losing.append(f"a CPU like {generation} falls to {chosen.target}: add the target {instead}")
    return tuple(losing)


def _step(features: Iterable[str]) -> int:
    have = set(features)
    return sum(feature in have for feature in _LADDER)


def rounding_differs(variants: Sequence[VariantInfo], arguments: Sequence[str]) -> bool:
    """Check whether variants may differ in rounding: fused multiply-add in some, or reordered sums."""
    if len(variants) < 2:
        return False
    flags = " ".join(" ".join((v.flags, *v.other_flags)) for v in variants).split()
    reordered = any(word in flags for word in arguments)
    fused = {"fma" in variant.instruction_sets for variant in variants}
    return reordered or len(fused) > 1


def _variant(row: Mapping[str, Any], sets: Mapping[str, Mapping[str, int]]) -> VariantInfo:
    return VariantInfo(
        target=row["target"],
        bytes=row["bytes"],
        compiler=row["compiler"],
        flags=row["flags"],
        other_flags=tuple(row.get("other_flags", ())),
        needs=tuple(row["needs"]),
        made_for=tuple(row.get("made_for", row["needs"])),
        instruction_sets=sets.get(f".mpiric.text.{symbol_word(row['target'])}", {}),
    )


def _sections(
    path: Path, elf: ElfFile, machine: str, toolchain: Toolchain, watch: Callable[[str], None]
) -> dict[str, dict[str, int]]:
    """Return instruction sets per executable section."""
    names = [s.name for s in elf.sections if s.flags & SHF_EXEC and s.size_bytes]
    tool = "objdump" if machine == "x86_64" else f"{machine}-linux-gnu-objdump"
    if which(tool, toolchain.environ.get("PATH")) is None:
        raise NotFoundError(
            f"{tool} is not installed", hint="load a module with GNU binutils, or install them"
        )
    script = 'LC_ALL=C "$1" -d --no-show-raw-insn -j "$2" "$3" | LC_ALL=C awk -F "\\t" "$4"'

    def read_section(name: str) -> dict[str, int]:
        watch(f"disassembling {name}")
        done = toolchain.run(["sh", "-c", script, "sh", tool, name, str(path), CONDENSE])
        return sets_in(done.printed, machine)

    return dict(zip(names, toolchain.each(read_section, names), strict=True))


def features_here(machine: str) -> frozenset[str]:
    """Return the features of this machine's CPU, empty for another architecture."""
    import archspec.cpu
    from archspec.cpu.detect import detected_info

    host = archspec.cpu.host()
    if str(host.family) != machine:
        return frozenset()
    # The first list has archspec's names, the second one is complete.
    return frozenset(host.features | detected_info().features)


def extract(data: bytes, target: str) -> bytes:
    """Make the executable hold one variant: the choice fixed, the code of the others zeros.

    A file system stores nothing for runs of zeros.
    """
    info = read(data)
    if info is None:
        raise MismatchError("this executable was not linked by mpiric, so it holds one variant already")
    elf = ElfFile(data)
    machine = MACHINES[elf.machine]
    names = [row["target"] for row in info["variants"]]
    requested = target if target in names else canonical(target, machine)
    if requested not in names:
        raise MpiricError(
            f"the file does not contain a variant {requested}", hint="it holds: " + ", ".join(names)
        )
    out = bytearray(data)
    for name in names:
        section = elf.section(f".mpiric.text.{symbol_word(name)}")
        if section and name != requested:
            out[section.offset : section.offset + section.size_bytes] = bytes(section.size_bytes)
    only = elf.section(".mpiric.only")
    if only is None:
        raise MismatchError("the executable lacks the variable that fixes the choice of a variant")
    out[only.offset : only.offset + only.size_bytes] = requested.encode().ljust(only.size_bytes, b"\0")
    return bytes(out)
