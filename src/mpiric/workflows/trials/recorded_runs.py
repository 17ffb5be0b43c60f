"""Runs with the recording runtime in their ranks: behaviour of the program, and findings from it.

A recorded run takes a little longer, up to a third for a program with many messages of a few bytes. Therefore
recorded runs have their own phase and are not compared with others.
"""

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpiric import knobs, mpis
from mpiric.host.command_log import masked
from mpiric.host.facts.elf import read_embedded_texts
from mpiric.host.files import LARGEST_TEXT_BYTES, is_directory, read_bounded
from mpiric.host.host import Host
from mpiric.host.processes.request import EarlyEnd
from mpiric.lab.directory_runs import Recorded, Recorder, read_recorded, recorder_of
from mpiric.lab.lab import Lab
from mpiric.lab.probes import WholeRun
from mpiric.model.configuration import Configuration
from mpiric.model.errors import Finding, MpiricError
from mpiric.model.json_text import parse_json
from mpiric.model.machine import Core
from mpiric.model.profile import (
    PER_STEP,
    TIME_OUTSIDE,
    Advice,
    Behaviour,
    Comparison,
    FileTotal,
    NodeTopology,
    Profile,
    QuantityChange,
)
from mpiric.model.quoting import sh_command
from mpiric.model.record import Record
from mpiric.model.run import RECORDED, Outcome, Phase, Plan, Run, Trial
from mpiric.model.situation import Situation
from mpiric.model.translation import family_above
from mpiric.profile.advise import advise
from mpiric.profile.analyse import analyse, compare
from mpiric.profile.behaviour import behaviour_of, merged
from mpiric.profile.outside_time import OUTSIDE_NUMBERS, with_outside
from mpiric.profile.pace import run_pace
from mpiric.profile.read import read_record
from mpiric.profile.sites import name_sites
from mpiric.profile.stuck import stuck_advice
from mpiric.report.json_objects import advice_from_json
from mpiric.statistics.space import SearchSpace
from mpiric.tuning.mark_choice import without_library_places
from mpiric.tuning.mark_split import step_change
from mpiric.workflows.launch.findings import refuse_ranks_alone
from mpiric.workflows.launch.loadable import why_not_loadable
from mpiric.workflows.launch.parse_job import program_path

_SWITCH = b"MPIRIC_MARK_OUT"
_WITHOUT_RECORD = (
    "link the program to a shared MPI library, or use commands that need no record, such as `mpiric tune`"
)


def recorder_for(situation: Situation, host: Host) -> Recorder:
    """Return the recorder for observed ranks. Raises MpiricError if nothing can be loaded."""
    if not situation.observation.ranks:
        raise MpiricError("no rank was seen", hint=_WITHOUT_RECORD)
    if not situation.observation.is_dynamic:
        raise MpiricError(
            "the program shows no C library (statically linked or setuid), so that nothing can be loaded",
            hint=_WITHOUT_RECORD,
        )
    path = program_path(situation.job, host)
    family = (mpis.abi_of_program(host, path) if path else None) or family_above(situation.mpi)
    if family is None:
        raise MpiricError(
            "mpiric's recording library cannot be loaded: the MPI library is not known", hint=_WITHOUT_RECORD
        )
    recorder = recorder_of(situation.job, family)
    if reason := why_not_loadable(situation.job, recorder.library, host):
        raise MpiricError(reason, hint=_WITHOUT_RECORD)
    return recorder


def runtime_with_marks(situation: Situation, host: Host) -> str:
    """Return the path of the runtime for this program. Raises MpiricError if it has no step markers."""
    recorder = recorder_for(situation, host)
    if not read_embedded_texts(recorder.library, _SWITCH):
        raise MpiricError(
            "mpiric's recording library is of an older version, without step markers",
            hint="install mpiric again, or leave --mark out",
        )
    return recorder.library


def recorded_run(
    configuration: Configuration,
    recorder: Recorder,
    directory: Path,
    limit_s: float | None = None,
    early_end: EarlyEnd | None = None,
) -> Run:
    """Return the run of phase RECORD that records into ``directory``, which is made."""
    probe = WholeRun(recorder, directory, early_end)
    return Run(configuration, Phase.RECORD, limit_s=limit_s, probe=probe)


def recorded_by(trial: Trial, lab: Lab, directory: Path) -> Recorded:
    """Read what the last run of a lab has recorded.

    Raises MpiricError where it failed or left no usable record.
    """
    if trial.outcome is not Outcome.OK:
        raise MpiricError(
            f"with mpiric's recording library the program {trial.reason or 'failed'}", hint=_WITHOUT_RECORD
        )
    command = sh_command(masked(lab.situation.job.argv))
    recorded = read_recorded(directory.absolute(), command, trial.wall_s)
    return replace(
        recorded, safe_s=trial.safe_s or 0.0, ran_in=lab.runs.ran_in, ended_unix_s=trial.ended_unix_s
    )


