"""Variables of the ranks: set in the launcher's environment if that suffices, else by its options."""

from collections.abc import Mapping
from dataclasses import replace

from mpiric.launchers._arguments import parse_option
from mpiric.launchers._dialect import Scope, dialects
from mpiric.launchers._draft import (
    Draft,
    all_options,
    in_front,
    process_value,
    scope_of,
    set_behind_launcher,
    set_for_process,
    start,
    twin,
    unset_behind_launcher,
    unset_for_process,
    value_behind_launcher,
    without,
)
from mpiric.launchers.containers import container_variables, into_containers, map_containers
from mpiric.model.amount import number_of
from mpiric.model.job import Job, LaunchOption, Meaning, Setting

# The dynamic linker applies these in each program that has them, including the launcher.
_FOR_RANKS_ONLY = frozenset({"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT"})


def rank_value(draft: Draft, name: str) -> tuple[str, str] | None:
    """Return the value of a variable that the ranks currently get, and where it was set."""
    behind = value_behind_launcher(draft.job, name)
    if behind is not None:
        return behind, "env in front of the program"
    inside = container_variables(draft.job)
    if name in inside:
        return inside[name], "container option"
    for option in reversed(all_options(draft.job)):
        if option.meaning is Meaning.ENVIRONMENT and option.values[0] == name and len(option.values) == 2:
            return option.values[1], "command line"
    value = process_value(draft, name)
    variable_list = draft.dialect.variable_list
    wins = value is not None and not _limited(draft)
    if variable_list is not None and not wins and name in (listed := variable_list.read(draft.job)):
        return listed[name], "command line"
    return None if value is None else (value, "environment")


def given_to_ranks(job: Job, name: str) -> str:
    """Return the value of a variable that the ranks of a command get, "" if none."""
    value = rank_value(start(job, dialects()[job.dialect]), name)
    return value[0] if value else ""


def set_variables(draft: Draft, variables: Mapping[str, tuple[str, str]]) -> Draft:
    """Set ``name → (knob, value)`` for the ranks, through launchers and containers."""
    before = {name: rank_value(draft, name) for name in variables}
    replaced: dict[str, tuple[str, ...]] = {}
    for name in sorted(variables):
        draft, replaced[name] = _withdraw(draft, name)
    job = draft.job
    for name, (_, value) in variables.items():
        job = set_behind_launcher(job, name, value)
    draft = replace(draft, job=job)
    draft, outside = into_containers(draft, {name: value for name, (_, value) in variables.items()})
    by_option = {name: value for name, value in outside.items() if _by_option(draft, name, value)}
    in_process = {name: value for name, value in outside.items() if name not in by_option}
    for name in sorted(variables):
        knob, value = variables[name]
        previous = before[name]
        overrides = [f"{name}={previous[0]} ({previous[1]})"] if previous else []
        by_environment = any(outer == name or outer.endswith(f"ENV_{name}") for outer in in_process)
        where = "environment" if by_environment else "command line"
        draft = draft.noting(Setting(knob, name, value, where, "; ".join([*overrides, *replaced[name]])))
    return _forward(draft, by_option, in_process)


def unset_variable(draft: Draft, knob: str, name: str) -> Draft:
    """Remove a variable from the ranks; nothing is reported if they do not have it."""
    before = rank_value(draft, name)
    draft, _ = _withdraw(draft, name)
    draft = unset_for_process(replace(draft, job=unset_behind_launcher(draft.job, name)), name)
    if before is None:
        return draft
    return draft.noting(Setting(knob, name, "(unset)", before[1], f"{name}={before[0]} ({before[1]})"))


def _withdraw(draft: Draft, name: str) -> tuple[Draft, tuple[str, ...]]:
    """Return the draft without the user's setting of a variable, or an option with the same effect."""
    dialect = draft.dialect
    job, _ = without(draft.job, lambda o: o.meaning is Meaning.ENVIRONMENT and o.values[0] == name)
    job, twins = without(job, lambda o: o.meaning is not Meaning.ENVIRONMENT and twin(dialect, o) == name)
    if dialect.variable_list is not None:
        job = dialect.variable_list.without(job, name)
    job = map_containers(job, lambda engine, arguments: engine.withdraw(arguments, name))
    return replace(draft, job=job), tuple(f"{' '.join(o.tokens)} (command line)" for o in twins)


def _by_option(draft: Draft, name: str, value: str) -> bool:
    dialect = draft.dialect
    if dialect.variable_list is not None:
        return name in _FOR_RANKS_ONLY and "," not in value
    if Meaning.ENVIRONMENT not in dialect.write:
        return False
    if name in _FOR_RANKS_ONLY or _limited(draft):
        return True
    return needs_forwarding(draft) and not name.startswith(dialect.travels or ("\0",))


def needs_forwarding(draft: Draft) -> bool:
    """Return whether a rank may run on another node than the launcher."""
    job = draft.job
    elsewhere = {Meaning.HOSTS, Meaning.HOSTFILE, Meaning.NODES}
    if any(option.meaning in elsewhere for option in all_options(job)):
        return True
    if any(o.variable in job.environment for o in draft.dialect.options if o.meaning in elsewhere):
        return True
    names = ("SLURM_NNODES", "SLURM_JOB_NUM_NODES", "PBS_NUM_NODES")
    counts = [job.environment.get(name, "1") for name in names]
    several = any(number_of(count) > 1 for count in counts)
    return several or any(
        name in job.environment for name in ("PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "LSB_MCPU_HOSTS")
    )


def _limited(draft: Draft) -> bool:
    limits = [o.values[0] for o in all_options(draft.job) if o.meaning is Meaning.ENVIRONMENT_LIMIT]
    if not limits:
        names = {o.variable for o in draft.dialect.options if o.meaning is Meaning.ENVIRONMENT_LIMIT}
        limits = [value for name in names if name and (value := process_value(draft, name))]
    return any(limit.split(",")[0].lower() != "all" for limit in limits)


def _forward(draft: Draft, by_option: Mapping[str, str], in_process: Mapping[str, str]) -> Draft:
    dialect = draft.dialect
    limited = _limited(draft)
    for name in sorted(in_process):
        draft = set_for_process(draft, name, in_process[name])
    if dialect.variable_list is not None:
        for name in sorted(by_option):
            draft = unset_for_process(draft, name)  # the environment of srun would override the list
        more = {**(dict.fromkeys(in_process) if limited else {}), **by_option}
        return replace(draft, job=dialect.variable_list.extended(draft.job, more)) if more else draft
    arguments = [
        dialect.write[Meaning.ENVIRONMENT]((name, value)) for name, value in sorted(by_option.items())
    ]
    options = [parse_option(dialect, word) for word in arguments if word]
    everywhere: list[LaunchOption] = []
    alone: list[LaunchOption] = []
    for option in options:
        (everywhere if scope_of(dialect, option) is Scope.LAUNCH else alone).append(option)
    return replace(draft, job=in_front(in_front(draft.job, everywhere), alone, every_segment=True))
