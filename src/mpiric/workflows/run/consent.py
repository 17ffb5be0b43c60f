"""Settings of a recipe that may change results: a recipe of another user needs this user's consent."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from mpiric import knobs
from mpiric.model.knob import ResultsEffect
from mpiric.model.policy import LIBRARY, REDUCING
from mpiric.model.recipe import Recipe
from mpiric.tuning.policy import parse_flat

CONSENT = "--allow-rounding"


def rounding_settings(recipe: Recipe) -> tuple[str, ...]:
    """Return the settings that may change the order of sums, as ``knob=value``."""
    return tuple(_rounding_settings(recipe))


def _rounding_settings(recipe: Recipe) -> Iterator[str]:
    for name, value in recipe.configuration.items:
        chooses = name == "collectives" and (value == "online" or _chooses_reductions(recipe))
        if chooses or knobs.all_knobs()[name].results is ResultsEffect.ROUNDING:
            yield f"{name}={value}"


def _chooses_reductions(recipe: Recipe) -> bool:
    if not recipe.policy:
        return False
    policy = parse_flat("\n".join(recipe.policy).encode(), "the policy of the recipe")
    return any(line.collective in REDUCING and line.candidate != LIBRARY for line in policy.lines)


def lacks_consent(path: Path, recipe: Recipe) -> str:
    """Return the reason why a recipe needs consent, "" if it needs none."""
    settings = rounding_settings(recipe)
    if not settings or not _is_of_others(path):
        return ""
    return (
        f"the recipe {path} belongs to another user and may change the last digits of results "
        f"({', '.join(settings)})"
    )


def _is_of_others(path: Path) -> bool:
    """Return whether another user has written the file, or can write it."""
    try:
        facts = path.stat()
    except OSError:
        return True
    return facts.st_uid != os.geteuid() or bool(facts.st_mode & stat.S_IWOTH)
