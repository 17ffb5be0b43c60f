"""`mpiric tune`: find the fastest configuration, prove it and save the recipe."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from cloup import option_group

from mpiric.cli._input import piped_input
from mpiric.cli._json import print_json
from mpiric.cli._options import (
    BATCH_JOBS,
    COUNT,
    choice,
    cli_command,
    command_line,
    complete_knobs,
    confidence_option,
    file_templates,
    flag,
    given_options,
    in_place_option,
    json_option,
    launch_request_of,
    minimum_effect_option,
    mpi_option,
    option,
    param_file_option,
    recall_options,
    request_of,
    store_option,
)
from mpiric.cli._submitting import array_options, refuse_unsubmitted, run_submitted, spread_of, submit_options
from mpiric.cli._terminal import Progress, stdout_console
from mpiric.cli.main import STARTED_S
from mpiric.host.facts.local import LocalHost
from mpiric.model.amount import parse_duration
from mpiric.model.configuration import parse_parameters, substitute
from mpiric.model.errors import ExitCode, MpiricError
from mpiric.model.quoting import sh_command
from mpiric.model.situation import Allowed
from mpiric.model.tuned import Tuned
from mpiric.plans.stages import EFFORTS
from mpiric.report.json_objects import tuned_json
from mpiric.report.tuned_text import print_tuned
from mpiric.schedulers import element_of
from mpiric.statistics.claims import StoppingRule
from mpiric.tuning.mark_choice import parse_mark
from mpiric.tuning.objective import check_pattern, parse_objective
from mpiric.workflows.run.run import with_values
from mpiric.workflows.trials.recorded_runs import advised_knobs
from mpiric.workflows.tune.check_answer import check_reference
from mpiric.workflows.tune.file_runs import check_io_budget
from mpiric.workflows.tune.start import options_of_tune, tune_to_submit
from mpiric.workflows.tune.state import TuneRequest
from mpiric.workflows.tune.tune import dry_run as lines_of_dry_run
from mpiric.workflows.tune.tune import tune

_NOT_KEPT = set("submit resume store into round_number command_line mpi_label as_json dry_run".split())
_SETTINGS, _CRITERIA, _LONG, _FILES = "More settings", "Comparison and proof", "Long programs", "Files"


def _names(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split ``--only a,b --only c`` into ("a", "b", "c")."""
    return tuple(name for value in values for name in value.split(",") if name)