def record_original(
    lab: Lab, host: Host, records: Path, runs: int
) -> Plan[tuple[list[Trial], list[Recorded], list[str]]]:
    """Record ``runs`` runs of the original, each into its own directory in ``records``.

    Return the successful runs, their records, and the reason for missing ones. The first run that fails or
    leaves no record is the last one. A later untouched run shows whether the program or the recording failed.
    """
    shutil.rmtree(records, ignore_errors=True)  # records of an interrupted tune
    trials: list[Trial] = []
    recorded: list[Recorded] = []
    limit_s = RECORDED.after(lab.situation.observation.wall_s)
    try:
        recorder = recorder_for(lab.situation, host)
        for _ in range(runs):
            directory = records / f"original-{lab.count + 1}"
            trial = yield recorded_run(Configuration(), recorder, directory, limit_s)
            if trial.outcome is Outcome.OK:
                trials.append(trial)
            recorded.append(recorded_by(trial, lab, directory))
    except (MpiricError, OSError) as error:
        why = error.message if isinstance(error, MpiricError) else str(error.strerror)
        return trials, recorded, [not_recorded(why, len(recorded))]
    for one in recorded:
        refuse_ranks_alone(lab.situation.job, one.record, host)
    return trials, recorded, []


def not_recorded(why: str, times: int = 0) -> str:
    """Return the note on a command that was recorded only ``times`` times."""
    if times:
        return f"the command was recorded {times} times only: {why}"
    return f"the command was not recorded, so that every knob that applies is tried: {why}"


_DRIVER = re.compile(r"^(?:ufs|nfs|lustre|gpfs|panfs|daos|testfs):")
_DEVICE = re.compile(r"MPICH Device:\s*(\S+)")


def observed_behaviour(recorded: Sequence[Recorded], situation: Situation) -> Behaviour | None:
    """Return one behaviour from several records of a configuration; None without a record."""
    behaviours = []
    for run in recorded:
        carriers = knobs.carriers(situation, run.profile.library.get("transport", ""))
        # Device of MPICH and its derivatives, such as ``ch4:ucx``.
        versions = (rank.facts.get("mpi.version", "") for rank in run.record.ranks)
        devices = (match[1] for version in versions if (match := _DEVICE.search(version)))
        behaviour = behaviour_of(
            run.record,
            replace(run.profile, files=tuple(_relative(file, run.ran_in) for file in run.profile.files)),
            replace(carriers, transport=carriers.transport or next(devices, "")),
            run.run_s,
            run.safe_s,
            run.ended_unix_s,
            huge_pages=situation.machine.memory.pages.transparent == "always",
        )
        behaviours.append(behaviour)
    return merged(behaviours) if behaviours else None


def _relative(file: FileTotal, directory: str) -> FileTotal:
    """Return the file with its path in the working directory, without a driver prefix of ROMIO."""
    path = _DRIVER.sub("", file.path)
    if directory and path.startswith("/"):
        path = path.removeprefix(f"{directory}/")
    return replace(file, path=path if path.startswith("/") else os.path.normpath(path))


_WORTH_TELLING = 0.6
_SUGGESTION = "try-"


def findings_of(situation: Situation, space: SearchSpace | None = None) -> tuple[Finding, ...]:
    """Return harmful inherited settings, then suggestions from the observation, the most promising first.

    With a ``space``, only its knobs are suggested, and knobs share a finding if the reason of one begins with
    the reason of the other.
    """
    groups: list[tuple[str, list[str]]] = []  # reason and the knobs that it calls for
    values_of: dict[str, list[str]] = {}
    dimensions = {dimension.knob: dimension for dimension in space.dimensions} if space else {}
    for name, answer in knobs.to_try(situation).items():
        dimension = dimensions.get(name)
        values = dimension.values if dimension else () if space else answer.values
        first = [value for value in answer.first if value in values]
        if answer.prior < _WORTH_TELLING or not values or (answer.first and not first):
            continue
        values_of[name] = first
        reason = f"{answer.because[:1].upper()}{answer.because[1:]}"
        for at, (earlier, names) in enumerate(groups if space is not None else ()):
            shorter, longer = sorted((earlier, reason), key=len)
            if longer.startswith(shorter):
                groups[at] = (longer, [*names, name])
                break
        else:
            groups.append((reason, [name]))
    foreign = mpis.foreign_settings(situation.inherited, situation.mpi)
    suggested = (_suggestion(reason, {name: values_of[name] for name in names}) for reason, names in groups)
    return (*knobs.inherited_problems(situation), *foreign, *suggested)


def _suggestion(reason: str, values_of: Mapping[str, Sequence[str]]) -> Finding:
    """Return the finding that suggests knobs, each with the values to try first; empty: any value."""
    sentences = [knobs.knob_named(name).sentence for name in values_of]
    settings = [f"{name} = {' or '.join(first) or 'any'}" for name, first in values_of.items()]
    return Finding(
        id=f"{_SUGGESTION}{','.join(values_of)}",
        says=reason,
        evidence=f"possible change: {'; '.join(f'{text[:1].lower()}{text[1:]}' for text in sentences)}",
        fix=f"try {', or '.join(settings)}",
    )


