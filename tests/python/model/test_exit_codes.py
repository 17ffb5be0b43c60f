"""Exit codes of mpiric: they collide with nothing, and each has one meaning."""

import os
import re
from pathlib import Path

from mpiric.model.errors import ExitCode

ROOT = Path(__file__).parents[3]
RESERVED = range(124, 256)  # timeout(1), shells, container engines; signals from 128 up


def test_codes_are_unique():
    assert len(ExitCode.__members__) == len({code.value for code in ExitCode})


def test_only_an_interruption_has_a_reserved_code():
    assert [code for code in ExitCode if code in RESERVED] == [ExitCode.INTERRUPTED]


def test_errors_have_the_codes_of_sysexits():
    names = ("USAGE", "DATAERR", "UNAVAILABLE", "SOFTWARE", "OSERR", "TEMPFAIL", "CONFIG")
    errors = {code.value for code in ExitCode if code < 79}
    assert errors == {getattr(os, f"EX_{name}") for name in names}


def test_verdicts_are_79_to_99():
    verdicts = {"SLOWER", "FOUND", "MISPLACED", "DIFFERENT", "REJECTED"}
    assert {code.name for code in ExitCode if 79 <= code <= 99} == verdicts


def test_help_texts_name_codes_of_the_table():
    pattern = re.compile(r"(?:exit )?status(?: is)? (\d+)")
    texts = [path.read_text() for path in (ROOT / "src/mpiric/cli").glob("*.py")]
    named = {int(number) for text in texts for number in pattern.findall(text)}
    assert named - {0} <= {code.value for code in ExitCode}
    assert named & set(ExitCode)


def test_starter_of_a_pack_uses_the_table():
    starter = (ROOT / "src/mpiric/workflows/pack/starter.bash").read_text()
    codes = {int(number) for number in re.findall(r"^ +exit (\d+)", starter, re.MULTILINE)}
    assert codes == {0, ExitCode.MISMATCH}