@cli_command(
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
    help_all=(_SETTINGS, _CRITERIA, _LONG, _FILES, BATCH_JOBS),
)
@option_group(
    "How long",
    option("--budget", "TIME", "Time limit of the whole tune: 90s, 10m, 1h30m.", default="10m"),
    option("--max-runs", "N", "Maximum number of runs.", type=COUNT),
    choice(
        [*EFFORTS],
        "--effort",
        "Runs to spend on small gains; thorough also proves the share of each setting.",
        default="normal",
    ),
    flag("--resume", "Continue the interrupted tune of this command."),
)
@option_group(
    "What may change",
    option(
        "--only",
        "KNOB,…",
        "Try only these knobs or families of knobs.",
        multiple=True,
        callback=_names,
        shell_complete=complete_knobs,
    ),
    option(
        "--without",
        "KNOB,…",
        "Do not try these knobs or families of knobs.",
        multiple=True,
        callback=_names,
        shell_complete=complete_knobs,
    ),
    mpi_option,
    option(
        "--param",
        "NAME=V1,V2,…",
        "Also try these values for {NAME} in the arguments of CMD. The first value is the baseline.",
        multiple=True,
    ),
    param_file_option,
)
@option_group(
    "What counts as faster",
    option(
        "--objective",
        "WHAT",
        "Quantity to minimise: wall (time of the whole run), main (time from MPI_Init to "
        "MPI_Finalize), core-hours, io (time of the slowest rank for files), output:REGEX (a number "
        "that the program prints) or command:COMMAND (the last number that it prints).",
        default="wall",
    ),
    flag("--maximise", "Maximise the objective instead of minimising it."),
    option(
        "--check",
        "check_command",
        "CMD",
        "Command that accepts a run (status 0) or rejects it. It runs in the directory of the run; the "
        "files $MPIRIC_STDOUT and $MPIRIC_ORIGINAL_STDOUT are the outputs.",
    ),
)
@option_group(
    _SETTINGS,
    flag("--vary-ranks", "Also try other numbers of ranks, with the number of threads adjusted."),
    flag("--vary-nodes", "Also try other numbers of nodes."),
    flag("--allow-rounding", "rounding", "Also try settings that may change the last digits of results."),
    flag(
        "--allow-late",
        "late",
        "Also try settings that delay when file data and time stamps become visible; a killed run may "
        "lose data.",
    ),
    flag(
        "--allow-relayout",
        "relayout",
        "Also try settings that arrange the contents of HDF5 files differently.",
    ),
    flag("--try-all", "Also try knobs that should have no effect according to the observed runs."),
    option(
        "--advice", "DIR", "First try the settings that the advice in this record of `mpiric profile` names."
    ),
    flag(
        "--site",
        "Search for defaults that suit every program, and write them as files for an administrator to "
        "install (openmpi-mca-params.conf, modulefile, shell snippet).",
    ),
    option("--seed", "N", "Seed of the random order of trials.", type=int, default=0),
)
@option_group(
    _CRITERIA,
    flag("--no-check", "Do not compare the output with the original output."),
    option(
        "--ignore-lines",
        "REGEX",
        "Do not compare lines of output and text files that match this regular expression.",
    ),
    confidence_option,
    minimum_effect_option,
)
@option_group(
    _LONG,
    option(
        "--mark",
        "MARK",
        "Step marker: end each run at the second one, and compare the time between the two. A call in "
        "`mpiric profile --json` (allreduce@app+0x48f2) or a line of output (stdout:REGEX).",
    ),
    option("--after", "TIME", "Ignore steps before this time of a run: 10m."),
    option(
        "--length",
        "TIME",
        "Length of a production run (2h): minimise its forecast time instead of the time of a step.",
    ),
    flag("--to-the-end", "Run the program to its end, even if step markers would allow to stop earlier."),
    flag(
        "--finish",
        "After a tune with step markers, run the original and the tuned command to the end, and "
        "compare their results. This time does not count in --budget.",
    ),
    option(
        "--reference",
        "DIR",
        "Compare with an earlier whole run: DIR has its files, and its output as DIR/stdout. Implies "
        "--finish.",
    ),
)
@option_group(
    _FILES,
    in_place_option,
    option(
        "--io-budget",
        "SIZE",
        "Maximum number of bytes that all runs may write: 20GiB, or a share of the free space. [default: 5%]",
    ),
    flag(
        "--warm",
        "Leave input files in the page cache when file settings are tuned, instead of reading them from "
        "the file servers in every run.",
    ),
)
@option_group(BATCH_JOBS, submit_options, array_options)
@option_group(
    "Output",
    option("--output", "-o", "FILE", "Save the recipe to this file, too."),
    store_option,
    json_option,
    flag("--dry-run", "Print the command and the settings to try, and run nothing."),
)
@click.option("--into", type=click.Path(path_type=Path), hidden=True)
@command_line
def command(command_line: tuple[str, ...], as_json: bool, dry_run: bool, **options: Any) -> int:  # noqa: FBT001
    """Find the fastest settings for CMD, and prove them.

    CMD is your own launch line. It runs as it is, then with settings that its behaviour suggests, then with
    the settings that a search proposes. Fresh runs in pairs prove the best settings against the original.
    The result is a recipe for `mpiric run`, and the command to use without mpiric.
    """
    if options["resume"]:
        submitted = options["submit"]
        stored = options_of_tune(command_line, str(Path.cwd()), options["store"], submitted=submitted)
        options = recall_options(stored, command_line, options, _NOT_KEPT)
    refuse_unsubmitted(options)
    with piped_input(command_line) as stdin:
        request = _under(_request(command_line, stdin, options), options)
        if dry_run:
            print("\n".join(lines_of_dry_run(request, LocalHost())))
            return 0
        if options["submit"]:
            return _submitted(request)
        with Progress() as progress:
            tuned = _tuned(request, options["round_number"], progress)
    if tuned is None:
        return int(ExitCode.CONTINUES)
    if as_json:
        print_json(tuned_json(tuned))
    else:
        print_tuned(tuned, stdout_console(width=None))
    return int(ExitCode.INTERRUPTED) if tuned.interrupted else 0


