"""Time of a run before MPI_Init and after MPI_Finalize, and its cause."""

from collections.abc import Callable

from mpiric.host.facts.local import NAME_LIMIT_S, own_name_s
from mpiric.model.amount import seconds
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import Finding
from mpiric.model.machine import Machine
from mpiric.model.profile import TIME_OUTSIDE, Advice
from mpiric.model.record import RankRecord, Record
from mpiric.profile.cells import fact

_WORTH_S, _WORTH_SHARE = 1.0, 0.2  # a part of the run that is worth a finding exceeds both
_CAUSE_SHARE = 0.5  # smallest share of the waiting time that names its cause
_START_SHARE, _NAME_S = 0.05, 0.1  # a slow name resolution exceeds both: share of the run, and time
_QUESTIONS = 10  # launcher, its daemons, the library and its network layers each resolve the name
OUTSIDE_NUMBERS = ("launcher_start_s", "program_start_s", "library_start_s", "launcher_end_s")
_SOURCE = "getaddrinfo(3), hosts(5); getrusage(2): CPU time of the ranks before MPI_Init"


@dataclass(frozen=True)
class RunParts:
    """Parts of a run by the clock of this node, seconds. ``before_cpu_s``: of a rank, before MPI_Init."""

    before_s: float
    init_s: float
    main_s: float
    after_s: float
    before_cpu_s: float
    interpreter: str = ""  # Python, R, Julia …; "" for a compiled program

    @property
    def total_s(self) -> float:
        """Return the time of the whole launch."""
        return self.before_s + self.init_s + self.main_s + self.after_s

    @property
    def numbers(self) -> dict[str, float]:
        """Return the start-up of launcher, program and MPI library, and the end, as numbers of a profile."""
        program_s = min(self.before_s, self.before_cpu_s)
        parts_s = (self.before_s - program_s, program_s, self.init_s, self.after_s)
        return dict(zip(OUTSIDE_NUMBERS, parts_s, strict=True))


def run_parts(record: Record, host_name: str, launched_unix_s: float, wall_s: float) -> RunParts | None:
    """Return the parts of a run; None without ranks on this node, as clocks of other nodes may differ.

    A rank that begins before its launch shows a clock that was set: None as well.
    """
    ranks = [rank for rank in record.ranks if rank.facts.get("host") == host_name]
    if not ranks:
        return None
    init_begin_s = max(rank.begin_unix_s - _init_s(rank) for rank in ranks) - launched_unix_s
    main_begin_s = max(rank.begin_unix_s for rank in ranks) - launched_unix_s
    main_end_s = max(rank.begin_unix_s + rank.wall_s for rank in ranks) - launched_unix_s
    if main_begin_s < 0:
        return None
    program = ranks[0].facts.get("executable", "").rsplit("/", 1)[-1]
    interpreters = {"python": "Python", "julia": "Julia", "R": "R", "Rscript": "R", "perl": "Perl"}
    return RunParts(
        before_s=max(0.0, init_begin_s),
        init_s=max(0.0, main_begin_s - init_begin_s),
        main_s=max(0.0, main_end_s - main_begin_s),
        after_s=max(0.0, wall_s - main_end_s),
        before_cpu_s=max(fact(rank, "before.user_us") + fact(rank, "before.system_us") for rank in ranks)
        / 1e6,
        interpreter=interpreters.get(program.rstrip(".0123456789"), ""),
    )


def _init_s(rank: RankRecord) -> float:
    return sum(
        cell.time_s for cell in rank.cells if cell.function.startswith(("MPI_Init", "MPI_Session_init"))
    )


def hosts_line(machine: Machine) -> str:
    """Return the line of /etc/hosts that resolves this host's name, with its address on the best network."""
    interfaces = [nic for nic in machine.networks if nic.is_ip] or list(machine.networks)
    every = [address for nic in interfaces for address in nic.addresses] or ["127.0.1.1"]
    address = next((address for address in every if ":" not in address), every[0])
    return f"{address} {machine.host_name}"


def outside_advice(
    parts: RunParts, line: str, measure_name_s: Callable[[], float] = own_name_s
) -> Advice | None:
    """Return the advice on the largest part outside the main part of the run; None if all are short.

    ``line`` of /etc/hosts resolves the name of this host.
    """
    worth_s = max(_WORTH_S, _WORTH_SHARE * parts.total_s)
    name_worth_s = max(_NAME_S, _START_SHARE * parts.total_s)
    outside_s = parts.before_s + parts.after_s
    around_s = outside_s + parts.init_s
    name_s = measure_name_s() if around_s > name_worth_s else 0.0
    waits_s = around_s - parts.before_cpu_s
    if name_s > name_worth_s and waits_s > _CAUSE_SHARE * max(name_s, around_s):
        bound = "at least " if name_s >= NAME_LIMIT_S else ""
        says = f"The name of this host is resolved slowly, in {bound}{seconds(name_s)}: the start waits."
        fix = f"add the line '{line}' to /etc/hosts, or repair the name server in /etc/resolv.conf"
        lost_s = min(around_s, _QUESTIONS * name_s)
    elif outside_s <= worth_s:
        return None  # the advice on MPI_Init and MPI_Finalize covers it
    else:
        says, fix = _cause(parts)
        lost_s = outside_s
    evidence = (
        f"launch to MPI_Init {seconds(parts.before_s)} (a rank computes {seconds(parts.before_cpu_s)}), "
        f"MPI_Init {seconds(parts.init_s)}, MPI_Init to MPI_Finalize {seconds(parts.main_s)}, "
        f"MPI_Finalize to the end {seconds(parts.after_s)}"
    )
    share = lost_s / parts.total_s
    return Advice(Finding(TIME_OUTSIDE, says, evidence, fix), share, None, "", (), (), _SOURCE)


def _cause(parts: RunParts) -> tuple[str, str]:
    """Return the cause of the larger part outside, and its fix."""
    if parts.after_s > parts.before_s:
        return (
            "The command goes on for long after MPI_Finalize.",
            "look at the work of the program after MPI_Finalize, and at commands that follow the launch",
        )
    if parts.before_cpu_s < _CAUSE_SHARE * parts.before_s:
        return (
            "Ranks reach MPI_Init late, and wait most of the time before it.",
            "time the launcher alone (the same line with `true` as the program), and files that the program "
            "or its imports read before MPI_Init",
        )
    if parts.interpreter:
        return (
            f"{parts.interpreter} works for long before MPI_Init: imports, compilation, or reading input.",
            "import less before MPI is initialised (python -X importtime lists the imports of Python)"
            if parts.interpreter == "Python"
            else "load fewer packages before MPI is initialised",
        )
    return (
        "The program works for long before MPI_Init.",
        "let all ranks share this work after MPI_Init, where it is recorded",
    )


def outside_of(record: Record, machine: Machine, run_s: float, ended_unix_s: float) -> Advice | None:
    """Return the advice on the time of a recorded run outside of MPI; None if its times are unknown."""
    parts = run_parts(record, machine.host_name, ended_unix_s - run_s, run_s)
    if parts is None or not ended_unix_s or not run_s:
        return None
    return outside_advice(parts, hosts_line(machine))


def with_outside(advice: tuple[Advice, ...], outside: Advice) -> tuple[Advice, ...]:
    """Insert the advice before the first that promises less."""
    at = next((n for n, item in enumerate(advice) if item.promise < outside.promise), len(advice))
    return (*advice[:at], outside, *advice[at:])
