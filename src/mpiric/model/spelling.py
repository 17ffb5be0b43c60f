"""Spelling: how one MPI, one launcher or the system itself writes one value of one knob."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum


class Weight(IntEnum):
    """How much a setting interferes with a program: of two cures the lighter one is the answer."""

    LIGHT = 0  # environment variables or options of the launcher
    PRELOAD = 1  # a library that is loaded in front of the program's
    LIBRARY = 2  # another MPI library of the same ABI
    SHIM = 3  # another MPI library through a shim that translates its ABI


@dataclass(frozen=True)
class Spelling:
    """What one knob value sets; merged with others into a Launch by the job's launcher dialect.

    Everything here is produced by registries of this package from knob values that passed
    validation; nothing in it is ever copied from a recipe. ``environment`` and ``unset`` win over
    whatever the user's command line says of the same variable (``-genv NAME``, ``-x NAME``, and
    ``--mca NAME`` for ``OMPI_MCA_NAME``): a launcher takes those options away.
    """

    environment: Mapping[str, str] = field(default_factory=dict)  # for the ranks
    unset: tuple[str, ...] = ()  # variables taken away from the ranks
    tunables: Mapping[str, str] = field(
        default_factory=dict
    )  # of glibc; `merge_spellings` folds them into one variable
    options: tuple[tuple[str, ...], ...] = ()  # launcher options, each with its values
    preload: tuple[str, ...] = ()  # absolute paths in front of the ranks' LD_PRELOAD
    library_path: tuple[str, ...] = ()  # directories in front of the ranks' LD_LIBRARY_PATH
    bound: tuple[str, ...] = ()  # directories to read; variables and lists above say where ranks find them
    directories: Mapping[str, str] = field(default_factory=dict)  # variable → directory that ranks write to
    launcher_words: tuple[str, ...] = ()  # another launcher; moves with `dialect`
    dialect: str = ""
    crowded: bool = False  # more ranks than CPUs: what another launcher may have to be told
    ranks: int | None = None  # another number of ranks
    launcher_environment: Mapping[str, str] = field(default_factory=dict)  # read by mpiexec, not by ranks
    prepare: tuple[tuple[str, ...], ...] = ()  # commands in the working directory, before the launch
    files: Mapping[str, str] = field(default_factory=dict)  # absolute path → text, for ranks to read
    exchanges_mpi: Weight | None = None  # LIBRARY or SHIM where the MPI library is exchanged
    note: str = ""  # what the user should know: cost, risk, what it relies on

    @property
    def weight(self) -> Weight:
        """How much the setting interferes with the program."""
        return self.exchanges_mpi or (Weight.PRELOAD if self.preload else Weight.LIGHT)
