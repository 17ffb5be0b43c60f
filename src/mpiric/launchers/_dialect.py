"""Dialect: syntax of a launcher's command line, and the way in which it writes the settings of mpiric.

A dialect is data and pure functions. Each module of this package without a leading underscore declares one
as ``DIALECT``. HostFormat is the syntax of hosts with their slots in lists and files.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from functools import cache
from importlib import import_module

from mpiric.host.packaged import modules_of
from mpiric.model.amount import count_of
from mpiric.model.dataclass import dataclass
from mpiric.model.job import HostSlots, Job, LauncherTraits, LaunchOption, Meaning, Spelling
from mpiric.model.placement import Emission, Plan
from mpiric.model.situation import Situation


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(text.split())


@dataclass(frozen=True)
class HostFormat:
    """Syntax of hosts; launchers that share one object can read each other's lists and files."""

    listed: Callable[[str], Iterable[HostSlots]]  # reads the value of an option
    line: Callable[[str], Iterable[HostSlots]]  # reads a line of a file, without its comment
    write: Callable[[HostSlots], str]  # writes an entry of a list
    write_line: Callable[[HostSlots], str]
    has_slots: bool = False  # True if a host may have a number of slots
    fills: bool = False  # True if a bare host has one slot, and all slots are used without a number of ranks


def with_colon(text: str) -> HostSlots:
    """Parse ``user@n1:4`` into a host and its slots."""
    name, _, slots = text.partition(":")
    return HostSlots(name.rpartition("@")[2], count_of(slots))


def by_commas(text: str) -> Iterator[HostSlots]:
    """Parse ``n1:4,n2`` into hosts and their slots."""
    return (with_colon(word) for word in text.split(",") if word)


def first_word(text: str) -> Iterator[HostSlots]:
    """Parse a line that starts with a host: ``n1:4 …``."""
    yield with_colon(text.split()[0])


def colon(host: HostSlots) -> str:
    """Write ``n1:4``, or the name alone without a number of slots."""
    return f"{host.name}:{host.slots}" if host.slots else host.name


def bare_name(host: HostSlots) -> str:
    """Write the name alone."""
    return host.name


Words = tuple[str, ...]
Facet = tuple[Meaning, Words]
Speller = Callable[[Situation, str], Spelling | None]
Writer = Callable[[Words], Words | None]


class Scope(Enum):
    """Programs of a launch (``a : b``) to which an option applies."""

    SEGMENT = "its own program"
    FOLLOWING = "with the first program: all programs that do not set it themselves"
    LAUNCH = "all programs, wherever it is written"


@dataclass(frozen=True)
class Option:
    """An option of a launcher."""

    names: Words  # synonyms, without dashes
    arity: int = 0  # number of values
    meaning: Meaning = Meaning.OTHER
    attached_only: bool = False  # True if the value is optional and can only be written --name=value
    implied: str = ""  # value of a flag: --bind-to-core is --bind-to core
    variable: str = ""  # environment variable with the same effect; {} is replaced by the first value
    scope: Scope = Scope.SEGMENT


def flags(names: str) -> tuple[Option, ...]:
    """Return options without a value whose meaning does not matter, from names separated by spaces."""
    return tuple(Option((name,)) for name in names.split())


def valued(names: str) -> tuple[Option, ...]:
    """Return options with one value whose meaning does not matter, from names separated by spaces."""
    return tuple(Option((name,), 1) for name in names.split())


def of_launcher(names: str, arity: int = 0) -> tuple[Option, ...]:
    """Return options that only concern the launcher itself, from names separated by spaces."""
    return tuple(Option((name,), arity, Meaning.LAUNCHER_ONLY) for name in names.split())


@dataclass(frozen=True)
class Grammar:
    """Rules by which a launcher reads an argument that starts with a dash."""

    equals: bool = False  # --name=value
    fold_case: bool = False  # -NP is -np
    long_after_one_dash: bool = False  # -np is the option "np", not "-n p"
    attached_values: bool = False  # -n4 is -n 4
    flags_together: bool = False  # -qv is -q -v
    abbreviations: bool = False  # --bind is --bind-to if no other option starts with it
    pair_in_one_word: bool = False  # an option with two values also accepts NAME=VALUE


def _following(option: str) -> Writer:
    return lambda values: (option, *values)


def _joined_to(option: str) -> Writer:
    return lambda values: (f"{option}={values[0]}",)


def separate(options: Mapping[Meaning, str]) -> dict[Meaning, Writer]:
    """Return writers of options whose values are separate arguments."""
    return {meaning: _following(name) for meaning, name in options.items()}


def attached(options: Mapping[Meaning, str]) -> dict[Meaning, Writer]:
    """Return writers of ``--name=value``."""
    return {meaning: _joined_to(name) for meaning, name in options.items()}


