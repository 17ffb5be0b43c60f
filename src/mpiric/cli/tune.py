"""`mpiric tune`: find the fastest configuration, prove it and save the recipe."""

import re
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
    DIRECTORY,
    FILE,
    cli_command,
    command_line,
    complete_knobs,
    confidence_option,
    given_options,
    in_place_option,
    json_option,
    launch_request_of,
    minimum_effect_option,
    mpi_option,
    recall_options,
    request_of,
    store_option,
)
from mpiric.cli._progress import Progress
from mpiric.cli._submitting import (
    array_options,
    refuse_unsubmitted,
    run_submitted,
    spread_of,
    submit_options,
)
from mpiric.cli._terminal import stdout_console
from mpiric.cli.main import STARTED_S
from mpiric.host.facts.local import LocalHost
from mpiric.model.amount import parse_duration
from mpiric.model.errors import ExitCode, MpiricError
from mpiric.model.parameter import parse_parameters, substitute
from mpiric.model.quoting import sh_command
from mpiric.model.situation import Allowed
from mpiric.model.tuned import Tuned
from mpiric.plans.stages import EFFORTS
from mpiric.report.tuned_json import tuned_json
from mpiric.report.tuned_text import print_tuned
from mpiric.schedulers import element_of
from mpiric.statistics.claims import StoppingRule
from mpiric.tuning.mark_choice import parse_mark
from mpiric.tuning.objective import parse_objective
from mpiric.workflows.profile.load import advised_knobs
from mpiric.workflows.run.run import with_values
from mpiric.workflows.tune.file_runs import check_io_budget
from mpiric.workflows.tune.finish import check_reference
from mpiric.workflows.tune.start import options_of_tune, tune_to_submit
from mpiric.workflows.tune.state import TuneRequest
from mpiric.workflows.tune.tune import dry_run as lines_of_dry_run
from mpiric.workflows.tune.tune import tune

_EPILOG = """\b
Examples:
  mpiric tune -- mpirun -n 2 lmp -in in.lj
  mpiric tune --budget 30m --check './verify.sh' -- srun -n 128 ./app input.nml
  mpiric tune --only transport,collectives -- mpiexec -n 64 ./solver
  mpiric tune --objective 'output:Performance: (.*) ns/day' --maximise -- mpirun -n 8 gmx_mpi mdrun
  mpiric tune --only io --objective io -- mpirun -n 64 ./app input.nml   file layout and I/O
  mpiric tune --param NB=64,128,256 -- mpirun -n 4 ./app --block {NB}
  mpiric tune --site -- mpirun -n 2 IMB-MPI1 PingPong   defaults for all programs of a site
  mpiric tune --resume -- mpirun -n 2 lmp -in in.lj      after Ctrl-C or a crash
  mpiric tune --submit --sbatch='-p normal -t 1:00:00' -- srun -N 4 -n 64 ./app   as a job
  mpiric tune --submit --resume -- srun -N 4 -n 64 ./app                          follow the job again
  mpiric tune --submit --array 16%4 -- srun -N 4 -n 64 ./app   in short jobs, four at a time
"""


_NOT_KEPT = set("submit resume store into round_number command_line mpi_label as_json dry_run".split())
_SETTINGS, _CRITERIA, _LONG, _FILES = "More settings", "Comparison and proof", "Long programs", "Files"
_OF_SUBMISSION = ("job_options", "array", "slice_time")


