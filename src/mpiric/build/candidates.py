"""Every compiler of this machine with every sensible set of flags, put under a build of its own mind."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpiric.build.compilers import CompilerFamily, families
from mpiric.model.quoting import sh_command, sh_word

LANGUAGES = ("c", "cxx", "fortran")
CALLED = ".called"
_NAMES = {
    "c": ("cc", "gcc", "clang", "c99", "icx", "icc", "nvc"),
    "cxx": ("c++", "g++", "clang++", "CC", "icpx", "icpc", "nvc++"),
    "fortran": ("f77", "f90", "f95", "gfortran", "flang", "ifx", "ifort", "nvfortran"),
}
_WRAPPED = {
    "c": ("CC", "OMPI_CC", "MPICH_CC", "I_MPI_CC"),
    "cxx": ("CXX", "OMPI_CXX", "MPICH_CXX", "I_MPI_CXX"),
    "fortran": ("FC", "F77", "F90", "OMPI_FC", "MPICH_FC", "MPICH_F90", "I_MPI_FC", "I_MPI_F90"),
}
FLAG_SETS = ("default", "good", "flexible", "strict")
FEEDBACK = "feedback"  # good flags, and what a first run of the program taught the compiler


@dataclass(frozen=True)
class Candidate:
    """One compiler with one set of flags; ``programs`` are absolute paths by language."""

    family: str
    flag_set: str
    programs: Mapping[str, str]
    flags: tuple[str, ...]
    vectorisation: tuple[str, ...]
    training: tuple[str, ...] = ()  # flags of a first build that is run to teach the second; none: one build
    merge: tuple[str, ...] = ()  # command that makes one profile of what all runs of the first wrote

    @property
    def label(self) -> str:
        """How it is called in a report."""
        return f"{self.family} {self.flag_set}"

    @property
    def may_round_differently(self) -> bool:
        """Whether its flags let sums be reordered."""
        return self.flag_set == "flexible"


def candidates(path: str, profile: Path | None = None) -> tuple[Candidate, ...]:
    """Candidates whose C compiler is found on ``path``, one per real program, general families first.

    With a directory for profiles, one more of each that learns from a run.
    """
    found: list[Candidate] = []
    seen: set[str] = set()
    for name, family in reversed(families().items()):
        facts = family.facts
        programs = {
            language: program
            for language in LANGUAGES
            for program in [_first(facts["programs"].get(language, ()), path)]
            if program
        }
        real = str(Path(programs["c"]).resolve()) if "c" in programs else ""
        if not real or real in seen:
            continue
        seen.add(real)
        for flag_set in FLAG_SETS:
            flags = tuple(facts["flag_sets"][flag_set])
            found.append(Candidate(name, flag_set, programs, flags, family.words("vectorisation")))
        if profile is not None:
            found.append(_learning(name, family, programs, profile / name))
    return tuple(found)


def _learning(name: str, family: CompilerFamily, programs: Mapping[str, str], profile: Path) -> Candidate:
    sets = family.facts["flag_sets"]

    def words(key: str) -> tuple[str, ...]:
        return tuple(str(word).format(profile=profile) for word in sets.get(key, ()))

    return Candidate(
        name,
        FEEDBACK,
        programs,
        (*sets["good"], *words("feedback_use")),
        family.words("vectorisation"),
        (*sets["good"], *words("feedback_make")),
        words("feedback_merge"),
    )


def _first(names: tuple[str, ...], path: str) -> str:
    return next((found for name in names if (found := shutil.which(name, path=path))), "")


def shims(candidate: Candidate, directory: Path, flags: Sequence[str]) -> Mapping[str, str]:
    """Scripts under the usual compilers' names that run the candidate with ``flags`` last; the environment.

    A makefile that says ``gcc`` gets the candidate, and so does an MPI's compiler wrapper. The file `CALLED`
    beside them tells that one was called.
    """
    directory.mkdir(parents=True, exist_ok=True)
    environment: dict[str, str] = {}
    for language, program in candidate.programs.items():
        words = sh_command((*flags, *candidate.vectorisation))
        for name in _NAMES[language]:
            script = directory / name
            called = sh_word(str(directory / CALLED))
            script.write_text(f'#!/bin/sh\n: >{called}\nexec {sh_word(program)} "$@" {words}\n')
            script.chmod(0o755)
        usual = str(directory / _NAMES[language][0])
        environment.update(dict.fromkeys(_WRAPPED[language], usual))
    return environment
