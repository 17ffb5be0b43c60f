"""Play the recorded cases: ``python -m tests.recorded [--write] [FAMILY[/NAME] ...]``."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.recorded.case import play
from tests.recorded.expectations import DIRECTORY, difference, path_of, write
from tests.recorded.families import all_cases


def main() -> int:
    """Compare the cases with the stored text, or replace it; return 1 if a case differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.recorded", description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the stored text of the cases")
    parser.add_argument("cases", nargs="*", metavar="FAMILY[/NAME]", help="cases to play (default: all)")
    arguments = parser.parse_args()
    cases = all_cases()
    selected = [key for key in cases if not arguments.cases or {key[0], "/".join(key)} & set(arguments.cases)]
    if not selected:
        parser.error(f"no case fits {' '.join(arguments.cases)}")
    different = 0
    clock = time.process_time
    for family, name in selected:
        started_s = clock()
        with tempfile.TemporaryDirectory() as place:
            text = play(cases[family, name], Path(place))
        took = f"{clock() - started_s:5.2f} s  {family}/{name}"
        if arguments.write:
            print(f"{took}{'  written' if write(family, name, text) else ''}")
        elif changes := difference(family, name, text):
            different += 1
            print(f"{took}  differs\n{changes}")
        else:
            print(took)
    stale = set() if arguments.cases else set(DIRECTORY.glob("*/*.txt")) - {path_of(*key) for key in cases}
    for path in sorted(stale):
        print(f"{path.relative_to(DIRECTORY)} belongs to no case{': removed' if arguments.write else ''}")
        if arguments.write:
            path.unlink()
    return 1 if different or (stale and not arguments.write) else 0


if __name__ == "__main__":
    sys.exit(main())
