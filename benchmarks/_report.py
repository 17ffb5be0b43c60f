"""Common part of all benchmarks: options, the printed table, the JSON file and the page of results."""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mpiric import __version__
from mpiric.host.facts.local import LocalHost
from mpiric.machine import read_machine
from mpiric.model.errors import ExitCode, MpiricError

_WIDTH = 150  # width of a table that goes to a file

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "build" / "benchmarks"
PAGES = ROOT / "benchmarks" / "results"  # committed, and linked by the documentation


@dataclass(frozen=True)
class Result:
    """``rows`` are objects with the same keys; ``columns`` maps those to print to their headings."""

    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]
    summary: str  # one sentence under the table
    facts: Mapping[str, Any] = field(default_factory=dict)  # more entries of the JSON


def options(name: str, description: str) -> argparse.ArgumentParser:
    """Return a parser with the options of all benchmarks."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    parser.add_argument("--quick", action="store_true", help="run a short form that only shows that it works")
    parser.add_argument("--json", action="store_true", help="print the JSON instead of the table")
    parser.add_argument("--save", action="store_true", help="write the table into benchmarks/results as well")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random order of runs")
    return parser


def offer_named(parser: argparse.ArgumentParser, option: str, form: str, description: str) -> None:
    """Add a repeatable option with values of the form NAME=WHERE."""

    def parts(text: str) -> list[str]:
        return text.split("=", 1)

    parser.add_argument(option, action="append", default=[], type=parts, metavar=form, help=description)


def run(name: str, arguments: argparse.Namespace, work: Callable[[argparse.Namespace], Result]) -> int:
    """Run a benchmark, print its table or JSON, save the JSON in build/benchmarks; return the exit status."""
    start, load = time.monotonic(), os.getloadavg()[0]
    try:
        result = work(arguments)
    except MpiricError as error:
        print(
            f"{name}: {error.message}",
            *([f"hint: {error.hint}"] * bool(error.hint)),
            sep="\n",
            file=sys.stderr,
        )
        return int(error.exit_code)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return int(ExitCode.PROGRAM_FAILED)
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return int(ExitCode.INTERRUPTED)
    machine = read_machine(LocalHost(), str(Path.cwd()))
    document = {
        "benchmark": name,
        "ended_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "elapsed_s": round(time.monotonic() - start, 1),
        "options": {key: value for key, value in vars(arguments).items() if key != "json"},
        "mpiric": __version__,
        "machine": f"{machine.usable_cpu_count} CPUs, {machine.cpu.model} ({machine.cpu.target})",
        "load_before": load,
        "summary": result.summary,
        **result.facts,
        "rows": list(result.rows),
    }
    text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
    path = RESULTS / f"{name}{'-quick' if arguments.quick else ''}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
    if arguments.save:
        PAGES.mkdir(exist_ok=True)
        (PAGES / f"{name}.md").write_text(page(name, result, document, commit()), encoding="utf-8")
    if arguments.json:
        print(text)
        return 0
    _print(name, result, load)
    print(f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}", file=sys.stderr)
    return 0


def page(name: str, result: Result, document: Mapping[str, Any], commit: str) -> str:
    """Return the page of a result: command, machine, date and version, table, summary."""
    command = " ".join(
        [f"python -m benchmarks.{name}"]
        + [
            f"--{key.replace('_', '-')}" + ("" if value is True else f" {_portable(value)}")
            for key, values in document["options"].items()
            for value in (values if isinstance(values, list) else [values])
            if value not in (None, False, (), "")
            and value != {}
            and (key, value) != ("seed", 0)
            and key != "save"
        ]
    )
    facts = {
        "command": f"`{command}`",
        "machine": f"{document['machine']}, load {document['load_before']:.1f} before the start",
        "date": document["ended_at"],
        "mpiric": commit,
    }
    table = [list(result.columns.values()), ["---"] * len(result.columns)]
    table += [[show(row.get(key)) for key in result.columns] for row in result.rows]
    return "\n".join(
        [f"# {name}", "", "| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in facts.items()), ""]
        + [f"| {' | '.join(cells)} |" for cells in table]
        + ["", result.summary, ""]
    )


def _portable(value: object) -> str:
    """Return the text of an option's value on a page; absolute paths are reduced to their last part."""
    return f"…/{Path(text).name}" if (text := str(value)).startswith("/") else text


def commit(root: Path = ROOT) -> str:
    """Return the commit of a checkout, marked if files were changed; the version outside of a checkout."""
    described = subprocess.run(
        ["git", "-C", str(root), "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    )
    return described.stdout.strip() or __version__


def tell(text: str) -> None:
    """Print progress on stderr."""
    print(text, file=sys.stderr, flush=True)


def show(value: Any) -> str:
    """Return the text of a cell: numbers with three digits, intervals in brackets, a dash for None."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(show(item) for item in value)}]"
    return str(value)


def _print(name: str, result: Result, load: float) -> None:
    table = Table(title=name, title_justify="left", title_style="bold")
    for heading in result.columns.values():
        table.add_column(heading, overflow="fold")
    for row in result.rows:
        table.add_row(*(show(row.get(key)) for key in result.columns))
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else _WIDTH)
    console.print(table)
    console.print(result.summary)
    if load > 0.5:
        console.print(f"The machine was not quiet: load {load:.1f} before the start.")
