"""Settings of files that can be set where the job writes; the others are left out, with a sentence each."""

from pathlib import Path

from mpiric import knobs
from mpiric.model.configuration import Configuration
from mpiric.model.file_rules import LayoutRule, parse_layouts, write_layouts
from mpiric.model.situation import Situation
from mpiric.workflows.run.files_that_stay import files_that_stay
from mpiric.workflows.run.with_hint import with_hint

_WHY_NOT = {"layout": knobs.why_not_set, "mpi-io": knobs.why_hints_not_set}
_TUNE_HINT = "`mpiric machine` shows the file systems; `mpiric tune --only io -- CMD` finds settings for them"


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
    directory = situation.job.working_directory
    rules = parse_layouts(value)
    outside = [rule for rule in rules if _leads_out(rule, Path(directory))]
    if outside:
        settable_rules = [rule for rule in rules if rule not in outside]
        value = write_layouts(settable_rules) if settable_rules else None
        configuration = configuration.with_value("layout", value)
        sentences += map(_not_applied, outside)
    return configuration, [*sentences, *(files_that_stay(value, directory) if value else ())]


def _leads_out(rule: LayoutRule, directory: Path) -> bool:
    """Return whether a link leads out of the working directory, where others may write."""
    return not rule.is_pattern and not (directory / rule.where).resolve().is_relative_to(directory.resolve())


def _not_applied(rule: LayoutRule) -> str:
    why = f"'{rule.where}' is a link out of the working directory"
    return with_hint(
        f"layout={write_layouts([rule])} is not applied: {why}",
        "start the program in the directory of the files, or set the layout of that directory by hand",
    )
