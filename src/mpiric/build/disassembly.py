"""Instruction sets that an executable uses, from its disassembly; for any ELF file.

The presence of an instruction does not mean that it is executed: a library with its own dispatch (a BLAS)
contains many sets.
"""

import re
from collections import Counter

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
