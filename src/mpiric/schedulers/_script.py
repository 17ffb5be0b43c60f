"""Layout of a job on its nodes, and the lines of its script, each with its reason; rules of the site."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from re import IGNORECASE, fullmatch
from typing import Any

from mpiric.host.files import why_unreadable
from mpiric.host.packaged import parse_toml
from mpiric.host.user_directories import named_path, user_directory
from mpiric.model.batch import BatchLayout, NodeShape, ScriptLine
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.quoting import (
    comment,
    csh_word,
    directive,
    fish_word,
    sh_command,
    sh_word,
    shebang,
    variable_name,
)
from mpiric.schedulers._batch import BatchScheduler
from mpiric.schedulers._scheduler import JobRequest


@dataclass(frozen=True)
class LayoutRequest:
    """Sizes of a job; 0 for sizes that follow from the others."""

    nodes: int = 0
    ranks: int = 0
    ranks_per_node: int = 0
    threads: int = 1
    bandwidth_bound: bool = False
    gpus_per_node: int = 0


def plan_layout(request: LayoutRequest, shape: NodeShape) -> BatchLayout:
    """Fill nodes as requested; bandwidth-bound jobs use every second core.

    Ranks that leave cores idle get equal shares of each socket, so that its memory and caches are used.

    Raises MpiricError for a layout that does not fit.
    """
    spacing = 2 if request.bandwidth_bound else 1
    cores_per_rank = request.threads * spacing
    max_ranks = shape.cores // cores_per_rank
    if max_ranks == 0:
        raise MpiricError(
            f"{request.threads} threads{' on every second core' if spacing == 2 else ''} do not fit a node "
            f"of {shape.cores} cores",
            hint="give fewer --threads",
        )
    per_node = request.ranks_per_node or _even(request, max_ranks)
    if per_node > max_ranks:
        raise MpiricError(
            f"{per_node} ranks of {cores_per_rank} cores each do not fit a node of {shape.cores} cores",
            hint=f"at the most {max_ranks} ranks per node fit",
        )
    nodes = request.nodes or (-(-request.ranks // per_node) if request.ranks else 1)
    ranks = request.ranks or nodes * per_node
    if ranks > nodes * per_node:
        raise MpiricError(
            f"{ranks} ranks do not fit {nodes} nodes with {per_node} each",
            hint=f"they need {-(-ranks // per_node)} nodes",
        )
    on_socket = -(-per_node // shape.sockets)
    cores_per_rank = max(cores_per_rank, shape.cores_per_socket // on_socket)
    # True if the next rank would begin on cores that are left on the socket.
    leaves_cores = cores_per_rank * on_socket < shape.cores_per_socket
    return BatchLayout(
        nodes,
        ranks,
        per_node,
        request.threads,
        cores_per_rank,
        bandwidth_bound=request.bandwidth_bound,
        alternates=leaves_cores,
        gpus_per_node=request.gpus_per_node,
    )


def _even(request: LayoutRequest, max_ranks: int) -> int:
    """Return the ranks per node: as many as fit; with a number of nodes, as evenly as possible."""
    if request.ranks and request.nodes:
        return min(max_ranks, -(-request.ranks // request.nodes))
    return min(max_ranks, request.ranks) if request.ranks else max_ranks


@dataclass(frozen=True)
class Language:
    """Language of a script. All of them begin comments with ``#``, so that they ignore Slurm's directives."""

    names: tuple[str, ...]
    export: Callable[[str, str], str]
    unset: Callable[[str], str]
    launch: Callable[[Sequence[str]], str]
    begin: tuple[str, ...] = ()
    takes_shell_lines: bool = True


