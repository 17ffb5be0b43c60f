"""Compilers of this machine with sets of flags, substituted into a build."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from mpiric.build.compilers import CompilerFamily, families
from mpiric.model.dataclass import dataclass
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
FEEDBACK = "feedback"  # good flags with profile-guided optimisation


@dataclass(frozen=True)
class Candidate:
    """Compiler with a set of flags; ``programs`` maps languages to absolute paths."""

    family: str
    flag_set: str
    programs: Mapping[str, str]
    flags: tuple[str, ...]
    vectorisation: tuple[str, ...]
    training: tuple[str, ...] = ()  # flags of an instrumented first build; () if there is only one build
    merge: tuple[str, ...] = ()  # command that merges the profiles of the first build's runs

    @property
    def label(self) -> str:
        """Name in reports."""
        return f"{self.family} {self.flag_set}"

    @property
    def may_round_differently(self) -> bool:
        """Check whether the flags allow sums to be reordered."""
        return self.flag_set == "flexible"


def candidates(path: str, profile: Path | None = None) -> tuple[Candidate, ...]:
    """Return the candidates whose C compiler is on ``path``, one per real program, general families first.

    A directory for profiles adds a profile-guided candidate per compiler.
    """
    result: list[Candidate] = []
    programs_seen: set[str] = set()
    for name, family in reversed(families().items()):
        facts = family.facts
        programs = {
            language: program
            for language in LANGUAGES
            for program in [_first(facts["programs"].get(language, ()), path)]
            if program
        }
        real = str(Path(programs["c"]).resolve()) if "c" in programs else ""
        if not real or real in programs_seen:
            continue
        programs_seen.add(real)
        for flag_set in FLAG_SETS:
            flags = tuple(facts["flag_sets"][flag_set])
            result.append(Candidate(name, flag_set, programs, flags, family.flag_list("vectorisation")))
        if profile is not None:
            result.append(_learning(name, family, programs, profile / name))
    return tuple(result)


def _learning(name: str, family: CompilerFamily, programs: Mapping[str, str], profile: Path) -> Candidate:
    sets = family.facts["flag_sets"]

    def flag_list(key: str) -> tuple[str, ...]:
        return tuple(str(word).format(profile=profile) for word in sets.get(key, ()))

    return Candidate(
        name,
        FEEDBACK,
        programs,
        (*sets["good"], *flag_list("feedback_use")),
        family.flag_list("vectorisation"),
        (*sets["good"], *flag_list("feedback_make")),
        flag_list("feedback_merge"),
    )


def _first(names: tuple[str, ...], path: str) -> str:
    return next((program for name in names if (program := shutil.which(name, path=path))), "")


def shims(candidate: Candidate, directory: Path, flags: Sequence[str]) -> Mapping[str, str]:
    """Write scripts with names of compilers that run the candidate with ``flags``; return the environment.

    Makefiles that call ``gcc`` and MPI compiler wrappers thus use the candidate. The scripts create the file
    `CALLED`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    environment: dict[str, str] = {}
    for language, program in candidate.programs.items():
        extra_arguments = sh_command((*flags, *candidate.vectorisation))
        for name in _NAMES[language]:
            script = directory / name
            called = sh_word(str(directory / CALLED))
            script.write_text(f'#!/bin/sh\n: >{called}\nexec {sh_word(program)} "$@" {extra_arguments}\n')
            script.chmod(0o755)
        usual = str(directory / _NAMES[language][0])
        environment.update(dict.fromkeys(_WRAPPED[language], usual))
    return environment
