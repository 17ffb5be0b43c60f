"""Run a command with the recipe that fits it, under another MPI, or with knobs set by hand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mpiric import knobs
from mpiric.host.host import Host
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MismatchError, MpiricError
from mpiric.model.launch import Launch
from mpiric.model.recipe import Fingerprint, Recipe
from mpiric.model.situation import Allowed, Situation
from mpiric.tuning.fingerprint import Severity, differences, fits
from mpiric.tuning.recipe import find_recipes, read_recipe
from mpiric.tuning.store import default_store
from mpiric.workflows.fingerprints import fingerprint
from mpiric.workflows.observe import expected_situation
from mpiric.workflows.spelling import render
from mpiric.workflows.understand import understand


@dataclass(frozen=True)
class RunRequest:
    """What the user asked for."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    recipe: Path | None = None  # this one and no other
    store: Path | None = None
    use_recipe: bool = True
    values: Mapping[str, str] = field(default_factory=dict)  # knobs set by hand, over those of the recipe


@dataclass(frozen=True)
class Prepared:
    """What will be run, and the sentences that say why."""

    launch: Launch
    configuration: Configuration
    environment: Mapping[str, str]  # what the launch is started on top of
    recipe: str = ""  # its path, "" when none is applied
    words: tuple[str, ...] = ()


def prepare(request: RunRequest, host: Host) -> Prepared:
    """Choose recipe and settings. Raises MismatchError for a named recipe that must not be applied."""
    understood = understand(request.argv, host, request.working_directory, request.environment)
    everything = Allowed(vary_ranks=True, vary_nodes=True, rounding=True)  # the recipe's maker allowed it
    situation = expected_situation(understood, host, everything)
    here = fingerprint(situation.job, situation.machine, situation.mpi, host)
    configuration, path, words = Configuration(), "", list[str]()
    if request.recipe is not None:
        configuration, path, words = _named(request.recipe, here)
    elif request.use_recipe:
        configuration, path, words = _fitting(request.store or default_store(), here, situation)
    values = {**request.values, **_mpi_label(request, situation)}
    if values.get("mpi") == situation.mpi.label:
        values.pop("mpi")  # launcher and program have it anyhow
    for knob, value in values.items():
        configuration = configuration.with_value(knob, value)
    if problems := knobs.check_configuration(values):
        raise MpiricError(problems[0], hint="see docs/reference/knobs.md, or `mpiric tune --dry-run -- CMD`")
    launch = render(configuration, situation)
    return Prepared(launch, configuration, situation.job.environment, path, tuple(words))


def _mpi_label(request: RunRequest, situation: Situation) -> dict[str, str]:
    """``intelmpi`` stands for the one label that starts so."""
    word = request.values.get("mpi", "")
    everyone = (situation.mpi, *situation.others)
    labels = sorted({library.label for library in everyone if library.label.startswith(word)})
    if word and len(labels) > 1 and word not in labels:
        raise MpiricError(f"--mpi {word} can be {' or '.join(labels)}", hint="name one of them")
    return {"mpi": labels[0]} if word and len(labels) == 1 else {}


def check_value(knob: str, value: str) -> str:
    """Why a value of a recipe cannot be used, "" when it can."""
    return next(iter(knobs.check_configuration({knob: value})), "")


def _named(path: Path, here: Fingerprint) -> tuple[Configuration, str, list[str]]:
    recipe = read_recipe(path, check_value)
    found = differences(recipe.fingerprint, here)
    refused = [str(each) for each in found if each.severity is Severity.REFUSE]
    if refused:
        raise MismatchError(
            f"the recipe {path} is not for this: {'; '.join(refused)}",
            hint="tune this command: mpiric tune -- CMD",
        )
    return recipe.configuration, str(path), [_applied(path, recipe), *_warnings(found)]


def _fitting(store: Path, here: Fingerprint, situation: Situation) -> tuple[Configuration, str, list[str]]:
    """The best fitting recipe of the store whose settings can be written here."""
    found, _ = find_recipes([store], check_value, lambda recipe: fits(recipe.fingerprint, here))
    why = f"no recipe in {store} fits this program, machine and MPI; running the command as it is"
    for path, recipe in found:
        try:
            render(recipe.configuration, situation)
        except MpiricError as error:
            why = f"the recipe {path} cannot be applied: {error.message}; running the command as it is"
            continue
        warnings = _warnings(differences(recipe.fingerprint, here))
        return recipe.configuration, str(path), [_applied(path, recipe), *warnings]
    near = _nearest(store, here)
    return Configuration(), "", [why, *([near] if near else [])]


def _nearest(store: Path, here: Fingerprint) -> str:
    """Why the recipe of the same program does not fit, if there is one."""
    found, errors = find_recipes(
        [store],
        check_value,
        lambda recipe: (
            -float(len(differences(recipe.fingerprint, here)))
            if recipe.fingerprint.program.get("name") == here.program.get("name")
            else None
        ),
    )
    if not found:
        return errors[0].message if errors else ""
    path, recipe = found[0]
    refused = [str(d) for d in differences(recipe.fingerprint, here) if d.severity is Severity.REFUSE]
    return f"the nearest, {path}, does not: {'; '.join(refused)}" if refused else ""


def _applied(path: Path, recipe: Recipe) -> str:
    proof = f", {recipe.evidence.ratio:.2f}× when tuned" if recipe.evidence else ""
    return f"{recipe.configuration} ({path}{proof})"


def _warnings(found: tuple[object, ...]) -> list[str]:
    return [f"made elsewhere: {each}" for each in found]