_POSIX = Language(
    ("sh", "bash", "dash", "ksh", "zsh", "ash"),
    lambda name, value: f"export {variable_name(name)}={sh_word(value)}",
    lambda name: f"unset {variable_name(name)}",
    sh_command,
)
_CSH = Language(
    ("csh", "tcsh"),
    lambda name, value: f"setenv {variable_name(name)} {csh_word(value)}",
    lambda name: f"unsetenv {variable_name(name)}",
    lambda argv: " ".join(map(csh_word, argv)),
)
_FISH = Language(
    ("fish",),
    lambda name, value: f"set -gx {variable_name(name)} {fish_word(value)}",
    lambda name: f"set -e {variable_name(name)}",
    lambda argv: " ".join(map(fish_word, argv)),
)
_PYTHON = Language(
    ("python",),
    lambda name, value: f"os.environ[{variable_name(name)!r}] = {value!r}",
    lambda name: f"os.environ.pop({variable_name(name)!r}, None)",
    lambda argv: f"sys.exit(subprocess.call({list(argv)!r}))",
    begin=("import os, subprocess, sys",),
    takes_shell_lines=False,
)
LANGUAGES = (_POSIX, _CSH, _FISH, _PYTHON)


def language_of(shebang: str) -> Language:
    """Return the language of a first line such as ``#!/usr/bin/env -S bash -l``. Raises MpiricError."""
    argv = shebang.removeprefix("#!").split()
    if not shebang.startswith("#!") or not argv or not argv[0].startswith("/"):
        raise MpiricError(
            f"{shebang!r} is not the first line of a script", hint="write for example '#!/bin/bash -l'"
        )
    if argv[0].endswith("/env"):
        argv = [word for word in argv[1:] if not word.startswith("-") and "=" not in word]
    name = argv[0].rsplit("/", 1)[-1] if argv else ""
    for language in LANGUAGES:
        if name in language.names or name.rstrip("0123456789.") in language.names:
            return language
    names = ", ".join(name for language in LANGUAGES for name in language.names)
    raise MpiricError(f"mpiric cannot write {name or shebang!r} scripts", hint=f"known are: {names}")


_COLUMN = 58  # column of the reasons


@dataclass(frozen=True)
class ScriptOptions:
    """Requirements of a site or user for every script."""

    shebang: str = "#!/bin/bash"
    job_name: str = ""
    time: str = ""
    account: str = ""
    partition: str = ""
    directives: tuple[str, ...] = ()  # further directives: "--qos=normal"
    setup: tuple[str, ...] = ()  # lines before the launch: "module load …"
    environment: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)  # variable → reason
    unset: tuple[str, ...] = ()
    launch_reason: str = ""


def script_lines(
    scheduler: BatchScheduler,
    layout: BatchLayout,
    shape: NodeShape,
    options: ScriptOptions,
    launch: Sequence[str],
) -> tuple[ScriptLine, ...]:
    """Return the script. Raises MpiricError for a malformed time, or for shell lines in another language."""
    if options.time and not fullmatch(scheduler.time_pattern, options.time, IGNORECASE):
        raise MpiricError(
            f"{options.time!r} is not a time limit for {scheduler.title}", hint=scheduler.time_hint
        )
    language = language_of(options.shebang)
    if options.setup and not language.takes_shell_lines:
        raise MpiricError(
            f"lines of a shell ({options.setup[0]!r}) cannot be used in a script for {options.shebang}",
            hint="load modules before you submit, or take a shell's first line",
        )
    directives = (
        *scheduler.options(_request(layout, shape, options)),
        *((text, "") for text in options.directives),
    )
    reasons = _reasons(layout, shape)
    return (
        ScriptLine(shebang(options.shebang)),
        ScriptLine(comment(f"{layout.kind}: {_sizes(layout, shape)}")),
        *(
            ScriptLine(directive(scheduler.directive, text), reasons.get(field, ""))
            for text, field in directives
        ),
        ScriptLine(""),
        *(ScriptLine(line) for line in (*language.begin, *options.setup)),
        *_variables(layout, options, language, scheduler.variables(layout, launch)),
        ScriptLine(""),
        ScriptLine(language.launch(launch), options.launch_reason),
    )


