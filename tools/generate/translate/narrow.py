"""Functions with large counts over a library that has none, as calls of those with counts of type int."""

from tools.generate.mpi.load import Function, Parameter

from .emit import c_type, declared, split
from .extent import is_kept

_WIDE = ("long long", "long")  # MPI_Count and MPI_Aint
# Where MPI 3 had a form with MPI_Count.
_WITH_COUNTS = {
    f"MPI_{stem}_c": f"MPI_{stem}_x"
    for stem in (
        "Get_elements",
        "Type_size",
        "Type_get_extent",
        "Type_get_true_extent",
        "Status_set_elements",
    )
}
_BY_HAND = {
    "MPI_Get_count_c",
    "MPI_Op_create_c",
    "MPI_Register_datarep_c",
    "MPI_Type_get_contents_c",
    "MPI_Type_get_envelope_c",
}
# Types whose counts do not fit are made of others, in by_hand/large_types.hpp.
_MADE_OF_OTHERS = {
    f"MPI_Type_{stem}_c"
    for stem in (
        "contiguous",
        "vector",
        "indexed",
        "create_hvector",
        "create_hindexed",
        "create_hindexed_block",
        "create_indexed_block",
        "create_struct",
        "create_subarray",
    )
}
_AT_ROOT = ("_Gatherv", "_Igatherv", "_Scatterv", "_Iscatterv")  # arrays that other ranks need not give


def plain_name(function: Function) -> str:
    """The function that does the same with counts of another type, "" when there is none."""
    if not function.name.endswith("_c"):
        return ""
    return _WITH_COUNTS.get(function.name, function.name.removesuffix("_c"))


def is_by_hand(function: Function) -> bool:
    """Check whether its narrow form is written by hand."""
    return function.name in _BY_HAND


def narrowed(function: Function, plain: Function) -> str | None:
    """The function ``n_…`` that calls the plain one; None where the two differ in more than types."""
    if len(function.parameters) != len(plain.parameters):
        return None
    writer = _Writer(function)
    pairs = list(zip(function.parameters, plain.parameters, strict=True))
    for place, (wide, narrow) in enumerate(pairs):
        follows = pairs[place + 1][0] if place + 1 < len(pairs) else None
        if not writer.argument(wide, narrow, follows):
            return None
    parameters = ", ".join(declared(parameter, "P") for parameter in function.parameters)
    otherwise = (
        f'refuse(F_{function.name}, "a count does not fit into an int, and the library has no large ones")'
    )
    if function.name in _MADE_OF_OTHERS:
        otherwise = (
            f"l_{function.name}({', '.join(split(parameter)[1] for parameter in function.parameters)})"
        )
    lines = [
        *writer.before,
        *([f"if ({negated(writer.fits)}) return {otherwise};"] if writer.fits else []),
        f"const int rc = t_{plain.name}({', '.join(writer.arguments)});",
        *writer.after,
        *writer.keep(plain),
        "return rc;",
    ]
    body = "".join(f"    {line}\n" for line in lines)
    return f"static int n_{function.name}({parameters}) {{\n{body}}}"


def negated(conditions: list[str]) -> str:
    """Write as C++ that one of the conditions does not hold."""
    return f"!({' && '.join(conditions)})" if len(conditions) > 1 else f"!{conditions[0]}"


