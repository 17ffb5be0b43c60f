"""Choose the saved recipe that fits a launch. Recipes of other users may need this user's consent."""

import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mpiric import knobs
from mpiric.host.host import Host
from mpiric.lab.render import render
from mpiric.launchers import with_parameters
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError, MpiricError, NotFoundError
from mpiric.model.evidence import Fingerprint, Recipe, WholeVerdict
from mpiric.model.knob import ResultsEffect
from mpiric.model.policy import LIBRARY, REDUCING
from mpiric.model.rank_order import RankOrders
from mpiric.model.situation import EVERYTHING, Situation
from mpiric.tuning.policy_files import parse_flat
from mpiric.tuning.recipe import find_recipes, read_recipe
from mpiric.tuning.store import default_store
from mpiric.workflows.launch.fingerprints import of_mpi, program_name
from mpiric.workflows.launch.nodes import without_missing
from mpiric.workflows.launch.parse_job import ParsedJob
from mpiric.workflows.mapping.orders import with_order, with_orders
from mpiric.workflows.policies import exporting, with_policy
from mpiric.workflows.run.collectives import RunRequest, settable
from mpiric.workflows.trials.expected import expected_situation

# Fields whose differences refuse the recipe; all others warn. Settings of one implementation have no meaning
# for another. Another program or launcher is another job.
_REFUSED_FIELDS = {"mpi.implementation", "mpi.abi", "mpi.abi_family", "program.name", "program.launcher"}
# Only usable cores, hardware threads and NUMA nodes count: an allocation can be a part of a machine.
_HARDWARE = {"machine.cpu", "machine.memory_gib", "machine.networks"}
CONSENT = "--allow-rounding"


@dataclass(frozen=True)
class Difference:
    """Field that differs; "" is the value of a missing field."""

    field: str  # part and name: "mpi.version"
    then: str
    now: str
    refuses: bool  # the settings have another meaning here, or none; otherwise they may not be the fastest

    def __str__(self) -> str:
        return f"{self.field}: {self.then or 'none'} when tuned, {self.now or 'none'} now"


def differences(then: Fingerprint, now: Fingerprint) -> tuple[Difference, ...]:
    """Return the fields that differ; differences that refuse the recipe come first."""
    changes: list[Difference] = []
    for part in ("program", "mpi", "machine"):
        before, after = getattr(then, part), getattr(now, part)
        # Fields of the machine that an older recipe does not contain are ignored.
        for name in before if part == "machine" else dict.fromkeys([*before, *after]):
            old, new = before.get(name, ""), after.get(name, "")
            if old == new:
                continue
            field = f"{part}.{name}"
            # Settings are renamed and dropped between major versions of an MPI library.
            other_major = field == "mpi.version" and old.split(".")[0] != new.split(".")[0]
            changes.append(Difference(field, old, new, field in _REFUSED_FIELDS or other_major))
    return tuple(sorted(changes, key=lambda change: not change.refuses))


def fits(then: Fingerprint, now: Fingerprint) -> float | None:
    """Return minus the number of warnings, so that 0 is the best; None if the recipe must be refused."""
    changes = differences(then, now)
    if any(change.refuses for change in changes):
        return None
    return -float(len(changes))


def situation_for(recipe: Path | None, store: Path | None, parsed: ParsedJob, host: Host) -> Situation:
    """Return the situation before the run.

    The MPI library of a script under ``srun`` is unknown before the run and is taken from its recipe.
    Raises NotFoundError if no recipe names it.
    """
    try:
        return expected_situation(parsed, host, EVERYTHING)  # the author of the recipe allowed it
    except NotFoundError:
        recipes = (
            [read_recipe(recipe, check_value)] if recipe else _of_program(program_name(parsed.job), store)
        )
        made_for = [dict(candidate.fingerprint.mpi) for candidate in recipes]
        library = next(
            (candidate for candidate in parsed.other_libraries if of_mpi(candidate) in made_for), None
        )
        if library is None:
            raise
        return expected_situation(replace(parsed, mpi=library), host, EVERYTHING)


