"""The GitHub Action at the top of the repository."""

import os
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
STEP = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][0]
# Replaces `python3 -m venv DIR`: an environment with the mpiric of these tests and no network.
PYTHON = """\
#!/bin/sh
mkdir -p "$3/bin"
printf '#!/bin/sh\\nexit 0\\n' > "$3/bin/pip"
printf '#!/bin/sh\\nexec {python} -m mpiric "$@"\\n' > "$3/bin/mpiric"
chmod +x "$3/bin/pip" "$3/bin/mpiric"
"""


def step(tmp_path, **inputs):
    (tmp_path / "python3").write_text(PYTHON.format(python=sys.executable))
    (tmp_path / "python3").chmod(0o755)
    variables = {"RANKS": "4096", "MPI": "", "OPTIONS": "", "MPIRIC": "", "ACTION": str(ROOT), **inputs}
    assert set(STEP["env"]) <= set(variables)
    surroundings = {
        **{name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")},
        **variables,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "GITHUB_ENV": str(tmp_path / "github_env"),
    }
    return subprocess.run(
        ["bash", "-c", STEP["run"]], env=surroundings, capture_output=True, text=True, check=False
    )


def test_the_action_writes_variables_for_the_next_steps_and_explains_them(tmp_path):
    done = step(tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "github_env").read_text().splitlines()
    assert "OMP_NUM_THREADS=1" in lines
    assert all("=" in line and not line.startswith("export") for line in lines)
    assert "reason:" in done.stdout


def test_the_action_fails_with_a_sentence_for_a_wrong_input(tmp_path):
    done = step(tmp_path, RANKS="many")
    assert done.returncode != 0
    assert "'many' is not a valid integer" in done.stderr
