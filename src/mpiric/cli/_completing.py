"""What tab completion offers for a verb's own words."""

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


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


def settings(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Knobs for ``--set KNOB=VALUE``."""
    from mpiric import knobs

    return [
        CompletionItem(f"{knob.name}=", help=knob.sentence)
        for knob in knobs.all_knobs().values()
        if knob.name.startswith(incomplete)
    ]


def mpi_labels(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The MPI libraries that are here."""
    from mpiric.host.facts.local import LocalHost
    from mpiric.mpis import find_mpis

    labels = sorted({library.label for library in find_mpis(LocalHost())})
    return [CompletionItem(label) for label in labels if label.startswith(incomplete)]


def one_of(words: Callable[[], Iterable[str]]) -> Completer:
    """These words, looked up when somebody presses tab."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in words() if word.startswith(incomplete)]

    return complete


def list_of(words: Callable[[], Iterable[str]]) -> Completer:
    """These words with commas between: the last of the list is completed."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        return [CompletionItem(f"{before}{comma}{word}") for word in words() if word.startswith(last)]

    return complete


def files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The user's own command line: the shell's files."""
    return [CompletionItem(incomplete, type="file")]