class _Writer:
    """The arguments of a narrow call."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.arguments: list[str] = []
        self.before: list[str] = []
        self.after: list[str] = []
        self.fits: list[str] = []
        self.kept: list[str] = []
        self.typed = ""  # the keeper of a count whose datatype comes next
        self.reduced = ""  # the same, which has the operation too

    def argument(self, wide: Parameter, narrow: Parameter, follows: Parameter | None) -> bool:
        """Add one argument; false where its types have nothing in common."""
        kind, name, array = split(wide)
        wide_type, narrow_type = c_type(kind, "P"), c_type(split(narrow)[0], "P")
        if self.typed:
            self.arguments.append(f"{self.typed}.type()")
            self.typed = ""
        elif self.reduced and wide.kind == "OPERATION":
            self.arguments.append(f"{self.reduced}.op()")
        elif wide_type == narrow_type:
            self.arguments.append(name)
        elif narrow_type in (*_WIDE, *(f"{wide}*" for wide in _WIDE), *(f"const {wide}" for wide in _WIDE)):
            self.arguments.append(
                f"reinterpret_cast<{narrow_type}*>({name})"
                if array
                else f"reinterpret_cast<{narrow_type}>({name})"
                if narrow_type.endswith("*")
                else f"{narrow_type.split()[0]}({name})"
            )
        elif wide_type in _WIDE and narrow_type == "int" and not array:
            self.scalar(name, wide, follows)
        elif array and wide_type.removeprefix("const ") in _WIDE and narrow_type == "const int":
            outlives = self.is_kept()
            self.kept += [f"{name}_"] if outlives else []
            declaration = f"Narrow {name}_({name}, {self.extent(name)}, {str(outlives).lower()});"
            self.before.append(declaration if outlives else f"const {declaration}")
            self.fits.append(f"{name}_.fits()")
            self.arguments.append(f"{name}_.pointer()")
        elif wide_type in [f"{wide}*" for wide in _WIDE] and narrow_type == "int*":
            self.before.append(f"int {name}_ = {name} ? int(*{name}) : 0;")
            self.after.append(f"if ({name} && rc == 0) *{name} = {name}_;")
            if wide.direction == "inout":
                self.fits.append(f"(!{name} || fits_int(*{name}))")
            self.arguments.append(f"{name} ? &{name}_ : nullptr")
        else:
            return False
        return True

    def scalar(self, name: str, wide: Parameter, follows: Parameter | None) -> None:
        """A count; of data that is only moved, one of a larger type where it does not fit."""
        moves = wide.kind.startswith("POLYXFER")
        operation = next((split(p)[1] for p in self.function.parameters if p.kind == "OPERATION"), "")
        # Reductions in a window may have a derived type; other reductions get an operation of the runtime.
        reduces = operation and not any(parameter.kind == "WINDOW" for parameter in self.function.parameters)
        if moves and follows is not None and follows.kind == "DATATYPE" and not split(follows)[2]:
            self.typed = f"{name}_"
            self.reduced = f"{name}_" if reduces else ""
            declaration = f"LargeReduction {name}_({name}, {split(follows)[1]}, {operation});"
            self.before.append(declaration if reduces else f"LargeType {name}_({name}, {split(follows)[1]});")
            self.arguments.append(f"{name}_.count()")
        else:
            self.fits.append(f"fits_int({name})")
            self.arguments.append(f"int({name})")

    def is_kept(self) -> bool:
        """Check whether the library may read arrays after the call."""
        name = self.function.name
        return name.startswith("MPI_I") or "_init" in name

    def keep(self, plain: Function) -> list[str]:
        """Return lines that keep such arrays, in addition to the lines of the plain function."""
        if not self.kept:
            return []
        arrays = ", ".join(f"{array}.release()" for array in self.kept)
        request = "rc == 0 ? in<Request>(*request) : LRequest{}"
        return [f"keep(rc, {request}, {{{arrays}}}, {str(is_kept(plain)).lower()});"]

    def extent(self, name: str) -> str:
        """Return the number of elements that are read from an array, as C++."""
        function = self.function
        names = [parameter.name for parameter in function.parameters]
        stem = function.name.removesuffix("_c").removesuffix("_init")
        is_sending = name.startswith(("send", "sdispl")) or (name == "displs" and "catter" in stem)
        if "eighbor" in stem:
            return f"asked([&] {{ return neighbours<{str(is_sending).lower()}>(comm); }})"
        if "comm" in names:
            ranks = "asked([&] { return peers(comm); })"
            if stem.endswith(_AT_ROOT):
                return f"gives_arrays(comm, root) ? {ranks} : 0"
            is_ignored = is_sending and "lltoall" in stem
            return f"sendbuf == program::in_place ? 0 : {ranks}" if is_ignored else ranks
        return next(name for name in ("ndims", "count") if name in names)


def render(functions: list[Function]) -> tuple[str, str]:
    """Every narrow form, and the lines that name them with their plain functions."""
    by_name = {function.name: function for function in functions}
    bodies, names = [], []
    for function in functions:
        plain = by_name.get(plain_name(function))
        body = narrowed(function, plain) if plain and not is_by_hand(function) else ""
        if plain and body is not None:
            names.append(f"NARROW({function.name}, {plain.name})")
            bodies += [body] if body else []
    return "\n\n".join(bodies) + "\n", "\n".join(names) + "\n"
