"""Run a command with the recipe that fits it, under another MPI, or with knobs set by hand."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mpiric import knobs, launchers, mpis
from mpiric.host.host import Host
from mpiric.lab.render import completed, render
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError, MpiricError, NoRuntimeError, NotFoundError
from mpiric.model.evidence import Fingerprint, Recipe, WholeVerdict
from mpiric.model.job import LEFT_OUT, Job, Launch, Meaning
from mpiric.model.knob import SET_THE_CPUS, FilesEffect
from mpiric.model.machine import pu_list
from mpiric.model.quoting import sh_word
from mpiric.model.situation import Situation
from mpiric.tuning.store import default_store
from mpiric.workflows.defaults import DefaultLaunch, with_safe_defaults
from mpiric.workflows.launch.findings import breaking
from mpiric.workflows.launch.fingerprints import fingerprint
from mpiric.workflows.launch.nodes import without_missing
from mpiric.workflows.launch.parse_job import ParsedJob, parse_job, program_path
from mpiric.workflows.mapping.orders import check_order, read_order, with_order, with_orders
from mpiric.workflows.policies import site_policy
from mpiric.workflows.run.collectives import RunRequest, file_warnings, settable, with_collectives
from mpiric.workflows.run.recipe_choice import (
    fitting_recipe,
    named_recipe,
    other_library,
    situation_for,
    with_parts_of,
)


@dataclass(frozen=True)
class AppliedRecipe:
    """An applied recipe, with its path, the situation and its fingerprint."""

    recipe: Recipe
    path: Path
    situation: Situation
    fingerprint: Fingerprint


@dataclass(frozen=True)
class PreparedRun:
    """Launch to make, and messages that explain it."""

    launch: Launch
    configuration: Configuration
    environment: Mapping[str, str]  # environment without the changes of the launch
    recipe: str = ""  # path of the applied recipe, "" without one
    sentences: tuple[str, ...] = ()
    applied: AppliedRecipe | None = None
    job: Job | None = None  # the user's command

    @property
    def is_first_whole(self) -> bool:
        """Return whether no whole run was made with the applied recipe yet."""
        check = self.applied.recipe.whole if self.applied else None
        return check is not None and check.verdict is WholeVerdict.NOT_RUN


def prepare(request: RunRequest, host: Host, parsed: ParsedJob | None = None) -> PreparedRun:
    """Choose recipe and settings; ``parsed`` is the launch line if it has been read already.

    If the settings need the runtime and it cannot be loaded, the command runs unchanged, since a failure
    would cost a job its time. Raises MismatchError for a named recipe that must not be applied.
    """
    parsed = parsed or parse_job(
        request.argv,
        host,
        request.working_directory,
        request.environment,
        takes_another_mpi=bool(request.values.get("mpi")),
    )
    parsed = replace(parsed, job=replace(parsed.job, file_templates=request.file_templates))
    warnings = breaking(parsed, host)
    try:
        prepared = _with_settings(request, parsed, warnings, host)
    except NoRuntimeError as error:
        prepared = _untouched(request, parsed, warnings, error)
    return replace(prepared, job=parsed.job)


def _untouched(
    request: RunRequest, parsed: ParsedJob, warnings: Sequence[str], error: MpiricError
) -> PreparedRun:
    """Return the unchanged command, with the reason."""
    sentences = (*warnings, f"{error.message}; {request.without_recipe}")
    launch = launchers.render(parsed.job, [])
    return PreparedRun(launch, Configuration(), parsed.job.environment, sentences=sentences)


def _with_settings(
    request: RunRequest, parsed: ParsedJob, warnings: Sequence[str], host: Host
) -> PreparedRun:
    """Return the command with the recipe and the other requested settings."""
    try:
        situation = situation_for(request.recipe, request.store, parsed, host)
    except NotFoundError as error:
        if request.changes_run:
            raise
        return _untouched(request, parsed, warnings, error)
    request, defaults = _with_defaults(request, situation, host)
    fingerprints = fingerprint(situation.job, situation.machine, situation.mpi, host)
    recipe, path, sentences = None, "", [*warnings]
    label = _mpi_label(request, situation).get("mpi", request.values.get("mpi", ""))
    if request.recipe is not None:
        recipe, path, more = named_recipe(request.recipe, fingerprints, allow_rounding=request.allow_rounding)
        if why := other_library(recipe, label, situation):
            raise MismatchError(f"the recipe {path} {why}", hint="remove --mpi or --recipe")
        sentences += more
    elif request.use_recipe:
        recipe, path, more = fitting_recipe(request, fingerprints, situation, host, label)
        sentences += more
    configuration = recipe.configuration if recipe else Configuration()
    if recipe is not None and not request.packs:
        configuration, more = without_missing(configuration, situation, host, launches=request.starts)
        sentences += more
    situation = with_parts_of(recipe, situation, request.store, host)
    situation, order = _with_given_order(request, situation, host)
    situation, collectives, more = with_collectives(request, configuration, situation, host)
    sentences += more
    values = {**collectives, **order, **request.values, **_mpi_label(request, situation)}
    if values.get("mpi") == "image" and situation.job.container is None:
        raise MpiricError(
            "--mpi image needs a command that starts a container image",
            hint="name an MPI library: mpiric mpi list",
        )
    if "mpi" in values and values["mpi"] in (situation.mpi_in_force, "image"):
        sentences += _unseen_library(values.pop("mpi"), situation, host)  # it is in use already
    for knob, value in values.items():
        configuration = configuration.with_value(knob, value)
    if problems := knobs.check_configuration(values):
        raise MpiricError(problems[0], hint="`mpiric tune --dry-run -- CMD` shows the values")
    configuration, left_out = settable(configuration, situation)
    sentences += [*left_out, *file_warnings(configuration, situation, host)]
    sentences += [f"applied: {configuration}"] if recipe is None and configuration else []
    sentences += _layout_notes(configuration, situation)
    sentences += _binding_notes(configuration, situation)
    sentences += _neighbour_notes(configuration, situation) if request.starts else []
    if defaults is not None and recipe is None and not configuration:
        sentences += [] if request.use_recipe else [defaults.sentence]
        return PreparedRun(defaults.launch, configuration, situation.job.environment, "", tuple(sentences))
    launch = render(configuration, situation)
    sentences += [
        f"left out, since it only concerns {situation.mpi.label} and its launcher: {setting.name}"
        for setting in launch.settings
        if setting.value == LEFT_OUT
    ]
    alone = recipe is not None and configuration == recipe.configuration
    applied = AppliedRecipe(recipe, Path(path), situation, fingerprints) if recipe and alone else None
    return PreparedRun(launch, configuration, situation.job.environment, path, tuple(sentences), applied)


def _with_defaults(
    request: RunRequest, situation: Situation, host: Host
) -> tuple[RunRequest, DefaultLaunch | None]:
    """Return the request with a sentence for a run without a recipe, and the launch of such a run."""
    has_policy = request.use_recipe and site_policy(situation.mpi, request.environment) is not None
    if not request.safe_defaults or request.changes_run or has_policy:
        return request, None
    defaults = with_safe_defaults(situation, host)
    return (replace(request, without_recipe=defaults.sentence) if defaults else request), defaults


def _unseen_library(label: str, situation: Situation, host: Host) -> Iterator[str]:
    """Yield a sentence if the launcher's own library is named and the program's only shows when it runs."""
    path = program_path(situation.job, host)
    if label != "image" and not (path and mpis.abi_of_program(host, path)):
        yield (
            f"the launcher already belongs to {label}; which MPI {situation.job.program[0]} loads only shows "
            "when it runs: `mpiric doctor -- CMD` checks that the ranks find each other"
        )


def _binding_notes(configuration: Configuration, situation: Situation) -> Iterator[str]:
    """Yield sentences on the ranks' binding under another library."""
    values = configuration.as_dict()
    if wrapper := situation.job.binding_wrapper:
        for name in sorted(values.keys() & SET_THE_CPUS):
            yield f"{name}={values[name]} has no effect: '{wrapper}' behind the launcher sets the CPUs"
    if values.get("mpi", "host") == "host" or "binding" in values:
        return
    level = completed(configuration, situation).as_dict().get("binding")
    library = situation.mpi.label
    if level is not None:
        yield f"binding={level}: ranks are bound as {library} does by default; --set binding=LEVEL changes it"
    elif situation.mpi.launcher and not knobs.is_binding_kept(values["mpi"], situation):
        yield (
            f"ranks are bound by the default of {values['mpi']}, which may differ from the default "
            f"of {library}; --set binding=LEVEL sets it"
        )


