"""The commands in `bin` repeat compilations that Python planned, with identical output."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from mpiric.host.installation.native import native_part

pytestmark = pytest.mark.requires("gcc")

FUNCTION = (
    "double twice_{0}(double *x, int n) "
    "{{ double s = 0; for (int i = 0; i < n; i++) s += 2 * x[i]; return s; }}\n"
)
SLOW = '#!/bin/sh\necho begin >>{log}\n{pause}\ngcc "$@"\nstatus=$?\necho end >>{log}\nexit $status\n'


@dataclass
class Front:
    """Commands in a separate directory, with a `mpiric-python` that counts its calls."""

    place: Path
    environment: Mapping[str, str]

    def words(self, verb: str) -> str:
        return str(self.place / f"bin/mpiric-{verb}")

    def __call__(self, verb: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.words(verb), *arguments],
            cwd=self.place,
            env={**self.environment, **env},
            capture_output=True,
            text=True,
            timeout=240,
        )

    def python_calls(self) -> int:
        log = self.place / "python.log"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def without_python(self, verb: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        before = self.python_calls()
        done = self(verb, *arguments, **env)
        assert self.python_calls() == before, "Python was asked"
        return done


@pytest.fixture
def front(tmp_path: Path, environment: dict[str, str]) -> Front:
    place = tmp_path / "bin"
    place.mkdir()
    for name in ("mpiric", "mpiric-cc", "mpiric-cxx", "mpiric-fc"):
        (place / name).symlink_to(native_part("mpiric-front"))
    python = place / "mpiric-python"
    python.write_text(
        f'#!/bin/sh\necho called >>{tmp_path}/python.log\nexec {sys.executable} -m mpiric "$@"\n'
    )
    python.chmod(0o755)
    return Front(tmp_path, {**environment, "PYTHONPATH": os.environ.get("PYTHONPATH", "")})


def write(place: Path, *names: str) -> None:
    for name in names:
        stem = name.partition(".")[0]
        text = f"real function twice_{stem}(x)\nreal x\ntwice_{stem} = 2 * x\nend\n"
        (place / name).write_text(text if name.endswith(".f90") else FUNCTION.format(stem))


def test_why_python_cannot_be_started_is_said(front: Front) -> None:
    python = front.place / "bin/mpiric-python"
    python.chmod(0o644)
    forbidden = front("cc", "--version")
    assert forbidden.returncode == 127
    assert f"{python}, or the Python it names, may not be read and executed by you" in forbidden.stderr
    assert "hint: whoever installed mpiric can allow it" in forbidden.stderr
    python.chmod(0o755)
    python.write_text("#!/nowhere/python\n")
    assert f"{python} names a Python that does not exist" in front("cc", "--version").stderr
    python.unlink()
    failed = front("cc", "--version")
    assert failed.returncode == 127
    assert "is missing from the directory of this program" in failed.stderr


@pytest.mark.parametrize("first_line", ["#!/nowhere/python", "#!/bin/false"])
def test_an_environment_that_was_moved_or_copied_is_started_by_its_own_python(
    front: Front, first_line: str
) -> None:
    """The script names the Python of where it was installed, which is gone or another installation's."""
    script, python = front.place / "bin/mpiric-python", front.place / "bin/python3"
    script.write_text(f"{first_line}\nfrom mpiric.cli.main import main\n\nmain()\n")
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (front.place / "pyvenv.cfg").touch()
    done = subprocess.run(
        [front.place / "bin/mpiric", "--version"], env=front.environment, capture_output=True
    )
    assert done.stdout.startswith(b"mpiric, version"), done.stderr


@pytest.mark.requires("g++", "gfortran", "clang")
@pytest.mark.parametrize(
    ("verb", "fields", "ending"),
    [
        ("cc", ("gcc", "-O3", "-g"), ".c"),
        ("cc", ("clang", "-O3"), ".c"),
        ("cc", ("gcc", "-O2", "-flto", "--targets", "haswell,zen2"), ".c"),
        ("cxx", ("g++", "-O2", "-march=native"), ".cc"),
        ("fc", ("gfortran", "-O2", "-J."), ".f90"),
    ],
)
def test_a_second_file_is_compiled_without_python_and_alike(
    front: Front, run_mpiric: Callable[..., object], verb: str, fields: tuple[str, ...], ending: str
) -> None:
    write(front.place, f"a{ending}", f"b{ending}")
    first = front(verb, *fields, "-c", f"a{ending}", "-o", "a.o")
    assert first.returncode == 0, first.stderr
    second = front.without_python(verb, *fields, "-c", f"b{ending}", "-o", "b.o")
    assert (second.returncode, second.stderr) == (0, first.stderr)
    created = (front.place / "b.o").read_bytes()
    run_mpiric(verb, *fields, "-c", f"b{ending}", "-o", "b.o")
    assert (front.place / "b.o").read_bytes() == created
    again = front.without_python(verb, *fields, "-c", f"a{ending}", "-o", "b.o")
    assert again.returncode == 0


