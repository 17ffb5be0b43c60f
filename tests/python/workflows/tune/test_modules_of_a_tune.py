"""Modules that `mpiric tune` loads before it runs anything."""

import subprocess
import sys


def test_a_tune_of_this_node_loads_neither_submission_nor_mapping_engine():
    program = "import sys, mpiric.cli.tune; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()).isdisjoint(
        {"mpiric.workflows.submit.submit", "mpiric.workflows.tune.array", "mpiric.mapping.engine"}
    )
