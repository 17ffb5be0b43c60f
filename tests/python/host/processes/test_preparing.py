"""Preparation of a launch, and its errors."""

import os

from mpiric.host.processes.captured import make_ready, target_outside
from mpiric.model.job import Launch

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def launch(*prepare, **files):
    return Launch(("app",), "", prepare=prepare, files=files)


def test_commands_run_in_order_in_the_directory(tmp_path):
    ready = launch(("mkdir", "-p", "out"), ("touch", "out/x"))
    assert make_ready(ready, ENVIRONMENT, tmp_path) == ""
    assert (tmp_path / "out/x").exists()


def test_the_first_failing_command_is_reported_with_its_error(tmp_path):
    failing = launch(("sh", "-c", "echo no right >&2; echo usage: lfs >&2; exit 3"), ("touch", "x"))
    assert make_ready(failing, ENVIRONMENT, tmp_path).endswith("cannot be carried out: no right")
    assert not (tmp_path / "x").exists()


def test_a_missing_command_is_named(tmp_path):
    assert make_ready(launch(("no-such-lfs", "x")), ENVIRONMENT, tmp_path) == (
        "`no-such-lfs x` cannot be carried out: no-such-lfs is not there"
    )


def test_files_for_ranks_are_written_once(tmp_path):
    path = tmp_path / "hints/one.romio"
    ready = launch(**{str(path): "cb_nodes 4\n"})
    assert make_ready(ready, ENVIRONMENT, tmp_path) == ""
    written = path.stat().st_mtime_ns
    assert make_ready(ready, ENVIRONMENT, tmp_path) == ""
    assert (path.read_text(), path.stat().st_mtime_ns) == ("cb_nodes 4\n", written)


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "taken").write_text("")
    ready = launch(**{str(tmp_path / "taken/hints"): "cb_nodes 4\n"})
    assert "which ranks are to read, cannot be written" in make_ready(ready, ENVIRONMENT, tmp_path)


def test_a_directory_that_leads_out_by_a_link_is_named(tmp_path):
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    work.mkdir()
    elsewhere.mkdir()
    (work / "out").symlink_to(elsewhere)
    assert target_outside(launch(("lfs", "setstripe", "out")), work) == "out"
    assert target_outside(launch(("lfs", "setstripe", "."), ("mkdir", "-p", "new/one")), work) == ""


def test_the_shell_line_contains_the_preceding_commands():
    ready = Launch(("mpiexec", "app"), "", {"A": "1"}, prepare=(("lfs", "setstripe", "-c", "4", "out"),))
    assert ready.shell_line() == "lfs setstripe -c 4 out && A=1 mpiexec app"
