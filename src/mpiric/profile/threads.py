"""The threads of a rank, from the facts that it left at its end."""

from dataclasses import dataclass

from mpiric.model.record import RankRecord

_TICKS_PER_S = 100.0  # USER_HZ, the unit in which Linux tells CPU time to users on every architecture


@dataclass(frozen=True, slots=True)
class ThreadFacts:
    """One thread of a rank as it was at the end of the recording."""

    number: int
    name: str
    cpu: int  # the one it was on
    affinity: str  # list of CPUs it may use
    user_ticks: int
    system_ticks: int

    @property
    def cpu_s(self) -> float:
        """CPU time it has used; the kernel counts in hundredths of a second."""
        return (self.user_ticks + self.system_ticks) / _TICKS_PER_S


def threads_of(rank: RankRecord) -> tuple[ThreadFacts, ...]:
    """Threads of a rank; none when it did not come to its end."""
    found = []
    for key, value in rank.facts.items():
        number = key.removeprefix("thread.")
        if number != key and number.isdigit():
            name, *pairs = value.rsplit(" ", 4)
            facts = dict(pair.partition("=")[::2] for pair in pairs)
            found.append(
                ThreadFacts(
                    number=int(number),
                    name=name,
                    cpu=_whole(facts.get("cpu", "")),
                    affinity=facts.get("affinity", ""),
                    user_ticks=_whole(facts.get("user_ticks", "")),
                    system_ticks=_whole(facts.get("system_ticks", "")),
                )
            )
    return tuple(found)


def _whole(text: str) -> int:
    return int(text) if text.isdigit() else 0
