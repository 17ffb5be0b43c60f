"""Findings on one run of a command, by the room they come from."""

from dataclasses import dataclass, replace

from mpiric.model.finding import Finding
from mpiric.model.profile import Advice
from mpiric.profile.advise import rules
from mpiric.workflows.profile.profile import Profiled

_REPORTED_BY_RECORD = {  # the same seen from the record, with numbers
    "oversubscribed": "more-ranks-than-cpus",
    "cgroup-too-small": "more-ranks-than-cpus",
    "same-cores": "ranks-share-a-cpu",
}


@dataclass(frozen=True)
class Diagnosis:
    """Findings by the room they come from: the run, where its ranks sat, the settings, the machine."""

    profiled: Profiled
    of_run: tuple[Advice, ...]
    of_placement: tuple[Finding, ...]
    of_settings: tuple[Finding, ...]
    of_machine: tuple[Finding, ...]

    @property
    def findings(self) -> dict[str, Finding | Advice]:
        """All by id, the run's first; what two rooms report appears once, a cause before its effects."""
        run = {advice.finding.id for advice in self.of_run}
        advised = {f"try-{knob}" for advice in self.of_run for knob in advice.knobs}
        others = [
            finding
            for finding in (*self.of_placement, *self.of_settings, *self.of_machine)
            if finding.id not in advised and _REPORTED_BY_RECORD.get(finding.id) not in run
        ]
        stand_ins = {_REPORTED_BY_RECORD[each.id]: each for each in others if each.id in _REPORTED_BY_RECORD}
        effect_of = {rule.id: rule.effect_of for rule in rules()}
        found: dict[str, Finding | Advice] = {}
        for advice in self.of_run:
            possible = effect_of.get(advice.finding.id, ())
            causes = {stand_ins[cause].id: stand_ins[cause] for cause in possible if cause in stand_ins}
            found |= {name: cause for name, cause in causes.items() if name not in found}
            found[advice.finding.id] = replace(advice, effect_of=(*advice.effect_of, *causes))
        for finding in others:
            found.setdefault(finding.id, finding)
        return found

    @property
    def status(self) -> int:
        """The program's own; 0 when it ran well until it was ended at the limit."""
        return self.profiled.status

    def among(self, wanted: frozenset[str]) -> tuple[str, ...]:
        """Ids of findings that are named, or whose room is: ``run``, ``placement``, ``settings``, ``any``."""
        rooms = {
            "run": {advice.finding.id for advice in self.of_run},
            "placement": {finding.id for finding in self.of_placement},
            "settings": {finding.id for finding in self.of_settings},
            "machine": {finding.id for finding in self.of_machine},
            "any": set(self.findings),
        }
        named = wanted.union(*(ids for room, ids in rooms.items() if room in wanted))
        return tuple(name for name in self.findings if name in named)
