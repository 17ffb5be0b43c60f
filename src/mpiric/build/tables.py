"""Generated source of a fat executable: tables of variants and features, trampolines, constructors."""

import json
from collections.abc import Mapping, Sequence

from mpiric.build.addresses import entry_symbol, has_one_address
from mpiric.build.partial import Exports, Variant
from mpiric.build.targets import Feature
from mpiric.model.dataclass import dataclass
from mpiric.model.quoting import c_string

_REGISTERS = {"eax": "MPIRIC_EAX", "ebx": "MPIRIC_EBX", "ecx": "MPIRIC_ECX", "edx": "MPIRIC_EDX",
              "hwcap": "MPIRIC_HWCAP", "hwcap2": "MPIRIC_HWCAP2"}  # fmt: skip
_LAST_PRIORITY = 65535
INFO_MAGIC = "MPIRIC-FAT-1\n"


@dataclass(frozen=True)
class DispatchTables:
    """Input of the tables; ``variants`` in order of preference, baseline last."""

    machine: str
    variants: Sequence[Variant]
    needs: Mapping[str, Sequence[str]]  # target → features that its code requires
    made_for: Mapping[str, Sequence[str]]  # target → features that the compiler may use
    exports: Exports
    weak: frozenset[str]  # weak exported functions
    info: Mapping[str, object]


def source(plan: DispatchTables, features: Mapping[str, Feature]) -> str:
    """Return the C source that is compiled into the executable."""
    used = sorted({need for variant in plan.variants for need in plan.made_for[variant.target]})
    index = {name: at for at, name in enumerate(used)}
    rows = [
        f'  {{"{f.name}", {f.leaf:#x}u, {f.subleaf}, {_REGISTERS[f.register]}, {f.bit}, {f.state:#x}ul}},'
        for f in [features[name] for name in used]
    ]
    rows = rows or ['  {"", 0, 0, 0, 0, 0},']
    keys = sorted({(c.kind, c.priority) for v in plan.variants for c in v.calls if c.kind != "preinit"})
    parts = [
        "/* Written by mpiric for one executable. */",
        '#include "dispatch.h"',
        _externals(plan),
        "static const struct mpiric_feature mpiric_features[] = {\n" + "\n".join(rows) + "\n};",
        *[_variant_parts(plan, at, index) for at in range(len(plan.variants))],
        _variant_table(plan),
        _information(plan),
        '#include "dispatch.c"',
        "\n".join(_runner(plan, kind, priority) for kind, priority in keys),
        _trampolines(plan),
    ]
    return "\n".join(parts) + "\n"


def _externals(plan: DispatchTables) -> str:
    """Return declarations of names with dots: a C name with an assembler label."""
    lines: list[str] = []
    for at, variant in enumerate(plan.variants):
        for number, name in enumerate(plan.exports.functions):
            lines.append(_extern(f"v{at}_f{number}", variant.function(name), "void", "(void)"))
        for number, calls in enumerate(variant.calls):
            lines.append(
                _extern(f"v{at}_c{number}", calls.symbol, "void (*const", "[])(int, char **, char **)")
            )
        for number, copy in enumerate(variant.copies):
            lines.append(_extern(f"v{at}_from{number}", copy.image, "const char", "[]"))
            lines.append(_extern(f"v{at}_to{number}", copy.name, "char", "[]", visibility="default"))
    return "\n".join(lines)


def _extern(name: str, symbol: str, before: str, after: str, visibility: str = "hidden") -> str:
    return (
        f"extern {before} {name}{after} __asm__({c_string(symbol)}) "
        f'__attribute__((visibility("{visibility}")));'
    )


def _variant_parts(plan: DispatchTables, at: int, index: Mapping[str, int]) -> str:
    variant = plan.variants[at]
    needs = ", ".join(str(index[name]) for name in plan.needs[variant.target]) or "0"
    made_for = ", ".join(str(index[name]) for name in plan.made_for[variant.target]) or "0"
    functions = ", ".join(f"(void *)v{at}_f{n}" for n in range(len(plan.exports.functions))) or "0"
    copies = ", ".join(
        f"{{v{at}_to{n}, v{at}_from{n}, {copy.size_bytes}ul, {int(copy.read_only)}}}"
        for n, copy in enumerate(variant.copies)
    )
    return "\n".join(
        (
            f"static const mpiric_u16 mpiric_needs_{at}[] = {{{needs}}};",
            f"static const mpiric_u16 mpiric_made_for_{at}[] = {{{made_for}}};",
            f"static void *const mpiric_functions_{at}[] = {{{functions}}};",
            f"static const struct mpiric_copy mpiric_copies_{at}[] = {{{copies or '{0, 0, 0, 0}'}}};",
        )
    )