def _request(layout: BatchLayout, shape: NodeShape, options: ScriptOptions) -> JobRequest:
    return JobRequest(
        name=options.job_name,
        account=options.account,
        partition=options.partition,
        time=options.time,
        threads_per_core=shape.threads_per_core,
        nodes=layout.nodes,
        ranks=layout.ranks,
        ranks_per_node=layout.ranks_per_node,
        threads_per_rank=layout.threads_per_rank,
        cores_per_rank=layout.cores_per_rank,
        gpus_per_node=layout.gpus_per_node,
    )


def text_of(lines: Sequence[ScriptLine], inline_prefix: str = "") -> str:
    """Render the file; reasons follow lines that begin with ``inline_prefix``, and precede other lines."""
    parts = []
    for line in lines:
        if not line.why:
            parts.append(line.text)
        elif inline_prefix and line.text.startswith(inline_prefix) and len(line.text) < _COLUMN:
            parts.append(f"{line.text:<{_COLUMN}}{comment(line.why)}")
        else:
            parts += [comment(line.why), line.text]
    return "\n".join(parts) + "\n"


def _sizes(layout: BatchLayout, shape: NodeShape) -> str:
    threads = f" × {layout.threads_per_rank} threads" if layout.threads_per_rank > 1 else ""
    cores = layout.ranks_per_node * layout.threads_per_rank
    return (
        f"{layout.ranks} ranks{threads} on {layout.nodes} node{'s' if layout.nodes > 1 else ''}, "
        f"{cores} of {shape.cores} cores of each at work"
    )


def _reasons(layout: BatchLayout, shape: NodeShape) -> dict[str, str]:
    """Return the reason of each field of the request."""
    return {
        "name": "name in the queue",
        "account": "account that is charged",
        "partition": "nodes of this partition",
        "time": "time limit of the job",
        "ranks": "MPI ranks",
        "ranks_per_node": _why_per_node(layout, shape),
        "cores_per_rank": _why_cores(layout),
        "gpus_per_node": "GPUs of each node",
        "threads_per_core": "one hardware thread of each core",
        "exclusive": "exclusive nodes: memory, caches and network belong to this job",
    }


def _why_per_node(layout: BatchLayout, shape: NodeShape) -> str:
    if layout.bandwidth_bound:
        return f"half of the {shape.cores} cores saturate the memory"
    if layout.cores_per_rank > layout.threads_per_rank:
        return "as many on each socket"
    used = layout.ranks_per_node * layout.cores_per_rank
    return f"they take {used} of the {shape.cores} cores of a node"


def _why_cores(layout: BatchLayout) -> str:
    if layout.cores_per_rank > layout.threads_per_rank:
        return "neighbouring cores for each rank, its share of the node; some stay idle"
    return (
        "cores for each rank, one for each of its threads"
        if layout.threads_per_rank > 1
        else "a core for each rank"
    )


def _variables(
    layout: BatchLayout, options: ScriptOptions, language: Language, more: Mapping[str, tuple[str, str]]
) -> list[ScriptLine]:
    defaults = {
        "OMP_NUM_THREADS": (str(layout.threads_per_rank), "threads of each rank, in libraries too"),
        **more,
    }
    if layout.threads_per_rank > 1:
        spread = layout.cores_per_rank > layout.threads_per_rank
        defaults["OMP_PLACES"] = ("cores", "a thread stays on its core")
        defaults["OMP_PROC_BIND"] = (
            ("spread", "over the cores of the rank") if spread else ("close", "threads on neighbouring cores")
        )
    chosen = {
        name: (value, options.reasons.get(name, "")) for name, value in sorted(options.environment.items())
    }
    exports = [
        ScriptLine(language.export(name, value), why) for name, (value, why) in {**defaults, **chosen}.items()
    ]
    unset = [ScriptLine(language.unset(name), options.reasons.get(name, "")) for name in options.unset]
    return [*unset, *exports]


ReadText = Callable[[str], str | None]  # returns the content of a file, None if it cannot be read

