"""`mpiric sweep`: tune the collectives of a cluster once, for all users."""

import os
import re
from pathlib import Path
from typing import Any

import click
from cloup import option_group
from rich.console import Console

from mpiric.cli._json import print_json
from mpiric.cli._options import (
    BATCH_JOBS,
    cli_command,
    complete_files,
    flag,
    given_options,
    json_option,
    launch_request_of,
    list_of,
    option,
    recall_options,
)
from mpiric.cli._submitting import array_options, refuse_unsubmitted, run_submitted, spread_of, submit_options
from mpiric.cli._terminal import status_line, stderr_console, stdout_console
from mpiric.host.facts.local import LocalHost
from mpiric.model.amount import parse_duration, share
from mpiric.model.errors import ExitCode, MpiricError
from mpiric.model.quoting import sh_command
from mpiric.report.policy_text import policy_json, print_policy
from mpiric.schedulers import element_of
from mpiric.workflows.policies import SITE, site_directory
from mpiric.workflows.submit.array_rounds import round_of
from mpiric.workflows.sweep.estimate import FAST, SLOW, cost_by_guess, guessed_s
from mpiric.workflows.sweep.explore import Say
from mpiric.workflows.sweep.log import forget, keep_options, kept_options, make_directory
from mpiric.workflows.sweep.plan import COLLECTIVES, GROUPS, USUAL, SweepPlan, SweepRequest, prepare
from mpiric.workflows.sweep.sweep import SITE_HINT, Swept, for_site, sweep, work_on_array

