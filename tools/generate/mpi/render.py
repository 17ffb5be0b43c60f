"""Files that the runtime is built from, rendered from spec/mpi."""

from . import emit
from .classify import classify
from .load import read_functions, read_ledger, read_rules


def render() -> dict[str, str]:
    """Return the text of each file by its path below the generated sources of the runtime."""
    rules, exceptions = read_rules(), read_ledger()
    functions = [classify(function, rules) for function in read_functions()]
    noted = [entry for entry in functions if entry.function.name not in exceptions.by_hand]
    return {
        "symbols/functions.inc": emit.table(functions, exceptions),
        "wrap/notes.inc": emit.notes(noted),
    }
