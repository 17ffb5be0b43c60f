"""`mpiric report`: a record explained again, or two compared."""

from pathlib import Path

import click

from mpiric.cli._json import print_json
from mpiric.cli._terminal import stdout_console
from mpiric.model.errors import MpiricError
from mpiric.report.comparison_text import comparison_json, print_comparison
from mpiric.report.profile_json import profile_json
from mpiric.report.profile_text import print_profile
from mpiric.workflows.report import PAGE, export_csv, load, load_two, write_comparison, write_report

_EPILOG = """\b
Examples:
  mpiric report lj                        the letter, and lj/report.html written anew
  mpiric report before after              what changed from one record to the other
  mpiric report lj --csv tables           calls.csv, traffic.csv, ranks.csv, …
  mpiric report lj --json | jq .p2p
"""


@click.command(epilog=_EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the letter.")
@click.option(
    "--csv", "csv_directory", type=click.Path(path_type=Path), metavar="DIR", help="Write the tables there."
)
@click.option("--html", "page", type=click.Path(path_type=Path), metavar="FILE", help="Page of a comparison.")
@click.argument("records", nargs=-1, type=click.Path(path_type=Path), metavar="DIR [DIR]", required=True)
def command(
    records: tuple[Path, ...], *, as_json: bool, csv_directory: Path | None, page: Path | None
) -> None:
    """Explain the record that `mpiric profile` left in DIR, or compare two records."""
    if len(records) > 2:
        raise MpiricError("a report is about one record, or compares two", hint="mpiric report DIR [DIR]")
    if len(records) == 2:
        _compare(records[0], records[1], page, as_json=as_json)
        return
    place = records[0]
    profile = load(place)
    if csv_directory is not None:
        for path in export_csv(place, csv_directory):
            click.echo(f"wrote {path}", err=True)
    written = write_report(profile, place) if place.is_dir() else None
    if page is not None and written is not None:
        page.write_bytes((place / PAGE).read_bytes())
    if as_json:
        print_json(profile_json(profile))
    else:
        print_profile(profile, stdout_console(), str(written or ""))


def _compare(first: Path, second: Path, page: Path | None, *, as_json: bool) -> None:
    comparison = load_two(first, second)
    if page is not None:
        click.echo(f"wrote {write_comparison(comparison, page)}", err=True)
    if as_json:
        print_json(comparison_json(comparison))
    else:
        print_comparison(comparison, stdout_console())
