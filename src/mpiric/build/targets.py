"""CPU targets: names and aliases, required features, order of preference."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mpiric.model.errors import MpiricError

BASELINE = {"x86_64": "x86_64", "aarch64": "aarch64"}
DEFAULT_TARGETS = {"x86_64": ("x86_64_v2", "x86_64_v3", "x86_64_v4"), "aarch64": ("armv8.2a", "neoverse_v1")}
GLIBC_LEVELS = {"x86_64_v2": "x86-64-v2", "x86_64_v3": "x86-64-v3", "x86_64_v4": "x86-64-v4"}


class Feature(NamedTuple):
    """CPU feature that a compiler may use, and its location in CPUID or HWCAP.

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
    # Pattern of its instructions, if given: code without a match does not need the feature.
    instructions: str = ""


class Offer(NamedTuple):
    """Variant as input of the choice."""

    target: str
    needs: tuple[str, ...]  # features that its code requires
    made_for: tuple[str, ...]  # features of its target


def features(machine: str) -> Mapping[str, Feature]:
    """Return the known features of an architecture by archspec's name."""
    from mpiric.host.packaged import packaged_table  # imported here because compilations rarely need it

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
    """Return the features that a compiler uses, from its predefined macros."""
    defined = set(macros)
    return tuple(sorted(f.name for f in features(machine).values() if defined.intersection(f.macros)))


def canonical(word: str, machine: str) -> str:
    """Return archspec's name for a target in any compiler's spelling. Raises MpiricError with known names."""
    if word in GLIBC_LEVELS and machine == "x86_64":  # shortcut of nearly all compilations, without archspec
        return word
    import archspec.cpu

    from mpiric.host.packaged import packaged_table

    names = {name for name, t in archspec.cpu.TARGETS.items() if str(t.family) == machine}
    if word in names:
        return word
    plain = word.strip().lower().removesuffix("-64").replace("-", "_").replace(".", "_")
    plain = "x86_64" if word.strip().lower() == "x86-64" else plain
    by_plain = {name.replace(".", "_").replace("-", "_"): name for name in names}
    target = by_plain.get(plain) or packaged_table("build/data/cpu/aliases")["aliases"].get(plain)
    if target in names:
        return str(target)
    raise MpiricError(
        f"'{word}' is not a CPU target of {machine} that is known here",
        hint="targets are: " + ", ".join(sorted(names)),
    )


def generic_features(target: str) -> frozenset[str]:
    """Return archspec's features of this target."""
    import archspec.cpu

    return frozenset(archspec.cpu.TARGETS[target].features)


def in_order(targets: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Sort targets by the number of features they need, most demanding first.

    A CPU takes the first target that it can run: a target with more of the CPU's features is closer to
    it. Names break ties.
    """
    return tuple(sorted(targets, key=lambda name: (-len(set(targets[name])), name)))


def best_for(have: frozenset[str], offered: Iterable[Offer]) -> str:
    """Return the variant for a CPU with these features, "" if none can run; same as ``dispatch/choose.h``.

    Among the variants that can run, its target has the most features of this CPU, then the
    fewest features that it lacks. Thus a CPU with a hidden feature still uses its variant, and a CPU prefers
    its own variant to a newer variant that also runs.
    """
    able = [offer for offer in offered if have.issuperset(offer.needs)]
    best = min(
        able, key=lambda o: (-len(have.intersection(o.made_for)), len(set(o.made_for) - have)), default=None
    )
    return best.target if best else ""


def substitute(target: str, offered: Mapping[str, Iterable[str]], needs: Iterable[str]) -> str | None:
    """Return the most demanding variant of an object without ``target`` that such a CPU can run."""
    if target in offered:
        return target
    allowed = set(needs)
    possible = {name: have for name, have in offered.items() if set(have) <= allowed}
    return in_order(possible)[0] if possible else None


def symbol_word(target: str) -> str:
    """Return the target as part of a symbol or section name."""
    return "".join(letter if letter.isalnum() else "_" for letter in target)
