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
    """The verb ``slurm`` and its own verbs."""
    says = "Slurm on the cluster: one slurmd a host, slurmctld on the first"
    parser = verbs.add_parser("slurm", help=says, description=says)
    own = parser.add_subparsers(metavar="VERB", required=True)
    up = own.add_parser("up", help="start it, or what of it does not run")
    up.set_defaults(call=_up)
    up.add_argument("--node", default="", metavar="WORDS", help="what every host has: 'CPUs=256 Sockets=2 …'")
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
    own.add_parser("down", help="stop it and forget its jobs").set_defaults(call=_down)
    stop = own.add_parser("stop", help="stop the controller, or slurmd on a host; `slurm up` starts it again")
    stop.set_defaults(call=_stop)
    stop.add_argument("what", metavar="controller|HOST")
    own.add_parser("status", help="what sinfo says").set_defaults(call=_status)
    run = own.add_parser("exec", help="run sbatch, srun, squeue … on the first host; [HOST] -- COMMAND")
    run.set_defaults(call=_exec)
    run.add_argument("words", nargs=argparse.REMAINDER, metavar="[HOST] -- COMMAND")


def _up(given: argparse.Namespace) -> None:
    more = given.more.read_text() if given.more else ""
    phantom = tuple(phantoms(text) for text in given.phantoms)
    plan = SlurmPlan(given.node, given.topology, phantom, features(given.features), more)
    daemons.up(_directory(given), plan if plan != SlurmPlan() else None)
    _status(given)


def _down(given: argparse.Namespace) -> None:
    daemons.down(_directory(given))


def _stop(given: argparse.Namespace) -> None:
    hosts = read_record(_directory(given)).plan.hosts
    if given.what == daemons.CONTROLLER:
        daemons.stop(_directory(given), hosts[0], ["slurmctld"])
    else:
        daemons.stop(_directory(given), given.what, ["slurmd"])


def _status(given: argparse.Namespace) -> None:
    enter.main(
        [
            str(_directory(given)),
            _controller(given),
            "timeout",
            "10",
            "sinfo",
            "-N",
            "-l",
            "-n",
            ",".join(_hosts(given)),
        ]
    )


def _exec(given: argparse.Namespace) -> None:
    host, words = _controller(given), list(given.words)
    if words and words[0] != "--" and "--" in words[1:2]:
        host = words.pop(0)
    words = words[1:] if words[:1] == ["--"] else words
    if not words:
        raise LabError("no command is given", hint="python -m tests.lab slurm exec -- srun -N 4 hostname")
    enter.main([str(_directory(given)), host, *words])


def _hosts(given: argparse.Namespace) -> tuple[str, ...]:
    return read_record(_directory(given)).plan.hosts


def _controller(given: argparse.Namespace) -> str:
    return _hosts(given)[0]


def _directory(given: argparse.Namespace) -> Path:
    directory: Path = given.state.absolute()
    return directory
