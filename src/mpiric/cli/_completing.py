"""Tab completion of arguments and option values."""

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def knob_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the last name of a list of knobs and families, as in ``--only a,b,…``."""
    from mpiric import knobs  # slow; needed for completion only

    before, comma, last = incomplete.rpartition(",")
    sentences = {knob.name: knob.sentence for knob in knobs.all_knobs().values()}
    sentences.update({knob.family: f"the family {knob.family}" for knob in knobs.all_knobs().values()})
    return [
        CompletionItem(f"{before}{comma}{name}", help=sentences[name])
        for name in sorted(sentences)
        if name.startswith(last)
    ]


def settings(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the knob of ``--set KNOB=VALUE``."""
    from mpiric import knobs

    return [
        CompletionItem(f"{knob.name}=", help=knob.sentence)
        for knob in knobs.all_knobs().values()
        if knob.name.startswith(incomplete)
    ]


def mpi_labels(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of an installed MPI library."""
    from mpiric.host.facts.local import LocalHost
    from mpiric.mpis import find_mpis

    labels = sorted({library.label for library in find_mpis(LocalHost())})
    return [CompletionItem(label) for label in labels if label.startswith(incomplete)]


def one_of(values: Callable[[], Iterable[str]]) -> Completer:
    """Complete one of some values, which are looked up when completion is requested."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(value) for value in values() if value.startswith(incomplete)]

    return complete


def list_of(values: Callable[[], Iterable[str]]) -> Completer:
    """Complete the last value of a comma-separated list."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        return [CompletionItem(f"{before}{comma}{value}") for value in values() if value.startswith(last)]

    return complete


def files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the names of files."""
    return [CompletionItem(incomplete, type="file")]
