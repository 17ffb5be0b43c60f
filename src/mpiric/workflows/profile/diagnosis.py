"""Findings on a run of a command."""

from dataclasses import dataclass, replace

from mpiric.model.finding import Finding
from mpiric.model.profile import Advice
from mpiric.profile.advise import rules
from mpiric.workflows.profile.profile import Profiled

_REPORTED_BY_RECORD = {  # findings of the record on the same subject, with numbers
    "oversubscribed": "more-ranks-than-cpus",
    "cgroup-too-small": "more-ranks-than-cpus",
    "same-cores": "ranks-share-a-cpu",
}


@dataclass(frozen=True)
class Diagnosis:
    """Findings by source: the run, the placement of its ranks, the settings and the machine."""

    profiled: Profiled
    of_run: tuple[Advice, ...]
    of_placement: tuple[Finding, ...]
    of_settings: tuple[Finding, ...]
    of_machine: tuple[Finding, ...]

    @property
    def findings(self) -> dict[str, Finding | Advice]:
        """All findings by id, the run's first; each appears once, and a cause before its effects."""
        run = {advice.finding.id for advice in self.of_run}
        advised = {f"try-{knob}" for advice in self.of_run for knob in advice.knobs}
        more = [
            finding
            for finding in (*self.of_placement, *self.of_settings, *self.of_machine)
            if finding.id not in advised and _REPORTED_BY_RECORD.get(finding.id) not in run
        ]
        replacing = {_REPORTED_BY_RECORD[f.id]: f for f in more if f.id in _REPORTED_BY_RECORD}
        effect_of = {rule.id: rule.effect_of for rule in rules()}
        ordered: dict[str, Finding | Advice] = {}
        for advice in self.of_run:
            possible = effect_of.get(advice.finding.id, ())
            causes = {replacing[cause].id: replacing[cause] for cause in possible if cause in replacing}
            ordered |= {name: cause for name, cause in causes.items() if name not in ordered}
            ordered[advice.finding.id] = replace(advice, effect_of=(*advice.effect_of, *causes))
        for finding in more:
            ordered.setdefault(finding.id, finding)
        return ordered

    @property
    def status(self) -> int:
        """Exit status of the program; 0 if it ran well until the limit."""
        return self.profiled.status

    def among(self, names: frozenset[str]) -> tuple[str, ...]:
        """Return the findings whose id or source (``run``, ``placement``, …, ``any``) is in ``names``."""
        sources = {
            "run": {advice.finding.id for advice in self.of_run},
            "placement": {finding.id for finding in self.of_placement},
            "settings": {finding.id for finding in self.of_settings},
            "machine": {finding.id for finding in self.of_machine},
            "any": set(self.findings),
        }
        selected = names.union(*(ids for source, ids in sources.items() if source in names))
        return tuple(name for name in self.findings if name in selected)
