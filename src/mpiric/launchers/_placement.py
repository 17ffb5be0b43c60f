"""Spellers and facts about job and machine that several dialects use for placement."""

from collections.abc import Callable, Mapping

from mpiric.launchers._dialect import Speller, Words
from mpiric.model.count import count_of
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling


def by_word(words: Mapping[str, str], write: Callable[[str], Words]) -> Speller:
    """A knob that a launcher has one option for, and for each value a word, or none."""

    def spell(_situation: Situation, value: str) -> Spelling | None:
        return Spelling(options=(write(words[value]),)) if value in words else None

    return spell


def by_depth(depth: str, binding: str) -> Speller:
    """CPUs for the threads of a rank, by the options of ALPS and PALS for a depth and for binding to it."""

    def spell(_situation: Situation, value: str) -> Spelling | None:
        return Spelling(options=((depth, value), (binding, "depth"))) if count_of(value) else None

    return spell


def by_variable(name: str, words: Mapping[str, str]) -> Speller:
    """A knob by a variable that the launcher reads, and for each value a word, or none."""

    def spell(_situation: Situation, value: str) -> Spelling | None:
        return Spelling(environment={name: words[value]}) if value in words else None

    return spell


def ranks_on_each(situation: Situation, nodes: int) -> int:
    """Ranks on each of so many nodes: as requested by the command, or as many as were seen."""
    ranks = max(1, len(situation.observation.ranks), situation.job.ranks or 0)
    return -(-ranks // nodes)


def ranks_per_node(situation: Situation) -> int | None:
    """How many ranks share a node, None when the command gives no number."""
    ranks = situation.job.ranks
    return None if ranks is None else -(-ranks // max(1, situation.nodes))


def crowded(situation: Situation) -> bool:
    """Whether ranks must share a core, which some launchers refuse to bind by default."""
    ranks = ranks_per_node(situation) or len(situation.observation.ranks)
    return ranks > len(situation.machine.usable_cores)


def threads_per_core(situation: Situation) -> int:
    """Hardware threads of a core, at least 1."""
    topology = situation.machine.topology
    return max(1, len(topology.pus) // max(1, len(topology.cores)))


def cores_for(situation: Situation, cpus: str) -> int:
    """Cores that have so many hardware threads, for launchers that count cores."""
    return -(-int(cpus) // threads_per_core(situation))
