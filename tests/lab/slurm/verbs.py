"""``python -m tests.lab slurm …``."""

import argparse
from pathlib import Path
from typing import Any

from tests.lab import enter
from tests.lab.errors import LabError
from tests.lab.slurm import daemons
from tests.lab.slurm.config import SlurmPlan, features, phantoms
from tests.lab.state import read_record


def add_verbs(verbs: Any) -> None:
    """Add the verb ``slurm`` and its subcommands."""
    says = "Slurm on the cluster: one slurmd a host, slurmctld on the first"
    parser = verbs.add_parser("slurm", help=says, description=says)
    expected = parser.add_subparsers(metavar="VERB", required=True)
    up = expected.add_parser("up", help="start it, or what of it does not run")
    up.set_defaults(call=_up)
    up.add_argument(
        "--node", default="", metavar="WORDS", help="node description of every host: 'CPUs=256 Sockets=2 …'"
    )
    up.add_argument(
        "--topology", default="", metavar="HWLOC", help="that belongs to it: 'pack:2 core:64 pu:2'"
    )
    up.add_argument(
        "--phantoms",
        action="append",
        default=[],
        metavar="PARTITION:COUNT:WORDS",
        help="a partition of nodes that are not there, for sbatch --test-only",
    )
    up.add_argument(
        "--features", action="append", default=[], metavar="HOST,…=NAME,…", help="of nodes, for sbatch -C"
    )
    up.add_argument("--more", type=Path, metavar="FILE", help="further lines of slurm.conf")
    expected.add_parser("down", help="stop it and forget its jobs").set_defaults(call=_down)
    stop = expected.add_parser(
        "stop", help="stop the controller, or slurmd on a host; `slurm up` starts it again"
    )
    stop.set_defaults(call=_stop)
    stop.add_argument("what", metavar="controller|HOST")
    expected.add_parser("status", help="print the output of sinfo").set_defaults(call=_status)
    run = expected.add_parser("exec", help="run sbatch, srun, squeue … on the first host; [HOST] -- COMMAND")
    run.set_defaults(call=_exec)
    run.add_argument("words", nargs=argparse.REMAINDER, metavar="[HOST] -- COMMAND")


def _up(options: argparse.Namespace) -> None:
    more = options.more.read_text() if options.more else ""
    phantom = tuple(phantoms(text) for text in options.phantoms)
    plan = SlurmPlan(options.node, options.topology, phantom, features(options.features), more)
    daemons.up(_directory(options), plan if plan != SlurmPlan() else None)
    _status(options)


def _down(options: argparse.Namespace) -> None:
    daemons.down(_directory(options))


def _stop(options: argparse.Namespace) -> None:
    hosts = read_record(_directory(options)).plan.hosts
    if options.what == daemons.CONTROLLER:
        daemons.stop(_directory(options), hosts[0], ["slurmctld"])
    else:
        daemons.stop(_directory(options), options.what, ["slurmd"])


def _status(options: argparse.Namespace) -> None:
    enter.main(
        [
            str(_directory(options)),
            _controller(options),
            "timeout",
            "10",
            "sinfo",
            "-N",
            "-l",
            "-n",
            ",".join(_hosts(options)),
        ]
    )


def _exec(options: argparse.Namespace) -> None:
    host, command = _controller(options), list(options.words)
    if command and command[0] != "--" and "--" in command[1:2]:
        host = command.pop(0)
    command = command[1:] if command[:1] == ["--"] else command
    if not command:
        raise LabError("no command is given", hint="python -m tests.lab slurm exec -- srun -N 4 hostname")
    enter.main([str(_directory(options)), host, *command])


def _hosts(options: argparse.Namespace) -> tuple[str, ...]:
    return read_record(_directory(options)).plan.hosts


def _controller(options: argparse.Namespace) -> str:
    return _hosts(options)[0]


def _directory(options: argparse.Namespace) -> Path:
    directory: Path = options.state.absolute()
    return directory