def assignment(option: str) -> Writer:
    """Return a writer of NAME=VALUE after an option; a variable without a value is passed on by default."""
    return lambda values: (option, "=".join(values)) if len(values) == 2 else ()


def placement_above(meaning: Meaning, _under: str, over: str) -> str | None:
    """Merge placements: the second one overrides the first; other options can be given only once."""
    return over if meaning in {Meaning.BINDING, Meaning.MAPPING} else None


@dataclass(frozen=True)
class VariableList:
    """Access to the single option by which a launcher lists all variables (``srun --export``).

    The environment of the launcher itself reaches all ranks and overrides the list.
    """

    read: Callable[[Job], Mapping[str, str]]  # variables that the list sets
    without: Callable[[Job, str], Job]  # job without the setting of one variable
    extended: Callable[[Job, Mapping[str, str | None]], Job]  # job with more variables; None passes one on


@dataclass(frozen=True)
class Dialect:
    """A launcher: identity, options, and pure functions.

    ``write`` maps each meaning with a syntax to a function values → arguments, which returns None if there is
    no counterpart. ``merge`` joins two values of one meaning, where the second one overrides the first; None
    if they contradict each other.
    """

    name: str
    launcher_names: Words  # file names of the launcher
    grammar: Grammar
    options: tuple[Option, ...]
    recognise_version: Callable[[str], str | None]  # output of `--version` → version, None if of another one
    write: Mapping[Meaning, Writer]
    spellings: Mapping[str, Speller] = field(default_factory=dict)  # knob → (situation, value) → spelling
    spellings_of_carried: Mapping[str, Speller] = field(default_factory=dict)  # spellings of kept defaults
    merge: Callable[[Meaning, str, str], str | None] = placement_above
    # Option → its meanings.
    facets: Callable[[LaunchOption], tuple[Facet, ...]] = lambda option: ((option.meaning, option.values),)
    neutral: bool = False  # True if it serves all MPI libraries and is recognised by its name alone
    travels: Words = ()  # prefixes of variables that the launcher passes to all nodes by default
    travel_list: str = ""  # variable that lists further ones to pass, separated by semicolons
    write_in_segment: Writer | None = None  # variable of one program, if `write` sets it for all programs
    file_words: Callable[[str], Sequence[str]] = str.split  # splits a line of a file that lists programs
    program_file_replaces_options: bool = False  # True if such a file replaces options of single programs
    hosts: HostFormat | None = None  # format of host lists and files
    fills_every_host: bool = False  # True if each host gets ranks when ranks per node are not set
    has_scheduler_names: bool = False  # True if it only knows the host names of its scheduler
    every_seat: str = ""  # mapping with which a host list names the host of each rank
    binding_words: Mapping[str, str] = field(default_factory=dict)  # value of knob "binding" → its keyword
    mapping_words: Mapping[str, str] = field(default_factory=dict)  # value of knob "mapping" → its keyword
    variable_list: VariableList | None = None
    emit: Callable[[Plan], Emission] | None = None  # placement plan → command line
    emit_uneven: Callable[[Sequence[Plan]], Emission] | None = None  # plans of different nodes → command line
    inherits_cpus: bool = False  # True if ranks of this node may only use the CPUs of the launcher
    rank_variable: str = ""  # variable with the rank's number, for scripts that each rank starts
    in_scripts: Mapping[str, Speller] = field(default_factory=dict)  # spellings by variables, within a script
    process_manager: str = ""  # value of srun's --mpi for the libraries that ship this launcher
    process_manager_needs: str = ""  # variable without which srun starts singletons

    @property
    def traits(self) -> LauncherTraits:
        """Return the facts about the launcher that knobs use."""
        return LauncherTraits(frozenset(self.spellings), self.neutral)

    def find(self, name: str) -> Option | None:
        """Return the option with this name (without dashes), also abbreviated if the launcher allows it."""
        folded = name.lower() if self.grammar.fold_case else name
        exact = next((option for option in self.options if folded in option.names), None)
        if exact is not None or not self.grammar.abbreviations or len(folded) < 2:
            return exact
        starting = {o.names: o for o in self.options if any(n.startswith(folded) for n in o.names)}
        return next(iter(starting.values())) if len(starting) == 1 else None


@cache
def dialects() -> dict[str, Dialect]:
    """Return the dialects by name, in alphabetical order."""
    modules = modules_of(import_module("mpiric.launchers"))
    return {name: module.DIALECT for name, module in modules.items() if hasattr(module, "DIALECT")}


def recognise_launcher(banner: str) -> tuple[str, str] | None:
    """Return dialect and version from the output of ``--version``; None if no dialect recognises it."""
    for name, dialect in dialects().items():
        version = dialect.recognise_version(banner)
        if version is not None:
            return name, version
    return None
