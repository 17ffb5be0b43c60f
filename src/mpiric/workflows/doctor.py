"""Run a command once and gather what every room has to say about it."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mpiric.host.host import Host
from mpiric.machine import notice
from mpiric.model.errors import MpiricError
from mpiric.model.finding import Finding
from mpiric.model.profile import Advice
from mpiric.model.record import RankRecord
from mpiric.model.situation import Allowed, RankSeen, Situation
from mpiric.profile.places import parse_cpus
from mpiric.profile.ranks import fact
from mpiric.workflows.findings import findings_of
from mpiric.workflows.observe import expected_situation
from mpiric.workflows.profile import Profiled, ProfileRequest, profile
from mpiric.workflows.understand import libraries_of_program


@dataclass(frozen=True)
class Diagnosis:
    """Findings by the room they come from: of the run itself, of the settings around it, of the machine."""

    profiled: Profiled
    of_run: tuple[Advice, ...]
    of_settings: tuple[Finding, ...]
    of_machine: tuple[Finding, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All of them, each once, the run's first."""
        every = (*(advice.finding for advice in self.of_run), *self.of_settings, *self.of_machine)
        return tuple({finding.id: finding for finding in reversed(every)}.values())[::-1]


def diagnose(request: ProfileRequest, host: Host) -> Diagnosis:
    """Run and gather. The record is kept only where the request names a directory."""
    with tempfile.TemporaryDirectory(prefix="mpiric-doctor-", dir=request.working_directory) as scratch:
        done = profile(replace(request, directory=request.directory or Path(scratch)), host)
    understood = done.prepared.understood
    return Diagnosis(
        profiled=done,
        of_run=done.profile.advice if done.profile else (),
        of_settings=tuple(_of_settings(done, host)),
        of_machine=notice(understood.machine),
    )


def _of_settings(done: Profiled, host: Host) -> Iterator[Finding]:
    """What knobs say about the command, its environment and the ranks as they were seen."""
    try:
        situation = expected_situation(done.prepared.understood, host, Allowed())
    except MpiricError:
        return  # which library it is does not show from outside, so that nothing can be said of its settings
    yield from findings_of(_seen(situation, done, host))


def _seen(situation: Situation, done: Profiled, host: Host) -> Situation:
    """The situation with the ranks that left a record."""
    if done.record is None or not done.record.ranks:
        return situation
    libraries = libraries_of_program(done.prepared.understood, host)
    ranks = tuple(_rank(rank, libraries) for rank in done.record.ranks)
    wall_s = max(rank.wall_s for rank in done.record.ranks)
    return replace(situation, observation=replace(situation.observation, ranks=ranks, wall_s=wall_s))


def _rank(rank: RankRecord, libraries: tuple[str, ...]) -> RankSeen:
    return RankSeen(
        rank=rank.rank,
        program=rank.facts.get("executable", ""),
        cpus_allowed=tuple(sorted(parse_cpus(rank.facts.get("affinity", "")))),
        threads=fact(rank, "threads"),
        user_s=fact(rank, "time.user_us") / 1e6,
        system_s=fact(rank, "time.system_us") / 1e6,
        minor_faults=fact(rank, "faults.minor"),
        major_faults=fact(rank, "faults.major"),
        voluntary_switches=fact(rank, "switches.voluntary"),
        involuntary_switches=fact(rank, "switches.involuntary"),
        rss_peak_bytes=fact(rank, "memory.peak_kib") << 10,
        huge_bytes=fact(rank, "memory.huge_kib") << 10,
        libraries=libraries,
    )
