"""Nodes of a job: removal of settings that they do not support, and of remains of ended runs.

A recipe may come from another cluster, whose fast network has another name: MPI_Init aborts if an interface
does not exist. The user's launch line starts a shell instead of the program, which checks each node.

Nodes without mpiric keep shared memory and files of launchers. The launch line starts the module that cleans
up on every node of the job, after several ended runs and at the end.

A host has other names on other networks: kp001 may be kp001.ipoib on InfiniBand. Sites form such a name from
the plain name and a word. The resolver is queried for candidate names, and the kernel's routes give the
network of an address.
"""

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from ipaddress import IPv4Address
from math import ceil
from pathlib import Path

from mpiric import knobs, launchers
from mpiric.host.host import Host
from mpiric.lab.render import spellings
from mpiric.model.amount import count_of
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.job import Job, LaunchOption, Meaning, Segment
from mpiric.model.knob import Need
from mpiric.model.machine import Nic
from mpiric.model.situation import HostNames, Situation
from mpiric.schedulers import find_allocation


def node_count(job: Job, host: Host) -> int:
    """Return the number of nodes with ranks: launchers fill slots in order, repeatedly if necessary."""
    hosts = [
        (host_entry.name, max(1, host_entry.slots)) for host_entry in launchers.named_hosts(job)
    ] or _allocated(host, job)
    nodes = stated(job, Meaning.NODES)
    per_node = stated(job, Meaning.RANKS_PER_NODE)
    if nodes:
        return min(nodes, len(hosts)) if len(hosts) > 1 else nodes
    if len(hosts) <= 1 or not job.ranks:
        return max(1, len(hosts))
    if launchers.dialects()[job.dialect].fills_every_host and not per_node:
        return min(len(hosts), job.ranks)
    slots = [per_node or number for _, number in hosts]
    filled = next((at for at in range(1, len(slots) + 1) if sum(slots[:at]) >= job.ranks), len(slots))
    return filled if per_node == 0 else min(len(hosts), ceil(job.ranks / per_node))


def stated(job: Job, meaning: Meaning) -> int:
    """Return the number on the launch line for a meaning, 0 without one; the last number of a range."""
    options = [option for segment in job.segments if (option := segment.first(meaning))]
    text = options[0].values[0].split("-")[-1] if options and options[0].values else ""
    return count_of(text)


def _allocated(host: Host, job: Job) -> list[tuple[str, int]]:
    if not job.launcher_words:
        return []
    try:
        return [(host_entry.name, max(1, host_entry.slots)) for host_entry in find_allocation(host).hosts]
    except MpiricError:
        return []  # inconsistent allocations are reported elsewhere


def with_host_files(job: Job, host: Host) -> Job:
    """Return the job with the content of its host files; the launcher reports unreadable ones."""
    options = [option for segment in job.segments if (option := segment.first(Meaning.HOSTFILE))]
    paths = [option.values[0] for option in options if option.values]
    texts = {
        path: host.read_text(path if path.startswith("/") else f"{job.working_directory}/{path}")
        for path in paths
    }
    return replace(job, host_files={path: text for path, text in texts.items() if text is not None})


_LOOK = r"""
local=${MPI_LOCALRANKID:-${OMPI_COMM_WORLD_LOCAL_RANK:-${SLURM_LOCALID:-${PALS_LOCAL_RANKID:-0}}}}
[ "$local" = 0 ] || exit 0
IFS= found= number=0
for pattern do
    for path in $pattern; do
        [ -e "$path" ] || continue
        [ "$(cat "$path/operstate" 2>/dev/null)" != down ] || continue
        found="$found $number"
        break
    done
    number=$((number + 1))
done
printf 'mpiric-node %s%s .\n' "$(uname -n)" "$found"
"""
_ANSWER = re.compile(r"mpiric-node (\S+)((?: \d+)*) \.")
_LIMIT_S = 30.0
_LEFT_OUT = {Meaning.STDIN, Meaning.BINDING, Meaning.MAPPING, Meaning.RANKING, Meaning.MEMORY_BINDING}
_OUTPUT_OPTIONS = re.compile(r"-+(o|output|e|error|outfile|errfile|output-filename)([=-].*)?|-[oe][^-].*")
_MOST_HOSTS = 3  # limit for the host names in one sentence
_TUNE_HERE = "`mpiric tune -- CMD` finds the settings for this cluster"