def after_runs(findings: Iterable[Finding], trials: Iterable[Trial]) -> tuple[Finding, ...]:
    """Return the findings; suggestions of a setting name the values that runs have tried."""
    tried: dict[str, dict[str, None]] = {}
    for trial in trials:
        for name, value in trial.configuration.items:
            tried.setdefault(name, {})[value] = None
    reported = []
    for finding in findings:
        if finding.id.startswith(_SUGGESTION):
            fixes = [
                f"tried: {name} = {', '.join(tried[name])}" if name in tried else f"not tried: {name}"
                for name in finding.id.removeprefix(_SUGGESTION).split(",")
            ]
            finding = replace(finding, fix="; ".join(fixes))
        reported.append(finding)
    return tuple(reported)


_SPAWNING = ("MPI_Comm_spawn", "MPI_Comm_spawn_multiple")
DATA = "report.json"  # file of the report next to a record


def load(record: Path, host: Host | None = None) -> Profile:
    """Load the profile of a record: a directory, a merged file, or the file of one rank.

    With a ``host``, call sites get the names of functions. The launch line, the cause of a failure and the
    times outside of MPI are not in the record: they come from report.json.
    """
    facts = launch_facts(record)
    data = read_record(record)
    profile = analyse(data, str(facts.get("command", "")))
    profile = replace(profile, shape=node_topology(facts.get("node_shape")))
    with suppress(AttributeError, TypeError, ValueError):
        numbers = facts.get("numbers", {})
        outside = {name: float(numbers[name]) for name in OUTSIDE_NUMBERS if name in numbers}
        profile = replace(profile, numbers={**profile.numbers, **outside})
        profile = replace(profile, advice=advise(profile))
    if host is not None:
        profile = name_sites(profile, host)
    causes: list[Advice] = []
    with suppress(KeyError, TypeError, ValueError):
        for advice in map(advice_from_json, facts["findings"]):
            if advice.finding.id == TIME_OUTSIDE:
                profile = replace(profile, advice=with_outside(profile.advice, advice))
            elif advice.explains_run:
                causes.append(advice)
    profile = with_stuck(with_others(profile, record), data, host)
    recorded = {advice.finding.id for advice in profile.advice}
    return replace(
        profile,
        advice=(*(cause for cause in causes if cause.finding.id not in recorded), *profile.advice),
    )


def with_stuck(profile: Profile, record: Record, host: Host | None) -> Profile:
    """Add findings on ranks that were waiting at the end of the run, before findings that promise less."""
    advice = profile.advice
    for stuck in stuck_advice(record, host):
        promising = [item for item in advice if item.promise > stuck.promise and not stuck.explains_run]
        at = 1 + advice.index(promising[-1]) if promising else 0
        advice = (*advice[:at], stuck, *advice[at:])
    return replace(profile, advice=advice)


def with_others(profile: Profile, record: Path) -> Profile:
    """Add a note on other records of the command, or on spawned ranks without a record."""
    more = sorted(path.name for path in record.glob("record-*.mpiric")) if is_directory(record) else []
    spawns = any(use.name in _SPAWNING for use in profile.functions)
    if more:
        ran = "spawned ranks" if spawns else "ran MPI several times"
        note = f"the command {ran}; this is the first record, the others are {', '.join(more)}"
    elif spawns and is_directory(record):
        note = "the spawned ranks have no record, since they did not get the environment"
    else:
        return profile
    return replace(profile, notes=(*profile.notes, note))


def load_two(first: Path, second: Path) -> Comparison:
    """Compare two records; the time per step compares runs that were ended early, too."""
    comparison = compare((str(first), load(first)), (str(second), load(second)))
    paces = [without_library_places(run_pace(read_record(path))) for path in (first, second)]
    step = step_change(*paces)
    if step is None:
        return comparison
    return replace(comparison, headline=(*comparison.headline, QuantityChange(PER_STEP, *step)))


def advised_knobs(record: Path) -> tuple[str, ...]:
    """Return the knobs that the advice on a record names, the most promising first."""
    return tuple(dict.fromkeys(knob for advice in load(record).advice for knob in advice.knobs))


def launch_facts(record: Path) -> dict[str, Any]:
    """Read the launch line and the node's cores, which are not in the record, from report.json."""
    try:
        data = parse_json(read_bounded(record / DATA, "report", LARGEST_TEXT_BYTES))
    except (ValueError, MpiricError):
        return {}
    return data if isinstance(data, dict) else {}


def node_topology(data: Any) -> NodeTopology | None:
    """Return the cores of the node, None if the report does not have them."""
    try:
        cores = tuple(
            Core(int(index), int(package), int(numa), tuple(map(int, pus)))
            for index, package, numa, pus in data["cores"]
        )
        return NodeTopology(str(data["host"]), cores)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
