"""The scripts that mpiric writes, with hostile text in each place that takes text of others."""

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from mpiric.build.candidates import Candidate, shims
from mpiric.model.batch import NodeShape
from mpiric.model.errors import MpiricError
from mpiric.model.job import Launch
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.pack import GlibcNeed, Pack, Start
from mpiric.schedulers import (
    JobRequest,
    LayoutRequest,
    ScriptOptions,
    batch_scheduler,
    batch_schedulers,
    plan_layout,
    script_lines,
    text_of,
)
from mpiric.schedulers._submission import Submission, round_script, submission_script
from mpiric.workflows import mpi
from mpiric.workflows.pack.pack import render_starter
from mpiric.workflows.tune import write_results

NAMES = (
    "a\ntouch gone\n#BSUB -J x",
    "$(touch gone)",
    "'; touch gone; '",
    "\x1b]0;x\x07",
    "}; exec touch gone; {",
)
SHOW = ("/usr/bin/env", "printf", "%s\\0")
SHELLS = {"#!/bin/sh": "sh", "#!/bin/bash": "bash", "#!/usr/bin/fish": "fish", "#!/bin/tcsh": "tcsh"}


def run(argv, directory: Path, **variables: str) -> "subprocess.CompletedProcess[bytes]":
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "LC_ALL": "C.UTF-8", **variables}
    done = subprocess.run(argv, cwd=directory, env=environment, capture_output=True, timeout=60)
    assert not list(directory.rglob("gone"))
    return done


@pytest.mark.parametrize("shebang", [*SHELLS, f"#!{sys.executable}"])
@pytest.mark.parametrize("name", batch_schedulers())
def test_a_job_script_starts_the_program_with_its_arguments(name, shebang, tmp_path):
    shell = SHELLS.get(shebang, sys.executable)
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    scheduler, shape = batch_scheduler(name), NodeShape(1, 4)
    options = ScriptOptions(
        shebang=shebang,
        job_name="o'brien # 1",
        environment={"SHOWN": NAMES[0]},
        reasons={"SHOWN": NAMES[0]},
        launch_reason=NAMES[0],
    )
    layout = plan_layout(LayoutRequest(ranks=1), shape)
    text = text_of(script_lines(scheduler, layout, shape, options, (*SHOW, *NAMES)), scheduler.directive)
    (tmp_path / "script").write_text(text)
    done = run([shell, str(tmp_path / "script")], tmp_path)
    assert done.stdout.split(b"\0")[:-1] == [name.encode() for name in NAMES]
    directives = [line for line in text.split("\n") if line.startswith(scheduler.directive)]
    assert directives == text.split("\n")[2 : 2 + len(directives)]


@pytest.mark.parametrize("field", ["job_name", "account", "partition", "directives", "shebang"])
@pytest.mark.parametrize("name", batch_schedulers())
def test_a_line_break_in_a_directive_is_refused(name, field):
    scheduler, shape = batch_scheduler(name), NodeShape(1, 4)
    value = "--qos=a\ntouch gone" if field == "directives" else "#!/bin/sh\ntouch gone"
    options = ScriptOptions(**{field: (value,) if field == "directives" else value})
    layout = plan_layout(LayoutRequest(ranks=1), shape)
    with pytest.raises(MpiricError, match="line break"):
        script_lines(scheduler, layout, shape, options, ("./app",))


@pytest.mark.parametrize("name", ["A;touch gone", "A\nB"])
def test_a_name_of_a_variable_that_is_none_is_refused(name):
    scheduler, shape = batch_scheduler("slurm"), NodeShape(1, 4)
    layout = plan_layout(LayoutRequest(ranks=1), shape)
    for options in (ScriptOptions(environment={name: "1"}), ScriptOptions(unset=(name,))):
        with pytest.raises(MpiricError):
            script_lines(scheduler, layout, shape, options, ("./app",))


@pytest.mark.parametrize("bad", NAMES)
@pytest.mark.parametrize("name", batch_schedulers())
def test_a_submitted_verb_gets_its_arguments(name, bad, tmp_path):
    scheduler = batch_scheduler(name)
    directory = tmp_path / bad.replace("/", "-")
    directory.mkdir()
    verb = (*SHOW, "1", bad)
    submission = Submission(directory, verb, str(directory), options=scheduler.fixed_options)
    for text in (submission_script(scheduler, submission), round_script(scheduler, submission)):
        (tmp_path / "script").write_text(text)
        assert run(["bash", "-n", str(tmp_path / "script")], tmp_path).returncode == 0
    (tmp_path / "script").write_text(submission_script(scheduler, submission))
    run(["sh", str(tmp_path / "script")], tmp_path)
    assert (directory / "job.out").read_bytes() == b"1\0" + bad.encode() + b"\0"
    with pytest.raises(MpiricError):
        submission_script(scheduler, replace(submission, options=("-N 1\ntouch gone",)))


