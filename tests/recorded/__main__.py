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
    """Compare the cases with their expectations, or store these anew; 1 where they differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.recorded", description=__doc__)
    parser.add_argument("--write", action="store_true", help="store the expectations anew")
    parser.add_argument("cases", nargs="*", metavar="FAMILY[/NAME]", help="only these, by default all")
    given = parser.parse_args()
    cases = all_cases()
    wanted = [key for key in cases if not given.cases or {key[0], "/".join(key)} & set(given.cases)]
    if not wanted:
        parser.error(f"no case fits {' '.join(given.cases)}")
    different = 0
    clock = time.process_time
    for family, name in wanted:
        begun_s = clock()
        with tempfile.TemporaryDirectory() as place:
            text = play(cases[family, name], Path(place))
        took = f"{clock() - begun_s:5.2f} s  {family}/{name}"
        if given.write:
            print(f"{took}{'  written' if write(family, name, text) else ''}")
        elif found := difference(family, name, text):
            different += 1
            print(f"{took}  differs\n{found}")
        else:
            print(took)
    stale = set() if given.cases else set(DIRECTORY.glob("*/*.txt")) - {path_of(*key) for key in cases}
    for path in sorted(stale):
        print(f"{path.relative_to(DIRECTORY)} belongs to no case{': removed' if given.write else ''}")
        if given.write:
            path.unlink()
    return 1 if different or (stale and not given.write) else 0


if __name__ == "__main__":
    sys.exit(main())
