"""Job + spelled knobs → Launch."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mpiric.launchers._arguments import parse_option
from mpiric.launchers._dialect import Dialect, dialects
from mpiric.launchers._draft import (
    Draft,
    all_options,
    gives_way,
    identity,
    in_front,
    known,
    process_value,
    set_for_process,
    start,
    twin,
    without,
)
from mpiric.launchers._translate import joined, translate
from mpiric.launchers._variables import rank_value, set_variables, unset_variable
from mpiric.launchers.containers import bind_paths
from mpiric.model.errors import MismatchError
from mpiric.model.job import LEFT_OUT, Job, Launch, LaunchOption, Meaning, Setting, Spelling

Spelled = tuple[str, str, Spelling]  # knob, value, spelling

# Knobs whose options prepare the options of other knobs come first.
_PRECEDENCE = {"threads-per-rank": 0, "mapping": 1}

# Variables with a list of NAME=VALUE, to which several knobs and the user may each add.
_JOINED = {"GLIBC_TUNABLES": ":"}


def render(job: Job, spellings: Sequence[Spelled] = ()) -> Launch:
    """Return the launch of a job with knobs set; without knobs it is the command of the user.

    Raises MismatchError if two knobs contradict each other or the launcher has no syntax for a setting.
    """
    draft = start(job, dialects()[job.dialect])
    draft = _switched(draft, spellings)
    draft = _with_ranks(draft, spellings)
    draft = _with_options(draft, spellings)
    draft = _with_environment(draft, spellings)
    prepare = tuple(command for _, _, spelling in spellings for command in spelling.prepare)
    files = {path: text for _, _, spelling in spellings for path, text in spelling.files.items()}
    return replace(draft.launch(), prepare=prepare, files=files)


def _switched(draft: Draft, spellings: Sequence[Spelled]) -> Draft:
    switches = [(knob, spelling) for knob, _, spelling in spellings if spelling.dialect]
    if not switches:
        return draft
    knob, spelling = switches[-1]
    if any(
        (other_spelling.dialect, other_spelling.launcher_words) != (spelling.dialect, spelling.launcher_words)
        for _, other_spelling in switches
    ):
        raise MismatchError(f"{switches[0][0]} and {knob} require different launchers")
    target = dialects()[spelling.dialect]
    translation = translate(draft.job, target, spelling.launcher_words, crowded=spelling.crowded)
    tokens = [token for option in draft.job.segments[0].options for token in option.tokens]
    before = " ".join((*draft.job.launcher_words, *tokens))
    setting = Setting(
        knob, "launcher", " ".join(spelling.launcher_words), "command line", f"{before} (command line)"
    )
    draft = replace(draft, job=translation.job, dialect=target).noting(setting)
    for option in translation.left_out:
        draft = draft.noting(Setting(knob, " ".join(option.tokens), LEFT_OUT, "command line"))
    return set_variables(draft, {name: (knob, value) for name, value in translation.variables.items()})


def _with_ranks(draft: Draft, spellings: Sequence[Spelled]) -> Draft:
    for knob, _, spelling in spellings:
        if spelling.ranks is None:
            continue
        if len(draft.job.segments) > 1:
            raise MismatchError("cannot vary the number of ranks of a launch with several programs")
        arguments = _option_tokens(draft.dialect, Meaning.RANKS, (str(spelling.ranks),))
        draft = _put(draft, knob, parse_option(draft.dialect, arguments))
    return draft


def _option_tokens(dialect: Dialect, meaning: Meaning, values: tuple[str, ...]) -> tuple[str, ...]:
    arguments = dialect.write[meaning](values) if meaning in dialect.write else None
    if arguments is None:
        raise MismatchError(f"{dialect.name} has no option for {meaning.value} {' '.join(values)}")
    return arguments


def _with_options(draft: Draft, spellings: Sequence[Spelled]) -> Draft:
    """Set options of knobs, joining shared ones: the width of a rank first, the binding last."""
    options_by_key: dict[tuple[object, ...], tuple[str, LaunchOption]] = {}
    ordered = sorted(spellings, key=lambda spelled: _PRECEDENCE.get(spelled[0], 2))
    for knob, _, spelling in ordered:
        for arguments in spelling.options:
            option = _spelled_option(draft, arguments)
            key = identity(draft.dialect, option)
            if key in options_by_key:
                option = joined(draft.dialect, options_by_key[key][1], option)
            options_by_key[key] = (knob, option)
    for knob, _, spelling in ordered:
        if spelling.in_front:
            job = replace(draft.job, prefix=(*draft.job.prefix, *spelling.in_front))
            setting = Setting(knob, spelling.in_front[0], " ".join(spelling.in_front[1:]), "command line")
            draft = replace(draft, job=job).noting(setting)
    for knob, option in options_by_key.values():
        if option.meaning is Meaning.ENVIRONMENT:
            name, value = option.values
            draft = set_variables(draft, {name: (knob, value)})
        else:
            draft = _put(draft, knob, option)
    return draft


def _spelled_option(draft: Draft, arguments: tuple[str, ...]) -> LaunchOption:
    if not draft.job.launcher_words:
        raise MismatchError(f"'{' '.join(arguments)}' needs a launcher, but the command has none")
    option = parse_option(draft.dialect, arguments)
    if known(draft.dialect, option) is None:
        raise MismatchError(f"{draft.dialect.name} does not have the option '{' '.join(arguments)}'")
    return option


def _put(draft: Draft, knob: str, option: LaunchOption) -> Draft:
    """Return the draft with an option that replaces all options with the same effect."""
    replaced = [current for current in all_options(draft.job) if gives_way(draft.dialect, current, option)]
    if replaced and option.meaning in {Meaning.BINDING, Meaning.MAPPING}:
        option = joined(draft.dialect, replaced[-1], option)
    job, removed = without(draft.job, lambda current: gives_way(draft.dialect, current, option))
    overrides = [f"{' '.join(current.tokens)} (command line)" for current in removed]
    variable = twin(draft.dialect, option)
    if variable and (value := process_value(draft, variable)) is not None:
        overrides.append(f"{variable}={value} (environment)")
    name = option.tokens[0] if option.meaning is not Meaning.MPI_PARAMETER else " ".join(option.tokens[:-1])
    value = option.values[-1] if option.values else ""
    setting = Setting(knob, name, value, "command line", "; ".join(overrides))
    return replace(draft, job=in_front(job, (option,))).noting(setting)


def _with_environment(draft: Draft, spellings: Sequence[Spelled]) -> Draft:
    for knob, _, spelling in spellings:
        for name in spelling.unset:
            draft = unset_variable(draft, knob, name)
        for name, value in sorted(spelling.launcher_environment.items()):
            before = process_value(draft, name)
            overrides = "" if before is None else f"{name}={before} (environment)"
            draft = set_for_process(draft, name, value).noting(
                Setting(knob, name, value, "environment", overrides)
            )
    paths = {path: "ro" for _, _, spelling in spellings for path in spelling.preload}
    paths |= {path: "ro" for _, _, spelling in spellings for path in spelling.files}
    paths |= {path: "ro" for _, _, spelling in spellings for path in spelling.bound}
    paths |= {path: "rw" for _, _, spelling in spellings for path in spelling.directories.values()}
    job, inner_paths = bind_paths(draft.job, paths)
    draft = replace(draft, job=job)
    variables = _variables(draft, spellings, inner_paths)
    return set_variables(draft, variables) if variables else draft


def _variables(
    draft: Draft, spellings: Sequence[Spelled], inner_paths: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Map variables of the ranks to knob and value; ``inner_paths`` maps host paths to paths of the ranks."""
    variables: dict[str, tuple[str, str]] = {}
    for knob, _, spelling in spellings:
        preload = tuple(inner_paths[path] for path in spelling.preload)
        lists = (("LD_PRELOAD", preload), ("LD_LIBRARY_PATH", spelling.library_path))
        values = {**spelling.environment, **{name: ":".join(paths) for name, paths in lists if paths}}
        for path in spelling.bound:
            values = {name: value.replace(path, inner_paths[path]) for name, value in values.items()}
        values |= {name: inner_paths[path] for name, path in spelling.directories.items()}
        for name, value in values.items():
            separator = ":" if name.startswith("LD_") else _JOINED.get(name, "")
            if name in variables and separator:
                value = f"{variables[name][1]}{separator}{value}"
            elif name in variables and variables[name][1] != value:
                value = _merged(draft.dialect, name, variables[name], (knob, value))
            variables[name] = (knob, value)
    return {name: (knob, _with_own(draft, name, value)) for name, (knob, value) in variables.items()}


