import os
import subprocess
import sys
from shutil import which

import pytest

from mpiric.model.batch import NodeShape
from mpiric.model.errors import MpiricError
from mpiric.schedulers import (
    LayoutRequest,
    ScriptOptions,
    batch_scheduler,
    plan_layout,
    script_lines,
    text_of,
)
from mpiric.schedulers._script import language_of

SLURM = batch_scheduler("slurm")
BETZY, PLAIN = NodeShape(2, 64, 2), NodeShape(2, 8)


def written(request, shape=BETZY, launch=("srun", "./app"), **options):
    layout = plan_layout(request, shape)
    return text_of(script_lines(SLURM, layout, shape, ScriptOptions(**options), launch), "#SBATCH")


def test_the_first_line_is_the_shebang():
    assert written(LayoutRequest(), shebang="#!/bin/bash -l").startswith("#!/bin/bash -l\n")


def test_every_directive_comes_before_the_first_command():
    lines = written(LayoutRequest(threads=4), setup=("module load x",)).splitlines()
    commands = [at for at, line in enumerate(lines) if line and not line.startswith("#")]
    assert max(at for at, line in enumerate(lines) if line.startswith("#SBATCH")) < min(commands)


def test_half_of_the_cores_are_explained():
    assert "half of the 128 cores saturate the memory" in written(LayoutRequest(bandwidth_bound=True))


def test_a_script_asks_for_one_hardware_thread_of_each_core_where_cores_have_several():
    assert "--hint=nomultithread" in written(LayoutRequest())
    assert "nomultithread" not in written(LayoutRequest(), PLAIN)


def test_srun_gets_the_cores_of_a_rank_again():
    argv = SLURM.launch(plan_layout(LayoutRequest(threads=4), PLAIN), PLAIN, "pmix")
    assert {"--cpus-per-task=4", "--cpu-bind=cores", "--mpi=pmix"} <= set(argv)


def test_a_users_own_srun_gets_them_from_the_environment():
    assert "export SRUN_CPUS_PER_TASK=4" in written(LayoutRequest(threads=4), PLAIN)


def test_threads_are_spread_when_every_second_core_works():
    assert "export OMP_PROC_BIND=spread" in written(LayoutRequest(threads=2, bandwidth_bound=True))


def test_shell_lines_in_a_python_script_are_an_error():
    with pytest.raises(MpiricError, match="lines of a shell"):
        written(LayoutRequest(), shebang="#!/usr/bin/env python3", setup=("module load x",))


@pytest.mark.parametrize("time", ["30", "2:00", "2:00:00", "1-12", "1-0:30:00", "UNLIMITED"])
def test_every_form_of_a_time_is_taken(time):
    assert f"--time={time} " in written(LayoutRequest(), time=time)


@pytest.mark.parametrize("time", ["foo", "2h", "1:2:3:4", "-1", "1-", "30 --wrap=x"])
def test_times_that_slurm_cannot_parse_are_an_error(time):
    with pytest.raises(MpiricError, match="is not a time limit"):
        written(LayoutRequest(), time=time)


def test_a_name_with_spaces_stays_one_word():
    assert "#SBATCH --job-name='my app'" in written(LayoutRequest(), job_name="my app")


def test_a_language_that_is_not_known_is_an_error_that_lists_those_known():
    with pytest.raises(MpiricError) as caught:
        language_of("#!/usr/bin/perl")
    assert "bash" in caught.value.hint


def test_options_of_env_are_not_taken_for_the_language():
    assert "zsh" in language_of("#!/usr/bin/env -S zsh -l").names


@pytest.mark.parametrize(
    "shell",
    [
        "sh",
        "bash",
        "python3",
        *(pytest.param(name, marks=pytest.mark.requires(name)) for name in ("dash", "zsh", "fish", "tcsh")),
    ],
)
def test_the_script_hands_variables_and_arguments_over_unchanged(shell, tmp_path):
    path = which(shell) or sys.executable
    show = "import os, sys; print([os.environ['STRANGE'], *sys.argv[1:]])"
    strange = "two words, a 'quote', $HOME"
    launch = (sys.executable, "-c", show, strange)
    script = tmp_path / "job"
    script.write_text(
        written(LayoutRequest(), launch=launch, shebang=f"#!{path}", environment={"STRANGE": strange})
    )
    script.chmod(0o755)
    done = subprocess.run([script], capture_output=True, text=True, env={**os.environ, "HOME": str(tmp_path)})
    assert done.stdout.strip() == str([strange, strange])
