"""The families of recorded cases: every file of this folder is one, with a table `CASES`."""

from importlib import import_module
from pathlib import Path

from tests.recorded.case import Case


def all_cases() -> dict[tuple[str, str], Case]:
    """Every case, by its family and name."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
    families = {name: import_module(f"tests.recorded.families.{name}").CASES for name in names}
    return {(family, case.name): case for family, cases in families.items() for case in cases}
