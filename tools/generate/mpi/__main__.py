"""Writes src/runtime/wrap/generated; with ``--check`` it says what is not as it would be written."""

import argparse
import sys
from itertools import groupby
from pathlib import Path

from . import emit
from .classify import classify
from .load import read_functions, read_ledger, read_rules

GENERATED = Path(__file__).parents[3] / "src/runtime/wrap/generated"


def render() -> dict[str, str]:
    """Every generated file by name."""
    rules, by_hand = read_rules(), read_ledger().by_hand
    functions = [classify(function, rules) for function in read_functions()]
    files = {
        "functions.inc": emit.function_list(functions),
        "entrances.inc": emit.entrances(functions),
        "wrappers.inc": emit.declarations(functions),
        "recent.inc": emit.recent_functions(functions),
        "ledger.tsv": emit.ledger(functions, by_hand),
    }
    generated = sorted(
        (one for one in functions if one.function.name not in by_hand), key=lambda one: one.rule.class_name
    )
    for name, group in groupby(generated, key=lambda one: one.rule.class_name):
        files[f"{name}.cpp"] = emit.wrappers(list(group))
    return files


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail when a file is not up to date"
    )
    check = parser.parse_args().check
    files = render()
    present = (
        {path.name: path.read_text(encoding="utf-8") for path in GENERATED.glob("*")}
        if GENERATED.is_dir()
        else {}
    )
    stale = sorted(name for name in files.keys() | present.keys() if files.get(name) != present.get(name))
    if check:
        for name in stale:
            print(f"{GENERATED / name} is not what the generator writes", file=sys.stderr)
        return 1 if stale else 0
    GENERATED.mkdir(parents=True, exist_ok=True)
    for name in stale:
        if name in files:
            (GENERATED / name).write_text(files[name], encoding="utf-8")
        else:
            (GENERATED / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
