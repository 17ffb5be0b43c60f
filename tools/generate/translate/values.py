"""Values of the ABI families as C++: values of a role and predefined handles, in one order."""

from .emit import MARK
from .load import FAMILIES, Family, Roles

_ABSENT = "absent"


def integers(family: Family, roles: Roles) -> str:
    """Return arrays of the values of a role; values that a family lacks are marked."""
    lines = [MARK, "// clang-format off", "#pragma once", "", '#include "classes.hpp"', ""]
    lines.append(f"namespace mpiric::translate::{family.name} {{")
    for role, names in {**roles.values, **roles.bits}.items():
        constants = (
            family.integers.get(name, family.integers.get(roles.instead.get(name, ""))) for name in names
        )
        values = ", ".join(_ABSENT if value is None else str(value) for value in constants)
        lines.append(f"inline constexpr int {role}_values[] = {{{values}}};")
    singles = [*roles.sizes, "ERR_OTHER", "ERR_UNSUPPORTED_OPERATION"]
    lines += [f"inline constexpr int {name} = {family.integers.get(name, _ABSENT)};" for name in singles]
    return "\n".join([*lines, f"}}  // namespace mpiric::translate::{family.name}", ""])


def predefined_names(families: list[Family]) -> list[tuple[str, str]]:
    """Class and name of every predefined handle that two families have; the null handle leads its class."""
    family_count: dict[tuple[str, str], int] = {}
    for family in families:
        for kind, entries in family.handles.items():
            for name in entries:
                family_count[kind, name] = family_count.get((kind, name), 0) + 1
    classes = list(families[0].handles)
    shared = [key for key, number in family_count.items() if number > 1]
    return sorted(shared, key=lambda key: (classes.index(key[0]), not key[1].endswith("_NULL")))


def predefined(families: list[Family]) -> str:
    """Return a line per predefined handle: class, name, and its value in each family."""
    lines = [MARK, "// clang-format off", f"// class, name, {', '.join(FAMILIES)}"]
    for kind, name in predefined_names(families):
        values = []
        for family in families:
            value = family.handles[kind].get(name)
            if isinstance(value, str):
                values.append(f"OBJECT({value})")
            else:
                values.append("ABSENT" if value is None else f"{value:#010x}u")
        missing = "NO_OBJECT" if values[1] == "ABSENT" else values[1]
        lines.append(f"PREDEFINED({kind.capitalize()}, MPI_{name}, {values[0]}, {missing}, {values[2]})")
    return "\n".join(lines) + "\n"


def objects(family: Family) -> str:
    """The data symbols of a family whose predefined handles are addresses."""
    lines = [MARK, "// clang-format off"]
    lines += [f"CELL({name}, {size})" for name, size in sorted(family.objects.items())]
    return "\n".join(lines) + "\n"


def fortran(family: Family) -> str:
    """Fortran's integers of a family whose handles are others in C: class, symbol, integer."""
    lines = [MARK, "// clang-format off"]
    lines += [
        f"FORTRAN_HANDLE({kind.capitalize()}, {family.handles[kind][name]}, {number})"
        for kind, entries in family.fortran.items()
        for name, number in entries.items()
    ]
    return "\n".join(lines) + "\n"