def _of_program(name: str, store: Path | None) -> Sequence[Recipe]:
    matches, _ = find_recipes(
        store or default_store(),
        check_value,
        lambda recipe: 0.0 if recipe.fingerprint.program.get("name") == name else None,
    )
    return [recipe for _, recipe in matches]


def with_parts_of(recipe: Recipe | None, situation: Situation, store: Path | None, host: Host) -> Situation:
    """Return the situation with the parameters of the command, the policy and the rank order of a recipe."""
    if recipe is None:
        return situation
    values, tuner = recipe.configuration.as_dict(), situation.tuner
    if recipe.policy:  # readable by rank 0, or exported for the library
        policy = parse_flat("\n".join(recipe.policy).encode(), "the policy of the recipe")
        if values.get("collectives") == "exported":
            tuner = exporting(tuner, policy, store, host)
        elif tuner.library:
            tuner = with_policy(tuner, policy, situation, store, host)
    job = with_parameters(situation.job, recipe.parameters)
    situation = replace(situation, job=job, tuner=tuner)
    if "rank-order" in values and recipe.rank_order:
        directory = store or default_store()
        return with_order(situation, recipe.rank_order, values["rank-order"], directory, host)
    return with_orders(situation, RankOrders(), host) if "honour-reorder" in values else situation


def check_value(knob: str, value: str) -> str:
    """Return the reason why a value of a recipe cannot be used, "" if it can."""
    return next(iter(knobs.check_configuration({knob: value})), "")


def named_recipe(
    path: Path, current: Fingerprint, *, allow_rounding: bool = False
) -> tuple[Recipe, str, list[str]]:
    """Read the recipe in a file. Raises MismatchError if it must not be applied here."""
    recipe = read_recipe(path, check_value)
    if not allow_rounding and (why := lacks_consent(path, recipe)):
        raise MismatchError(why, hint=f"add {CONSENT} if this is acceptable")
    mismatches = differences(recipe.fingerprint, current)
    refused = [str(mismatch) for mismatch in mismatches if mismatch.refuses]
    if refused:
        raise MismatchError(
            f"the recipe {path} does not fit: {'; '.join(refused)}",
            hint="tune this command: mpiric tune -- CMD",
        )
    if recipe.whole is not None and recipe.whole.verdict is WholeVerdict.DIFFERS:
        raise MismatchError(
            f"the recipe {path} is not applied: a complete run gave other results: {recipe.whole.why}",
            hint="tune again, or compare whole runs with `mpiric tune --finish -- CMD`",
        )
    return recipe, str(path), [*_applied(path, recipe), *_warnings(mismatches)]


def other_library(recipe: Recipe, label: str, situation: Situation) -> str:
    """Return a phrase if a recipe is for another library than the requested one, else ""."""
    current = (
        "image" if situation.job.container is not None else situation.mpi_in_force or situation.mpi.label
    )
    made_for = recipe.configuration.as_dict().get("mpi", current)
    if label in ("", made_for):
        return ""
    return f"was tuned for {made_for} and is not applied under {label}"


def fitting_recipe(
    request: RunRequest, current: Fingerprint, situation: Situation, host: Host, label: str
) -> tuple[Recipe | None, str, list[str]]:
    """Return the best fitting recipe of the store whose settings can be written here, its path and messages.

    ``label`` names the requested MPI library, if any.
    """
    store = request.store or default_store()
    without = "no recipe is applied" if request.values else request.without_recipe
    matches, _ = find_recipes(store, check_value, lambda recipe: fits(recipe.fingerprint, current))
    why = f"no recipe in {store} fits this program, machine and MPI; {without}"
    for path, recipe in matches:
        if recipe.whole is not None and recipe.whole.verdict is WholeVerdict.DIFFERS:
            why = f"the recipe {path} is not applied: a complete run gave other results: {recipe.whole.why}"
            continue
        if not request.allow_rounding and (lacking := lacks_consent(path, recipe)):
            why = f"{lacking}; {without} (add {CONSENT} if this is acceptable)"
            continue
        if other := other_library(recipe, label, situation):
            why = f"the recipe {path} {other}; {without}"
            continue
        try:
            usable, _ = without_missing(recipe.configuration, situation, host, launches=False)
            named = with_parts_of(recipe, situation, request.store, host)
            render(settable(usable, situation)[0], named)
        except MpiricError as error:
            why = f"the recipe {path} cannot be applied: {error.message}; {without}"
            continue
        warnings = _warnings(differences(recipe.fingerprint, current))
        return recipe, str(path), [*_applied(path, recipe), *warnings]
    near = _nearest(store, current)
    return None, "", [why, *([near] if near else [])]


