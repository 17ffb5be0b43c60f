"""`mpiric history`: list tunes, and find out whether a program has become slower."""

import hashlib
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from cloup import option_group
from rich.table import Table

from mpiric.cli._errors import say
from mpiric.cli._input import piped_input
from mpiric.cli._json import print_json
from mpiric.cli._options import (
    BATCH_JOBS,
    cli_command,
    command_line_or_none,
    confidence_option,
    flag,
    given_options,
    in_place_option,
    json_option,
    launch_request_of,
    minimum_effect_option,
    option,
    store_option,
)
from mpiric.cli._submitting import refuse_unsubmitted, run_submitted, submit_options
from mpiric.cli._terminal import Progress, stdout_console
from mpiric.host.command_log import hide, masked
from mpiric.host.facts.local import LocalHost
from mpiric.model.errors import ExitCode, MpiricError, NotFoundError
from mpiric.model.evidence import Verdict
from mpiric.statistics.regression import Regression
from mpiric.tuning.store import EVENTS, Store, TuneSummary
from mpiric.workflows.fabric.fabric import against_fabric
from mpiric.workflows.history.baseline import AgainstRequest
from mpiric.workflows.history.history import (
    DayComparison,
    ExploredSeries,
    against,
    explored_history,
    explored_json,
    explored_lines,
)
from mpiric.workflows.sweep.log import make_directory

_JOB_S = 3600.0  # time limit of a submitted job, unless --sbatch sets another
_VERDICTS = {
    Verdict.SLOWER: "slower than before",
    Verdict.FASTER: "faster than before",
    Verdict.NO_DIFFERENCE: "no difference shown",
}


@cli_command(context_settings={"allow_interspersed_args": False})
@option_group(
    "Comparison",
    option(
        "--against",
        "baseline",
        "BASELINE",
        "Run CMD and compare it with a recipe; with the tune of a date (2026-11-01); with records of "
        "`mpiric profile` in a directory, by the time per step; or with the JSON of `mpiric fabric` "
        "(.json).",
    ),
    flag("--explore", "Show the results of `mpiric run --explore` for CMD, or for all commands."),
    confidence_option,
    minimum_effect_option,
    in_place_option,
)
@option_group(BATCH_JOBS, submit_options)
@option_group("Output", json_option, store_option)
@command_line_or_none
def command(command_line: tuple[str, ...], baseline: str, store: Path | None, **options: Any) -> int:
    """List tunes, or compare CMD with an earlier run.

    With --against, CMD runs in turn unchanged and with the recipe of BASELINE, and both are compared with the
    runs recorded then. The exit status is 80 if CMD has become slower, and 0 otherwise.
    """
    refuse_unsubmitted(options)
    if options["explore"]:
        return _explored(explored_history(store, command_line, say), as_json=options["as_json"])
    if not baseline:
        return _list(Store(store).tunes(), command_line, as_json=options["as_json"])
    if not command_line:
        raise MpiricError(
            "--against needs a command", hint="mpiric history --against BASELINE -- mpirun -n 2 ./app"
        )
    if baseline.endswith(".json"):
        return _against_fabric(Path(baseline), command_line, options)
    if options["submit"]:
        with piped_input(command_line) as stdin:
            return _submitted(command_line, store, stdin)
    with piped_input(command_line) as stdin, Progress() as progress:
        request = launch_request_of(
            AgainstRequest, command_line, options, against=baseline, stdin=stdin, store=store
        )
        comparison = against(request, LocalHost(), progress)
    if options["as_json"]:
        print_json(
            {
                "baseline": comparison.baseline.name,
                "scope": "steps" if comparison.baseline.marks else "whole run",
                "verdict": comparison.decisive.verdict.value,
                "as_it_is": _regression_json(comparison.as_it_is),
                "with_recipe": _regression_json(comparison.with_recipe) if comparison.with_recipe else None,
                "store": comparison.store,
            }
        )
    else:
        for line in _comparison_lines(comparison):
            print(line)
    return int(ExitCode.SLOWER) if comparison.decisive.verdict is Verdict.SLOWER else 0


