"""Knob: one thing that can change without touching the source."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

FILES = "io"  # family of knobs of files, and name of the group of all that act on them
# Knobs of earlier versions, removed because they made no program faster. Recipes may still name them.
REMOVED = frozenset(
    "access-times blis-arch bootstrap broadcast-inputs collective-io fortran-buffers matching node-local "
    "read-only-opens subdirectories zero-copy".split()
)
_LONGEST_WRITTEN = 2000  # characters: it goes into variables and onto lines
_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def parse_bytes(text: str) -> int:
    """``"64KiB"`` → 65536. Raises ValueError on anything else than digits and a binary unit."""
    match = re.fullmatch(r"(\d{1,12})(B|KiB|MiB|GiB)?", text)
    if match is None:
        raise ValueError(f"not a size: {text!r}")
    return int(match[1]) * _UNITS[match[2] or ""]


@dataclass(frozen=True)
class Choice:
    """One of a fixed set of words."""

    words: tuple[str, ...]

    def accepts(self, value: str) -> bool:
        """Whether ``value`` may stand in a recipe."""
        return value in self.words


@dataclass(frozen=True)
class Bytes:
    """A size between two bounds, written ``64KiB``."""

    low: int
    high: int

    def accepts(self, value: str) -> bool:
        """Whether ``value`` may stand in a recipe."""
        try:
            return self.low <= parse_bytes(value) <= self.high
        except ValueError:
            return False


@dataclass(frozen=True)
class Count:
    """A whole number between two bounds."""

    low: int
    high: int

    def accepts(self, value: str) -> bool:
        """Whether ``value`` may stand in a recipe."""
        return value.isascii() and value.isdigit() and len(value) < 12 and self.low <= int(value) <= self.high


@dataclass(frozen=True)
class Name:
    """The name of something found on this machine (``mpich-5.0.2``, ``eth0``): never a path."""

    pattern: str = r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}"

    def accepts(self, value: str) -> bool:
        """Whether ``value`` may stand in a recipe."""
        return re.fullmatch(self.pattern, value) is not None


@dataclass(frozen=True)
class Written:
    """A text of a form of its own, in which no command and no path out of the directory can be written."""

    form: str  # in words, for the docs
    parse: Callable[[str], object]  # raises ValueError for what is none

    def accepts(self, value: str) -> bool:
        """Whether ``value`` may stand in a recipe."""
        try:
            self.parse(value)
        except ValueError:
            return False
        return len(value) <= _LONGEST_WRITTEN


Domain = Choice | Bytes | Count | Name | Written


class ResultsEffect(str, Enum):
    """What a knob can do to the program's numbers."""

    NONE = "none"
    CHECKED = "checked"  # a reduction may be ordered otherwise; tried unasked, outputs are compared exactly
    ROUNDING = "rounding"  # the order of floating-point operations may change; the user must allow it


class FilesEffect(str, Enum):
    """What a knob can do to the files that a program writes, each worse than the one before."""

    SAME = "same-moment"  # the same bytes, there at the same moment
    LATE = "late"  # the same bytes, visible later, or other metadata; the user must allow it
    RELAYOUT = "relayout"  # bytes otherwise arranged; the user must allow it


def worst_effect(effects: Iterable[FilesEffect]) -> FilesEffect:
    """The worst of several knobs' effects on files; the first class where there is none."""
    return max(effects, key=list(FilesEffect).index, default=FilesEffect.SAME)


@dataclass(frozen=True)
class Skip:
    """The answer of a knob that is not worth a run here."""

    reason: str  # a sentence without a capital and a full stop, as users see it


@dataclass(frozen=True)
class Try:
    """The answer of a knob that is worth a run."""

    values: tuple[str, ...]  # worth trying, in their natural order, without the one in force
    prior: float  # how likely it helps, 0 to 1, where the time that it touches counts
    because: str  # why it may help here
    first: tuple[str, ...] = ()  # values that the facts call for, the best first
    share: float = 1.0  # of the time, that it can touch at most; `knobs.consider` fills it in from `touches`


@dataclass(frozen=True)
class Need:
    """A thing that a value names and that every node has to have where the value is used."""

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
_OF_MPI = frozenset({"mpi", "mpi-io", "mpi-io-library", "mpi-io-driver"})


@dataclass(frozen=True)
class Knob:
    """One thing that can change without touching the source; declared once, in its family's file.

    ``consider`` is the only question asked about it; ask through `knobs.consider`, which adds what holds for
    all knobs. ``settings`` renders a value; None for knobs that the launcher or the MPI library renders.
    """

    name: str
    sentence: str  # what it changes, for help and docs
    why: str  # why it may help
    source: str  # the manual, paper or measurement that documents it
    evidence: str  # what shows that it helps: a file of benchmarks/results or a public measurement
    domain: Domain
    consider: Callable[[Situation], Skip | Try]
    settings: Spell | None = None
    results: ResultsEffect = ResultsEffect.NONE
    files: FilesEffect = FilesEffect.SAME
    only_when_asked: str = ""  # the option that allows it ("--vary-ranks"), "" for always
    touches: tuple[str, ...] = ()  # bounds that add up to the share of the time it can touch; none: all of it
    # Bounds of a record, and how often the knob helped programs where that share of the time was high.
    helped_where: tuple[tuple[str, float], ...] = ()
    brings: Brings | None = None  # value → values of other knobs it needs, unless those are chosen as well
    idle_beside: IdleBeside | None = None  # whether other knobs' values leave it nothing worth a run
    needs: Needs | None = None  # value → what it names that other machines may not have
    site_default: SiteDefault | None = None  # whether a value suits every program: goes into `tune --site`
    threshold_of: str = ""  # its values are sizes: of messages with this reach ("node", "network", "ucx")
    symptoms: tuple[str, ...] = ()  # numbers that it is meant to move
    family: str = ""  # stem of the file in knobs/, which the registry fills in

    @property
    def needs_mpi(self) -> bool:
        """Return whether the knob can only act through MPI calls of the program."""
        return self.family in _OF_MPI_FAMILIES or self.name in _OF_MPI

    @property
    def acts_on_files(self) -> bool:
        """Whether it changes how files are laid out, accessed or written."""
        return self.family == FILES or self.files is not FilesEffect.SAME

    @property
    def chosen_by(self) -> frozenset[str]:
        """Names by which the user takes it or leaves it out: its own, its family's, that of a group."""
        return frozenset({self.name, self.family, *([FILES] if self.acts_on_files else [])})
