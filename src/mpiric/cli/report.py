"""`mpiric report`: show a record or an algorithm policy, or compare two records."""

import sys
from pathlib import Path

import click

from mpiric import __version__
from mpiric.cli._json import print_json
from mpiric.cli._options import cli_command, json_option, option
from mpiric.cli._terminal import stdout_console
from mpiric.host.facts.local import LocalHost
from mpiric.host.files import is_directory
from mpiric.host.owned_files import write_text, write_whole
from mpiric.model.errors import MpiricError
from mpiric.profile.read import read_record
from mpiric.profile.tables import write_csv
from mpiric.report.comparison_text import comparison_html, comparison_json, print_comparison
from mpiric.report.json_objects import profile_json
from mpiric.report.policy_text import policy_html, policy_json, print_policy
from mpiric.report.profile_text import print_profile
from mpiric.tuning.policy_files import read_learned
from mpiric.tuning.policy_merge import merge
from mpiric.workflows.policies import (
    check_free,
    export_policy,
    is_flat_policy,
    is_learned_policy,
    of_library,
)
from mpiric.workflows.profile.request import write_report
from mpiric.workflows.trials.recorded_runs import load, load_two


@cli_command()
@json_option
@option("--csv", "csv_directory", "DIR", "Write the tables of a record as CSV files.")
@option("--html", "page", "FILE", "Write a comparison, or algorithm policies, as a page.")
@option(
    "--export",
    "export_directory",
    "DIR",
    "Merge algorithm policies, and write them in mpiric's format and as tuning files of the MPI library.",
)
@click.argument("records", nargs=-1, type=click.Path(path_type=Path), metavar="DIR|POLICY…", required=True)
def command(
    records: tuple[Path, ...],
    *,
    as_json: bool,
    csv_directory: Path | None,
    page: Path | None,
    export_directory: Path | None,
) -> None:
    """Show, compare or export records of `mpiric profile`.

    Of one record DIR, the summary is printed and the report is written again. Of two, the changes from the
    first to the second are shown. Algorithm policies (of `mpiric run --policy-out` or `mpiric sweep`) are
    shown, merged and exported.
    """
    if all(is_learned_policy(record) for record in records):
        _policies(records, page, export_directory, as_json=as_json)
        return
    if flat := next((record for record in records if is_flat_policy(record)), None):
        raise MpiricError(
            f"{flat} has choices of algorithms without the measured times",
            hint="name the policy in JSON from which it was made",
        )
    if export_directory is not None:
        raise MpiricError(
            "--export needs an algorithm policy, not a record", hint="mpiric report POLICY --export DIR"
        )
    if len(records) > 2:
        raise MpiricError("more than two records cannot be compared", hint="mpiric report DIR [DIR]")
    if len(records) == 2:
        _compare(records[0], records[1], page, as_json=as_json)
        return
    record = records[0]
    host = LocalHost()
    profile = load(record, host)
    if csv_directory is not None:
        for path in write_csv(read_record(record), csv_directory):
            print(f"wrote {path}", file=sys.stderr)
    written = write_report(profile, record, host) if is_directory(record) else None
    if page is not None and written is not None:
        write_whole(page, written.read_bytes())
    if as_json:
        print_json(profile_json(profile))
    else:
        print_profile(profile, stdout_console(), str(written or ""))


def _policies(places: tuple[Path, ...], page: Path | None, directory: Path | None, *, as_json: bool) -> None:
    learned = merge([read_learned(record) for record in places])
    if page is not None:
        print(f"wrote {write_text(page, policy_html(learned, __version__))}", file=sys.stderr)
    sentences = []
    if directory is not None:
        check_free(directory)
        sentences = export_policy(learned, directory, LocalHost(), of_library(learned))
        sentences.append(
            "the exported choices were not measured without mpiric; `mpiric sweep` measures its exports"
        )
    if as_json:
        print_json(policy_json(learned))
    else:
        print_policy(learned, stdout_console())
    for sentence in sentences:
        print(sentence, file=sys.stderr)


def _compare(first: Path, second: Path, page: Path | None, *, as_json: bool) -> None:
    comparison = load_two(first, second)
    if page is not None:
        print(f"wrote {write_text(page, comparison_html(comparison, __version__))}", file=sys.stderr)
    if as_json:
        print_json(comparison_json(comparison))
    else:
        print_comparison(comparison, stdout_console())
