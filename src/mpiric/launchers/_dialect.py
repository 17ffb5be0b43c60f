"""Dialect: what one launcher's command line looks like, and how it writes what mpiric sets.

A dialect is data and pure functions; every file of this folder without a leading underscore declares one
as ``DIALECT``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mpiric.launchers._host_format import HostFormat
from mpiric.model.job import Job, LauncherTraits, LaunchOption, Meaning
from mpiric.model.placement import Emission, Plan
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

Words = tuple[str, ...]
Facet = tuple[Meaning, Words]
Speller = Callable[[Situation, str], Spelling | None]
Writer = Callable[[Words], Words | None]


@dataclass(frozen=True)
class Option:
    """One option of a launcher, as its own parser knows it."""

    names: Words  # without dashes, synonyms
    arity: int = 0  # words it takes
    meaning: Meaning = Meaning.OTHER
    attached_only: bool = False  # its one value is optional and only ever written --name=value
    implied: str = ""  # the value a flag stands for: --bind-to-core is --bind-to core
    variable: str = ""  # environment variable that sets the same; {} stands for the first of two values


def flags(names: str) -> tuple[Option, ...]:
    """Options without a value that mpiric only has to step over, separated by spaces."""
    return tuple(Option((name,)) for name in names.split())


def valued(names: str) -> tuple[Option, ...]:
    """Options with one value that mpiric only has to step over, separated by spaces."""
    return tuple(Option((name,), 1) for name in names.split())


@dataclass(frozen=True)
class Grammar:
    """How a launcher's own parser reads a word that starts with a dash."""

    equals: bool = False  # --name=value
    fold_case: bool = False  # -NP is -np
    long_after_one_dash: bool = False  # -np is the option "np", not "-n p"
    attached_values: bool = False  # -n4 is -n 4
    flags_together: bool = False  # -qv is -q -v
    abbreviations: bool = False  # --bind is --bind-to when no other option starts so
    pair_in_one_word: bool = False  # an option of two values also takes them as NAME=VALUE


def _following(option: str) -> Writer:
    return lambda values: (option, *values)


def _joined_to(option: str) -> Writer:
    return lambda values: (f"{option}={values[0]}",)


def separate(options: Mapping[Meaning, str]) -> dict[Meaning, Writer]:
    """Writers of options whose values follow as words of their own."""
    return {meaning: _following(name) for meaning, name in options.items()}


def attached(options: Mapping[Meaning, str]) -> dict[Meaning, Writer]:
    """Writers of ``--name=value``."""
    return {meaning: _joined_to(name) for meaning, name in options.items()}


def assignment(option: str) -> Writer:
    """Writer of NAME=VALUE behind an option; a variable without a value is passed on without one."""
    return lambda values: (option, "=".join(values)) if len(values) == 2 else ()


def placement_above(meaning: Meaning, _under: str, over: str) -> str | None:
    """The second of two placements wins; anything else can be given only once."""
    return over if meaning in {Meaning.BINDING, Meaning.MAPPING} else None


@dataclass(frozen=True)
class VariableList:
    """Access to the one option by which a launcher names all variables (``srun --export``).

    What the launcher has in its own environment reaches ranks everywhere and wins over the list.
    """

    read: Callable[[Job], Mapping[str, str]]  # what the list sets
    without: Callable[[Job, str], Job]  # the job with one setting taken out
    extended: Callable[[Job, Mapping[str, str | None]], Job]  # with more; None passes on what srun has


def _one_facet(option: LaunchOption) -> tuple[Facet, ...]:
    return ((option.meaning, option.values),)


@dataclass(frozen=True)
class Dialect:
    """One launcher: identity, options, and pure functions.

    ``write`` holds, for each meaning that it has syntax for, values → words; None where there is no
    counterpart. ``merge`` joins two values of one meaning, the second winning; None where they
    contradict each other.
    """

    name: str
    launcher_names: Words  # words it may be called by
    grammar: Grammar
    options: tuple[Option, ...]
    recognise_version: Callable[[str], str | None]  # what `--version` prints → version, None for another
    write: Mapping[Meaning, Writer]
    spellings: Mapping[str, Speller] = field(default_factory=dict)  # knob → (situation, value) → spelling
    spellings_of_carried: Mapping[str, Speller] = field(default_factory=dict)  # of defaults kept
    merge: Callable[[Meaning, str, str], str | None] = placement_above
    facets: Callable[[LaunchOption], tuple[Facet, ...]] = _one_facet  # meanings of one option
    neutral: bool = False  # serves every MPI library and is known by its name alone
    travels: Words = ()  # beginnings of variables that reach ranks on every node by themselves
    travel_list: str = ""  # variable that names others, between semicolons, which are to reach them too
    environment_in_every_segment: bool = False  # an environment option holds for its own segment only
    hosts: HostFormat | None = None  # of host lists and files
    fills_every_host: bool = False  # without ranks per node every host gets some
    has_scheduler_names: bool = False  # it knows hosts by its scheduler's names only
    every_seat: str = ""  # mapping under which a list of hosts names the host of every rank
    binding_words: Mapping[str, str] = field(default_factory=dict)  # value of knob "binding" → its word
    mapping_words: Mapping[str, str] = field(default_factory=dict)  # value of knob "mapping" → its word
    variable_list: VariableList | None = None
    emit: Callable[[Plan], Emission] | None = None  # placement plan → command line
    emit_uneven: Callable[[Sequence[Plan]], Emission] | None = None  # the same for nodes that differ
    rank_variable: str = ""  # in which a rank finds its number; for launchers whose ranks bind themselves
    in_scripts: Mapping[str, Speller] = field(default_factory=dict)  # inside of a script: by variables
    process_manager: str = ""  # srun's --mpi for the libraries whose own launcher this is
    process_manager_needs: str = ""  # a variable without which srun starts singletons

    @property
    def traits(self) -> LauncherTraits:
        """Facts about it that knobs use."""
        return LauncherTraits(frozenset(self.spellings), self.neutral)

    def find(self, name: str) -> Option | None:
        """The option of that name (without dashes), abbreviated where its parser allows it."""
        wanted = name.lower() if self.grammar.fold_case else name
        exact = next((option for option in self.options if wanted in option.names), None)
        if exact is not None or not self.grammar.abbreviations or len(wanted) < 2:
            return exact
        starting = {o.names: o for o in self.options if any(n.startswith(wanted) for n in o.names)}
        return next(iter(starting.values())) if len(starting) == 1 else None