def _neighbour_notes(configuration: Configuration, situation: Situation) -> Iterator[str]:
    """Yield a sentence if another job on this node is bound to CPUs, and this launch binds its ranks, too."""
    chosen = configuration.as_dict().get("binding")
    options = (option for segment in situation.job.segments for option in segment.options)
    levels = [" ".join(option.values) for option in options if option.meaning is Meaning.BINDING]
    level = chosen or (levels or [knobs.binding_in_force(situation.mpi, situation)])[-1]
    if situation.nodes > 1 or level in ("", "none", "free") or not situation.neighbours:
        return
    first, free = situation.neighbours[0], situation.free_cpus
    bound = pu_list(pu for process in situation.neighbours for pu in process.cpus_allowed)
    name = first.program.rsplit("/", 1)[-1]
    enough = len(free) >= situation.ranks_per_node
    use = f"--set binding=free uses {pu_list(free)}" if enough else "there are not enough others"
    job = f"another job ({first.job}: {name}) is bound to the CPUs {bound}"
    yield f"{job}, and this launch binds its ranks: {use}"


def _layout_notes(configuration: Configuration, situation: Situation) -> Iterator[str]:
    """Yield the note of each setting that changes the layout of files, which says how to undo it."""
    for name, value in configuration.as_dict().items():
        knob = knobs.knob_named(name)
        spelling = knob.settings(value, situation) if knob.settings else None
        if spelling is not None and knob.files is FilesEffect.RELAYOUT:
            yield f"{name}={value}: {spelling.note}"


