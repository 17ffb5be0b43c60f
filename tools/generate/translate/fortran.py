"""Writes Fortran's bindings over the C functions of a program's ABI family.

Arguments are addresses, handles integers; lengths of characters follow behind the arguments.
"""

import re
from collections.abc import Iterator

from tools.generate.mpi.load import Function, Parameter

from .emit import MARK, base, c_type, declared, is_conversion, split
from .extent import extent, is_ignored_in_place
from .load import CLASSES, read_exceptions

_ROOM = {"MPI_Error_string": "MAX_ERROR_STRING"}
_LEADING_BLANKS = ("MPI_Info_",)  # leading blanks of keys and values are ignored, too


def has_binding(function: Function) -> bool:
    """Check whether Fortran has the function, in a form for each name."""
    name = function.name
    is_of_c = name.startswith(("MPI_T_", "MPI_Abi_")) or is_conversion(function) or name.endswith("_c")
    return not is_of_c and not (
        name.startswith("MPI_Status_") and ("c2f" in name or "f2c" in name or "f082c" in name)
    )


class Writer:
    """Function: parameters of Fortran, arguments for C."""

    def __init__(self, function: Function, rooms: dict[str, str]) -> None:
        self.function = function
        self.rooms = rooms
        self.parameters: list[str] = []
        self.lengths: list[str] = []
        self.before: list[str] = []
        self.arguments: list[str] = []
        self.after: list[str] = []
        for parameter in function.parameters:
            self.add(parameter)

    def take(self, declaration: str, argument: str) -> None:
        """Parameter, with the corresponding C argument."""
        self.parameters.append(declaration)
        self.arguments.append(argument)

    def add(self, parameter: Parameter) -> None:
        """Add what one parameter needs."""
        kind, name, array = split(parameter)
        if base(kind) in CLASSES:
            self.handle(parameter, CLASSES[base(kind)].capitalize())
        elif base(kind) == "MPI_Status":
            self.take(f"PStatus* {name}", f"in_{'statuses' if array else 'status'}({name})")
        elif parameter.kind == "STRING":
            self.string(parameter)
        elif parameter.kind == "BUFFER":
            self.take(f"{kind} {name}", f"in_buffer({name})")
        elif parameter.kind == "WEIGHT":
            self.take(f"{kind}{'*' if array else ''} {name}", f"in_weights({name})")
        elif parameter.kind == "LOGICAL" and parameter.direction == "in":
            if array:
                length = "dimensions(*comm)" if self.function.name == "MPI_Cart_sub" else "*ndims"
                self.before.append(f"const Logicals {name}_({name}, {length});")
            self.take(f"const int* {name}", f"{name}_.pointer()" if array else f"*{name} & 1")
        elif parameter.kind == "INDEX" and parameter.direction == "out" and "raph" not in self.function.name:
            count = "*outcount" if array else "1"
            self.take(f"int* {name}", name)
            self.after.append(f"if (rc == 0 || rc == in_status_error) count_from_one({name}, {count});")
        else:
            self.plain(kind, name, array)

    def plain(self, kind: str, name: str, array: str) -> None:
        """An integer, an address, or an array of these: the same in C."""
        plain = c_type(kind, "P")
        if array == "[][3]":
            self.take(f"int (*{name})[3]", name)
        elif array or "*" in kind:
            self.take(f"{plain}{'*' if array else ''} {name}", name)
        else:
            self.take(f"const {plain.removeprefix('const ')}* {name}", f"*{name}")

    def handle(self, parameter: Parameter, kind: str) -> None:
        """A handle, the address of one, or an array of them."""
        declaration, name, array = split(parameter)
        if not array and "*" not in declaration:
            self.take(f"const int* {name}", f"handle<{kind}>(*{name})")
        elif array:
            is_read = "true" if parameter.direction == "in" else "false"
            length = length_of(extent(self.function, name))
            if is_ignored_in_place(self.function, name):
                length = f"is_in_place(sendbuf) ? 0 : {length}"
            self.before.append(
                f"FortranHandles<{kind}, {is_read}> {name}_({name}, [&] {{ return {length}; }});"
            )
            self.take(f"{'const ' if is_read == 'true' else ''}int* {name}", f"{name}_.pointer()")
            if parameter.direction != "in":
                self.after.append(f"{name}_.done();")
        else:
            form = "NewNumber" if parameter.direction == "out" else "ChangedNumber"
            self.before.append(f"{form}<{kind}> {name}_({name});")
            self.take(f"int* {name}", f"{name}_.pointer()")
            self.after.append(f"{name}_.done(rc);")

    def string(self, parameter: Parameter) -> None:
        """Characters whose length follows behind all arguments."""
        name = parameter.name
        self.lengths.append(f"int {name}_length")
        if parameter.direction == "in":
            strip = str(self.function.name.startswith(_LEADING_BLANKS)).lower()
            self.before.append(f"const String {name}_({name}, {name}_length, {strip});")
            self.take(f"const char* {name}", f"{name}_.pointer()")
        else:
            room = {**self.rooms, **_ROOM}[self.function.name]
            self.before.append(f"Characters<program::{room}> {name}_({name}, {name}_length);")
            self.take(f"char* {name}", f"{name}_.pointer()")
            length = (
                "resultlen" if any(p.name == "resultlen" for p in self.function.parameters) else "nullptr"
            )
            self.after.append(f"{name}_.done(rc, {length});")