def _nearest(store: Path, current: Fingerprint) -> str:
    """Return the reason why the most similar recipe of the program does not fit, "" without such a recipe."""
    matches, errors = find_recipes(
        store,
        check_value,
        lambda recipe: (
            -float(len(differences(recipe.fingerprint, current)))
            if recipe.fingerprint.program.get("name") == current.program.get("name")
            else None
        ),
    )
    if not matches:
        return errors[0].message if errors else ""
    path, recipe = matches[0]
    refused = [str(d) for d in differences(recipe.fingerprint, current) if d.refuses]
    return f"the most similar recipe, {path}, does not fit: {'; '.join(refused)}" if refused else ""


def _applied(path: Path, recipe: Recipe) -> list[str]:
    proof = f", {recipe.evidence.ratio:.2f}× when tuned" if recipe.evidence else ""
    settings = rounding_settings(recipe)
    rounding = [f"may change the last digits of results: {', '.join(settings)}"] if settings else []
    removed = [
        f"the recipe sets {', '.join(recipe.removed)}, which this version of mpiric does not have; "
        "the other settings are applied"
    ]
    return [f"{recipe.configuration} ({path}{proof})", *rounding, *(removed if recipe.removed else [])]


def _warnings(mismatches: Sequence[Difference]) -> list[str]:
    """Return the differences from the tune: one sentence for each of machine, MPI library and command."""
    hardware = any(mismatch.field in _HARDWARE for mismatch in mismatches)
    introductions = {
        "machine": "tuned on another machine" if hardware else "tuned with other CPUs of such a machine",
        "mpi": "tuned with another release of the MPI library",
        "program": "tuned for another build, size or input of the program",
    }
    sentences = []
    for part, introduction in introductions.items():
        of_part = [str(mismatch) for mismatch in mismatches if mismatch.field.startswith(f"{part}.")]
        if of_part:
            sentences.append(f"{introduction}: {'; '.join(of_part)}")
    return sentences


def rounding_settings(recipe: Recipe) -> tuple[str, ...]:
    """Return the settings that may change the order of sums, as ``knob=value``."""
    return tuple(
        f"{name}={value}"
        for name, value in recipe.configuration.items
        if knobs.knob_named(name).results is ResultsEffect.ROUNDING
        or (name == "collectives" and (value == "online" or _chooses_reductions(recipe)))
    )


def _chooses_reductions(recipe: Recipe) -> bool:
    if not recipe.policy:
        return False
    policy = parse_flat("\n".join(recipe.policy).encode(), "the policy of the recipe")
    return any(line.collective in REDUCING and line.candidate != LIBRARY for line in policy.lines)


def lacks_consent(path: Path, recipe: Recipe) -> str:
    """Return the reason why a recipe needs consent, "" if it needs none.

    Consent is needed if another user has written the file, or can write it.
    """
    settings = rounding_settings(recipe)
    try:
        facts = path.stat()
        is_of_others = facts.st_uid != os.geteuid() or bool(facts.st_mode & stat.S_IWOTH)
    except OSError:
        is_of_others = True
    if not settings or not is_of_others:
        return ""
    return (
        f"the recipe {path} belongs to another user and may change the last digits of results "
        f"({', '.join(settings)})"
    )