def test_names_that_change_from_file_to_file_share_a_plan(front: Front) -> None:
    write(front.place, "a.c", "b.c")
    (front.place / "d").mkdir()
    assert front("cc", "gcc", "-c", "a.c").returncode == 0
    assert front.without_python("cc", "gcc", "-c", "b.c").returncode == 0
    assert (front.place / "b.o").exists()
    for name in ("a", "b"):
        command = ("-MD", "-MT", f"d/{name}.o", "-MF", f"d/{name}.d", "-o", f"d/{name}.o", "-c", f"{name}.c")
        done = front("cc", "gcc", *command)
        assert done.returncode == 0, done.stderr
        assert (front.place / f"d/{name}.d").read_text().startswith(f"d/{name}.o: {name}.c")
    assert front.python_calls() == 2


def test_both_names_of_a_compiler_share_a_plan(front: Front) -> None:
    write(front.place, "a.c")
    assert front("cc", "gcc", "-c", "a.c").returncode == 0
    before = front.python_calls()
    command = [front.words("cc").removesuffix("-cc"), "cc", "gcc", "-c", "a.c"]
    subprocess.run(command, cwd=front.place, env=front.environment, check=True)
    assert front.python_calls() == before


def test_the_compilers_own_error_comes_at_once(front: Front) -> None:
    write(front.place, "a.c")
    (front.place / "bad.c").write_text("int f(void) { return x; }\n")
    assert front("cc", "gcc", "-c", "a.c").returncode == 0
    wrapped = front.without_python("cc", "gcc", "-c", "bad.c")
    plain = subprocess.run(["gcc", "-c", "bad.c"], cwd=front.place, capture_output=True, text=True)
    assert (wrapped.returncode, wrapped.stderr) == (1, plain.stderr)
    assert not (front.place / "bad.o").exists()


def test_a_file_that_needs_the_words_left_out_is_still_built(front: Front) -> None:
    write(front.place, "a.c")
    (front.place / "b.c").write_text("#ifndef __AVX2__\n#error no\n#endif\nint f(void) { return 1; }\n")
    assert front("cc", "gcc", "-mavx2", "-c", "a.c").returncode == 0
    done = front("cc", "gcc", "-mavx2", "-c", "b.c")
    assert (done.returncode, "compiles only with -mavx2" in done.stderr) == (0, True)


def test_another_compiler_of_that_name_is_noticed(front: Front) -> None:
    write(front.place, "a.c")
    shim = front.place / "bin/mygcc"
    for text in ('#!/bin/sh\nexec gcc "$@"\n', '#!/bin/sh\nexec gcc -DOTHER "$@"\n'):
        shim.write_text(text)
        shim.chmod(0o755)
        before = front.python_calls()
        assert front("cc", str(shim), "-c", "a.c").returncode == 0
        assert front.python_calls() == before + 1
        front.without_python("cc", str(shim), "-c", "a.c")


