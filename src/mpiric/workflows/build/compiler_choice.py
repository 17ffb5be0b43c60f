"""The real compiler of a command line of `mpiric cc`, `cxx`, `fc`."""

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
    verb: str, options: Mapping[str, str], words: list[str], environ: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """The real compiler: ``--compiler``, first words that name programs, the environment, or the usual."""
    variable, usual = _COMPILERS[verb]
    if "--compiler" in options:
        return split_words(options["--compiler"]), words
    named: list[str] = []
    while words and not words[0].startswith(("-", "@")) and not is_input_name(words[0]) and which(words[0]):
        if os.path.isfile(words[0]) and "/" not in words[0]:
            break  # an input of that name in this directory
        named.append(words[0])
        words = words[1:]
        if os.path.basename(named[-1]) not in ("ccache", "sccache", "distcc", "icecc"):
            break
    if named:
        return named, words
    first = words[0] if words else "-"
    if not (first.startswith(("-", "@")) or is_input_name(first) or os.path.exists(first)):
        raise NotFoundError(f"'{first}' is neither a compiler on PATH nor a file")
    if environ.get(variable, "").strip():
        return split_words(environ[variable]), words
    compiler = next((name for name in usual if which(name, environ.get("PATH"))), None)
    if compiler is None:
        raise NotFoundError(f"no compiler: none of {', '.join(usual)} is on PATH", hint=f"set {variable}")
    return [compiler], words
