"""Writes src/runtime/{symbols,wrap}/generated; with ``--check`` names the files that are not up to date."""

import sys
from itertools import groupby
from pathlib import Path

from tools.generate._target import deliver_all

from . import emit
from .classify import classify
from .load import read_functions, read_ledger, read_rules

RUNTIME = Path(__file__).parents[3] / "src/runtime"
SYMBOLS, WRAPPERS = "symbols/generated", "wrap/generated"


def render() -> dict[str, str]:
    """Every generated file by its path in the runtime."""
    rules, by_hand = read_rules(), read_ledger().by_hand
    functions = [classify(function, rules) for function in read_functions()]
    files = {
        f"{SYMBOLS}/functions.inc": emit.function_list(functions),
        f"{SYMBOLS}/entrances.inc": emit.entrances(functions),
        f"{SYMBOLS}/wrappers.inc": emit.declarations(functions),
        f"{SYMBOLS}/recent.inc": emit.recent_functions(functions),
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
    sys.exit(deliver_all(RUNTIME, (SYMBOLS, WRAPPERS), render()))
