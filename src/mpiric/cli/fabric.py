"""`mpiric fabric`: show the transport and network of a command, and faster ones."""

from typing import Any

from cloup import option_group

from mpiric.cli._errors import say
from mpiric.cli._json import print_json
from mpiric.cli._options import (
    BATCH_JOBS,
    COUNT,
    cli_command,
    command_line,
    flag,
    json_option,
    launch_request_of,
    option,
)
from mpiric.host.facts.local import LocalHost
from mpiric.model.amount import parse_duration
from mpiric.model.errors import ExitCode
from mpiric.report.fabric_text import fabric_json, fabric_text
from mpiric.workflows.fabric.fabric import FabricRequest, examine
from mpiric.workflows.fabric.node_types import examine_cluster


@cli_command("fabric", context_settings={"allow_interspersed_args": False})
@option("--limit", "TIME", "Time after which CMD is ended.", default="30s")
@option(
    "--rounds",
    "N",
    "A transport is recommended only if it is faster than the library's own choice in each of this "
    "number of rounds.",
    type=COUNT,
    default=FabricRequest.rounds,
)
@option(
    "--keep",
    "N",
    "Number of measurements of the library's own choice; use 6 if the JSON object is to be a "
    "baseline for `mpiric history --against`.",
    type=COUNT,
    default=FabricRequest.keep,
)
@json_option
@option_group(
    BATCH_JOBS,
    flag(
        "--submit",
        "Measure two nodes of each type (Slurm: set of features) in jobs of the scheduler, and keep "
        "the results as baselines.",
    ),
    option("--partition", "-p", "NAME", "Partition of these jobs. [default: the scheduler's]"),
    option("--ranks-per-node", "N", "Ranks per node of these jobs.", type=COUNT, default=1),
)
@command_line
def command(command_line: tuple[str, ...], **options: Any) -> int:
    """Show which network CMD uses, and which would be faster.

    CMD runs once while its MPI library reports its transports. Then a small program measures every transport
    and network that the library could use, for ranks on one NUMA node, on one node and on two nodes.
    """
    limit_s = parse_duration(options["limit"])
    request = launch_request_of(FabricRequest, command_line, options, limit_s=limit_s)
    if options["submit"]:
        return _submit(request, options)
    fabric = examine(request, LocalHost(), say)
    if options["as_json"]:
        print_json(fabric_json(fabric))
    else:
        print(fabric_text(fabric))
    return 0


def _submit(request: FabricRequest, options: dict[str, Any]) -> int:
    types = examine_cluster(request, LocalHost(), say, options["partition"], options["ranks_per_node"])
    if options["as_json"]:
        print_json({"node_types": types})
    for type_ in () if options["as_json"] else types:
        name = type_.features or "nodes without features"
        print(f"{name}: {type_.nodes} nodes, saved in {type_.output}")
        for pair in type_.answer.get("pairs", []):
            where = f"{pair['transport']} {pair['device']}".strip()
            speed = f"{pair['latency_us']:.2f} µs {pair['bandwidth_MBps']:.0f} MB/s"
            print(f"  {pair['class']:11} {where:30} {speed}")
        if knobs := type_.answer.get("recommended", {}).get("knobs"):
            print(f"  recommended: {' '.join(f'{knob}={value}' for knob, value in knobs.items())}")
        if type_.problem:
            say(f"{name}: {type_.problem}")
    return int(ExitCode.PROGRAM_FAILED) if any(type_.problem for type_ in types) else 0
