"""`mpiric gather [DIRECTORY]`: move spread files back to their places."""

import sys
from pathlib import Path

import click

from mpiric.cli._command import cli_command
from mpiric.cli._json import print_json
from mpiric.model.quoting import one_line
from mpiric.workflows.gather.gather import gather


@cli_command(
    epilog="\b\nExamples:\n"
    "  mpiric gather out      files that a run with the setting `subdirectories` has spread below out"
)
@click.argument("directory", type=click.Path(path_type=Path), default=".")
@click.option("--json", "as_json", is_flag=True, help="Print the files that were and were not moved as JSON.")
def command(directory: Path, *, as_json: bool) -> int:
    """Move files that a run has spread back to their places.

    Files that exist at these places are not replaced.
    """
    gathered = gather(directory)
    if as_json:
        print_json(
            {
                "moved": list(gathered.moved),
                "left": [{"path": path, "reason": reason} for path, reason in gathered.remaining],
            }
        )
    else:
        print(f"files put back: {len(gathered.moved)}")
    for path, reason in gathered.remaining:
        print(one_line(f"{path} stays: {reason}"), file=sys.stderr)
    return 1 if gathered.remaining else 0
