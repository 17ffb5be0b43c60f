"""`mpiric doctor`: run a command once, for a limited time, and collect findings from four sources.

The sources are the run (its record, analysed by `profile`), the placement of its ranks, the settings of its
launch line and environment, and the machine. `Diagnosis.findings` removes duplicates and orders them.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from pathlib import Path

from mpiric.host.host import Host
from mpiric.host.installation.native import altered_parts
from mpiric.host.isolation.working_copies import CopyPolicy, WorkingCopies
from mpiric.host.packaged import finding_from
from mpiric.host.processes.foreground import Output
from mpiric.knobs import inherited_problems
from mpiric.lab.endings import command_line
from mpiric.machine import notice
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import Finding, MpiricError, after_run
from mpiric.model.machine import parse_pu_list
from mpiric.model.profile import SHORT_S, Advice
from mpiric.model.situation import Allowed, RankSeen, Situation
from mpiric.profile.advise import rules
from mpiric.profile.cells import fact
from mpiric.workflows.defaults import MISSED, missed_defaults
from mpiric.workflows.launch.findings import container_findings, hint_file_findings
from mpiric.workflows.launch.parse_job import ParsedJob, libraries_of_program, program_path
from mpiric.workflows.placement.verify import judge_record, looking
from mpiric.workflows.profile.profile import Profiled, profile
from mpiric.workflows.profile.request import ProfileRequest
from mpiric.workflows.run.run import with_values
from mpiric.workflows.trials.expected import expected_situation
from mpiric.workflows.trials.recorded_runs import findings_of
from mpiric.workflows.trials.users_lab import inputs_seen

# Some findings of the record and of the placement have the same subject; only one of them is reported.
# Finding of the placement → finding of the record, which is reported because it has numbers.
_REPORTED_BY_RECORD = {
    "oversubscribed": "more-ranks-than-cpus",
    "cgroup-too-small": "more-ranks-than-cpus",
}
# Finding of the placement, which is reported because it names CPUs and processes → finding of the record.
_REPORTED_BY_PLACEMENT = {"ranks-overlap": "ranks-share-a-cpu", "jobs-overlap": "cpus-taken"}

# Weights of findings without a number, as a share of the run time.
_PLACEMENT_WEIGHT, _SETTINGS_WEIGHT, _MACHINE_WEIGHT = 0.1, 0.03, 0.01
_SHARED_CORE_WEIGHT = 0.5  # two threads on a core, while each could have one
_SHARED_CORES = frozenset(
    "oversubscribed cgroup-too-small ranks-overlap jobs-overlap threads-stacked threads-on-one-core".split()
)
_LARGE_BYTES = 64 << 20  # memory of a rank from which the size of pages matters
_MOST_SHOWN = 5


@dataclass(frozen=True)
class Diagnosis:
    """Findings by source: the run, the placement of its ranks, the settings and the machine."""

    profiled: Profiled
    of_run: tuple[Advice, ...]
    of_placement: tuple[Finding, ...]
    of_settings: tuple[Finding, ...]
    of_machine: tuple[Finding, ...]
    ending: Advice | None = None  # why the command failed

    @property
    def findings(self) -> dict[str, Finding | Advice]:
        """All findings by id, each once: the largest expected gain first, and a cause before its effects.

        A failure comes first. Findings without a number rank by their source.
        """
        replacements = self._replacements
        of_run = []
        for advice in self.of_run:
            replacement = replacements.get(advice.finding.id)
            of_run.append(
                replace(advice, finding=replacement, knobs=(), commands=()) if replacement else advice
            )
        not_recorded = self._not_covered_by({advice.finding.id for advice in of_run})

        # Causes of a finding may come from another source; they are named by ids of the record.
        causes_by_id = {_REPORTED_BY_RECORD.get(finding.id, finding.id): finding for finding in not_recorded}
        causes_by_id |= replacements
        possible_causes = {rule.id: rule.effect_of for rule in rules()}
        ordered: dict[str, Finding | Advice] = {self.ending.finding.id: self.ending} if self.ending else {}
        for advice in of_run:
            names = [name for name in possible_causes.get(advice.finding.id, ()) if name in causes_by_id]
            causes = {causes_by_id[name].id: causes_by_id[name] for name in names}
            for name, cause in causes.items():
                ordered.setdefault(name, cause)
            recorded_causes = [name for name in advice.effect_of if name not in replacements]
            ordered[advice.finding.id] = replace(advice, effect_of=(*recorded_causes, *causes))
        return self._insert_by_weight(ordered, [f for f in not_recorded if f.id not in ordered])

    @property
    def _replacements(self) -> dict[str, Finding]:
        """Map findings of the record to findings of the placement that are reported instead."""
        placed = {finding.id: finding for finding in self.of_placement}
        replacements = {
            recorded: placed[name] for name, recorded in _REPORTED_BY_PLACEMENT.items() if name in placed
        }
        if placed.keys() >= {"ranks-overlap", "idle-cores"}:
            replacements["more-ranks-than-cpus"] = placed["ranks-overlap"]
        return replacements

    def _not_covered_by(self, reported: set[str]) -> list[Finding]:
        """Return the findings of other sources than the run whose subject none of the ``reported`` has."""
        advised = {f"try-{knob}" for advice in self.of_run for knob in advice.knobs}
        suggested = advised.union(finding.id for finding in self.of_settings)
        return [
            finding
            for finding in (*self.of_placement, *self.of_settings, *self.of_machine)
            if finding.id not in advised and _REPORTED_BY_RECORD.get(finding.id) not in reported
            # A safe default is reported if something else suggests its knob.
            if not finding.id.startswith(MISSED) or finding.id.replace(MISSED, "try-") in suggested
        ]

    def _insert_by_weight(
        self, ordered: dict[str, Finding | Advice], added: Sequence[Finding]
    ) -> dict[str, Finding | Advice]:
        """Insert findings without a number, each before the first part of the others that promises less."""
        weights = {finding.id: _MACHINE_WEIGHT for finding in self.of_machine}
        weights |= {finding.id: _SETTINGS_WEIGHT for finding in self.of_settings}
        weights |= {
            finding.id: _SHARED_CORE_WEIGHT if finding.id in _SHARED_CORES else _PLACEMENT_WEIGHT
            for finding in self.of_placement
        }
        pending = sorted(added, key=lambda finding: -weights[finding.id])
        promises = [
            item.promise if isinstance(item, Advice) and not item.explains_run else inf
            for item in ordered.values()
        ]
        result: dict[str, Finding | Advice] = {}
        for at, (name, item) in enumerate(ordered.items()):
            while pending and weights[pending[0].id] > max(promises[at:]):
                finding = pending.pop(0)
                result[finding.id] = finding
            result[name] = item
        return result | {finding.id: finding for finding in pending}

    @property
    def first(self) -> tuple[Finding | Advice, ...]:
        """Return the findings to show first: the cause of a failure alone, else the most important ones."""
        return self.causes or tuple(self.findings.values())[:_MOST_SHOWN]

    @property
    def causes(self) -> tuple[Advice, ...]:
        """Return the causes of a failure or of a wrong start."""
        items = self.findings.values()
        return tuple(item for item in items if isinstance(item, Advice) and item.explains_run)

    @property
    def status(self) -> int:
        """Return the exit status of the program; 0 if it ran well until the limit."""
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


def diagnose(request: ProfileRequest, host: Host) -> Diagnosis:
    """Run the command and collect findings. The record is kept only in a directory that the request names.

    Raises AfterRunError for an error after the end of the program.
    """
    options = {"MPIRIC_CALL_SITES": "1", **request.options}
    with record_directory(request) as directory, looking(host) as looks:
        profiled = profile(replace(request, directory=directory, options=options), host)
    parsed, ending = profiled.prepared.parsed, profiled.ending
    with after_run(profiled.trial.exit_status):
        advice = profiled.profile.advice if profiled.profile else ()
        if ending:  # the times of a failed run mean nothing
            advice = tuple(item for item in advice if item.explains_run)
        placement: Iterable[Finding] = ()
        if profiled.record:
            libraries = _thread_libraries(parsed, host)
            placement = judge_record(profiled.record, parsed.machine, parsed.job, libraries, looks)
        machine = [finding for finding in notice(parsed.machine) if _concerns_run(finding, profiled)]
        if altered := altered_parts():
            names = ", ".join(altered)
            machine.append(
                finding_from("profile/installation", "native-altered", count=len(altered), names=names)
            )
        return Diagnosis(
            profiled=profiled,
            of_run=tuple(advice),
            of_placement=tuple(placement),
            of_settings=(*container_findings(parsed, host), *_setting_findings(profiled, host)),
            of_machine=tuple(machine),
            ending=ending,
        )


def _concerns_run(finding: Finding, profiled: Profiled) -> bool:
    """Return whether a note on the machine can matter for this run; a failure has other causes."""
    if profiled.ending is not None:
        return False
    peak_bytes = profiled.profile.numbers.get("peak_bytes", inf) if profiled.profile else inf
    if "huge-pages" in finding.id:
        return peak_bytes >= _LARGE_BYTES
    return finding.id != "locked-memory" or profiled.prepared.parsed.nodes > 1


def _thread_libraries(parsed: ParsedJob, host: Host) -> tuple[str, ...]:
    """Return the libraries that the program links, and the BLAS that numpy brings if it is Python."""
    program = program_path(parsed.job, host)
    directory, _, name = program.rpartition("/bin/")
    numpy = [
        f"{directory}/lib/{version}/site-packages/numpy.libs"
        for version in (host.list_dir(f"{directory}/lib") if name.startswith("python") else ())
        if version.startswith("python")
    ]
    brought = (f"{path}/{file}" for path in numpy for file in host.list_dir(path))
    return (*libraries_of_program(parsed, host), *brought)


@contextmanager
def record_directory(request: ProfileRequest) -> Iterator[Path]:
    """Yield the directory that the request names, or a temporary one.

    The temporary directory is in the working directory, which all nodes see, or else on this node.
    """
    if request.directory:
        yield request.directory
        return
    for parent in (request.working_directory, None):
        try:
            scratch = tempfile.TemporaryDirectory(
                prefix="mpiric-doctor-", dir=parent, ignore_cleanup_errors=True
            )
        except OSError:
            continue
        with scratch as directory:
            yield Path(directory)
        return
    yield Path(request.working_directory)  # the error is reported when the record is written


def _setting_findings(profiled: Profiled, host: Host) -> Iterator[Finding]:
    """Yield findings of knobs on the command, its environment and the observed ranks."""
    try:
        situation = expected_situation(profiled.prepared.parsed, host, Allowed())
    except MpiricError:
        return  # the MPI library is unknown, so that its settings cannot be judged
    if profiled.ending:  # only settings that may cause a failure
        yield from inherited_problems(situation)
        return
    yield from hint_file_findings(situation, host)
    situation = _with_recorded_ranks(situation, profiled, host)
    yield from findings_of(situation)
    yield from missed_defaults(situation, host)


def _with_recorded_ranks(situation: Situation, profiled: Profiled, host: Host) -> Situation:
    """Return the situation with the recorded ranks as its observation."""
    if profiled.record is None or not profiled.record.ranks:
        return situation
    libraries = libraries_of_program(profiled.prepared.parsed, host)
    ranks = tuple(
        RankSeen(
            rank=rank.rank,
            program=rank.facts.get("executable", ""),
            cpus_allowed=parse_pu_list(rank.facts.get("affinity", "")),
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
        for rank in profiled.record.ranks
    )
    wall_s = max(rank.wall_s for rank in profiled.record.ranks)
    wall_s = wall_s if wall_s >= SHORT_S else 0.0  # no rates per second of a very short run
    return replace(situation, observation=replace(situation.observation, ranks=ranks, wall_s=wall_s))


@dataclass(frozen=True)
class RemedyTrial:
    """Result of the changed command."""

    command: str
    works: bool
    reason: str = ""  # why it does not work, or could not be tried


def try_remedy(request: ProfileRequest, diagnosis: Diagnosis, host: Host) -> RemedyTrial | None:
    """Run the command with the remedy of the first finding; None if no change of the command cures it.

    The run ends at the limit of the request. It works if it ends well, or is still running at the limit, and
    no failure is found in it.
    """
    explaining = [advice for advice in diagnosis.causes if advice.remedy]
    if not explaining or explaining[0].remedy is None:
        return None
    remedy, parsed = explaining[0].remedy, diagnosis.profiled.prepared.parsed
    command, job = command_line(remedy), parsed.job
    removed = set(remedy.launch.unset)
    environment = {name: value for name, value in job.environment.items() if name not in removed}
    environment |= remedy.launch.environment
    policy = CopyPolicy(on_this_node=parsed.nodes == 1)
    try:
        with (
            record_directory(replace(request, directory=None)) as store,
            WorkingCopies(Path(job.working_directory), store, policy) as copies,
        ):
            copies.depend_on(inputs_seen(job))
            directory = str(copies.fresh().path)
            argv = remedy.launch.argv
            if remedy.values:
                argv, environment = with_values(argv, directory, environment, remedy.values, host)
            changed = replace(
                request, argv=argv, working_directory=directory, environment=environment,
                directory=store / "record", mpi="", output=Output.STDERR,
            )  # fmt: skip
            done = profile(changed, host)
    except MpiricError as error:
        return RemedyTrial(command, works=False, reason=f"it could not be tried: {error.message}")
    causes = [advice for advice in done.profile.advice if advice.explains_run] if done.profile else []
    if done.ending or causes:
        return RemedyTrial(command, works=False, reason=(done.ending or causes[0]).finding.says)
    status = done.status
    return RemedyTrial(command, status == 0, f"it ended with exit status {status}" if status else "")