def _with_given_order(
    request: RunRequest, situation: Situation, host: Host
) -> tuple[Situation, dict[str, str]]:
    """Apply the rank order of a file, and the orders of process topologies."""
    if request.values.get("honour-reorder"):
        situation = with_orders(situation, situation.rank_orders, host)
    if request.rank_order is None:
        return situation, {}
    slots, store = read_order(request.rank_order), request.store or default_store()
    check_order(slots, situation.job.ranks, str(request.rank_order))
    return with_order(situation, slots, "given", store, host), {"rank-order": "given"}


def _mpi_label(request: RunRequest, situation: Situation) -> dict[str, str]:
    """Complete a prefix such as ``intelmpi`` to the only label that begins with it."""
    word = request.values.get("mpi", "")
    libraries = (situation.mpi, *situation.other_libraries)
    labels = sorted({library.label for library in libraries if library.label.startswith(word)})
    if word and len(labels) > 1 and word not in labels:
        raise MpiricError(f"--mpi {word} is ambiguous: {', '.join(labels)}", hint="name one of them")
    return {"mpi": labels[0]} if word and len(labels) == 1 else {}


def with_values(
    argv: Sequence[str],
    working_directory: str,
    environment: Mapping[str, str],
    values: Mapping[str, str],
    host: Host,
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return launch line and environment of a command with values of knobs, such as another MPI library."""
    request = RunRequest(tuple(argv), working_directory, environment, use_recipe=False, values=values)
    launch = prepare(request, host).launch
    remaining = {name: value for name, value in environment.items() if name not in launch.unset}
    return tuple(launch.argv), {**remaining, **launch.environment}


def with_mpi(command: str, label: str) -> str:
    """Add ``--mpi`` to an mpiric command that contains a launch line."""
    options, separator, line = command.partition(" -- ")
    return f"{options} --mpi {sh_word(label)}{separator}{line}" if label and separator else command