SYSTEM = "/etc/mpiric/site.toml"
_TEXTS = ("shebang", "time", "account", "partition", "mpi")
_LISTS = ("directives", "setup", "modules")
_NODE = ("sockets", "cores_per_socket", "threads_per_core")
_HINT = (
    f"write a table [script] with {', '.join((*_TEXTS, *_LISTS))}, and a table [node] with {', '.join(_NODE)}"
)
_KINDS = {str: "a text", int: "a whole number", list: "a list", dict: "a table"}


@dataclass(frozen=True)
class SiteDefaults:
    """Defaults of a site; empty for keys that the file does not contain."""

    options: ScriptOptions = field(default_factory=ScriptOptions)
    shape: NodeShape | None = None
    mpi: str = ""


def read_site_defaults(environment: Mapping[str, str], named: Path | None, read: ReadText) -> SiteDefaults:
    """Read the named file, ``$MPIRIC_SITE``, the user's or the system's file; raises MpiricError."""
    site_file = str(named or named_path(environment, "MPIRIC_SITE") or "")
    if site_file:
        text = read(site_file)
        if text is None:
            raise why_unreadable(site_file, "file of site defaults", hint=_HINT)
        return parse_site_defaults(text, site_file)
    config = user_directory(environment, "config")
    for path in (*((f"{config}/mpiric/site.toml",) if config else ()), SYSTEM):
        if (text := read(path)) is not None:
            return parse_site_defaults(text, path)
    return SiteDefaults()


def parse_site_defaults(text: str, path: str) -> SiteDefaults:
    """Parse the defaults of a site; ``path`` is for error messages."""
    try:
        data = parse_toml(text)
    except ValueError as error:
        raise MpiricError(f"{path} is not TOML: {error}", hint=_HINT) from error
    script, node = _table(data, "script", path), _table(data, "node", path)
    _check_keys(data, ("script", "node"), path)
    _check_keys(script, (*_TEXTS, *_LISTS, "environment"), path)
    _check_keys(node, _NODE, path)
    texts = {key: _typed(script, key, str, path) or "" for key in _TEXTS}
    lists = {key: tuple(map(str, _typed(script, key, list, path) or ())) for key in _LISTS}
    variables = _typed(script, "environment", dict, path) or {}
    modules = (f"module load {' '.join(lists['modules'])}",) if lists["modules"] else ()
    return SiteDefaults(
        ScriptOptions(
            shebang=texts["shebang"] or "#!/bin/bash",
            time=texts["time"],
            account=texts["account"],
            partition=texts["partition"],
            directives=lists["directives"],
            setup=(*modules, *lists["setup"]),
            environment={str(name): str(value) for name, value in variables.items()},
        ),
        _shape(node, path),
        texts["mpi"],
    )


def _shape(node: Mapping[str, Any], path: str) -> NodeShape | None:
    if not node:
        return None
    numbers = [_typed(node, key, int, path) or (1 if key == "threads_per_core" else 0) for key in _NODE]
    if min(numbers) < 1:
        raise MpiricError(f"{path}: [node] needs {', '.join(_NODE[:2])}, each at least 1", hint=_HINT)
    return NodeShape(*numbers)


def _table(data: Mapping[str, Any], key: str, path: str) -> Mapping[str, Any]:
    table: Mapping[str, Any] = _typed(data, key, dict, path) or {}
    return table


def _typed(data: Mapping[str, Any], key: str, kind: type, path: str) -> Any:
    value = data.get(key)
    if value is not None and not isinstance(value, kind):
        raise MpiricError(f"{path}: {key} must be {_KINDS[kind]}, not {value!r}", hint=_HINT)
    return value


def _check_keys(data: Mapping[str, Any], keys: tuple[str, ...], path: str) -> None:
    unknown = sorted(set(data) - set(keys))
    if unknown:
        raise MpiricError(f"{path}: {unknown[0]!r} is not known", hint=f"known are: {', '.join(keys)}")
