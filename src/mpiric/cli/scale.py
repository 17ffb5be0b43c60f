"""`mpiric scale`: measure how a program scales, and recommend a number of ranks."""

import hashlib
import sys
from pathlib import Path
from typing import Any

import click
from cloup import option_group

from mpiric import __version__
from mpiric.cli._errors import say
from mpiric.cli._input import piped_input
from mpiric.cli._json import print_json
from mpiric.cli._options import (
    BATCH_JOBS,
    cli_command,
    command_line,
    flag,
    given_options,
    in_place_option,
    json_option,
    launch_request_of,
    option,
    share,
    store_option,
)
from mpiric.cli._submitting import refuse_unsubmitted, run_submitted, submit_options
from mpiric.cli._terminal import Progress, stdout_console
from mpiric.host.facts.local import LocalHost
from mpiric.host.owned_files import write_text, write_whole
from mpiric.model.amount import number_of, parse_duration
from mpiric.model.errors import ExitCode, MpiricError, writing
from mpiric.model.scaling import Scaling
from mpiric.report.scale_figure import as_pdf, as_svg, scaling_shapes
from mpiric.report.scale_text import print_scaling, proposal_text, scaling_csv, scaling_html, scaling_json
from mpiric.tuning.mark_choice import parse_mark
from mpiric.tuning.store import Store, make_directory
from mpiric.workflows.scale.request import ScaleRequest
from mpiric.workflows.scale.scale import dry_run, scale

_MOST = 1 << 24


