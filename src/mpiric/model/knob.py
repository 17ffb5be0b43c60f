"""Knob: a setting that can change without a change of the program's source."""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum

from mpiric.model.dataclass import dataclass
from mpiric.model.job import Spelling
from mpiric.model.situation import Situation

FILES = "io"  # family of the knobs for files, and name of the group of all knobs that affect files
# Knobs of earlier versions, removed because they made no program faster. Recipes may still name them.
REMOVED = frozenset(
    "access-times blis-arch bootstrap broadcast-inputs collective-io fortran-buffers gpu-buffers matching "
    "node-local read-only-opens subdirectories zero-copy".split()
)
_LONGEST_WRITTEN = 2000  # characters; the value becomes part of variables and command lines
_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def parse_bytes(text: str) -> int:
    """Parse a size, digits and a binary unit: ``64KiB`` → 65536. Raises ValueError."""
    match = re.fullmatch(r"(\d{1,12})(B|KiB|MiB|GiB)?", text)
    if match is None:
        raise ValueError(f"not a size: {text!r}")
    return int(match[1]) * _UNITS[match[2] or ""]


@dataclass(frozen=True)
class Choice:
    """Domain of a fixed set of values."""

    values: tuple[str, ...]

    def accepts(self, value: str) -> bool:
        """Return whether a recipe may contain ``value``."""
        return value in self.values


@dataclass(frozen=True)
class Bytes:
    """Domain of sizes between two bounds, written ``64KiB``."""

    low: int
    high: int

    def accepts(self, value: str) -> bool:
        """Return whether a recipe may contain ``value``."""
        try:
            return self.low <= parse_bytes(value) <= self.high
        except ValueError:
            return False


@dataclass(frozen=True)
class Count:
    """Domain of integers between two bounds."""

    low: int
    high: int

    def accepts(self, value: str) -> bool:
        """Return whether a recipe may contain ``value``."""
        return value.isascii() and value.isdigit() and len(value) < 12 and self.low <= int(value) <= self.high


@dataclass(frozen=True)
class Name:
    """Domain of names of items on this machine (``mpich-5.0.2``, ``eth0``); paths are excluded."""

    pattern: str = r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}"

    def accepts(self, value: str) -> bool:
        """Return whether a recipe may contain ``value``."""
        return re.fullmatch(self.pattern, value) is not None


@dataclass(frozen=True)
class Written:
    """Domain of texts with a syntax that permits neither commands nor paths out of the directory."""

    form: str  # description of the syntax, for the documentation
    parse: Callable[[str], object]  # raises ValueError for an invalid text

    def accepts(self, value: str) -> bool:
        """Return whether a recipe may contain ``value``."""
        try:
            self.parse(value)
        except ValueError:
            return False
        return len(value) <= _LONGEST_WRITTEN


Domain = Choice | Bytes | Count | Name | Written


class ResultsEffect(str, Enum):
    """Effect of a knob on the numerical results of the program."""

    NONE = "none"
    CHECKED = "checked"  # the order of a reduction may change; tried by default, outputs are compared exactly
    ROUNDING = "rounding"  # the order of floating-point operations may change; the user must allow it


class FilesEffect(str, Enum):
    """Effect of a knob on the files that a program writes, from harmless to severe."""

    SAME = "same-moment"  # the same bytes at the same time
    LATE = "late"  # the same bytes, visible later, or other metadata; the user must allow it
    RELAYOUT = "relayout"  # a different location or arrangement of bytes; the user must allow it


def worst_effect(effects: Iterable[FilesEffect]) -> FilesEffect:
    """Return the most severe effect on files of several knobs; SAME if there is none."""
    return max(effects, key=list(FilesEffect).index, default=FilesEffect.SAME)


@dataclass(frozen=True)
class Skip:
    """Answer of a knob that has no value worth a run."""

    reason: str  # sentence for users, without capital and full stop


@dataclass(frozen=True)
class Try:
    """Answer of a knob that has values worth a run."""

    values: tuple[str, ...]  # values worth a run, in their natural order, without the current one
    prior: float  # probability, 0 to 1, that it helps if the time that it affects is significant
    because: str  # reason why it may help
    first: tuple[str, ...] = ()  # values that the facts suggest, the best first
    share: float = 1.0  # maximum share of the time that it can affect; set by `knobs.consider` from `touches`


