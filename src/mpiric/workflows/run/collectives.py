"""The request of `mpiric run`, its options for collectives, and the settings of files that apply here."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from mpiric import knobs
from mpiric.host.host import Host
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, NoRuntimeError, NotFoundError
from mpiric.model.policy import COLLECTIVES
from mpiric.model.quoting import printable
from mpiric.model.situation import Situation, Tuner
from mpiric.model.storage import HERE, parse_layouts, write_layouts
from mpiric.workflows.launch.findings import hint_file_findings
from mpiric.workflows.policies import check_mpi, check_writable, read_policy, site_policy, with_policy

_RULES = "OMPI_MCA_coll_tuned_use_dynamic_rules"


@dataclass(frozen=True)
class RunRequest:
    """The options of `mpiric run`; ``argv`` is the user's launch line."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    recipe: Path | None = None  # apply only this recipe
    store: Path | None = None
    use_recipe: bool = True
    allow_rounding: bool = False  # consent to rounding settings of another user's recipe
    without_recipe: str = "running the command as it is"  # sentence for a run without an applicable recipe
    values: Mapping[str, str] = field(default_factory=dict)  # knobs set by hand, which replace the recipe's
    file_templates: Mapping[str, str] = field(default_factory=dict)  # relative path → text with {NAME}
    policy: Path | None = None  # algorithm policy, JSON or flat
    rank_order: Path | None = None  # slot of each rank, as in spec/formats/order.md
    policy_out: Path | None = None  # output file of the learned policy
    learn_at_most: str = ""  # share of the time in collectives; "" for the bound of the runtime
    learn_only: tuple[str, ...] = ()  # collectives to learn; empty for all
    learn_ranks: int = 0  # smallest communicator to learn on; 0 for the minimum of the runtime
    reproducible: bool = False
    starts: bool = False  # the run starts next, so that the nodes of the job may be queried
    packs: bool = False  # the run is for other machines, so that nothing is checked on this one
    safe_defaults: bool = False  # apply the safe defaults if nothing else is applied
    reprove: bool = True  # compare the choices of the policy with the library's choice from time to time

    @property
    def tunes_collectives(self) -> bool:
        """Return whether an option for collectives was given."""
        learns = self.policy_out or self.learn_at_most or self.learn_only or self.learn_ranks
        return bool(self.policy or learns or self.reproducible)

    @property
    def changes_run(self) -> bool:
        """Return whether the request cannot be met by the unchanged command."""
        return bool(self.recipe or self.values or self.rank_order or self.tunes_collectives)


def with_collectives(
    request: RunRequest, configuration: Configuration, situation: Situation, host: Host
) -> tuple[Situation, dict[str, str], list[str]]:
    """Apply the options for collectives, or the policy of the site if there are none.

    Returns the situation, knob values and messages.
    """
    tuner = situation.tuner
    if not request.tunes_collectives:
        site = site_policy(situation.mpi, request.environment)
        is_set = "collectives" in configuration.as_dict() or "collectives" in request.values
        if site is None or is_set or not request.use_recipe:
            return situation, {}, []
        if not tuner.library:
            why_not = f"the policy of this site is not applied: {tuner.why_not}"
            return situation, {}, [why_not] if tuner.why_not else []
        try:
            tuner = _with_policy_file(site, request, situation, host)
        except MpiricError as error:
            return situation, {}, [f"the policy of this site is not applied: {error.message}"]
        if not request.reprove:
            tuner = replace(tuner, settings=(("MPIRIC_REPROVE", "0"),))
        sentences = [
            f"collectives follow the policy of this site, {site}",
            *_open_mpi_4_notes(request, situation),
        ]
        return replace(situation, tuner=tuner), {"collectives": "policy"}, sentences
    if tuner.why_not:
        raise NoRuntimeError(
            f"collectives cannot be tuned: {tuner.why_not}",
            hint="remove the options for collectives, such as --policy",
        )
    if not tuner.library:
        raise NotFoundError(
            f"this installation of mpiric cannot tune the collectives of {situation.mpi.label}",
            hint="remove the options for collectives, such as --policy",
        )
    if unknown := sorted(set(request.learn_only) - COLLECTIVES):
        raise MpiricError(
            f"--learn-only: unknown collective {', '.join(unknown)}", hint="for example allreduce,bcast"
        )
    if request.policy_out:
        check_writable(request.policy_out.absolute())
    if request.policy:
        tuner = _with_policy_file(request.policy, request, situation, host)
    value = "policy" if request.policy and not request.policy_out else "online"
    settings = {
        "MPIRIC_POLICY_OUT": str(request.policy_out.absolute()) if request.policy_out else "",
        "MPIRIC_LEARN_AT_MOST": request.learn_at_most,
        "MPIRIC_LEARN_ONLY": ",".join(request.learn_only),
        "MPIRIC_LEARN_RANKS": str(request.learn_ranks or ""),
        "MPIRIC_REPRODUCIBLE": "1" if request.reproducible else "",
        "MPIRIC_REPROVE": "" if request.reprove else "0",
    }
    tuner = replace(tuner, settings=tuple((name, text) for name, text in settings.items() if text))
    return replace(situation, tuner=tuner), {"collectives": value}, _open_mpi_4_notes(request, situation)


