"""Writes src/runtime/{symbols,wrap,order}/generated; ``--check`` names files that are not up to date."""

import sys
from itertools import groupby
from pathlib import Path

from tools.generate._target import deliver_all

from . import emit
from .classify import classify
from .load import read_functions, read_ledger, read_rules

RUNTIME = Path(__file__).parents[3] / "src/runtime"
SYMBOLS, WRAPPERS, SUBSTITUTION = "symbols/generated", "wrap/generated", "order/generated"


def render() -> dict[str, str]:
    """Every generated file by its path in the runtime."""
    rules, exceptions = read_rules(), read_ledger()
    by_hand = exceptions.by_hand
    functions = [classify(function, rules) for function in read_functions()]
    files = {
        f"{SYMBOLS}/functions.inc": emit.function_list(functions),
        f"{SYMBOLS}/entrances.inc": emit.entrances(functions),
        f"{SYMBOLS}/wrappers.inc": emit.declarations(functions),
        f"{SYMBOLS}/recent.inc": emit.recent_functions(functions),
        f"{SUBSTITUTION}/substitution.cpp": emit.substitution(
            [
                entry
                for entry in functions
                if entry.parameters("COMMUNICATOR", "in")
                and entry.function.name not in exceptions.not_substituted
            ]
        ),
        f"{WRAPPERS}/ledger.tsv": emit.ledger(functions, by_hand),
    }
    generated = sorted(
        (entry for entry in functions if entry.function.name not in by_hand),
        key=lambda entry: entry.rule.class_name,
    )
    for name, group in groupby(generated, key=lambda entry: entry.rule.class_name):
        files[f"{WRAPPERS}/{name}.cpp"] = emit.wrappers(list(group))
    return files


if __name__ == "__main__":
    sys.exit(deliver_all(RUNTIME, (SYMBOLS, WRAPPERS, SUBSTITUTION), render()))
