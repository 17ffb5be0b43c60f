"""`mpiric place`: plan the placement of ranks and threads, and check the placement of a job."""

from math import inf
from pathlib import Path
from typing import Any

import click
from cloup import option_group

from mpiric.cli._errors import say
from mpiric.cli._json import print_json
from mpiric.cli._options import (
    choice,
    cli_command,
    command_line_or_none,
    complete_files,
    flag,
    json_option,
    one_of,
    option,
    request_of,
)
from mpiric.cli._placement_json import job_json, placed_json
from mpiric.host.facts.local import LocalHost
from mpiric.host.files import LARGEST_TEXT_BYTES, read_bounded
from mpiric.host.owned_files import write_whole
from mpiric.launchers import placing_launchers
from mpiric.model.amount import parse_duration
from mpiric.model.batch import hosts_of
from mpiric.model.errors import ExitCode, MpiricError, NoRoomError
from mpiric.model.json_text import parse_json
from mpiric.model.placement import Bandwidth, HardwareThreads, HugePages, PlacementRequest
from mpiric.placement import policies
from mpiric.placement.rankfile import Numbers
from mpiric.report.placement_text import (
    launchers_text,
    placement_svg,
    placement_text,
    runtimes_text,
    verdict_text,
)
from mpiric.workflows.placement.place import Placed, host_files, place, place_by_measurement, place_rankfile
from mpiric.workflows.placement.verify import verify

_MEASURE = "mpiric place --measure --ranks 1 --json > FILE"
_KINDS = ("performance", "efficiency", "any")


@cli_command("place", context_settings={"allow_interspersed_args": False})
@option_group(
    "Job",
    option("--ranks", "-n", "N", "Number of ranks of the job.", type=click.IntRange(1, 10_000_000)),
    option(
        "--threads",
        "-t",
        "N",
        "Number of threads of each rank. [default: 0, chosen by the policy]",
        type=click.IntRange(min=0),
        default=0,
    ),
    option(
        "--nodes",
        "-N",
        "N",
        "Number of nodes. [default: 0, as many as are needed]",
        type=click.IntRange(min=0),
        default=0,
    ),
    option("--hosts", "n[1-4],A,…", "Names of the nodes, for launchers that need them."),
    option(
        "--memory-mib",
        "MIB",
        "Memory of each rank, for launchers that have an option for it.",
        type=click.IntRange(min=0),
        default=0,
    ),
    choice(
        ["preferred", "required"],
        "--huge-pages",
        "Huge pages for the memory of the ranks (--memory-mib): preferred or required.",
    ),
)
@option_group(
    "Placement",
    option(
        "--policy",
        "NAME",
        f"Placement policy: {', '.join(policies())} (explained in the guide to `place`).",
        shell_complete=one_of(policies),
    ),
    flag(
        "--bandwidth-bound",
        "Use only as many cores of each NUMA domain as its memory bandwidth can serve: measured by "
        "--measure or --bandwidth, otherwise every second core.",
    ),
    option(
        "--bandwidth", "table", "FILE", "Measured bandwidth: the output of `mpiric place --measure --json`."
    ),
    flag("--measure", "First measure the memory bandwidth of this machine by core count."),
    choice(
        [m.value for m in HardwareThreads],
        "--hardware-threads",
        "Hardware threads to which each software thread is bound: all of its core (core), the first of "
        "its core (one), or one of all hardware threads (all).",
        default="core",
    ),
    option(
        "--leave-cores",
        "N",
        "Number of cores of each node left to the system.",
        type=click.IntRange(min=0),
        default=0,
    ),
    choice(_KINDS, "--core-kind", "Cores to use of a CPU that has performance and efficiency cores."),
)
@option_group(
    "Input and output",
    option(
        "--topology",
        "source",
        "FILE|SYNTHETIC",
        "Topology of another machine: an XML file of hwloc, or a description in hwloc's synthetic "
        "syntax, as in the examples.",
        shell_complete=complete_files,
    ),
    option(
        "--rankfile",
        "FILE",
        "Take the placement from this rankfile of Open MPI.",
        type=str,
        shell_complete=complete_files,
    ),
    choice(
        [unit.value for unit in Numbers],
        "--rankfile-numbers",
        "Unit of the numbers in the rankfile; kernel: CPU numbers of the operating system "
        "(rmaps_rank_file_physical).",
        default="cores",
    ),
    option(
        "--launcher",
        "NAME",
        "Print the command line of this launcher only.",
        shell_complete=one_of(placing_launchers),
    ),
    option(
        "--write",
        "directory",
        "DIR",
        "Write the rankfiles to this directory; with --hosts, the host file of each launcher, too.",
    ),
    option("--svg", "FILE", "Write a picture of the placement."),
    json_option,
)
@option_group(
    "Check a running command",
    flag("--verify", "verifies", "Run CMD, and report where its threads and its memory are."),
    flag("--first-touch", "Find memory that one thread touched first and other threads use (with --verify)."),
    option("--limit", "TIME", "Time after which --verify ends CMD.", default="10s"),
)
@command_line_or_none
def command(command_line: tuple[str, ...], **options: Any) -> int:
    """Plan the placement of ranks and threads for every launcher.

    With --verify, CMD runs, and the exit status is 82 if its threads or memory are misplaced.
    """
    if options["verifies"] or command_line:
        return _verify(command_line, options)
    if options["rankfile"]:
        numbers = Numbers(options["rankfile_numbers"])
        _show(
            place_rankfile(
                LocalHost(),
                options["rankfile"],
                numbers,
                options["source"],
                str(Path.cwd()),
                options["threads"],
            ),
            (),
            options,
        )
        return 0
    if not options["ranks"]:
        raise MpiricError("the number of ranks is missing", hint="for example mpiric place --ranks 8")
    host, directory = LocalHost(), str(Path.cwd())
    measured: tuple[Bandwidth, ...] = ()
    if options["measure"]:
        if options["source"]:
            raise MpiricError("--measure is for this machine only", hint="remove --topology")
        placed, measured = place_by_measurement(host, _request(options), directory, say)
    else:
        placed = place(host, _request(options), options["source"], directory)
    _show(placed, measured, options)
    return 0


