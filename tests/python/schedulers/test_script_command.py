"""`mpiric script` as a user calls it; Slurm is made to be absent."""

import json
import os
import subprocess

import pytest

from mpiric.model.batch import BatchLayout, NodeShape
from mpiric.model.errors import ExitCode
from mpiric.schedulers import LayoutRequest, batch_scheduler, plan_layout


@pytest.fixture
def script(run_mpiric):
    """`script(options…)` writes a script for Betzy's nodes, without asking Slurm."""
    return lambda *arguments, **more: run_mpiric(
        "script", "--node", "2x64x2", "--no-check", *arguments, **more
    )


def test_a_program_gets_an_srun_line(script):
    assert script("--", "./app", "in.nml").stdout.splitlines()[-1].endswith(" ./app in.nml")


def test_a_users_own_launch_line_stays_as_it_is(script):
    assert script("--", "mpirun", "-n", "256", "./app").stdout.splitlines()[-1] == "mpirun -n 256 ./app"


def test_the_ranks_of_a_launch_line_decide_the_nodes(script):
    done = script("--json", "--", "mpirun", "-n", "256", "./app")
    assert json.loads(done.stdout)["layout"]["nodes"] == 2


def test_the_job_has_the_programs_name(script):
    assert "--job-name=app" in script("--", "srun", "./build/app").stdout


def test_the_json_holds_the_script_and_its_lines(script):
    written = json.loads(script("--json", "--", "./app").stdout)
    assert all(line["text"] in written["script"] for line in written["lines"])


def test_a_file_is_written_that_can_be_run(script, tmp_path):
    script("-o", "job.sh", "--", "./app")
    assert (tmp_path / "job.sh").stat().st_mode & 0o111


def test_a_site_has_its_say_and_the_user_the_last_word(script, tmp_path):
    (tmp_path / "site.toml").write_text('[script]\naccount = "site"\npartition = "normal"\n')
    text = script("-A", "mine", "--", "./app", env={"MPIRIC_SITE": str(tmp_path / "site.toml")}).stdout
    assert "--partition=normal" in text
    assert "--account=mine" in text
    assert "--account=site" not in text


def test_without_a_cluster_and_a_shape_the_error_says_how_to_give_one(run_mpiric, tmp_path):
    done = run_mpiric("script", "--", "./app", env={"PATH": str(tmp_path)})
    assert done.returncode == ExitCode.USAGE
    assert "--node 2x64x2" in done.stderr


@pytest.mark.parametrize("shape", ["2", "2x0", "ax2", "2x4x2x1"])
def test_a_shape_that_cannot_be_read_is_an_error(run_mpiric, shape):
    done = run_mpiric("script", "--node", shape, "--", "./app")
    assert (done.returncode, "--node takes" in done.stderr) == (ExitCode.USAGE, True)


def test_contradictory_numbers_of_ranks_are_an_error(script):
    done = script("--ranks", "4", "--", "mpirun", "-n", "8", "./app")
    assert (done.returncode, "contradict" in done.stderr) == (ExitCode.USAGE, True)


def test_a_file_that_cannot_be_written_is_an_error(script):
    done = script("-o", "/dev/null/job.sh", "--", "./app")
    assert (done.returncode, "/dev/null/job.sh" in done.stderr) == (ExitCode.NO_ROOM, True)


def test_an_option_instead_of_the_program_is_reported(script):
    done = script("--", "--nodes", "4")
    assert done.returncode == ExitCode.USAGE
    assert "'--nodes' is an option, not a program" in done.stderr


@pytest.mark.parametrize(
    ("line", "layout"),
    [
        (("srun", "-N", "4", "-n", "16"), (4, 16, 4, 1)),
        (("srun", "-N4", "--ntasks-per-node=2", "-c", "8"), (4, 8, 2, 8)),
        (("srun", "--nodes=2"), (2, 2, 1, 1)),  # default of srun
        (("mpirun", "-host", "a,b", "-np", "6"), (2, 6, 3, 1)),
        (("mpiexec.hydra", "-ppn", "4", "-n", "16"), (4, 16, 4, 1)),
    ],
)
def test_the_sizes_of_a_launch_line_decide_those_of_the_job(script, line, layout):
    job_layout = json.loads(script("--json", "--", *line, "./app").stdout)["layout"]
    sizes = [job_layout[name] for name in ("nodes", "ranks", "ranks_per_node", "threads_per_rank")]
    assert tuple(sizes) == layout