def _merged(dialect: Dialect, name: str, under: tuple[str, str], over: tuple[str, str]) -> str:
    value = dialect.merge(Meaning.ENVIRONMENT, under[1], over[1])
    if value is None:
        raise MismatchError(f"{under[0]} and {over[0]} set {name} to different values")
    return value


def _with_own(draft: Draft, name: str, value: str) -> str:
    """Prepend a value to the user's list; for tunables of the same name, the new value counts.

    Raises MismatchError if the programs of the launch have different lists, which one value would replace.
    """
    is_list = name in {"LD_PRELOAD", "LD_LIBRARY_PATH"} or name in _JOINED
    options = [o for o in all_options(draft.job) if o.meaning is Meaning.ENVIRONMENT and o.values[0] == name]
    if is_list and len({option.values for option in options}) > 1:
        raise MismatchError(
            f"the programs of the launch have different values of {name}, to which one more must be added",
            hint=f"set {name} to the same value for all programs of the launch line",
        )
    before = rank_value(draft, name)
    if before is None or not before[0]:
        return value
    if name in {"LD_PRELOAD", "LD_LIBRARY_PATH"}:
        return f"{value}:{before[0]}"
    if name in _JOINED:
        separator = _JOINED[name]
        new_names = {part.partition("=")[0] for part in value.split(separator)}
        remaining = [part for part in before[0].split(separator) if part.partition("=")[0] not in new_names]
        return separator.join([*remaining, value])
    return value
