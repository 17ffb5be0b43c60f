"""Job + spelled knobs → Launch."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mpiric.launchers._containment import bind_paths
from mpiric.launchers._dialect import Dialect
from mpiric.launchers._draft import Draft, process_value, set_for_process, start
from mpiric.launchers._edit import all_options, gives_way, identity, in_front, known, twin, without
from mpiric.launchers._options import parse_option
from mpiric.launchers._registry import dialects
from mpiric.launchers._translate import joined, translate
from mpiric.launchers._variables import rank_value, set_variables, unset_variable
from mpiric.model.errors import MismatchError
from mpiric.model.job import Job, LaunchOption, Meaning
from mpiric.model.launch import Launch, Setting
from mpiric.model.spelling import Spelling

Spelled = tuple[str, str, Spelling]  # knob, value, how it is written

# Knobs whose options only prepare the ground for others' come first.
_PRECEDENCE = {"threads-per-rank": 0, "mapping": 1}

# Variables that hold a list of NAME=VALUE, to which several knobs and the user may each add.
_JOINED = {"GLIBC_TUNABLES": ":"}


def render(job: Job, spellings: Sequence[Spelled] = ()) -> Launch:
    """The launch of a job with some knobs set; without any it is the user's own command.

    Raises MismatchError when two knobs contradict each other or the launcher has no syntax for something.
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
    wanted = [(knob, spelling) for knob, _, spelling in spellings if spelling.dialect]
    if not wanted:
        return draft
    knob, spelling = wanted[-1]
    if any(
        (other.dialect, other.launcher_words) != (spelling.dialect, spelling.launcher_words)
        for _, other in wanted
    ):
        raise MismatchError(f"{wanted[0][0]} and {knob} each want another launcher")
    target = dialects()[spelling.dialect]
    job, variables = translate(draft.job, target, spelling.launcher_words, crowded=spelling.crowded)
    before = " ".join((*draft.job.launcher_words, *_tokens(draft.job)))
    setting = Setting(
        knob, "launcher", " ".join(spelling.launcher_words), "command line", f"{before} (command line)"
    )
    draft = replace(draft, job=job, dialect=target).noting(setting)
    return set_variables(draft, {name: (knob, value) for name, value in variables.items()})


def _tokens(job: Job) -> tuple[str, ...]:
    return tuple(token for option in job.segments[0].options for token in option.tokens)


def _with_ranks(draft: Draft, spellings: Sequence[Spelled]) -> Draft:
    for knob, _, spelling in spellings:
        if spelling.ranks is None:
            continue
        if len(draft.job.segments) > 1:
            raise MismatchError("the number of ranks of a launch of several programs cannot be varied")
        words = _words(draft.dialect, Meaning.RANKS, (str(spelling.ranks),))
        draft = _put(draft, knob, parse_option(draft.dialect, words))
    return draft


def _words(dialect: Dialect, meaning: Meaning, values: tuple[str, ...]) -> tuple[str, ...]:
    words = dialect.write[meaning](values) if meaning in dialect.write else None
    if words is None:
        raise MismatchError(f"{dialect.name} has no option for {meaning.value} {' '.join(values)}")
    return words


def _with_options(draft: Draft, spellings: Sequence[Spelled]) -> Draft:
    """Options that several knobs share are joined: the width of a rank first, the binding last."""
    given: dict[tuple[object, ...], tuple[str, LaunchOption]] = {}
    ordered = sorted(spellings, key=lambda spelled: _PRECEDENCE.get(spelled[0], 2))
    for knob, _, spelling in ordered:
        for words in spelling.options:
            option = _spelled_option(draft, words)
            key = identity(draft.dialect, option)
            if key in given:
                option = joined(draft.dialect, given[key][1], option)
            given[key] = (knob, option)
    for knob, option in given.values():
        if option.meaning is Meaning.ENVIRONMENT:
            name, value = option.values
            draft = set_variables(draft, {name: (knob, value)})
        else:
            draft = _put(draft, knob, option)
    return draft


def _spelled_option(draft: Draft, words: tuple[str, ...]) -> LaunchOption:
    if not draft.job.launcher_words:
        raise MismatchError(f"'{' '.join(words)}' needs a launcher, and the command names none")
    option = parse_option(draft.dialect, words)
    if known(draft.dialect, option) is None:
        raise MismatchError(f"'{' '.join(words)}' is no option of {draft.dialect.name}")
    return option


def _put(draft: Draft, knob: str, option: LaunchOption) -> Draft:
    """The draft with one option in place of all that set the same."""
    same = [own for own in all_options(draft.job) if gives_way(draft.dialect, own, option)]
    if same and option.meaning in {Meaning.BINDING, Meaning.MAPPING}:
        option = joined(draft.dialect, same[-1], option)
    job, gone = without(draft.job, lambda own: gives_way(draft.dialect, own, option))
    overrides = [f"{' '.join(own.tokens)} (command line)" for own in gone]
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
    wanted = {path: "ro" for _, _, spelling in spellings for path in spelling.preload}
    wanted |= {path: "ro" for _, _, spelling in spellings for path in spelling.files}
    wanted |= {path: "ro" for _, _, spelling in spellings for path in spelling.bound}
    wanted |= {path: "rw" for _, _, spelling in spellings for path in spelling.directories.values()}
    job, inner_paths = bind_paths(draft.job, wanted)
    draft = replace(draft, job=job)
    variables = _variables(draft, spellings, inner_paths)
    return set_variables(draft, variables) if variables else draft


def _variables(
    draft: Draft, spellings: Sequence[Spelled], inner_paths: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Variables of the ranks → knob and value; ``inner_paths``: path of the host → the one that ranks see."""
    found: dict[str, tuple[str, str]] = {}
    for knob, _, spelling in spellings:
        preload = tuple(inner_paths[path] for path in spelling.preload)
        lists = (("LD_PRELOAD", preload), ("LD_LIBRARY_PATH", spelling.library_path))
        given = {**spelling.environment, **{name: ":".join(paths) for name, paths in lists if paths}}
        for path in spelling.bound:
            given = {name: value.replace(path, inner_paths[path]) for name, value in given.items()}
        given |= {name: inner_paths[path] for name, path in spelling.directories.items()}
        for name, value in given.items():
            separator = ":" if name.startswith("LD_") else _JOINED.get(name, "")
            if name in found and separator:
                value = f"{found[name][1]}{separator}{value}"
            elif name in found and found[name][1] != value:
                value = _merged(draft.dialect, name, found[name], (knob, value))
            found[name] = (knob, value)
    return {name: (knob, _with_own(draft, name, value)) for name, (knob, value) in found.items()}


def _merged(dialect: Dialect, name: str, under: tuple[str, str], over: tuple[str, str]) -> str:
    value = dialect.merge(Meaning.ENVIRONMENT, under[1], over[1])
    if value is None:
        raise MismatchError(f"{under[0]} and {over[0]} set {name} to different values")
    return value


def _with_own(draft: Draft, name: str, value: str) -> str:
    """Lists keep what the user has in them, ours in front; of tunables of one name ours counts."""
    before = rank_value(draft, name)
    if before is None or not before[0]:
        return value
    if name in {"LD_PRELOAD", "LD_LIBRARY_PATH"}:
        return f"{value}:{before[0]}"
    if name in _JOINED:
        separator = _JOINED[name]
        ours = {part.partition("=")[0] for part in value.split(separator)}
        kept = [part for part in before[0].split(separator) if part.partition("=")[0] not in ours]
        return separator.join([*kept, value])
    return value
