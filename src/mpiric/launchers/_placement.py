"""Spellers of placement knobs, and facts about job and machine, shared by several dialects."""

from collections.abc import Callable, Mapping

from mpiric.launchers._dialect import Speller, Words
from mpiric.model.numbers_in_text import count_of
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling


def by_word(keywords: Mapping[str, str], write: Callable[[str], Words]) -> Speller:
    """Return the speller of a knob with one option and a keyword for each supported value."""

    def spell(_situation: Situation, value: str) -> Spelling | None:
        return Spelling(options=(write(keywords[value]),)) if value in keywords else None

    return spell


def by_depth(depth: str, binding: str) -> Speller:
    """Return the speller of CPUs per rank for ALPS and PALS, from the options for depth and binding."""

    def spell(_situation: Situation, value: str) -> Spelling | None:
        return Spelling(options=((depth, value), (binding, "depth"))) if count_of(value) else None

    return spell


def by_variable(name: str, keywords: Mapping[str, str]) -> Speller:
    """Return the speller of a knob with a variable that the launcher reads, and a keyword per value."""

    def spell(_situation: Situation, value: str) -> Spelling | None:
        return Spelling(environment={name: keywords[value]}) if value in keywords else None

    return spell


def ranks_on_each(situation: Situation, nodes: int) -> int:
    """Return the ranks per node on a number of nodes, from the command or else as observed."""
    ranks = max(1, len(situation.observation.ranks), situation.job.ranks or 0)
    return -(-ranks // nodes)


def ranks_per_node(situation: Situation) -> int | None:
    """Return the number of ranks on a node, None if the command has no number of ranks."""
    ranks = situation.job.ranks
    return None if ranks is None else -(-ranks // max(1, situation.nodes))


def crowded(situation: Situation) -> bool:
    """Return whether ranks must share a core, which some launchers refuse to bind by default."""
    ranks = ranks_per_node(situation) or len(situation.observation.ranks)
    return ranks > len(situation.machine.usable_cores)


def threads_per_core(situation: Situation) -> int:
    """Return the hardware threads of a core, at least 1."""
    topology = situation.machine.topology
    return max(1, len(topology.pus) // max(1, len(topology.cores)))


def cores_for(situation: Situation, cpus: str) -> int:
    """Return the number of cores with ``cpus`` hardware threads, for launchers that count cores."""
    return -(-int(cpus) // threads_per_core(situation))