def _names(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split ``--only a,b --only c`` into ("a", "b", "c")."""
    return tuple(name for value in values for name in value.split(",") if name)


@cli_command(
    epilog=_EPILOG,
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
    help_all=(_SETTINGS, _CRITERIA, _LONG, _FILES, BATCH_JOBS),
)
@option_group(
    "How long",
    click.option(
        "--budget",
        default="10m",
        show_default=True,
        metavar="TIME",
        help="Time limit of the whole tune: 90s, 10m, 1h30m.",
    ),
    click.option("--max-runs", **COUNT, help="Maximum number of runs."),
    click.option(
        "--effort",
        type=click.Choice([*EFFORTS]),
        default="normal",
        show_default=True,
        help="Number of runs to spend on small gains; with thorough, the contribution of each setting is "
        "proved instead of estimated.",
    ),
    click.option(
        "--resume",
        is_flag=True,
        help="Continue the interrupted tune of this command, by default with its options.",
    ),
)
@option_group(
    "What may change",
    click.option(
        "--only",
        multiple=True,
        callback=_names,
        shell_complete=complete_knobs,
        metavar="KNOB,…",
        help="Try only these knobs or families of knobs.",
    ),
    click.option(
        "--without",
        multiple=True,
        callback=_names,
        shell_complete=complete_knobs,
        metavar="KNOB,…",
        help="Do not try these knobs or families of knobs.",
    ),
    mpi_option,
    click.option(
        "--param",
        multiple=True,
        metavar="NAME=V1,V2,…",
        help="Also try these values for {NAME} in the arguments of CMD. The first value is the baseline.",
    ),
)
@option_group(
    "What counts as faster",
    click.option(
        "--objective",
        default="wall",
        show_default=True,
        metavar="WHAT",
        help="Quantity to minimise: wall (time of the whole run), main (time from MPI_Init to MPI_Finalize), "
        "core-hours, io (time in files of the slowest rank), output:REGEX (a number that the program "
        "prints) or command:CMD (the last number that CMD prints).",
    ),
    click.option("--maximise", is_flag=True, help="Maximise the objective instead of minimising it."),
    click.option(
        "--check",
        "check_command",
        default="",
        metavar="CMD",
        help="Command that accepts the results of a run with status 0 and rejects them otherwise. It runs in "
        "the directory of the run; $MPIRIC_STDOUT and $MPIRIC_ORIGINAL_STDOUT name the outputs.",
    ),
)
@option_group(
    _SETTINGS,
    click.option(
        "--vary-ranks",
        is_flag=True,
        help="Also try other numbers of ranks, with the number of threads adjusted.",
    ),
    click.option("--vary-nodes", is_flag=True, help="Also try other numbers of nodes."),
    click.option(
        "--allow-rounding",
        "rounding",
        is_flag=True,
        help="Also try settings that may change the last digits of results.",
    ),
    click.option(
        "--allow-late",
        "late",
        is_flag=True,
        help="Also try settings that delay when data or time stamps of files become visible.",
    ),
    click.option(
        "--allow-relayout",
        "relayout",
        is_flag=True,
        help="Also try settings that arrange the contents of HDF5 files differently.",
    ),
    click.option(
        "--try-all",
        is_flag=True,
        help="Also try knobs that cannot affect what the command was observed to do.",
    ),
    click.option(
        "--advice",
        **DIRECTORY,
        help="Try the settings that `mpiric profile` advises in this record first.",
    ),
    click.option(
        "--site",
        is_flag=True,
        help="Search for defaults that suit every program, and write them as files for an administrator to "
        "install (openmpi-mca-params.conf, modulefile, shell snippet).",
    ),
    click.option("--seed", type=int, default=0, help="Seed of the random order of trials."),
)
@option_group(
    _CRITERIA,
    click.option("--no-check", is_flag=True, help="Do not compare the output with the original output."),
    click.option(
        "--ignore-lines",
        default="",
        metavar="REGEX",
        help="Do not compare lines of output and text files that match this regular expression.",
    ),
    confidence_option,
    minimum_effect_option,
)
@option_group(
    _LONG,
    click.option(
        "--mark",
        metavar="MARK",
        help="Step marker: end runs at it, and compare the time between two of them. Either a call as "
        "`mpiric profile --json` names it (allreduce@app+0x48f2) or a line of output (stdout:REGEX).",
    ),
    click.option("--after", metavar="TIME", help="Ignore steps before this time of a run: 10m."),
    click.option(
        "--length",
        metavar="TIME",
        help="Minimise the forecast time of a run that takes this long with the original settings: 2h.",
    ),
    click.option(
        "--to-the-end",
        is_flag=True,
        help="Run the program to its end, even where step markers would allow to stop earlier.",
    ),
    click.option(
        "--finish",
        is_flag=True,
        help="After a tune with step markers, run original and answer to their ends and compare them. This "
        "time does not count in --budget.",
    ),
    click.option(
        "--reference",
        **DIRECTORY,
        help="Compare with the files of an earlier whole run in DIR and its output in DIR/stdout; implies "
        "--finish.",
    ),
)
@option_group(
    _FILES,
    in_place_option,
    click.option(
        "--io-budget",
        metavar="SIZE",
        help="Maximum number of bytes that all runs may write: 20GiB, or a share of the free space. "
        "[default: 5%]",
    ),
    click.option(
        "--warm",
        is_flag=True,
        help="Leave input files in the page cache when file settings are tuned, instead of reading them from "
        "the file servers in every run.",
    ),
)
@option_group(BATCH_JOBS, submit_options, array_options)
@option_group(
    "Output",
    click.option("--output", "-o", **FILE, help="Save the recipe to this file, too."),
    store_option,
    json_option,
    click.option(
        "--dry-run", is_flag=True, help="Print the command and the settings to try, and run nothing."
    ),
)
@click.option("--into", type=click.Path(path_type=Path), hidden=True)
@command_line
def command(command_line: tuple[str, ...], as_json: bool, dry_run: bool, **options: Any) -> int:  # noqa: FBT001
    """Find the fastest settings for CMD, and prove them.

    CMD is your own launch line. It runs as it is, then with settings that its behaviour suggests, then with
    the settings that a search proposes. Fresh runs in pairs prove the best settings against the original.
    The result is a recipe for `mpiric run`, and the exact command and environment to use without mpiric.
    """
    if options["resume"]:
        options = _with_earlier_options(command_line, options)
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


def _with_earlier_options(line: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of this call, completed by the options of the tune that it resumes."""
    stored = options_of_tune(line, str(Path.cwd()), options["store"], submitted=options["submit"])
    of_job = () if options["submit"] else _OF_SUBMISSION
    recalled = recall_options(click.get_current_context(), stored, line, {*_NOT_KEPT, *of_job})
    return {name: recalled[name] for name in options}


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
    return launch_request_of(
        TuneRequest,
        command_line,
        options,
        stdin=stdin,
        budget_s=parse_duration(options["budget"]),
        begun_s=STARTED_S,
        objective=parse_objective(options["objective"], maximise=options["maximise"]),
        ignore_lines=check_pattern(options["ignore_lines"]),
        compare_output=not (options["no_check"] or options["check_command"]),
        io_budget=check_io_budget(options["io_budget"] or ""),
        allowed=request_of(Allowed, options),
        rule=request_of(StoppingRule, options),
        effort=EFFORTS[options["effort"]],
        advised=advised_knobs(options["advice"]) if options["advice"] else (),
        mark=parse_mark(options["mark"]) if options["mark"] is not None else None,
        after_s=parse_duration(options["after"]) if options["after"] else 0.0,
        length_s=parse_duration(options["length"]) if options["length"] else None,
        finish=options["finish"] or options["reference"] is not None,
        reference=check_reference(options["reference"]) if options["reference"] else None,
        spread=spread_of(options),
        parameters=parse_parameters(options["param"], command_line),
        options=tuple(given_options(click.get_current_context(), _NOT_KEPT)),
    )


def check_pattern(pattern: str) -> str:
    """Return a valid regular expression. Raises MpiricError for an invalid one."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise MpiricError(
            f"--ignore-lines needs a regular expression, not {pattern!r}: {error}",
            hint="escape special characters with a backslash, as in 'Run \\(id\\)'",
        ) from None
    return pattern


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
