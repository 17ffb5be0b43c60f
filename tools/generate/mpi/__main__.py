"""Writes src/runtime/{symbols,wrap}/generated; with ``--check`` names the files that are not up to date."""

import argparse
import sys
from itertools import groupby
from pathlib import Path

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


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail when a file is not up to date"
    )
    check = parser.parse_args().check
    files = render()
    present = {
        f"{room}/{path.name}": path.read_text(encoding="utf-8")
        for room in (SYMBOLS, WRAPPERS)
        for path in (RUNTIME / room).glob("*")
    }
    stale = sorted(name for name in files.keys() | present.keys() if files.get(name) != present.get(name))
    if check:
        for name in stale:
            print(f"{RUNTIME / name} is not what the generator writes", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        if name in files:
            (RUNTIME / name).write_text(files[name], encoding="utf-8")
        else:
            (RUNTIME / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
