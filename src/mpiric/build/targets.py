"""CPU targets: their names and aliases, what each needs of a CPU, and which of two is to be preferred."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mpiric.model.errors import MpiricError

BASELINE = {"x86_64": "x86_64", "aarch64": "aarch64"}
DEFAULT_TARGETS = {
    "x86_64": ("x86_64_v2", "x86_64_v3", "x86_64_v4"),
    "aarch64": ("armv8.2a", "neoverse_v1"),
}
GLIBC_LEVELS = {"x86_64_v2": "x86-64-v2", "x86_64_v3": "x86-64-v3", "x86_64_v4": "x86-64-v4"}


class Feature(NamedTuple):
    """One CPU feature a compiler may use, and where a CPU reports it.

    On x86-64 ``leaf``, ``subleaf``, ``register``, ``bit`` are CPUID's and ``state`` is the mask of XCR0 that
    the operating system must have enabled; elsewhere ``register`` is a word of the auxiliary vector.
    """

    name: str
    macros: tuple[str, ...]
    register: str
    bit: int
    leaf: int = 0
    subleaf: int = 0
    state: int = 0
    instructions: str = (
        ""  # where given: how its instructions are spelled, and code without them does not need it
    )


class Offer(NamedTuple):
    """A variant as the choice sees it."""

    target: str
    needs: tuple[str, ...]  # without one of these its code cannot run
    made_for: tuple[str, ...]  # what its target has


def features(machine: str) -> Mapping[str, Feature]:
    """Every feature known of an architecture, by archspec's name."""
    from mpiric.host.packaged import packaged_table  # what a compilation rarely asks is not imported for each

    facts = packaged_table(f"build/data/cpu/{machine}")
    states: Mapping[str, int] = facts["states"]
    return {
        name: Feature(
            name,
            tuple(entry["macros"]),
            entry["register"],
            entry["bit"],
            entry.get("leaf", 0),
            entry.get("subleaf", 0),
            states.get(entry.get("state", ""), 0),
            entry.get("instructions", ""),
        )
        for name, entry in facts["features"].items()
    }


def needs_from_macros(machine: str, macros: Iterable[str]) -> tuple[str, ...]:
    """Features that a compiler says it uses, from the macros it predefines."""
    defined = set(macros)
    return tuple(sorted(f.name for f in features(machine).values() if defined.intersection(f.macros)))


def canonical(word: str, machine: str) -> str:
    """Archspec's name for a target spelled as any compiler spells it; an error that names what is known."""
    if word in GLIBC_LEVELS and machine == "x86_64":  # what nearly every compilation asks, without archspec
        return word
    import archspec.cpu

    from mpiric.host.packaged import packaged_table

    names = {name for name, t in archspec.cpu.TARGETS.items() if str(t.family) == machine}
    if word in names:
        return word
    plain = word.strip().lower().removesuffix("-64").replace("-", "_").replace(".", "_")
    plain = "x86_64" if word.strip().lower() == "x86-64" else plain
    by_plain = {name.replace(".", "_").replace("-", "_"): name for name in names}
    found = by_plain.get(plain) or packaged_table("build/data/cpu/aliases")["aliases"].get(plain)
    if found in names:
        return str(found)
    raise MpiricError(
        f"'{word}' is not a CPU target of {machine} that is known here",
        hint="targets are: " + ", ".join(sorted(names)),
    )


def generic_features(target: str) -> frozenset[str]:
    """What archspec says a CPU of this target has."""
    import archspec.cpu

    return frozenset(archspec.cpu.TARGETS[target].features)


def in_order(targets: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Targets from the most to the least demanding, by the features each needs.

    A CPU takes the first it can run. More features first is right because every target that can run is right,
    and the one that knows more of the CPU was made for something closer to it; names break ties.
    """
    return tuple(sorted(targets, key=lambda name: (-len(set(targets[name])), name)))


def best_for(have: frozenset[str], offered: Iterable[Offer]) -> str:
    """The variant that a CPU with these features takes, "" when none can run: as ``dispatch/choose.h`` does.

    Of those that can run it is the one made for the most of this CPU's features, then the one made for
    the fewest that it lacks. So a CPU with a feature hidden still takes what was made for it, and a CPU
    takes its own variant rather than that of a newer one which happens to run.
    """
    able = [offer for offer in offered if have.issuperset(offer.needs)]
    found = min(
        able,
        key=lambda o: (-len(have.intersection(o.made_for)), len(set(o.made_for) - have)),
        default=None,
    )
    return found.target if found else ""


def substitute(target: str, offered: Mapping[str, Iterable[str]], needs: Iterable[str]) -> str | None:
    """The most demanding variant, of an object without ``target``, that such a CPU runs too."""
    if target in offered:
        return target
    allowed = set(needs)
    possible = {name: have for name, have in offered.items() if set(have) <= allowed}
    return in_order(possible)[0] if possible else None


def symbol_word(target: str) -> str:
    """The target as part of a symbol or section name."""
    return "".join(letter if letter.isalnum() else "_" for letter in target)