_NOT_KEPT = set("submit resume directory round_number launch_line site as_json dry_run".split())
_BUDGET_S = 3600.0  # time of a job without --budget; options of --sbatch take precedence
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def _list(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    return tuple(part for part in (value or "").split(",") if part)


@cli_command(context_settings={"allow_interspersed_args": False})
@option_group(
    "Measurements",
    option(
        "--collectives",
        "NAME,…",
        f"Collectives to measure, or groups of them: usual ({', '.join(USUAL)}), nonblocking (iallreduce and "
        "the like, from start to completion) or all. [default: usual; with --profile, the recorded ones]",
        callback=_list,
        shell_complete=list_of(lambda: (*GROUPS, *COLLECTIVES)),
    ),
    option(
        "--sizes",
        "LOW:HIGH",
        "Sizes in bytes: the powers of two in a range, or a list 8,1K,3000. Sizes are left out if the "
        "blocks of all ranks exceed 64 MiB.",
        default="4:4M",
    ),
    option("--ranks", "N,…", "Communicator sizes. [default: all ranks, half of them, … 2]", callback=_list),
    option("--per-node", "N,…", "Numbers of ranks per node. [default: one, and all]", callback=_list),
    option("--profile", "record", "DIR", "Measure only calls and sizes of this record of `mpiric profile`."),
    click.option(
        "--own/--no-own", default=True, show_default=True, help="Also measure mpiric's own algorithms."
    ),
    flag("--thorough", "Measure every algorithm and parameter instead of the usual ones."),
)
@option_group(
    "How long",
    option("--budget", "TIME", "Time limit of the measurements: 90s, 10m, 1h30m. [default: none]"),
    option(
        "--seconds",
        "S",
        "Measuring time for each algorithm and size, in seconds.",
        type=click.FloatRange(min=1e-4),
        default=SweepRequest.seconds,
    ),
    flag(
        "--resume",
        "Continue the sweep in the directory of --out, by default with the options of the earlier call.",
    ),
)
@option_group(BATCH_JOBS, submit_options, array_options)
@option_group(
    "Output",
    option(
        "--out",
        "-o",
        "directory",
        "DIR",
        "Directory of the measurements, the policy and the tuning files of the library.",
        default=Path("mpiric-sweep"),
    ),
    flag("--site", f"Also write the policy to {SITE}, for every user's `mpiric run` (needs root)."),
    json_option,
    flag("--dry-run", "Print the planned measurements and their cost, and run nothing."),
)
@click.argument(
    "launch_line",
    nargs=-1,
    type=click.UNPROCESSED,
    shell_complete=complete_files,
    metavar="-- LAUNCHER",
    required=True,
)
def command(launch_line: tuple[str, ...], as_json: bool, dry_run: bool, **options: Any) -> int:  # noqa: FBT001
    """Measure collectives and write a policy of the best algorithms.

    LAUNCHER is a launch line without a program; it starts ranks on the nodes that the policy is for. Only
    sizes for which the best algorithm is uncertain are measured, not the whole grid.
    """
    if options["resume"]:
        options = recall_options(kept_options(options["directory"]), launch_line, options, _NOT_KEPT)
    refuse_unsubmitted(options)
    if options["submit"] and not dry_run:
        return _submitted(launch_line, options)
    host, console = LocalHost(), stderr_console()
    site = site_directory(os.environ)
    if options["site"] and not dry_run:
        make_directory(site, SITE_HINT)
    plan = prepare(_request(launch_line, options), host)
    cost = cost_by_guess(plan)
    if dry_run:
        print_json(_plan(plan)) if as_json else print(cost)
        return 0
    console.print(cost)
    if not options["resume"]:
        keep_options(options["directory"], given_options(click.get_current_context(), _NOT_KEPT))
    with status_line("measuring", console) as show:
        say = show if console.is_terminal else console.print
        swept = _swept(plan, options["round_number"], host, say, console.print)
    if swept is None:
        return int(ExitCode.CONTINUES)
    if options["site"]:
        swept.sentences += for_site(swept.learned, swept.exported.policy, site, host)
    _report(swept, plan, console, as_json=as_json)
    return 0


def _swept(plan: SweepPlan, round_number: int | None, host: LocalHost, say: Say, tell: Say) -> Swept | None:
    """Sweep, or in a job of an array measure its part. Returns None while other jobs still measure."""
    if round_number is None:
        return sweep(plan, host, say, tell)
    array_round = round_of(plan.request.directory, round_number)
    return work_on_array(plan, array_round, element_of(host.environ), host, say)


def _submitted(launch_line: tuple[str, ...], options: dict[str, Any]) -> int:
    """Sweep in a job whose files are in the directory of the measurements. A restarted job continues."""
    directory = options["directory"].absolute()
    spread_of(options)  # refuse a malformed number of jobs before old measurements are removed
    if not options["resume"]:
        forget(directory)
        keep_options(directory, given_options(click.get_current_context(), _NOT_KEPT))
    arguments = ("--out", str(directory), "--resume")
    return run_submitted(
        directory,
        arguments,
        budget_s=parse_duration(options["budget"]) if options["budget"] else _BUDGET_S,
        go_on=sh_command(["mpiric", "sweep", "--submit", *arguments, "--", *launch_line]),
        afresh=not options["resume"],
        plans_itself=True,
    )


def _report(swept: Swept, plan: SweepPlan, console: Console, *, as_json: bool) -> None:
    if as_json:
        policy = policy_json(swept.learned)
        more = {"points": swept.points, "launches": swept.launches, "elapsed_s": swept.elapsed_s}
        exported = {"gain": swept.exported.gain, "points": len(swept.exported.gains)}
        reasons = {"failed": swept.failed, "disturbed": swept.disturbed, "exported": exported}
        print_json({**policy, **_plan(plan), **more, **reasons})
    else:
        print_policy(swept.learned, stdout_console(), swept.exported.gain)
    for name, why in swept.failed.items():
        console.print(f"excluded: {name}: {why}")
    spent = swept.elapsed_s * len(plan.nodes) / 3600
    console.print(
        f"{swept.points} points measured, {share(swept.points / plan.points)} of the grid, "
        f"in {swept.elapsed_s:.0f} s, {spent:.2g} core-hours"
    )
    for sentence in swept.sentences:
        console.print(sentence)


def _plan(plan: SweepPlan) -> dict[str, Any]:
    ranks = len(plan.nodes)
    return {
        "grid_points": plan.points,
        "least_core_hours": guessed_s(plan, *FAST[1:]) * ranks / 3600,
        "most_core_hours": guessed_s(plan, *SLOW[1:]) * ranks / 3600,
        "world_ranks": ranks,
        "communicators": sorted({str(subject.shape) for subject in plan.sizes}),
    }


def _request(launch_line: tuple[str, ...], options: dict[str, Any]) -> SweepRequest:
    names = (name for word in options["collectives"] for name in GROUPS.get(word, (word,)))
    return launch_request_of(
        SweepRequest,
        launch_line,
        options,
        collectives=tuple(dict.fromkeys(names)) or (COLLECTIVES if options["record"] else USUAL),
        sizes=_sizes(options["sizes"]),
        ranks=tuple(_number(word) for word in options["ranks"]),
        per_node=tuple(_number(word) for word in options["per_node"]),
        budget_s=parse_duration(options["budget"]) if options["budget"] else None,
        own_algorithms=options["own"],
    )


def _sizes(text: str) -> tuple[int, ...]:
    low, colon, high = text.partition(":")
    if not colon:
        return tuple(sorted({_number(word) for word in text.split(",")}))
    first, last = _number(low), _number(high)
    sizes = tuple(2**power for power in range(31) if first <= 2**power <= last)
    if not sizes:
        raise MpiricError(f"--sizes {text} contains no power of two", hint="for example --sizes 4:4M")
    return sizes


def _number(word: str) -> int:
    match = re.fullmatch(r"([0-9]{1,9})([kKmMgG]?)", word)
    number = int(match[1]) * _UNITS[match[2].lower()] if match else 0
    if not 0 < number < 2**31:
        raise MpiricError(f"{word!r} must be a number from 1 to 2^31-1", hint="for example 8, 64K or 4M")
    return number