def without_missing(
    configuration: Configuration, situation: Situation, host: Host, *, launches: bool
) -> tuple[Configuration, list[str]]:
    """Return the configuration without settings that nodes do not support, and a sentence for each of them.

    With ``launches`` the nodes of the job are checked, otherwise only this host.
    """
    sentences = []
    library = configuration.as_dict().get("network-library")
    if library is not None and library not in situation.mpi.capabilities.network_libraries:
        configuration = configuration.with_value("network-library", None)
        sentences.append(_sentence("network-library", library, f"{situation.mpi.label} is built without it"))
    needs = _needs(configuration, situation)
    patterns = [path for _, need in needs for path in need.paths]
    matches_by_host = _find_files(patterns, situation, host, launches=launches) if patterns else {}
    first = 0
    for knob, need in needs:
        numbers = set(range(first, first + len(need.paths)))
        first += len(need.paths)
        lacking = sorted(name for name, matches in matches_by_host.items() if not numbers & matches)
        value = configuration.as_dict().get(knob)
        if lacking and value is not None:
            more = f" and {len(lacking) - _MOST_HOSTS} more hosts" if len(lacking) > _MOST_HOSTS else ""
            why = f"{', '.join(lacking[:_MOST_HOSTS])}{more}: no {need.what}"
            configuration = configuration.with_value(knob, None)
            sentences.append(_sentence(knob, value, why))
    return configuration, sentences


def _sentence(knob: str, value: str, why: str) -> str:
    return f"{knob}={value} is left out: {why}; {_TUNE_HERE}"


def _needs(configuration: Configuration, situation: Situation) -> list[tuple[str, Need]]:
    """Return pairs of a knob and a need of its value on each node; nodes may lack libraries to preload."""
    needs = []
    for name, value in configuration.items:
        knob = knobs.knob_named(name)
        need = knob.needs(value) if knob.needs else None
        if need is not None:
            needs.append((name, need))
    named = {name for name, _ in needs}
    unnamed = Configuration.of({k: v for k, v in configuration.items if k not in named})
    try:
        written = spellings(unnamed, situation)
    except MpiricError:
        return needs  # reported when the settings are rendered
    needs += [
        (name, Need(f"file {path}", (path,)))
        for name, spelling in written.items()
        if name in unnamed.as_dict() and situation.job.container is None
        for path in spelling.preload
    ]
    return needs


def _find_files(
    patterns: list[str], situation: Situation, host: Host, *, launches: bool
) -> Mapping[str, frozenset[int]]:
    """Return the numbers of the matching patterns by host; only this host if nodes cannot be reached."""
    argv = ("sh", "-c", _LOOK, "sh", *patterns)
    answer = ""
    if launches and runs_elsewhere(situation.job, situation.nodes, host):
        launch = launchers.render(with_program(situation.job, argv), [])
        changes: dict[str, str | None] = {**launch.environment, **dict.fromkeys(launch.unset)}
        answer = host.run(launch.argv, environment=changes, timeout_s=_LIMIT_S).stdout
    lines = _ANSWER.findall(answer) or _ANSWER.findall(host.run(argv).stdout)
    return {name: frozenset(map(int, numbers.split())) for name, numbers in lines}


def runs_elsewhere(job: Job, nodes: int, host: Host) -> bool:
    """Return whether ranks run on other hosts that answer now, without a wait in a scheduler's queue."""
    options = [option for segment in job.segments for option in segment.options]
    if not job.launcher_words or any(option.meaning is Meaning.PROGRAM_FILE for option in options):
        return False
    if not launchers.dialects()[job.dialect].has_scheduler_names:
        return nodes > 1 or bool(launchers.named_hosts(job))
    try:
        return bool(find_allocation(host).job)
    except MpiricError:
        return False


def with_program(job: Job, program: tuple[str, ...]) -> Job:
    """Return the job with another program, without options that redirect output or bind ranks."""
    segments = tuple(
        Segment(tuple(option for option in segment.options if not _is_left_out(option)), program)
        for segment in job.segments
    )
    return replace(job, segments=segments, stdin="", container=None)


def _is_left_out(option: LaunchOption) -> bool:
    redirects = option.meaning is Meaning.OTHER and _OUTPUT_OPTIONS.fullmatch(option.tokens[0])
    return option.meaning in _LEFT_OUT or bool(redirects)


_EVERY = 8  # number of ended runs; each leaves about 10 MB of shared memory per rank
_CLEANING_LIMIT_S = 60.0
_CODE = """
import os, sys
names = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "PALS_LOCAL_RANKID")
if next((os.environ[name] for name in names if name in os.environ), "0") == "0":
    sys.path.insert(0, sys.argv[1])
    from mpiric.host.processes.leftovers import remove_recent
    remove_recent(float(sys.argv[2]))
"""


def cleaner(python: str, begun_s: float) -> tuple[str, ...]:
    """Return the program that removes remains of runs since ``begun_s`` on the node where it runs."""
    return (python, "-I", "-S", "-c", _CODE, str(Path(__file__).parents[3]), f"{begun_s:.3f}")


@contextmanager
def cleaned_nodes(job: Job, nodes: int, host: Host) -> Iterator[Callable[[], None]]:
    """Clean the nodes of a job after its ended runs; yield the function to call after each of them.

    Nothing is done if all ranks run on this host.
    """
    begun_s, ended = time.time(), 0  # the clocks of a cluster's nodes agree
    elsewhere = runs_elsewhere(job, nodes, host)

    def clean() -> None:
        launch = launchers.render(with_program(job, cleaner(host.python, begun_s)), [])
        changes: dict[str, str | None] = {**launch.environment, **dict.fromkeys(launch.unset)}
        host.run(launch.argv, environment=changes, timeout_s=_CLEANING_LIMIT_S)

    def after_ended_run() -> None:
        nonlocal ended
        ended += 1
        if elsewhere and ended % _EVERY == 0:
            clean()

    try:
        yield after_ended_run
    finally:
        if elsewhere and ended % _EVERY:
            clean()