def _submitted(command_line: tuple[str, ...], store: Path | None, stdin: str) -> int:
    """Compare in a job. Its files go to a directory of the store, which is the same for the same call."""
    root = Store(store).root.absolute()
    options = given_options(click.get_current_context(), {"submit", "store", "command_line"})
    call = "\0".join((str(Path.cwd()), *options, *command_line)).encode(errors="surrogateescape")
    directory = root / "submitted" / f"history-{hashlib.sha256(call).hexdigest()[:12]}"
    make_directory(directory, "name another --store")
    return run_submitted(directory, ("--store", str(root)), stdin=stdin, budget_s=_JOB_S, afresh=True)


def _against_fabric(baseline: Path, command_line: tuple[str, ...], options: dict[str, Any]) -> int:
    """Compare the transports with an earlier measurement, and print a line for each class of pairs."""
    rules = (options["confidence"], options["minimum_effect"])
    regressions = against_fabric(
        baseline,
        command_line,
        str(Path.cwd()),
        LocalHost(),
        lambda sentence: print(sentence, file=sys.stderr),
        *rules,
    )
    if options["as_json"]:
        print_json(
            {"baseline": baseline, "pairs": {c.value: _regression_json(r) for c, r in regressions.items()}}
        )
    for pair_class, regression in () if options["as_json"] else regressions.items():
        print(f"  {pair_class.value:11} {_regression_text(regression)}")
    slower = any(regression.verdict is Verdict.SLOWER for regression in regressions.values())
    return int(ExitCode.SLOWER) if slower else 0


def _explored(series: tuple[ExploredSeries, ...], *, as_json: bool) -> int:
    """Print the results of production jobs; JSON output has the series of the newest job only."""
    if as_json:
        if not series:
            raise NotFoundError("no explored jobs", hint="run some: mpiric run --explore -- CMD")
        print_json(explored_json(series[-1]))
        return 0
    for line in explored_lines(series):
        print(line)
    return 0


def _list(tunes: tuple[TuneSummary, ...], command_line: tuple[str, ...], *, as_json: bool) -> int:
    chosen = [tune for tune in tunes if not command_line or hide(tune.command) == hide(command_line)]
    if as_json:
        print_json([_past_json(tune) for tune in chosen])
        return 0
    table = Table("when", "command", "verdict", "ratio", "runs", "where", box=None, header_style="bold")
    for tune in chosen:
        is_compared = tune.result.get("verdict") != Verdict.NO_CANDIDATE.value
        ratio = tune.result.get("ratio") if is_compared else None
        state = "running" if tune.running else "" if tune.finished else "interrupted"
        table.add_row(
            tune.started_at[:16].replace("T", " "),
            " ".join(masked(tune.command)),
            state or str(tune.result.get("verdict", "")),
            f"{ratio:.2f}×" if ratio else "",
            str(tune.trials),
            str(tune.path),
        )
    for tune in chosen:
        if damaged := tune.damaged_lines:
            lines = "1 damaged line" if damaged == 1 else f"{damaged} damaged lines"
            say(f"{lines} of {tune.path / EVENTS} skipped")
    stdout_console().print(table if chosen else "no tunes yet; start one with `mpiric tune -- CMD`")
    return 0


def _comparison_lines(comparison: DayComparison) -> list[str]:
    rows = [("as it is", comparison.as_it_is)]
    if comparison.with_recipe is not None:
        rows.append(("with the recipe", comparison.with_recipe))
    per_step = ", by the time per step" if comparison.baseline.marks else ""
    lines = [f"compared with {comparison.baseline.name}{per_step}:"]
    for name, regression in rows:
        runs = f"{regression.now_runs} runs now, {regression.then_runs} before"
        lines.append(f"  {name:16s} {_regression_text(regression)}  ({runs})")
    return lines


def _regression_text(regression: Regression) -> str:
    interval = f"[{regression.low:.3f}, {regression.high:.3f}]"
    return f"{regression.ratio:.3f}× the earlier time {interval}  {_VERDICTS[regression.verdict]}"


def _past_json(tune: TuneSummary) -> dict[str, Any]:
    return {
        "started_at": tune.started_at,
        "command": list(masked(tune.command)),
        "finished": tune.finished,
        "running": tune.running or None,
        "runs": tune.trials,
        "path": str(tune.path),
        "damaged_lines": tune.damaged_lines,
        "result": dict(tune.result) or None,
    }


def _regression_json(regression: Regression) -> dict[str, Any]:
    return asdict(regression) | {"verdict": regression.verdict.value}