def _variant_table(plan: DispatchTables) -> str:
    rows = []
    for at, variant in enumerate(plan.variants):
        preinit = next((n for n, calls in enumerate(variant.calls) if calls.kind == "preinit"), None)
        calls = f"{{v{at}_c{preinit}, {variant.calls[preinit].count}}}" if preinit is not None else "{0, 0}"
        rows.append(
            f'  {{"{variant.target}", mpiric_needs_{at}, {len(plan.needs[variant.target])}, '
            f"mpiric_made_for_{at}, {len(plan.made_for[variant.target])}, "
            f"mpiric_functions_{at}, mpiric_copies_{at}, {len(variant.copies)}, {calls}}},"
        )
    return (
        f"#define MPIRIC_VARIANT_COUNT {len(plan.variants)}\n"
        "static const struct mpiric_variant mpiric_variants[] = {\n" + "\n".join(rows) + "\n};"
    )


def _information(plan: DispatchTables) -> str:
    """Return the description for `mpiric inspect`, loaded with the program so that `strip` keeps it."""
    text = INFO_MAGIC + json.dumps(plan.info, sort_keys=True, separators=(",", ":"))
    rows = [text[at : at + 100] for at in range(0, len(text), 100)]
    quoted = "\n".join(f"  {c_string(row)}" for row in rows)
    return (
        f'__attribute__((section(".mpiric.info"), used)) static const char mpiric_info[] =\n{quoted};\n'
        '__attribute__((section(".mpiric.only"), used))\n'
        'static const volatile struct { char name[64]; } mpiric_only = {""};'
    )


def _runner(plan: DispatchTables, kind: str, priority: int) -> str:
    name = f"mpiric_{kind}_{priority}"
    section = f".{kind}_array" + (f".{priority:05d}" if priority != _LAST_PRIORITY else "")
    cases = []
    for at, variant in enumerate(plan.variants):
        numbered = [(n, c) for n, c in enumerate(variant.calls) if (c.kind, c.priority) == (kind, priority)]
        steps = []
        for number, calls in numbered if kind == "init" else reversed(numbered):
            backwards = calls.backwards if kind == "init" else not calls.backwards
            how = "mpiric_call_backwards" if backwards else "mpiric_call"
            table = f"(struct mpiric_calls){{v{at}_c{number}, {calls.count}}}"
            steps.append(f"{how}({table}, count, arguments, environment);")
        if steps:
            cases.append(f"  case {at}: {' '.join(steps)} break;")
    body = "\n".join(cases)
    return (
        f"static void {name}(int count, char **arguments, char **environment) {{\n"
        f"  mpiric_decide_early();\n  switch (mpiric_chosen) {{\n{body}\n  default: break;\n  }}\n}}\n"
        f'__attribute__((section("{section}"), used))\n'
        f"static void (*{name}_at)(int, char **, char **) = {name};"
    )


def _trampolines(plan: DispatchTables) -> str:
    trampoline = _trampoline_x86_64 if plan.machine == "x86_64" else _trampoline_aarch64
    lines: list[str] = []
    for at, name in enumerate(plan.exports.functions):
        if has_one_address(name):
            lines.extend(_entry(entry_symbol(name)))
        lines.extend(trampoline(name.replace('"', '\\"'), at, name in plan.weak))
    if not lines:
        return ""
    text = "\n".join(f'  "{line}\\n"' for line in lines)
    return f'__asm__(".text\\n"\n{text});'


def _entry(symbol: str) -> list[str]:
    """Return a second name of the following trampoline, used by the variants."""
    return [".p2align 4", f".globl {symbol}", f".hidden {symbol}", f"{symbol}:"]


def _trampoline_x86_64(name: str, at: int, is_weak: bool) -> list[str]:  # noqa: FBT001
    binding = "weak" if is_weak else "globl"
    return [
        f".{binding} {name}",
        f".type {name}, @function",
        ".p2align 4",
        f"{name}: .byte 0xf3, 0x0f, 0x1e, 0xfa",  # endbr64
        "mov mpiric_live(%rip), %r11",
        "test %r11, %r11",
        "je 1f",
        f"jmp *{8 * at}(%r11)",
        "1: call mpiric_early",
        f"jmp {name}",
        f".size {name}, .-{name}",
    ]


def _trampoline_aarch64(name: str, at: int, is_weak: bool) -> list[str]:  # noqa: FBT001
    binding = "weak" if is_weak else "globl"
    return [
        f".{binding} {name}",
        f".type {name}, %function",
        ".p2align 4",
        f"{name}: hint #34",  # bti c
        "2: adrp x16, mpiric_live",
        "ldr x16, [x16, :lo12:mpiric_live]",
        "cbz x16, 1f",
        f"mov x17, #{(8 * at) & 0xFFFF}",
        f"movk x17, #{(8 * at) >> 16}, lsl 16",
        "ldr x16, [x16, x17]",
        "br x16",
        "1: stp x29, x30, [sp, -16]!",
        "bl mpiric_early",
        "ldp x29, x30, [sp], 16",
        "b 2b",
        f".size {name}, .-{name}",
    ]
