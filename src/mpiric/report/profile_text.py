"""A profile as one screen of terminal, like a good doctor's letter: how it is, where it hurts, what to do."""

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mpiric.model.finding import Finding
from mpiric.model.profile import Advice, Profile
from mpiric.report._amounts import count, seconds, share, size

_MOST_FUNCTIONS, _MOST_ADVICE, _MOST_FILES = 6, 4, 3
_BAR = 20


def print_profile(profile: Profile, console: Console, report: str = "") -> None:
    """Print the letter; ``report`` is the path of the HTML page, "" when there is none."""
    console.print()
    for part in _letter(profile, report):
        console.print(part)


def _letter(profile: Profile, report: str) -> Iterator[RenderableType]:
    yield _headline(profile)
    yield _efficiencies(profile)
    yield _functions(profile)
    yield from _remarks(profile)
    if profile.advice:
        yield Text("\nWhat to do", style="bold")
        yield from (_advice(advice) for advice in profile.advice[:_MOST_ADVICE])
        if len(profile.advice) > _MOST_ADVICE:
            yield Text(f"  … and {len(profile.advice) - _MOST_ADVICE} more in the report", style="dim")
    else:
        yield Text("\nNothing to complain of.", style="green")
    for note in profile.notes:
        yield Text(f"  note: {note}", style="yellow")
    if report:
        yield Text(f"\nreport  {report}", style="green", no_wrap=True, overflow="fold")


def _headline(profile: Profile) -> Text:
    nodes = f" on {len(profile.nodes)} nodes" if len(profile.nodes) > 1 else ""
    text = Text(f"{profile.world_size} ranks{nodes}, {seconds(profile.wall_s)}", style="bold")
    text.append(f"   MPI {share(profile.mpi_share)}", style=_style(1.0 - profile.mpi_share))
    return text.append(f"   {profile.mpi}", style="dim")


def _style(goodness: float) -> str:
    return "bold green" if goodness >= 0.8 else "bold yellow" if goodness >= 0.6 else "bold red"


def _efficiencies(profile: Profile) -> Text:
    e = profile.efficiencies
    text = Text("efficiency  ")
    text.append(f"parallel {share(e.parallel)}", style=_style(e.parallel))
    for name, value in (
        ("load balance", e.load_balance),
        ("serialisation", e.serialisation),
        ("transfer", e.transfer),
    ):
        text.append(" = " if name == "load balance" else " × ").append(f"{name} ")
        text.append(share(value), style=_style(value))
    return text


def _functions(profile: Profile) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("\nfunction", no_wrap=True)
    for heading in ("\ntime", "of all", "\ncalls", "\nbytes", "mean\ncall"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    total_s = sum(rank.wall_s for rank in profile.ranks)
    inside = [
        use
        for use in profile.functions
        if use.time_s > 0 and not use.name.startswith(("MPI_Init", "MPI_Final"))
    ]
    for use in inside[:_MOST_FUNCTIONS]:
        part = use.time_s / total_s if total_s else 0.0
        mean = seconds(use.time_s / use.calls) if use.calls else ""
        bar = "█" * round(part * _BAR) or "▏"
        table.add_row(
            use.name, seconds(use.time_s), share(part), count(use.calls), size(use.bytes), mean, bar
        )
    return table


def _remarks(profile: Profile) -> Iterator[Text]:
    """One line each on messages, waiting, memory and files, where there is something to say."""
    numbers = profile.numbers
    if numbers["messages"]:
        line = f"messages  {count(numbers['messages'])} of {size(numbers['mean_message_bytes'])} on average"
        line += (
            f", {share(numbers['off_node_share'])} of the bytes to other nodes"
            if len(profile.nodes) > 1
            else ""
        )
        if numbers["receives_looked_at"]:
            line += f"; {share(numbers['late_receive_share'])} of the receives came late"
        yield Text(line)
    if profile.collectives:
        waits, moves = share(numbers["collective_wait_share"]), share(numbers["collective_transfer_share"])
        yield Text(f"collectives  waiting {waits} of the time, moving data {moves}")
    memory = (
        f"memory  {size(numbers['peak_bytes'])} peak a rank, {share(numbers['huge_share'])} on huge pages"
    )
    yield Text(f"{memory}; {share(numbers['system_share'])} of the CPU time in the kernel")
    if numbers["io_accesses"] or numbers["printed_bytes"]:
        moved = f"{size(numbers['io_bytes_read'])} read, {size(numbers['io_bytes_written'])} written, "
        moved += f"{size(numbers['printed_bytes'])} printed"
        yield Text(f"files  {share(numbers['io_share'])} of the time; {moved}")


def _advice(advice: Advice) -> RenderableType:
    gain = f"  (at the very most {share(advice.gain_share)} of the time)" if advice.gain_share else ""
    return _paragraph(advice.finding, gain)


def _paragraph(finding: Finding, gain: str = "") -> RenderableType:
    head = Text(finding.says, style="yellow").append(gain, style="dim")
    parts = [Text(finding.evidence), Text(f"→ {finding.fix}", style="green")]
    return Group(Padding(head, (0, 0, 0, 2)), *(Padding(part, (0, 0, 0, 4)) for part in parts))


def print_findings(findings: tuple[Finding, ...], console: Console) -> None:
    """Findings alone, for `mpiric doctor`."""
    if not findings:
        console.print(Text("nothing to complain of", style="green"))
    for finding in findings:
        console.print(_paragraph(finding))
