import shlex

import pytest

from mpiric.launchers import render
from mpiric.launchers.containers import engines, split_container
from mpiric.model.errors import MismatchError
from mpiric.model.job import Spelling

# engine → program line, its words up to the image, the image
LINES = {
    "apptainer": ("apptainer exec --nv -B /a:/b img.sif ./app x", 6, "img.sif"),
    "charliecloud": ("ch-run -w --bind /a:/b /var/img -- ./app -x", 6, "/var/img"),
    "docker": ("docker run --rm -v /a:/b -e A=0 img:1 ./app", 8, "img:1"),
    "podman": ("podman --log-level=error run --rm --env A=0 -v /a:/b docker://img ./app", 9, "docker://img"),
    "singularity": ("singularity -q exec -e -H /h img.simg ./app", 7, "img.simg"),
}
EVERY_ENGINE = pytest.mark.parametrize("name", engines())


def rendered(parse, line, **spelling):
    return render(parse(line, "openmpi4"), [("knob", "x", Spelling(**spelling))])


@EVERY_ENGINE
def test_image_and_program_are_distinguished(name):
    line, length, image = LINES[name]
    container = split_container(tuple(line.split()))
    assert (container.engine, container.argv, container.image) == (name, tuple(line.split()[:length]), image)


@EVERY_ENGINE
def test_a_job_knows_its_container(parse, name):
    assert parse(f"mpirun -n 2 {LINES[name][0]}", "hydra").container.engine == name


@EVERY_ENGINE
def test_an_engine_without_a_command_is_not_a_container(name):
    engine = engines()[name]
    assert split_container((engine.programs[0], "--version")) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("apptainer", "APPTAINERENV_A=1,2 mpirun -n 2 apptainer exec --nv -B /a:/b img.sif ./app x"),
        ("charliecloud", "mpirun -n 2 ch-run -w --bind /a:/b --set-env=A=1,2 /var/img -- ./app -x"),
        ("docker", "mpirun -n 2 docker run --rm -v /a:/b --env=A=1,2 img:1 ./app"),
        (
            "podman",
            "mpirun -n 2 podman --log-level=error run --rm -v /a:/b --env=A=1,2 docker://img ./app",
        ),
        ("singularity", "SINGULARITYENV_A=1,2 mpirun -n 2 singularity -q exec -e -H /h img.simg ./app"),
    ],
)
def test_a_variable_gets_inside(parse, name, expected):
    launch = rendered(parse, f"mpirun -n 2 {LINES[name][0]}", environment={"A": "1,2"})
    assert launch.shell_line() == expected


def test_a_variable_set_by_the_users_own_option_is_named(parse):
    launch = rendered(parse, f"mpirun -n 2 {LINES['podman'][0]}", environment={"A": "1"})
    assert launch.settings[0].overrides == "A=0 (container option)"


def test_a_variable_for_a_container_on_other_nodes_is_forwarded(parse):
    launch = rendered(parse, "mpirun --host a,b -n 2 apptainer exec i.sif ./a", environment={"A": "1"})
    assert launch.argv[1:3] == ("-x", "APPTAINERENV_A=1")


@EVERY_ENGINE
def test_a_preload_is_seen_inside_and_not_by_the_engine(parse, name):
    launch = rendered(parse, f"mpirun -n 2 {LINES[name][0]}", preload=("/l/x.so",))
    assert "LD_PRELOAD" not in launch.environment
    assert not any(word.startswith("LD_PRELOAD=") for word in launch.argv)
    bound, inside = {"charliecloud": ("/l:/mnt/9", "/mnt/9/x.so")}.get(name, ("/l/x.so:/l/x.so", "/l/x.so"))
    assert any(bound in word for word in launch.argv), "its file is bound into the container"
    assert f"LD_PRELOAD={inside}" in launch.shell_line()


@EVERY_ENGINE
def test_a_directory_that_ranks_write_to_is_bound_for_writing(parse, name):
    launch = rendered(parse, f"mpirun -n 2 {LINES[name][0]}", directories={"D": "/s/r"}, preload=("/l/x.so",))
    bound, inside = {"charliecloud": ("/s/r:/mnt/8", "/mnt/8")}.get(name, ("/s/r:/s/r:rw", "/s/r"))
    assert any(word.endswith(bound) for word in launch.argv)
    assert f"D={inside}" in launch.shell_line()


def test_charliecloud_keeps_the_bind_mounts_of_the_user(parse):
    line = "mpirun -n 2 ch-run -b /d:/mnt/9 -b /e:/mnt/7 /img -- ./app"
    launch = rendered(parse, line, preload=("/l/x.so", "/l/y.so", "/m/z.so"))
    binds = [word for word in launch.argv if word.startswith("--bind")]
    assert binds == ["--bind=/l:/mnt/8", "--bind=/m:/mnt/6"]
    assert "LD_PRELOAD=/mnt/8/x.so:/mnt/8/y.so:/mnt/6/z.so" in launch.shell_line()


def test_programs_that_would_know_a_path_by_different_names_are_refused(parse):
    with pytest.raises(MismatchError):
        rendered(parse, "mpirun -n 1 ch-run /i -- ./a : -n 1 ./b", preload=("/l/x.so",))


def test_a_container_around_the_launcher_gets_the_variable_inside(parse):
    launch = rendered(parse, "podman run img mpirun -n 2 ./a", environment={"A": "1"})
    assert shlex.join(launch.argv) == "podman run --env=A=1 img mpirun -n 2 ./a"


def test_of_several_programs_only_those_in_containers_get_its_options(parse):
    launch = rendered(parse, "mpirun -n 1 ch-run /i -- ./a : -n 1 ./b", environment={"A": "1"})
    assert launch.shell_line() == "A=1 mpirun -n 1 ch-run --set-env=A=1 /i -- ./a : -n 1 ./b"
