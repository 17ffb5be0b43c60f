"""`mpiric run`: run a command with the recipe that fits it."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import click
from cloup import option_group

from mpiric.cli._errors import say
from mpiric.cli._json import print_json
from mpiric.cli._options import (
    allow_rounding_of_others,
    cli_command,
    command_line,
    complete_settings,
    file_templates,
    flag,
    launch_request_of,
    list_of,
    mpi_option,
    option,
    param_file_option,
    share,
    store_option,
)
from mpiric.host.command_log import log_start
from mpiric.host.facts.local import LocalHost
from mpiric.host.processes.captured import make_ready
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.policy import COLLECTIVES
from mpiric.workflows.run.collectives import RunRequest, with_hint
from mpiric.workflows.run.run import PreparedRun, prepare

_LEARNING, _ORDER = "Collective algorithms", "Order of ranks"  # titles of option groups
_WITHOUT_PREPARATION = (
    "the run continues without it; `mpiric tune --only io -- CMD` finds settings for this site"
)


@cli_command(context_settings={"allow_interspersed_args": False}, help_all=(_LEARNING, _ORDER))
@option_group(
    "Settings",
    option("--recipe", "FILE", "Recipe to apply. [default: the saved recipe that fits CMD]"),
    flag("--no-recipe", "Do not apply a recipe."),
    flag("--as-is", "If no recipe fits, run CMD unchanged instead of with the settings of `mpiric env`."),
    option(
        "--set",
        "settings",
        "KNOB=VALUE",
        "Set a knob (see the list of knobs in the documentation). It replaces the value of the recipe.",
        multiple=True,
        shell_complete=complete_settings,
    ),
    param_file_option,
    mpi_option,
    allow_rounding_of_others,
    flag(
        "--explore",
        "Run this job with or without the recipe, in turn from job to job, and record its time; "
        "`mpiric history --explore` compares.",
    ),
)
@option_group(
    _LEARNING,
    option(
        "--policy",
        "FILE",
        "Choose collective algorithms by this policy. With --policy-out, learn what it does not cover.",
    ),
    option(
        "--policy-out",
        "FILE",
        "Learn the best collective algorithms while the program runs, and save them to this file.",
    ),
    flag(
        "--no-reprove",
        "Always follow the policy, without checking again whether the library's own choice is faster here.",
    ),
    option(
        "--learn-at-most",
        "SHARE",
        "Share of the time in collectives that learning may cost. [default: 1%]",
        type=share(is_positive=True),
    ),
    option(
        "--learn-only",
        "NAME,…",
        "Learn only these collectives, for example the most expensive ones in `mpiric profile`.",
        shell_complete=list_of(lambda: sorted(COLLECTIVES)),
    ),
    option(
        "--learn-ranks", "N", "Learn only on communicators of at least N ranks.", type=click.IntRange(min=2)
    ),
    flag(
        "--reproducible", "Use only algorithms that reduce in the same order in every run and on every rank."
    ),
)
@option_group(
    _ORDER,
    option(
        "--rank-order",
        "FILE",
        "Place the first rank on the slot in the first line of this file, and so on (see `mpiric map "
        "--out`).",
    ),
    flag(
        "--honour-reorder",
        "Let MPI_Cart_create, MPI_Graph_create and MPI_Dist_graph_create place neighbours on one node "
        "if the program allows it (reorder = 1).",
    ),
)
@option_group(
    "Output",
    flag("--quiet", "-q", "Do not print what is applied or why CMD failed."),
    flag("--dry-run", "Print the command and environment, and run nothing."),
    flag("--json", "as_json", "Print the command and environment as one JSON object. CMD is not run."),
    store_option,
)
@command_line
def command(command_line: tuple[str, ...], **options: Any) -> int:
    """Run CMD with the saved recipe that fits it.

    A recipe fits the program, the machine and the MPI library. If none fits, the reason is printed and CMD
    runs with the settings of `mpiric env`, except for settings of your own. The exit status of the program is
    returned.
    """
    values = _values(options["settings"], options["mpi_label"])
    values |= {"honour-reorder": "yes"} if options["honour_reorder"] else {}
    request = launch_request_of(
        RunRequest,
        command_line,
        options,
        use_recipe=not options["no_recipe"],
        values=values,
        file_templates=file_templates(options["param_files"]),
        learn_at_most=f"{options['learn_at_most']:.6g}" if options["learn_at_most"] else "",
        learn_only=tuple(word for word in options["learn_only"].split(",") if word),
        starts=not (options["dry_run"] or options["as_json"]),
        reprove=not options["no_reprove"],
        safe_defaults=not (options["as_is"] or options["explore"]),
    )
    prepared = prepare(request, LocalHost())
    if not options["quiet"] and not options["as_json"]:
        for sentence in prepared.sentences:
            say(sentence)
    if options["dry_run"] or options["as_json"]:
        if options["as_json"]:
            print_json(_as_json(prepared))
        else:
            print(prepared.launch.shell_line())
        return 0
    report = _silent if options["quiet"] else say
    environment = {**prepared.environment, **prepared.launch.environment}
    if complaint := make_ready(prepared.launch, environment, Path.cwd()):
        report(with_hint(complaint, _WITHOUT_PREPARATION))
    status = None
    if options["explore"] or prepared.is_first_whole:
        from mpiric.workflows.run.explore import run_observed  # imports much that other runs do not need

        status = run_observed(prepared, options["store"], LocalHost(), report, explores=options["explore"])
    if status is None and prepared.job is not None and prepared.job.launcher_words and not options["quiet"]:
        from mpiric.workflows.run.explained import run_explained  # not needed without a launcher

        status = run_explained(prepared, LocalHost(), say)
    return _become(prepared) if status is None else status


def _silent(_: str) -> None:
    """Discard a message."""


def _values(settings: tuple[str, ...], mpi_label: str) -> dict[str, str]:
    values = {}
    for setting in settings:
        knob, equals, value = setting.partition("=")
        if not (knob and equals and value):
            raise MpiricError(
                f"--set takes KNOB=VALUE, not {setting!r}", hint="for example --set binding=core"
            )
        values[knob] = value
    return values | ({"mpi": mpi_label} if mpi_label else {})


def _become(prepared: PreparedRun) -> int:
    """Replace this process by the command, which then gets signals and input itself."""
    launch = prepared.launch
    log_start(launch.argv, environment={**dict.fromkeys(launch.unset), **launch.environment})
    environment = {k: v for k, v in prepared.environment.items() if k not in launch.unset}
    environment.update(launch.environment)
    sys.stdout.flush()
    sys.stderr.flush()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # ignored by Python; exec would pass that on
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(launch.argv[0], launch.argv, environment)  # noqa: S606
    except OSError as error:
        raise NotFoundError(f"cannot start {launch.argv[0]}: {error.strerror}") from error


def _as_json(prepared: PreparedRun) -> dict[str, Any]:
    launch = prepared.launch
    return {
        "argv": launch.argv,
        "env": launch.environment,
        "unset": launch.unset,
        "prepare": launch.prepare,
        "configuration": prepared.configuration.as_dict(),
        "settings": launch.settings,
        "recipe": prepared.recipe or None,
        "words": prepared.sentences,
    }
