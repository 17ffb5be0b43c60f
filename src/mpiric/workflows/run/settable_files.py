"""Settings of files that can be set where the job writes; the others are left out, with a sentence each."""

from pathlib import Path

from mpiric import knobs
from mpiric.model.configuration import Configuration
from mpiric.model.file_rules import LayoutRule, parse_layouts, write_layouts
from mpiric.model.situation import Situation
from mpiric.workflows.run.files_that_stay import files_that_stay
from mpiric.workflows.run.with_hint import with_hint

_WHY_NOT = {"layout": knobs.why_not_set, "mpi-io": knobs.why_hints_not_set}
_TUNE_HERE = "`mpiric machine` shows what is there, `mpiric tune --only io -- CMD` finds what can be set here"


def settable(configuration: Configuration, situation: Situation) -> tuple[Configuration, list[str]]:
    """What of a configuration can be set where the job writes, and a sentence on each thing that cannot."""
    sentences = []
    for knob, why_not in _WHY_NOT.items():
        value = configuration.as_dict().get(knob)
        if value is not None and (why := why_not(value, situation)):
            configuration = configuration.with_value(knob, None)
            sentences.append(with_hint(f"{knob}={value} is left out: {why}", _TUNE_HERE))
    value = configuration.as_dict().get("layout")
    if value is None:
        return configuration, sentences
    directory = situation.job.working_directory
    rules = parse_layouts(value)
    astray = [rule for rule in rules if _leads_out(rule, Path(directory))]
    if astray:
        settable_rules = [rule for rule in rules if rule not in astray]
        value = write_layouts(settable_rules) if settable_rules else None
        configuration = configuration.with_value("layout", value)
        sentences += map(_left_out, astray)
    return configuration, [*sentences, *(files_that_stay(value, directory) if value else ())]


def _leads_out(rule: LayoutRule, directory: Path) -> bool:
    """Whether a rule's directory is elsewhere by a link: others may write there, on another file system."""
    return not rule.is_pattern and not (directory / rule.where).resolve().is_relative_to(directory.resolve())


def _left_out(rule: LayoutRule) -> str:
    why = f"'{rule.where}' leads out of the working directory by a link"
    return with_hint(
        f"layout={write_layouts([rule])} is left out: {why}",
        "start the program where the files lie, or set the layout of that directory by hand",
    )
