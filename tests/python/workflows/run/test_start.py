"""Modules that `mpiric run` loads before a user's program starts."""

import subprocess
import sys


def test_a_run_does_without_tables_of_numbers():
    program = "import sys, mpiric.cli.run; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
