"""Selection of the real compiler for `mpiric cc`, `cxx`, `fc`."""

import os
from collections.abc import Mapping

from mpiric.build.command import is_input_name, split_words
from mpiric.host.toolchain import which
from mpiric.model.errors import NotFoundError

_COMPILERS = {
    "cc": ("MPIRIC_CC", ("cc", "gcc", "clang")),
    "cxx": ("MPIRIC_CXX", ("c++", "g++", "clang++")),
    "fc": ("MPIRIC_FC", ("gfortran", "flang", "ifx", "nvfortran")),
}


def choose_compiler(
    verb: str, options: Mapping[str, str], arguments: list[str], environ: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Return the real compiler: ``--compiler``, leading program names, the environment, or the default."""
    variable, usual = _COMPILERS[verb]
    if "--compiler" in options:
        return split_words(options["--compiler"]), arguments
    named: list[str] = []
    while (
        arguments
        and not arguments[0].startswith(("-", "@"))
        and not is_input_name(arguments[0])
        and which(arguments[0])
    ):
        if os.path.isfile(arguments[0]) and "/" not in arguments[0]:
            break  # an input file with that name in this directory
        named.append(arguments[0])
        arguments = arguments[1:]
        if os.path.basename(named[-1]) not in ("ccache", "sccache", "distcc", "icecc"):
            break
    if named:
        return named, arguments
    first = arguments[0] if arguments else "-"
    if not (first.startswith(("-", "@")) or is_input_name(first) or os.path.exists(first)):
        raise NotFoundError(f"'{first}' is neither a compiler on PATH nor a file")
    if environ.get(variable, "").strip():
        return split_words(environ[variable]), arguments
    compiler = next((name for name in usual if which(name, environ.get("PATH"))), None)
    if compiler is None:
        raise NotFoundError(f"no compiler: none of {', '.join(usual)} is on PATH", hint=f"set {variable}")
    return [compiler], arguments