_WORDS = ("ipoib", "ib", "ib0", "opa", "hsn", "hsn0", "roce", "fast", "10g")
_JOINS = ("{host}-{word}", "{host}.{word}", "{word}-{host}", "{host}{word}")
_HEX = re.compile(r"[0-9A-Fa-f]{8}").fullmatch  # address in /proc/net/route
_PATIENCE_S = 5.0  # time limit for a resolver that does not answer
_RESOLVE = """
import socket, sys
from concurrent.futures import ThreadPoolExecutor
def address(name):
    try:
        return socket.getaddrinfo(name, None, socket.AF_INET)[0][4][0]
    except OSError:
        return "-"
with ThreadPoolExecutor(32) as pool:
    print(*pool.map(address, sys.argv[1:]))
"""

Routes = Sequence[tuple[int, int, str]]  # destination, mask, interface


@dataclass(frozen=True)
class Renaming:
    """Change of a name: prefix and suffix to remove, prefix and suffix to add."""

    less: tuple[str, str] = ("", "")
    more: tuple[str, str] = ("", "")

    def __call__(self, name: str) -> str:
        """Return the changed name."""
        plain = name.removeprefix(self.less[0]).removesuffix(self.less[1])
        return f"{self.more[0]}{plain}{self.more[1]}"


def host_names(job: Job, nics: Sequence[Nic], host: Host) -> HostNames:
    """Return the names of a launch line's hosts; other names only if each host has one of the same form."""
    names = [host_entry.name for host_entry in launchers.named_hosts(job)]
    interfaces = [nic.name for nic in nics if nic.up and nic.addresses and nic.kind != "loopback"]
    if not names or launchers.dialects()[job.dialect].has_scheduler_names or len(interfaces) < 2:
        return HostNames()
    routes = _routes(host.read_text("/proc/net/route") or "")
    renamings = {renaming(names[0]): renaming for renaming in _renamings(names[0], interfaces)}
    first = _networks(host, [names[0], *renamings], routes)
    by_interface: dict[str, Mapping[str, str]] = {}
    for name, renaming in renamings.items():
        network = first.get(name, "")
        if network not in interfaces or network in (first.get(names[0]), *by_interface):
            continue
        renamed = {old: renaming(old) for old in names}
        if set(_networks(host, tuple(renamed.values()), routes).values()) == {network}:
            by_interface[network] = renamed
    return HostNames(first.get(names[0], ""), by_interface)


def _renamings(name: str, interfaces: Iterable[str]) -> Iterator[Renaming]:
    """Yield changes to the plain name, and from it to possible other names; domains may differ."""
    parts = [_around(join, word) for word in (*interfaces, *_WORDS) for join in _JOINS]
    domain = "." + name.partition(".")[2]
    removable = [(before, after) for before, after in (*parts, ("", domain)) if _fits(name, before, after)]
    for less in (("", ""), *removable):
        yield Renaming(less)
        yield from (Renaming(less, more) for more in parts)


def _around(join: str, word: str) -> tuple[str, str]:
    before, _, after = join.format(host=" ", word=word).partition(" ")
    return before, after


def _fits(name: str, before: str, after: str) -> bool:
    return len(name) > len(before + after) and name.startswith(before) and name.endswith(after)


def _networks(host: Host, names: Sequence[str], routes: Routes) -> dict[str, str]:
    """Return the interface on the network of each name's address; "" for names without one."""
    answers = host.run([host.python, "-I", "-c", _RESOLVE, *names], timeout_s=_PATIENCE_S).stdout.split()
    return {
        name: "" if address == "-" else _network(address, routes)
        for name, address in zip(names, answers, strict=False)
    }


def _routes(table: str) -> Routes:
    """Return the routes to directly connected networks, the narrowest first; from /proc/net/route."""
    rows = [line.split() for line in table.splitlines()[1:]]
    complete = [row for row in rows if len(row) > 7 and all(_HEX(row[column]) for column in (1, 2, 7))]
    direct = [row for row in complete if not int(row[2], 16)]
    return sorted(((_number(row[1]), _number(row[7]), row[0]) for row in direct), key=lambda r: -r[1])


def _number(text: str) -> int:
    """Convert an address, which the kernel prints as a number in the machine's byte order."""
    return int.from_bytes(bytes.fromhex(text), sys.byteorder)


def _network(address: str, routes: Routes) -> str:
    try:
        number = int(IPv4Address(address))
    except ValueError:  # unexpected output of the resolver
        return ""
    return next((name for network, mask, name in routes if mask and number & mask == network), "")