def _show(placed: Placed, measured: tuple[Bandwidth, ...], options: dict[str, Any]) -> None:
    _write(placed, options)
    if options["as_json"]:
        print_json(placed_json(placed, measured))
    elif options["launcher"]:
        name = options["launcher"]
        if name not in placed.launchers:
            raise MpiricError(f"unknown launcher {name!r}", hint=f"use one of {', '.join(placed.launchers)}")
        print(launchers_text({options["launcher"]: placed.launchers[name]}))
    else:
        parts = [
            *(placement_text(plan, named=len(placed.plans) > 1) for plan in placed.plans),
            launchers_text(placed.launchers),
            runtimes_text(placed.runtimes),
        ]
        print(f"{placed.title}: " + "\n\n".join(filter(None, parts)))


def _request(options: dict[str, Any]) -> PlacementRequest:
    hosts = hosts_of(options["hosts"]) if options["hosts"] else ()
    if twice := next((name for name in hosts if hosts.count(name) > 1), ""):
        raise MpiricError(f"--hosts names {twice} twice", hint="name each node once")
    return request_of(
        PlacementRequest,
        options,
        nodes=options["nodes"] or len(hosts),
        hosts=hosts,
        hardware_threads=HardwareThreads(options["hardware_threads"]),
        bandwidth_bound=options["bandwidth_bound"] or options["table"] is not None,
        measured=_table(options["table"]) if options["table"] else (),
        huge_pages=HugePages(options["huge_pages"] or ""),
    )


def _table(path: Path) -> tuple[Bandwidth, ...]:
    """Read the rows of a measurement. Raises MpiricError for another file."""
    try:
        data = read_bounded(path, "measurement of bandwidth", LARGEST_TEXT_BYTES, _MEASURE)
        rows = parse_json(data)["bandwidth"]
        measured = tuple(
            Bandwidth(
                int(r["cores"]), int(r.get("spacing", 1)), float(r["mb_s"]), str(r.get("domain", "numa"))
            )
            for r in rows
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise MpiricError(f"{path} is not a measurement of bandwidth", hint=_MEASURE) from error
    if any(row.cores < 1 or row.spacing < 1 or not 0 < row.mb_s < inf for row in measured):
        raise MpiricError(
            f"{path} has a row without cores, spacing or bandwidth", hint=f"measure again: {_MEASURE}"
        )
    return measured


def _write(placed: Placed, options: dict[str, Any]) -> None:
    try:
        if options["svg"]:
            if len(placed.plans) > 1:
                raise MpiricError(
                    "--svg shows one node, and the nodes of the rankfile differ", hint="remove --svg"
                )
            write_whole(options["svg"], placement_svg(placed.plan, placed.title).encode())
        if options["directory"]:
            directory = options["directory"]
            directory.mkdir(parents=True, exist_ok=True)
            texts = {
                name: text for launcher in placed.launchers.values() for name, text in launcher.files.items()
            }
            for name, text in {**texts, **host_files(placed)}.items():
                write_whole(directory / name, text.encode())
                say(f"wrote {directory / name}")
    except OSError as error:
        raise NoRoomError(
            f"cannot write {error.filename}: {error.strerror}", hint="name another file with --svg or --write"
        ) from error


def _verify(command_line: tuple[str, ...], options: dict[str, Any]) -> int:
    if not command_line or not options["verifies"]:
        raise MpiricError(
            "CMD needs --verify, and --verify needs CMD", hint="mpiric place --verify -- mpirun -n 4 ./app"
        )
    request = _request(options) if options["ranks"] else None
    limit_s = parse_duration(options["limit"])
    checked = verify(LocalHost(), command_line, str(Path.cwd()), request, limit_s, say)
    findings = [f for f in checked.findings if options["first_touch"] or f.id != "first-touch"]
    if options["as_json"]:
        print_json(job_json(checked.processes, findings, checked.plan))
    else:
        print(verdict_text(checked.processes, findings))
    return int(ExitCode.MISPLACED) if findings else 0
