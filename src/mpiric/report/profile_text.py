"""Summary of a profile: efficiency, main costs, advice."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mpiric.model.amount import seconds, share, size
from mpiric.model.errors import Finding
from mpiric.model.profile import MISSING_PARTICIPANT, TIME_OUTSIDE, Advice, Profile
from mpiric.report._pages import count, effects_in_words, expectation, library, on_huge_pages
from mpiric.report.profile_html import charts_library

_MOST_FUNCTIONS, _MOST_ADVICE = 5, 3
_BAR, _TIME_BAR = 16, 40
_START_UP = 0.05  # smallest share of MPI_Init and MPI_Finalize that the headline mentions
_HEALTHY = 0.8  # threshold of acceptable efficiencies according to POP

_DIAGNOSES = {  # weakest factor of the parallel efficiency → sentence
    "load_balance": "Some ranks have more work than others, which wait for them.",
    "serialisation": "Ranks wait for one another longer than uneven work explains.",
    "transfer": "Data transfer takes most of the lost time.",
}


def print_profile(profile: Profile, console: Console, report: str = "") -> None:
    """Print the summary; ``report`` is the path of the HTML page, "" if there is none."""
    console.print()
    for part in _summary(profile, report):
        console.print(Group(part), crop=False)  # plain texts would be joined and would wrap


def _summary(profile: Profile, report: str) -> Iterator[RenderableType]:
    yield _headline(profile)
    yield from _start_up(profile)
    yield Text(diagnosis(profile), style=_style(profile.efficiencies.parallel))
    yield _time_bar(profile)
    yield _efficiencies(profile)
    yield _functions(profile)
    yield from _remarks(profile)
    if profile.advice:
        yield Text("\nRecommendations", style="bold")
        effects = effects_in_words(profile.advice)
        yield from (_advice(advice, effects) for advice in profile.advice[:_MOST_ADVICE])
        if len(profile.advice) > _MOST_ADVICE:
            yield Text(f"  … and {len(profile.advice) - _MOST_ADVICE} more in the report", style="dim")
    else:
        yield Text("\nNo problems found.", style="green")
    for note in profile.notes:
        yield Text(f"  note: {note}", style="yellow")
    if any(advice.knobs for advice in profile.advice) and profile.command and report:
        under = f" --mpi {profile.asked_mpi}" if profile.asked_mpi else ""
        tune = f"mpiric tune --advice {Path(report).parent}{under} -- {profile.command}"
        yield Text(f"\ntune    {tune}", style="cyan", no_wrap=True, overflow="ignore")
    if report:
        yield Text(f"report  {report}", style="green", no_wrap=True, overflow="fold")
        if not charts_library():
            yield Text(
                "  the page has tables and no charts: the chart library is not installed", style="yellow"
            )


def _headline(profile: Profile) -> Text:
    nodes = f" on {len(profile.nodes)} nodes" if len(profile.nodes) > 1 else ""
    start_up_s = profile.numbers.get("start_up_s", 0.0)
    whole_s = seconds(profile.wall_s + start_up_s)
    text = Text(f"{profile.world_size} ranks{nodes}, {whole_s}", style="bold")
    if start_up_share(profile) >= _START_UP:
        text.append(f", {seconds(start_up_s)} of it in MPI_Init and MPI_Finalize")
    text.append(f"   MPI {share(profile.mpi_share)}", style=_style(1.0 - profile.mpi_share))
    return text.append(f"   {library(profile)}", style="dim")


def _start_up(profile: Profile) -> Iterator[Text]:
    """Yield the parts of the start-up if it takes a good part of the run."""
    titles = {"launcher": "launcher", "program": "program", "library": "MPI library"}
    parts_s = {title: profile.numbers.get(f"{name}_start_s", 0.0) for name, title in titles.items()}
    whole_s = sum(parts_s.values())
    if whole_s and whole_s >= _START_UP * (whole_s + profile.wall_s):
        parts = ", ".join(f"{title} {seconds(part_s)}" for title, part_s in parts_s.items())
        yield Text(f"start-up {seconds(whole_s)}: {parts}", style="dim")


def start_up_share(profile: Profile) -> float:
    """Return the share of MPI_Init and MPI_Finalize in the time of the run with both of them."""
    return profile.numbers.get("start_up_share", 0.0)


def diagnosis(profile: Profile) -> str:
    """Return one sentence: healthy, or the main problem (a cause, not its effects)."""
    if profile.advice and profile.advice[0].explains_run:
        return f"{profile.advice[0].finding.says}."
    e = profile.efficiencies
    if profile.advice and profile.advice[0].finding.id in (MISSING_PARTICIPANT, TIME_OUTSIDE):
        return profile.advice[0].finding.says
    if (start_up := start_up_share(profile)) >= max(1.0 - _HEALTHY, (1.0 - start_up) * (1.0 - e.parallel)):
        return (
            f"Starting and ending MPI takes {share(start_up)} of the run; in the rest, the ranks spend "
            f"{share(e.parallel)} of their time on useful work."
        )
    if e.parallel >= _HEALTHY:
        return f"Healthy: the ranks spend {share(e.parallel)} of their time on useful work."
    causes = {cause for advice in profile.advice for cause in advice.effect_of}
    if profile.advice and profile.advice[0].finding.id in causes:
        return profile.advice[0].finding.says
    return _DIAGNOSES[min(_DIAGNOSES, key=lambda name: getattr(e, name))]


def _style(goodness: float) -> str:
    return "bold green" if goodness >= _HEALTHY else "bold yellow" if goodness >= 0.6 else "bold red"


def _time_bar(profile: Profile) -> Text:
    """Draw the time of all ranks, with the start and end of MPI, as one bar."""
    total_s = sum(rank.time_s for rank in profile.ranks) or 1.0
    between = min(1.0, sum(rank.point_to_point_s * rank.threads for rank in profile.ranks) / total_s)
    collective = min(1.0, sum(rank.collective_s * rank.threads for rank in profile.ranks) / total_s)
    files = min(profile.numbers["io_share"], 1.0 - profile.mpi_share)
    other = max(0.0, profile.mpi_share - between - collective)
    start_up = start_up_share(profile)
    parts = {
        "MPI_Init and MPI_Finalize": (start_up, "cyan"),
        "work": ((1.0 - start_up) * max(0.0, 1.0 - profile.mpi_share - files), "green"),
        "files": ((1.0 - start_up) * files, "magenta"),
        "point to point": ((1.0 - start_up) * between, "yellow"),
        "collectives": ((1.0 - start_up) * collective, "red"),
        "other MPI": ((1.0 - start_up) * other, "bright_black"),
    }
    bar, legend, filled = Text("time        "), Text("            "), 0.0
    for name, (part, colour) in parts.items():
        bar.append("█" * (round((filled + part) * _TIME_BAR) - round(filled * _TIME_BAR)), style=colour)
        filled += part
        if part >= 0.005:
            legend.append("█ ", style=colour).append(f"{name} {share(part)}  ")
    return bar.append("\n").append_text(legend)


def _efficiencies(profile: Profile) -> Text:
    e = profile.efficiencies
    text = Text("efficiency  ")
    text.append(f"parallel {share(e.parallel)}", style=_style(e.parallel))
    for before, name, value in (
        (" = ", "load balance", e.load_balance),
        (" × ", "serialisation", e.serialisation),
        (" × ", "transfer", e.transfer),
    ):
        text.append(f"{before}{name} ").append(share(value), style=_style(value))
    return text


def _functions(profile: Profile) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("\nfunction", no_wrap=True)
    for heading in ("\ntime", "of all", "\ncalls", "\nbytes", "mean\ncall"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    total_s = sum(rank.time_s for rank in profile.ranks)
    inside = [
        use
        for use in profile.functions
        if use.time_s > 0 and not use.name.startswith(("MPI_Init", "MPI_Final"))
    ]
    for use in inside[:_MOST_FUNCTIONS]:
        part = use.time_s / total_s if total_s else 0.0
        mean = seconds(use.time_s / use.calls) if use.calls else ""
        bar = "█" * round(min(part, 1.0) * _BAR) or "▏"
        table.add_row(
            use.name, seconds(use.time_s), share(part), count(use.calls), size(use.bytes), mean, bar
        )
    return table


def _remarks(profile: Profile) -> Iterator[Text]:
    """Yield a line on each of messages, waiting, memory and files that has something to report."""
    numbers = profile.numbers
    if numbers["messages"]:
        line = f"messages  {count(numbers['messages'])} of {size(numbers['mean_message_bytes'])} on average"
        line += (
            f", {share(numbers['off_node_share'])} of the bytes to other nodes"
            if len(profile.nodes) > 1
            else ""
        )
        if numbers["receives_looked_at"]:
            line += f"; {share(numbers['late_receive_share'])} of the receives were posted late"
        yield Text(line)
    if profile.collectives:
        waits, moves = share(numbers["collective_wait_share"]), share(numbers["collective_transfer_share"])
        yield Text(f"collectives  waiting {waits} of the time, moving data {moves}")
    memory = f"memory  {size(numbers['peak_bytes'])} peak per rank"
    if huge := on_huge_pages(numbers):
        memory += f", {huge}"
    if numbers["instructions"]:
        memory += f"; {numbers['instructions_per_cycle']:.2f} instructions per cycle"
    yield Text(f"{memory}; {share(numbers['system_share'])} of the CPU time in the kernel")
    if numbers["io_accesses"] or numbers["printed_bytes"]:
        moved = f"{size(numbers['io_bytes_read'])} read, {size(numbers['io_bytes_written'])} written, "
        moved += f"{size(numbers['printed_bytes'])} printed"
        yield Text(f"files  {share(numbers['io_share'])} of the time; {moved}")


def _advice(advice: Advice, effects: Mapping[str, str]) -> RenderableType:
    effect = [Text(effects[advice.finding.id])] if advice.finding.id in effects else []
    if not advice.explains_run:
        effect.append(Text("expected gain: ", style="dim").append(expectation(advice), style="bold"))
    # Commands can be copied: the terminal may break the line, we do not.
    commands = (
        Text(f"    $ {command}", style="cyan", no_wrap=True, overflow="ignore") for command in advice.commands
    )
    return Group(_paragraph(advice.finding, *effect), *commands)


def _paragraph(finding: Finding, *more: Text) -> RenderableType:
    parts = [Text(finding.evidence), Text(f"→ {finding.fix}", style="green"), *more]
    head = Padding(Text(finding.says, style="yellow"), (0, 0, 0, 2), expand=False)
    return Group(head, *(Padding(part, (0, 0, 0, 4), expand=False) for part in parts))


def print_findings(findings: Iterable[Finding | Advice], console: Console) -> None:
    """Print findings only, for `mpiric doctor`."""
    items = tuple(findings)
    if not items:
        console.print(Text("no problems found", style="green"))
    effects = effects_in_words(items)
    for item in items:
        console.print(_advice(item, effects) if isinstance(item, Advice) else _paragraph(item), crop=False)
