"""Writes C++ from the values that a library of the standard ABI wrongly gives to some constants."""

import re

from tools.generate.mpi.load import Function, Parameter

from .emit import MARK, base, c_type, is_conversion, split
from .load import CLASSES, Family, Roles

_HANDLES = "errhandler"  # the class whose predefined handles can be repaired


def render(functions: list[Function], roles: Roles, standard: Family, wrong: Family) -> str:
    """The values in pairs, and the functions that are given such a constant or return it."""
    pairs = {
        role: [(standard.integers[name], wrong.integers[name]) for name in names if name in wrong.integers]
        for role, names in roles.values.items()
    }
    role_names = {name for names in roles.values.values() for name in names}
    if unknown := wrong.integers.keys() - role_names | wrong.handles.keys() - {_HANDLES}:
        raise ValueError(f"{wrong.name}: {', '.join(sorted(unknown))} cannot be repaired")
    predefined = standard.handles[_HANDLES]
    handles = wrong.handles.get(_HANDLES, {})
    pairs[_HANDLES] = [(int(predefined[name]), int(value)) for name, value in handles.items()]
    lines = [MARK, "// clang-format off"]
    for role, values in pairs.items():
        if values:
            text = ", ".join(f"{{{right:#x}, {wrong_value:#x}}}" for right, wrong_value in sorted(values))
            lines.append(f"constexpr Pair {role}_pairs[] = {{{text}}};")
    for function in functions:
        lines += _function(function, roles, {role for role, values in pairs.items() if values})
    return "\n".join([*lines, ""])


def _function(function: Function, roles: Roles, changed: set[str]) -> list[str]:
    """Return a function with such a parameter, and its entry; nothing for others and for constructors."""
    if is_conversion(function) or any("FUNCTION" in p.kind or not p.name for p in function.parameters):
        return []
    before, arguments, after = [], [], []
    for parameter in function.parameters:
        kind, name, array = split(parameter)
        role = _HANDLES if base(kind) == "MPI_Errhandler" else roles.kinds.get(parameter.kind, "")
        if role not in changed or array:
            arguments.append(name)
        elif "*" not in kind:
            arguments.append(f"to_library({role}_pairs, {name})")
        else:
            arguments.append(name)
            if parameter.direction == "inout":
                before.append(
                    f"    change({name}, [](auto value) {{ return to_library({role}_pairs, value); }});"
                )
            after.append(f"    change({name}, [](auto value) {{ return to_program({role}_pairs, value); }});")
    names = [split(parameter)[1] for parameter in function.parameters]
    if arguments == names and not after:
        return []
    declared = ", ".join(_declared(parameter) for parameter in function.parameters)
    types = ", ".join(_type(parameter) for parameter in function.parameters)
    return [
        f"static int repaired_{function.name}(int (*next)({types}), {declared}) {{",
        *before,
        f"    const int code = next({', '.join(arguments)});",
        *after,
        "    return code;",
        "}",
        f"ENTRANCES({function.name}, ({declared}), {', '.join(names)})",
    ]


def _type(parameter: Parameter) -> str:
    """The parameter's type in C, every handle an address."""
    kind, _, array = split(parameter)
    kind = re.sub(rf"\b({'|'.join(CLASSES)})\b", "void*", kind)
    return c_type(kind, "P") + "*" * bool(array)


def _declared(parameter: Parameter) -> str:
    return f"{_type(parameter)} {split(parameter)[1]}"