def _open_mpi_4_notes(request: RunRequest, situation: Situation) -> list[str]:
    """Mention the setting without which Open MPI 4 ignores choices, and which changes its other choices."""
    if not situation.mpi.label.startswith("openmpi-4.") or request.environment.get(_RULES) == "1":
        return []
    return [f"{_RULES}=1 is set: Open MPI 4 accepts choices of algorithms only with it"]


def _with_policy_file(path: Path, request: RunRequest, situation: Situation, host: Host) -> Tuner:
    policy = read_policy(path)
    check_mpi(policy, situation.mpi, str(path))
    return with_policy(
        situation.tuner, policy, situation, request.store, host, reproducible=request.reproducible
    )


_MPI_IO_KNOBS = frozenset({"mpi-io", "mpi-io-library", "mpi-io-driver", "hdf5"})
_COPY_HINT = "remove files that the program creates again, or copy them: `cp FILE COPY && mv COPY FILE`"
_LINK_HINT = "start the program in the directory of the files, or set the layout of that directory by hand"
_WHY_NOT = {"layout": knobs.why_not_set, "mpi-io": knobs.why_hints_not_set}
_TUNE_HINT = "`mpiric machine` shows the file systems; `mpiric tune --only io -- CMD` finds settings for them"


def with_hint(sentence: str, hint: str) -> str:
    """Return a message and its hint on two lines, in the format of errors."""
    return f"{sentence}\nhint: {hint}"


def file_warnings(configuration: Configuration, situation: Situation, host: Host) -> Iterator[str]:
    """Yield warnings with hints about obstacles to the file settings of a configuration.

    An exhausted quota concerns every file setting; locks and the user's file of hints concern MPI-IO.
    """
    acting = {name for name in configuration.as_dict() if knobs.knob_named(name).acts_on_files}
    if not acting:
        return
    relevant = {"quota-used-up", *(["mount-without-flock"] if acting & _MPI_IO_KNOBS else [])}
    problems = [problem for problem in knobs.inherited_problems(situation) if problem.id in relevant]
    if "mpi-io" in acting:
        problems += hint_file_findings(situation, host)
    for finding in problems:
        yield with_hint(f"{finding.says} ({finding.evidence})", finding.fix)


def files_that_stay(value: str, working_directory: str) -> list[str]:
    """Return a warning about existing files that match a value of `layout` and keep their present layout.

    A rule for the whole working directory is skipped, since the directory holds inputs.
    """
    names: list[str] = []
    for rule in parse_layouts(value):
        if rule.where == HERE:
            continue
        directory = Path(working_directory, "" if rule.is_pattern else rule.where)
        with suppress(OSError), os.scandir(directory) as entries:
            pattern = rule.where if rule.is_pattern else "*"
            names += [entry.name for entry in entries if fnmatchcase(entry.name, pattern) and entry.is_file()]
    if not names:
        return []
    first, more = printable(min(names), keep=""), len(names) - 1
    which = f"{first} and {more} more file{'s' * (more > 1)} exist" if more else f"{first} exists"
    return [with_hint(f"{which} already: an existing file keeps its layout", _COPY_HINT)]


def settable(configuration: Configuration, situation: Situation) -> tuple[Configuration, list[str]]:
    """Return the settings that the file system of the job supports, and a message about each other one."""
    sentences = []
    for knob, why_not in _WHY_NOT.items():
        value = configuration.as_dict().get(knob)
        if value is not None and (why := why_not(value, situation)):
            configuration = configuration.with_value(knob, None)
            sentences.append(with_hint(f"{knob}={value} is not applied: {why}", _TUNE_HINT))
    value = configuration.as_dict().get("layout")
    if value is None:
        return configuration, sentences
    directory = Path(situation.job.working_directory)
    rules = parse_layouts(value)
    # Others may write where a link leads out of the working directory.
    outside = [
        rule
        for rule in rules
        if not rule.is_pattern and not (directory / rule.where).resolve().is_relative_to(directory.resolve())
    ]
    if outside:
        inside = [rule for rule in rules if rule not in outside]
        value = write_layouts(inside) if inside else None
        configuration = configuration.with_value("layout", value)
    for rule in outside:
        why = f"'{rule.where}' is a link out of the working directory"
        sentences.append(with_hint(f"layout={write_layouts([rule])} is not applied: {why}", _LINK_HINT))
    return configuration, [*sentences, *(files_that_stay(value, str(directory)) if value else ())]