@pytest.mark.parametrize("name", batch_schedulers())
def test_values_of_a_request_are_one_word_each(name):
    scheduler = batch_scheduler(name)
    request = JobRequest(name="a b", account="c $(d)", partition="e;f", nodes=1, ranks=1)
    options = [text for text, _ in scheduler.options(request)]
    assert any("'c $(d)'" in text for text in options)
    with pytest.raises(MpiricError):
        scheduler.options(replace(request, account="a\nb"))


@pytest.mark.parametrize("bad", NAMES)
def test_a_pack_starts_nothing_but_its_program(bad, tmp_path):
    start = Start(
        ("@/tree/app", bad),
        settings=(("SHOWN", bad),),
        forced=(("FORCED", bad),),
        line=f"mpirun ./app.pack {bad}",
    )
    need = GlibcNeed((2, 5), bad, "symbol", required=False)
    pack = Pack(bad, (), (), start, platform.machine(), (need,), of_compilers=((bad, (bad,)),))
    (tmp_path / "app.pack").write_bytes(render_starter(pack, "tar", "0123", 4096))
    assert run(["bash", "-n", "app.pack"], tmp_path).returncode == 0
    done = run(["bash", "app.pack"], tmp_path, MPIRIC_PACK="check")
    assert (done.returncode, done.stderr) == (0, b"")


LIBRARY = SimpleNamespace(
    label="mpich-5.0.2",
    search_path=(),
    launcher="/opt/x/mpiexec",
    environment={},
    library_path=(),
    dialect="hydra",
)


def modules(text: str, directory: Path) -> list[str]:
    """Run a modulefile under tclsh; the words of its commands."""
    if shutil.which("tclsh") is None:
        pytest.skip("tclsh is not installed")
    commands = "setenv prepend-path append-path module-whatis".split()
    shown = "puts -nonewline [encoding convertto utf-8 [join $args \\0]]\\0"
    head = [
        "fconfigure stdout -translation binary",
        *(f"proc {name} args {{ {shown} }}" for name in commands),
    ]
    (directory / "file.tcl").write_text("\n".join([*head, text]), encoding="utf-8")
    done = run(["tclsh", "-encoding", "utf-8", "file.tcl"], directory)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode().split("\0")


@pytest.mark.parametrize("bad", NAMES)
def test_a_modulefile_of_a_stand_in_names_its_directory(bad, tmp_path):
    library = SimpleNamespace(
        **{**vars(LIBRARY), "environment": {"SHOWN": bad}, "library_path": (f"/opt/{bad}",)}
    )
    text = mpi._module(Path(f"/data/{bad}"), f"/data/{bad}/libmpi.so", AbiFamily.MPICH, library)
    result = modules(text, tmp_path)
    for expected in (bad, f"/opt/{bad}", f"/data/{bad}", f"/data/{bad}/libmpi.so"):
        assert expected in result


@pytest.mark.parametrize("bad", NAMES)
def test_defaults_of_a_site_are_what_was_found(bad, tmp_path):
    situation = SimpleNamespace(mpi=SimpleNamespace(label=f"openmpi {bad}"))
    text = write_results._module({"SHOWN": bad}, f"title {bad}\\", situation)
    assert bad in modules(text, tmp_path)
    (tmp_path / "site.sh").write_text(write_results._shell({"SHOWN": bad, "OTHER": "1"}, f"title {bad}"))
    print_both = "import os; print(os.environ['SHOWN'] + os.environ['OTHER'], end='')"
    show = f'. ./site.sh; {sys.executable} -c "{print_both}"'
    assert run(["sh", "-ec", show], tmp_path).stdout == f"{bad}1".encode()
    assert run(["sh", "-ec", show], tmp_path, SHOWN="own").stdout == b"own1"
    if not bad.isprintable():
        with pytest.raises(MpiricError):
            write_results._parameters({"name": bad}, "title")


def test_compilers_in_place_of_others_get_their_flags(tmp_path):
    directory = tmp_path / NAMES[2]
    candidate = Candidate("x", "good", {"c": f"{tmp_path}/it's"}, (), ())
    (tmp_path / "it's").write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    (tmp_path / "it's").chmod(0o755)
    shims(candidate, directory, ("-DX='a b'", NAMES[0]))
    done = run([str(directory / "cc"), "one"], tmp_path)
    assert done.stdout.decode().split("\0")[:-1] == ["one", "-DX='a b'", NAMES[0]]


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_printed_command_line_does_what_mpiric_does(shell, tmp_path):
    launch = Launch((*SHOW, *NAMES), "", {"SHOWN": NAMES[0]}, unset=("HOME",), prepare=(("true", NAMES[0]),))
    done = run([shell, "-c", launch.shell_line()], tmp_path)
    assert done.stdout.split(b"\0")[:-1] == [name.encode() for name in NAMES]
