"""``python -m tests.lab``: a virtual cluster on this machine."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.lab import cluster, enter, state
from tests.lab.errors import LabError
from tests.lab.hosts import is_private
from tests.lab.plan import Plan, host_names, networks
from tests.lab.slurm.verbs import add_verbs

_EPILOG = """examples:
  python -m tests.lab up --hosts 4
  python -m tests.lab exec n1 ping -c 3 n2          over the slow network; n2-fast0 is the fast one
  python -m tests.lab exec n1 mpirun --host n1,n2 hostname
  python -m tests.lab slurm up && python -m tests.lab slurm exec -- srun -N 4 hostname
  python -m tests.lab down
"""


def main(command: Sequence[str]) -> int:
    """Run a verb; errors are a sentence and a hint."""
    options = _parser().parse_args(command)
    try:
        options.call(options)
    except LabError as error:
        print(f"lab: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        return 64
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.lab",
        description="A small cluster on this machine: hosts, networks, Slurm. Needs root.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--state",
        type=Path,
        default=state.default_directory(),
        metavar="DIR",
        help="where the cluster keeps its files; another directory is another cluster "
        "(default: $MPIRIC_LAB, or %(default)s)",
    )
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    up = _verb(verbs, "up", _up, "start it")
    up.add_argument("--hosts", default="4", metavar="N|NAME,…", help="how many, or their names (default: 4)")
    up.add_argument(
        "--network",
        action="append",
        default=[],
        metavar="NAME:rate=…[,delay=…][,mtu=…]",
        help="one for each network; host names resolve to the first "
        "(default: eth0:delay=1ms,rate=100mbit and fast0:rate=2gbit,mtu=9000)",
    )
    up.add_argument(
        "--share", action="append", default=[], metavar="DIR", help="seen by every host, also below /tmp"
    )
    down = _verb(verbs, "down", _down, "end it, and all that runs on it")
    down.add_argument("--all", action="store_true", help="every cluster on this machine")
    _verb(verbs, "status", _status, "hosts, processes, addresses")
    for name, call, says in (
        ("exec", _exec, "run a command on a host"),
        ("crash", _crash, "end all on a host at once, as a power cut does"),
        ("boot", _boot, "bring a crashed host back"),
    ):
        verb = _verb(verbs, name, call, says)
        verb.add_argument("host")
        if name == "exec":
            verb.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")
    add_verbs(verbs)
    return parser


def _verb(
    verbs: Any, name: str, call: Callable[[argparse.Namespace], None], says: str
) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = verbs.add_parser(name, help=says, description=says)
    verb.set_defaults(call=call)
    verb.add_argument("--state", type=Path, default=argparse.SUPPRESS, metavar="DIR", help=argparse.SUPPRESS)
    return verb


def _up(options: argparse.Namespace) -> None:
    current = Path.cwd()
    shares = tuple(str(Path(share).absolute()) for share in options.share)
    more = () if is_private(current) else (str(current),)
    plan = Plan(host_names(options.hosts), networks(options.network), (*shares, *more))
    started = cluster.up(options.state, plan, outlives=True)
    print("\n".join(cluster.status(options.state.absolute()) if started else ["already up"]))


def _down(options: argparse.Namespace) -> None:
    for directory in state.directories() if options.all else [options.state]:
        print(f"{directory}: {'down' if cluster.down(directory) else 'was not up'}")


def _status(options: argparse.Namespace) -> None:
    print("\n".join(cluster.status(options.state.absolute())))


def _exec(options: argparse.Namespace) -> None:
    command = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not command:
        raise LabError("no command is given", hint="python -m tests.lab exec n1 hostname")
    sys.stdout.flush()
    enter.main([str(options.state.absolute()), options.host, *command])


def _crash(options: argparse.Namespace) -> None:
    cluster.crash(options.state.absolute(), options.host)


def _boot(options: argparse.Namespace) -> None:
    cluster.boot(options.state.absolute(), options.host)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