def test_a_plan_that_others_may_write_is_not_followed(front: Front) -> None:
    write(front.place, "a.c")
    front("cc", "gcc", "-c", "a.c")
    (plan,) = Path(front.environment["XDG_CACHE_HOME"], "mpiric/plans").iterdir()
    assert plan.stat().st_mode & 0o077 == 0
    plan.chmod(0o666)
    before = front.python_calls()
    assert front("cc", "gcc", "-c", "a.c").returncode == 0
    assert front.python_calls() == before + 1
    text = plan.read_bytes()
    for broken in (b"", text[: len(text) // 2], b"\0" * 50):
        plan.write_bytes(broken)
        plan.chmod(0o600)
        assert front("cc", "gcc", "-c", "a.c").returncode == 0


def test_without_a_place_for_plans_everything_works(front: Front) -> None:
    write(front.place, "a.c")
    for env in ({"XDG_CACHE_HOME": "/proc/no"}, {"XDG_CACHE_HOME": "", "HOME": ""}):
        assert front("cc", "gcc", "-c", "a.c", "-o", "a.o", **env).returncode == 0
    assert not Path("/tmp/.cache/mpiric").exists()


def test_what_only_asks_is_no_compilation(front: Front) -> None:
    write(front.place, "a.c", "conftest.c")
    assert front("cc", "gcc", "-c", "a.c").returncode == 0
    size = (front.place / "a.o").stat().st_size
    assert front("cc", "gcc", "-c", "conftest.c").returncode == 0
    assert (front.place / "conftest.o").stat().st_size < size / 2
    (front.place / "conftest.o").unlink()
    assert front.without_python("cc", "gcc", "-c", "conftest.c").returncode == 0
    assert (front.place / "conftest.o").stat().st_size < size / 2
    done = front.without_python(
        "cc", "gcc", "-O2", "-mavx2", "-shared", "-fPIC", "conftest.c", "-o", "conftest"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (front.place / "conftest").exists()
    assert front("cc", "gcc", "--targets", "v3", "-c", "conftest.c").returncode == 0
    tried = front.place / "CMakeFiles/CMakeScratch/TryCompile-1"
    tried.mkdir(parents=True)
    source = tried / "src.c"
    source.write_text("int f(void) { return 1; }\n")
    assert front.without_python("cc", "gcc", "-o", str(tried / "src.o"), "-c", str(source)).returncode == 0
    assert b".mpiric." not in (tried / "src.o").read_bytes()
    assert "gcc" in front("cc", "gcc", "--version").stdout
    assert front("cc", "gcc", "-c", "nosuch.c").returncode == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_build_that_is_killed_leaves_no_object(front: Front, number: signal.Signals) -> None:
    write(front.place, "a.c")
    shim = front.place / "bin/slowgcc"
    pause = 'case "$*" in *x86-64-v4*) [ -e slow ] && exec sleep 600;; esac'
    shim.write_text(SLOW.format(log=front.place / "tools.log", pause=pause))
    shim.chmod(0o755)
    assert front("cc", str(shim), "-c", "a.c").returncode == 0
    (front.place / "a.o").unlink()
    (front.place / "slow").touch()
    (front.place / "tools.log").unlink()
    scratch = front.place / "scratch"
    scratch.mkdir()
    running = subprocess.Popen(
        [front.words("cc"), str(shim), "-c", "a.c"],
        cwd=front.place,
        env={**front.environment, "TMPDIR": str(scratch), "MPIRIC_JOBS": "4"},
        start_new_session=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None,
    )
    until = time.monotonic() + 120
    while (
        (front.place / "tools.log").read_text().count("end") < 3
        if (front.place / "tools.log").exists()
        else True
    ):
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(0.2)
    os.kill(running.pid, number)
    assert running.wait(60) == -number
    assert not (front.place / "a.o").exists()
    if number != signal.SIGKILL:
        assert not list(scratch.iterdir())
    else:
        os.killpg(running.pid, signal.SIGKILL)


@pytest.mark.requires("make")
def test_the_jobs_of_a_make_are_shared_with_it(front: Front) -> None:
    """Variants take the places in `make -j` that its other jobs leave, and give them back."""
    write(front.place, "a.c", "b.c", "c.c", "d.c")
    log = front.place / "tools.log"
    shim = front.place / "bin/slowgcc"
    meet = f'[ -e meet ] && until [ "$(grep -c begin {log})" -gt 1 ]; do sleep 0.02; done; sleep 0.1'
    shim.write_text(SLOW.format(log=log, pause=meet))
    shim.chmod(0o755)
    (front.place / "Makefile").write_text(
        f"all: a.o b.o c.o d.o\n%.o: %.c\n\t+{front.words('cc')} {shim} -c $< -o $@\n"
    )
    for name, jobs in (("all", 3), ("a.o", 3), ("all", 1)):
        for created in front.place.glob("*.o"):
            created.unlink()
        log.unlink(missing_ok=True)
        if name == "a.o":
            (front.place / "meet").touch()  # a compilation waits for a second one
        command = ["make", f"-j{jobs}", name]
        done = subprocess.run(
            command, cwd=front.place, env=front.environment, capture_output=True, text=True, timeout=240
        )
        assert (done.returncode, "token" in done.stderr) == (0, False), done.stderr
        if name == "a.o":
            assert most_at_once(log) in (2, 3)
            (front.place / "meet").unlink()
        assert jobs == 1 or most_at_once(log) <= jobs


def most_at_once(log: Path) -> int:
    running = maximum = 0
    for line in log.read_text().splitlines():
        running += 1 if line == "begin" else -1
        maximum = max(maximum, running)
    return maximum