@pytest.mark.parametrize(
    ("option", "line"),
    [
        ("--nodes=2", ("srun", "-N", "4")),
        ("--ranks-per-node=2", ("srun", "--ntasks-per-node=4")),
        ("--threads=2", ("srun", "-c", "4")),
    ],
)
def test_contradictory_sizes_are_an_error_that_names_both(script, option, line):
    done = script(option, "--", *line, "./app")
    assert done.returncode == ExitCode.USAGE
    assert f"{option.partition('=')[0]} 2 contradicts the launch line, which sets 4" in done.stderr


FLUX_MAP = "--tasks-per-node=8 --gpus-per-node=4 --exclusive '--setopt=gpu-affinity=map:0;0;1;1;2;2;3;3'"


@pytest.mark.parametrize(
    ("scheduler", "options"),
    [
        ("slurm", ("--gpus-per-node=4", "--gpu-bind=map_gpu:0,0,1,1,2,2,3,3", "--cpus-per-task=16")),
        ("pbs", (":ngpus=4", "CUDA_VISIBLE_DEVICES", "rank * 4 / 8")),
        ("lsf", ('-gpu "num=4"', "CUDA_VISIBLE_DEVICES", "rank * 4 / 8")),
        ("flux", (FLUX_MAP,)),
    ],
)
def test_gpus_are_asked_for_and_bound(script, scheduler, options):
    done = script("--scheduler", scheduler, "--ranks-per-node=8", "--gpus-per-node=4", "--", "./app")
    assert all(word in done.stdout for word in options), done.stdout
    assert "`mpiric place`" in done.stderr or "is not known" in done.stderr


def test_flux_binds_gpus_where_each_rank_has_some(script):
    text = script("--scheduler", "flux", "--ranks-per-node=2", "--gpus-per-node=4", "--", "./app").stdout
    assert "--gpus-per-task=2 --setopt=gpu-affinity=per-task" in text


def test_flux_says_that_partly_filled_nodes_get_no_gpus(script):
    sizes = ("--ranks=9", "--ranks-per-node=8", "--gpus-per-node=4")
    assert "Flux gives the ranks no GPUs" in script("--scheduler", "flux", *sizes, "--", "./app").stderr


@pytest.mark.parametrize(("ranks", "visible"), [(8, "0 0 1 1 2 2 3 3"), (2, "0 2"), (4, "0 1 2 3")])
@pytest.mark.parametrize("expected_options", ["", "4,5,6,7", "GPU-a,GPU-b,GPU-c,GPU-d"])
@pytest.mark.parametrize("scheduler", ["pbs", "lsf"])
def test_each_rank_sees_its_gpu_of_those_of_the_job(scheduler, expected_options, ranks, visible):
    layout = BatchLayout(1, ranks, ranks, 1, 1, gpus_per_node=4)
    argv = batch_scheduler(scheduler).around_program(layout)
    names = expected_options.split(",") if expected_options else ["0", "1", "2", "3"]

    def gpu(**variables: str) -> str:
        environment = {
            "PATH": os.environ["PATH"],
            **({"CUDA_VISIBLE_DEVICES": expected_options} if expected_options else {}),
        }
        line = [*argv, "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"]
        return subprocess.run(line, env={**environment, **variables}, capture_output=True, text=True).stdout

    expected = [f"{names[int(number)]}\n" for number in visible.split()]
    assert [gpu(MPI_LOCALRANKID=str(rank)) for rank in range(ranks)] == expected
    assert [gpu(OMPI_COMM_WORLD_LOCAL_RANK=str(rank)) for rank in range(ranks)] == expected
    assert gpu() == f"{expected_options}\n"  # a launcher without a number for the rank: nothing is narrowed


@pytest.mark.parametrize(
    ("dialect", "options"),
    [
        ("hydra", ("-bind-to", "core:4", "-map-by", "core:4")),
        ("intelmpi", ("-genv", "I_MPI_PIN_DOMAIN", "8:compact")),
        ("openmpi5", ("--map-by", "slot:PE=4", "--bind-to", "core")),
    ],
)
@pytest.mark.parametrize(("scheduler", "launcher"), [("pbs", "mpiexec"), ("lsf", "mpirun")])
def test_a_librarys_launcher_binds_ranks_to_equal_shares_of_a_half_filled_node(
    scheduler, launcher, dialect, options
):
    shape = NodeShape(2, 8, 2)
    layout = plan_layout(LayoutRequest(ranks=4, ranks_per_node=4), shape)
    line = batch_scheduler(scheduler).launch(layout, shape, "", dialect)
    assert line == (launcher, "-n", "4", *options)