def _tuned(request: TuneRequest, round_number: int | None, progress: Progress) -> Tuned | None:
    """Tune, or in a job of an array do its part. Returns None while other jobs still run."""
    host = LocalHost()
    if round_number is None:
        return tune(request, host, progress)
    # Only jobs of an array need these.
    from mpiric.workflows.submit.array_rounds import round_of
    from mpiric.workflows.tune.array import work

    return work(request, round_of(request.into, round_number), element_of(host.environ), host, progress)


def _request(command_line: tuple[str, ...], stdin: str, options: dict[str, Any]) -> TuneRequest:
    if options["no_check"] and options["check_command"]:
        raise MpiricError("--check and --no-check cannot be combined", hint="give one of them")
    templates = file_templates(options["param_files"])
    return launch_request_of(
        TuneRequest,
        command_line,
        options,
        stdin=stdin,
        budget_s=parse_duration(options["budget"]),
        begun_s=STARTED_S,
        objective=parse_objective(options["objective"], maximise=options["maximise"]),
        ignore_lines=check_pattern(options["ignore_lines"], "--ignore-lines"),
        compare_output=not (options["no_check"] or options["check_command"]),
        io_budget=check_io_budget(options["io_budget"]),
        allowed=request_of(Allowed, options),
        rule=request_of(StoppingRule, options),
        effort=EFFORTS[options["effort"]],
        advised=advised_knobs(options["advice"]) if options["advice"] else (),
        mark=parse_mark(options["mark"]) if options["mark"] else None,
        after_s=parse_duration(options["after"]) if options["after"] else 0.0,
        length_s=parse_duration(options["length"]) if options["length"] else None,
        finish=options["finish"] or options["reference"] is not None,
        reference=check_reference(options["reference"]) if options["reference"] else None,
        spread=spread_of(options),
        parameters=parse_parameters(options["param"], (*command_line, *templates.values())),
        file_templates=templates,
        options=tuple(given_options(click.get_current_context(), _NOT_KEPT)),
    )


def _under(request: TuneRequest, options: dict[str, Any]) -> TuneRequest:
    """Return the request for the command under the library of ``--mpi``, if it was given."""
    label = options["mpi_label"]
    if not label:
        return request
    if options["submit"]:
        raise MpiricError(
            "--mpi and --submit cannot be combined",
            hint="submit the command that `mpiric run --mpi NAME --dry-run -- CMD` prints",
        )
    job = (request.argv, request.working_directory, request.environment)
    argv, environment = with_values(*job, {"mpi": label}, LocalHost())
    return replace(request, argv=argv, environment=environment)


def _submitted(request: TuneRequest) -> int:
    directory = tune_to_submit(request)
    again = ["mpiric", "tune", "--submit", "--resume"]
    again += ["--store", str(request.store)] if request.store else []
    return run_submitted(
        directory,
        ("--into", str(directory)),
        stdin=request.stdin,
        argv=substitute(request.argv, request.baseline_parameters),
        budget_s=request.budget_s,
        go_on=sh_command([*again, "--", *request.argv]),
        afresh=False,
    )
