"""`mpiric env`: print environment settings that suit this machine, without a run."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cloup import option_group

from mpiric.cli._errors import say
from mpiric.cli._json import print_json
from mpiric.cli._options import (
    COUNT,
    choice,
    cli_command,
    complete_mpi_labels,
    flag,
    launch_request_of,
    option,
)
from mpiric.host.facts.local import LocalHost
from mpiric.model.quoting import csh_word, dockerfile_word, fish_word, github_value, sh_word, tcl_word
from mpiric.workflows.defaults import EnvRequest, SafeDefault, defaults_here

_JSON = "json"
# Shell → line that sets a variable. Semicolons separate the lines where eval joins them.
_LINES: Mapping[str, Callable[[str, str], str]] = {
    "bash": lambda name, value: f"export {name}={sh_word(value)};",
    "fish": lambda name, value: f"set -gx {name} {fish_word(value)};",
    "csh": lambda name, value: f"setenv {name} {csh_word(value)};",
    "github": lambda name, value: f"{name}={github_value(value)}",
    "dockerfile": lambda name, value: f"ENV {name}={dockerfile_word(value)}",
    "modulefile": lambda name, value: (
        f"if {{ ![info exists ::env({name})] }} {{ setenv {name} {tcl_word(value)} }}"
    ),
}
_HEADS = {"modulefile": "#%Module1.0"}


@cli_command()
@option_group(
    "Job",
    option("--ranks", "-n", "N", "Number of MPI ranks of the jobs to start.", type=COUNT),
    option("--ranks-per-node", "N", "Number of ranks per node.", type=COUNT),
    option(
        "--nodes", "-N", "N", "Number of nodes. [default: the nodes of the allocation, else 1]", type=COUNT
    ),
    option("--threads", "-t", "N", "Number of threads of each rank. [default: CPUs / ranks]", type=COUNT),
    option(
        "--mpi",
        "NAME",
        "MPI library, such as openmpi-5. [default: all that are installed]",
        shell_complete=complete_mpi_labels,
    ),
    flag("--run-as-root", "as_root", "Let Open MPI start as root, for use in a container only."),
)
@option_group(
    "Output",
    choice(
        [*_LINES, _JSON], "--shell", "Language of the settings; json is the same as --json.", default="bash"
    ),
    flag(
        "--explain", "Print the reason, source, measurement and cost of each setting instead of the settings."
    ),
    flag("--json", "as_json", "Print the result as one JSON object."),
)
def command(**options: Any) -> int:
    """Print environment settings that suit this machine, without a run.

    They are variables for MPI jobs with the given numbers of ranks. Each follows from a measured rule, and
    is printed only if it made no measured program slower. Variables that you have set are not printed.
    """
    request = launch_request_of(EnvRequest, (), options)
    defaults = defaults_here(request, LocalHost())
    if options["as_json"] or options["shell"] == _JSON:
        print_json({"variables": _variables(defaults), "settings": _as_json(defaults)})
    elif options["explain"]:
        for line in _explanation(defaults):
            print(line)
    else:
        for line in settings_in(options["shell"], _variables(defaults)):
            print(line)
    return 0


def settings_in(shell: str, variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines that set variables in the language of a shell."""
    if variables and shell in _HEADS:
        yield _HEADS[shell]
    for name, value in variables.items():
        yield _LINES[shell](name, value)


def _variables(defaults: Sequence[SafeDefault]) -> dict[str, str]:
    """Return the variables to set, by name."""
    applied = (default for default in defaults if not default.users_setting)
    return dict(sorted(item for default in applied for item in default.variables.items()))


def _explanation(defaults: Sequence[SafeDefault]) -> Iterator[str]:
    """Yield a paragraph for each rule, which names the libraries that it applies to."""
    by_rule: dict[tuple[str, str, str], list[SafeDefault]] = defaultdict(list)
    for default in defaults:
        by_rule[default.label, str(sorted(default.variables.items())), default.users_setting].append(default)
    if not defaults:
        say("no setting is needed here")
    for number, same in enumerate(by_rule.values()):
        default, rule = same[0], same[0].rule
        yield from [""] * (number > 0)
        yield f"{default.label} ({', '.join(entry.library for entry in same)})"
        for name, value in sorted(default.variables.items()):
            yield f"  {name}={value}"
        if default.users_setting:
            yield f"  not set: you have set {default.users_setting}"
        yield f"  reason:   {rule.reason}"
        yield f"  source:   {rule.source}"
        yield f"  measured: {rule.row}"
        yield f"  cost:     {rule.cost}"


def _as_json(defaults: Sequence[SafeDefault]) -> list[dict[str, Any]]:
    return [
        {
            "rule": default.rule.name,
            "setting": default.label,
            "mpi": default.library,
            "variables": default.variables,
            "users_setting": default.users_setting or None,
            "reason": default.rule.reason,
            "source": default.rule.source,
            "measured": default.rule.row,
            "cost": default.rule.cost,
        }
        for default in defaults
    ]