def _numbers(_: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
    parts = [word for word in (value or "").split(",") if word]
    numbers = [number_of(word) for word in parts]
    if not all(0 < number <= _MOST for number in numbers):
        name = parameter.opts[0]
        raise MpiricError(
            f"{name} must be a list of positive integers, not {value!r}", hint=f"for example {name} 1,2,4"
        )
    return tuple(dict.fromkeys(numbers))


@cli_command(context_settings={"allow_interspersed_args": False})
@option_group(
    "Sizes",
    option(
        "--ranks",
        "N,…",
        "Numbers of ranks. [default: powers of two that fit, and the number in CMD]",
        callback=_numbers,
    ),
    option("--nodes", "N,…", "Numbers of nodes; the ranks per node are as in CMD.", callback=_numbers),
    option(
        "--threads",
        "N,…",
        "Threads of each rank; every number of ranks is combined with them. [default: as in CMD]",
        callback=_numbers,
    ),
    flag(
        "--weak",
        "Measure weak scaling: {ranks}, {nodes} and {threads} in CMD are replaced by the numbers of "
        "each size.",
    ),
)
@option_group(
    "Measurements",
    option("--budget", "TIME", "Time limit of all runs together: 90s, 10m, 1h30m.", default="10m"),
    flag("--to-the-end", "Run the program to its end instead of ending runs at step markers."),
    option(
        "--mark",
        "MARK",
        "Step marker, written as for `mpiric tune --mark`: allreduce@app+0x48f2, or 'stdout:REGEX' for "
        "lines of output.",
    ),
    option(
        "--check",
        "check_command",
        "CMD",
        "A run counts only if this command, in the directory of the run, exits with status 0.",
    ),
    in_place_option,
    flag("--resume", "Continue the interrupted measurement of this command; repeat its other options."),
    option("--into", "DIR", "", hidden=True),
)
@option_group(
    "Answer",
    option(
        "--efficiency",
        "SHARE",
        "Minimum parallel efficiency of the recommended size. [default: 70%]",
        type=share(is_positive=True),
        default=ScaleRequest.efficiency,
        show_default=False,
    ),
    option("--within", "TIME", "Deadline of a whole run; the cheapest size that meets it is named."),
    option(
        "--length",
        "TIME",
        "Time of a whole run of CMD, if you know it; used for forecasts if runs end at a step marker.",
    ),
    option(
        "--predict", "N,…", "Numbers of ranks whose time is predicted instead of measured.", callback=_numbers
    ),
)
@option_group(BATCH_JOBS, submit_options)
@option_group(
    "Output",
    option(
        "--output",
        "-o",
        "FILE",
        "Write ranks, threads and nodes of the recommended size as a recipe for `mpiric run --recipe`.",
    ),
    json_option,
    option("--csv", "csv_file", "FILE", "Write the measured sizes as CSV."),
    option("--html", "html_file", "FILE", "Write a report page."),
    option(
        "--proposal",
        "DIR",
        "Write a paragraph and a figure (SVG and PDF) for a proposal for computing time into this directory.",
    ),
    store_option,
    flag("--dry-run", "Print the launch of each size and run nothing."),
)
@command_line
def command(command_line: tuple[str, ...], store: Path | None, **options: Any) -> int:
    """Measure how CMD scales, and recommend a number of ranks.

    CMD runs at several sizes, in random order. If a step marker is found, each run ends there. The answer has
    the time, speedup and efficiency of each size, where the curve bends and why, and recommended sizes.
    """
    refuse_unsubmitted(options)
    with piped_input(command_line) as stdin:
        request = launch_request_of(
            ScaleRequest,
            command_line,
            options,
            stdin=stdin,
            store=store,
            mark=_mark(options["mark"]) if options["mark"] else None,
            budget_s=_duration(options, "budget"),
            within_s=_duration(options, "within") if options["within"] else None,
            length_s=_duration(options, "length") if options["length"] else None,
        )
        if options["ranks"] and options["nodes"]:
            raise MpiricError("--ranks and --nodes both choose the sizes", hint="remove one of them")
        if options["dry_run"]:
            for line in dry_run(request, LocalHost()):
                print(line)
            return 0
        if options["submit"]:
            return _submitted(request)
        with Progress() as progress:
            scaling = scale(request, LocalHost(), progress)
    _write(scaling, options)
    if scaling.recipe:
        say(f"wrote {scaling.recipe}; apply it: mpiric run --recipe {scaling.recipe} -- CMD")
    if options["as_json"]:
        print_json(scaling_json(scaling))
    else:
        print_scaling(scaling, stdout_console())
    return int(ExitCode.INTERRUPTED) if scaling.interrupted else 0


def _mark(text: str) -> Any:
    """Return the step marker. Raises MpiricError for one of a communicator with a fixed number of ranks."""
    mark = parse_mark(text)
    if mark.key.ranks:
        raise MpiricError(
            f"--mark {text} names a communicator of {mark.key.ranks} ranks, and the number of ranks varies",
            hint="leave the communicator out: FUNCTION@MODULE+OFFSET",
        )
    return mark


def _duration(options: dict[str, Any], name: str) -> float:
    seconds = parse_duration(options[name])
    if seconds <= 0:
        raise MpiricError(f"--{name} must be longer than 0 s", hint="for example 90s, 10m or 24h")
    return seconds


def _write(scaling: Scaling, options: dict[str, Any]) -> None:
    """Write the requested files and print their names on stderr."""
    texts: dict[Path, str] = {}
    if options["csv_file"] is not None:
        texts[options["csv_file"]] = scaling_csv(scaling)
    if options["html_file"] is not None:
        texts[options["html_file"]] = scaling_html(scaling, __version__)
    directory: Path | None = options["proposal"]
    if directory is not None:
        shapes = scaling_shapes(scaling)
        texts[directory / "scaling.md"] = proposal_text(scaling)
        texts[directory / "scaling.svg"] = as_svg(shapes)
    for path, text in texts.items():
        print(f"wrote {write_text(path, text)}", file=sys.stderr)
    if directory is not None:
        with writing(directory / "scaling.pdf", "name another directory"):
            write_whole(directory / "scaling.pdf", as_pdf(shapes))
        print(f"wrote {directory / 'scaling.pdf'}", file=sys.stderr)


def _submitted(request: ScaleRequest) -> int:
    """Make the study in one job, whose log is in a directory of the store; a restarted job continues it."""
    root = Store(request.store).root.absolute()
    options = given_options(click.get_current_context(), {"submit", "store", "resume", "command_line"})
    call = "\0".join((request.working_directory, *options, *request.argv)).encode(errors="surrogateescape")
    directory = root / f"scale-{hashlib.sha256(call).hexdigest()[:12]}"
    make_directory(directory)
    return run_submitted(
        directory,
        ("--into", str(directory)),
        stdin=request.stdin,
        budget_s=request.budget_s,
        afresh=not request.resume,
    )