def length_of(expression: str) -> str:
    """The length of an array with Fortran's arguments, which are addresses."""
    if expression.isidentifier():
        return f"*{expression}"
    return expression.replace("(comm)", "(*comm)")


def prototype(function: Function) -> str:
    """The C function as a program of the family declares it."""
    parameters = ", ".join(declared(p, "P") for p in function.parameters) or "void"
    parameters = parameters.replace("MPI_", "void_MPI_") if "_function" in parameters else parameters
    return f"{c_type(function.result, 'P')} C({function.name})({parameters});"


def binding(function: Function, rooms: dict[str, str]) -> str:
    """The function for Fortran."""
    writer = Writer(function, rooms)
    parameters = ", ".join([*writer.parameters, "int* ierror", *writer.lengths])
    lines = [f"    {line}" for line in writer.before]
    call = f"C({function.name})({', '.join(writer.arguments)})"
    lines += [
        f"    const int rc = {call};",
        *(f"    {line}" for line in writer.after),
        "    answer(ierror, rc);",
    ]
    return f"FORTRAN({function.name})({parameters}) {{\n" + "\n".join(lines) + "\n}"


def is_generated(function: Function) -> bool:
    """Check whether the generator writes its Fortran binding."""
    return has_binding(function) and function.name not in read_exceptions().fortran


def names(function: Function) -> Iterator[str]:
    """Yield the names of a binding: in small and in large letters, with the shapes of each compiler."""
    stem = function.name.removeprefix("MPI_")
    yield f"NAMES {stem.upper()} {stem.lower()} {stem}"
    # Before MPI 4 libraries had persistent collectives as extensions.
    if stem.endswith("_init") and not re.search("(send|recv|session)_init", stem.lower()):
        yield f"EXTENSION {stem.upper()} {stem.lower()} {stem}"


def render(functions: list[Function], rooms: dict[str, str]) -> dict[str, str]:
    """The files of the bindings."""
    begin = f"{MARK}\n// clang-format off\n"
    generated = [f for f in functions if is_generated(f)]
    bound = [f for f in functions if has_binding(f)]
    prototypes = [
        prototype(f) for f in bound if "_function*" not in str(f.parameters) and f.name != "MPI_Pcontrol"
    ]
    return {
        "fortran.inc": begin + "\n".join(binding(f, rooms) for f in generated) + "\n",
        "fortran_prototypes.inc": begin + "\n".join(prototypes) + "\n",
        "fortran_names.inc": begin + "\n".join(f'ASM("{line}")' for f in bound for line in names(f)) + "\n",
    }
