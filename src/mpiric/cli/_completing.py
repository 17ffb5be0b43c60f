"""What tab completion offers for a verb's own words."""

import click
from click.shell_completion import CompletionItem


def knob_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Knobs and families for ``--only a,b,…``: the last of the list is completed."""
    from mpiric import knobs  # only when somebody presses tab

    before, comma, last = incomplete.rpartition(",")
    known = {knob.name: knob.sentence for knob in knobs.all_knobs().values()}
    known.update({knob.family: f"the family {knob.family}" for knob in knobs.all_knobs().values()})
    return [
        CompletionItem(f"{before}{comma}{name}", help=known[name])
        for name in sorted(known)
        if name.startswith(last)
    ]


def files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The user's own command line: the shell's files."""
    return [CompletionItem(incomplete, type="file")]
