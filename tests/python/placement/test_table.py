"""The table of the documentation."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_placement_table_is_current():
    command = [sys.executable, "-m", "tools.generate.placement_table", "--check"]
    assert subprocess.run(command, cwd=ROOT).returncode == 0