@dataclass(frozen=True)
class Need:
    """Resource that a value names and that every node must have to use the value."""

    what: str  # "network interface eth1"
    paths: tuple[str, ...]  # shell patterns; the resource exists if one of them matches


Needs = Callable[[str], Need | None]
Spell = Callable[[str, Situation], Spelling | None]
Brings = Callable[[str, Situation], Mapping[str, str]]
SiteDefault = Callable[[str, Situation], bool]
IdleBeside = Callable[[Mapping[str, str], Situation], bool]


_OF_MPI_FAMILIES = frozenset(
    {"collectives", "inputs", "order", "oversubscription", "protocol", "relayout", "transport"}
)
SET_THE_CPUS = frozenset({"binding", "mapping", "threads-per-rank"})  # knobs that place ranks
_OF_MPI = frozenset({"mpi", "mpi-io", "mpi-io-library", "mpi-io-driver"})


@dataclass(frozen=True)
class Knob:
    """Setting that can change without a change of the program's source; declared once, in its family's file.

    Call ``consider`` through `knobs.consider`, which adds the rules that apply to all knobs. ``settings``
    renders a value; None for knobs that the launcher or the MPI library renders.
    """

    name: str
    sentence: str  # effect of the knob, for help and documentation
    why: str  # reason why it may help
    source: str  # manual, paper or measurement that documents it
    evidence: str  # proof that it helps: a file of benchmarks/results or a public measurement
    domain: Domain
    consider: Callable[[Situation], Skip | Try]
    settings: Spell | None = None
    results: ResultsEffect = ResultsEffect.NONE
    files: FilesEffect = FilesEffect.SAME
    only_when_asked: str = ""  # option that allows it ("--vary-ranks"), "" if it is always allowed
    # Bounds whose sum is the share of the time that it can affect; empty: all of it.
    touches: tuple[str, ...] = ()
    # Bound of a record, and probability that the knob helps programs with a high value of it.
    helped_where: tuple[tuple[str, float], ...] = ()
    brings: Brings | None = None  # value → values of other knobs that it needs, unless those are chosen too
    idle_beside: IdleBeside | None = None  # whether values of other knobs leave it without an effect
    needs: Needs | None = None  # value → resource that other machines may not have
    site_default: SiteDefault | None = None  # whether a value suits every program: used by `tune --site`
    threshold_of: str = ""  # its values are sizes of messages with this reach ("node", "network", "ucx")
    symptoms: tuple[str, ...] = ()  # numbers that it should improve
    family: str = ""  # stem of the file in knobs/; set by the registry

    @property
    def needs_mpi(self) -> bool:
        """Return whether the knob can only act through MPI calls of the program."""
        return self.family in _OF_MPI_FAMILIES or self.name in _OF_MPI

    @property
    def acts_on_files(self) -> bool:
        """Return whether it changes how files are laid out, accessed or written."""
        return self.family == FILES or self.files is not FilesEffect.SAME

    @property
    def chosen_by(self) -> frozenset[str]:
        """Return the names that select or exclude it: the knob, its family and its group."""
        return frozenset({self.name, self.family, *([FILES] if self.acts_on_files else [])})


def plain(*variables: str) -> Spell:
    """Return a spelling that sets variables to the knob's value."""
    return lambda value, _: Spelling(environment=dict.fromkeys(variables, value))


def in_bytes(*variables: str) -> Spell:
    """Return a spelling that sets variables to a number of bytes."""
    return lambda value, _: Spelling(environment=dict.fromkeys(variables, str(parse_bytes(value))))


def by_value(settings: Mapping[str, Mapping[str, str]]) -> Spell:
    """Return a spelling with a set of variables for each value; values without an entry have no setting."""
    return lambda value, _: Spelling(environment=settings[value]) if value in settings else None


def word(variable: str, keywords: Mapping[str, str]) -> Spell:
    """Return a spelling that sets a variable to a keyword for each value; others have no setting."""
    return by_value({value: {variable: text} for value, text in keywords.items()})


def suits_every_program(_value: str, _situation: Situation) -> bool:
    """Return True: each value suits every program, wherever it was measured."""
    return True


def suits_every_program_between_nodes(_value: str, situation: Situation) -> bool:
    """Return whether it was measured between nodes: a job on one node shows nothing about networks."""
    return situation.nodes > 1
