"""Programs and images that cannot run with a preload are recognised by their files."""

import pytest
from tests.support.replay_host import Recording, ReplayHost, command_key

from mpiric.host.host import Completed, Elf
from mpiric.launchers import parse_command
from mpiric.launchers.containers import engines
from mpiric.workflows.launch.loadable import why_not_loadable

LIBRARY = "/mpiric/libmpiric.so"
LOADER = "/lib64/ld-linux-x86-64.so.2"


def program(interpreter: str = LOADER, bits: int = 64, processor: str = "x86_64") -> Elf:
    return Elf("", ("libc.so.6",), (), interpreter, bits=bits, processor=processor, glibc_needed=(2, 3))


def libc(*offered: int, processor: str = "x86_64") -> Elf:
    return Elf("libc.so.6", (), (), "", processor=processor, glibc_offered=offered)


def reason(line: str, elfs: dict[str, Elf], needed: tuple[int, ...] = (2, 17), **more) -> str:
    library = Elf("", (), (), "", processor="x86_64", glibc_needed=needed)
    host = ReplayHost(Recording(elfs={LIBRARY: library, **elfs}, **more))
    return why_not_loadable(parse_command(line.split(), "/home/u", {}), LIBRARY, host)


LINKS = {LOADER: "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"}
BESIDE = "/usr/lib/x86_64-linux-gnu/libc.so.6"


def test_a_program_with_the_needed_glibc_loads_it():
    assert reason("mpirun -n 2 ./app", {"/home/u/./app": program(), BESIDE: libc(2, 17)}, links=LINKS) == ""


@pytest.mark.parametrize("launch", ["mpirun -n 2 ./app", "mpirun -n 1 ./fine : -n 1 ./app", "./app"])
def test_an_older_glibc_than_needed_is_named_with_both_versions(launch):
    elfs = {"/home/u/./app": program(), "/home/u/./fine": program("/new/ld.so"), BESIDE: libc(2, 31)}
    elfs["/new/libc.so.6"] = libc(2, 41)
    assert reason(launch, elfs, (2, 36), links=LINKS).endswith(
        "app has glibc 2.31, and mpiric's library needs 2.36"
    )


@pytest.mark.parametrize(
    ("elf", "word"),
    [
        (program("/lib/ld-musl-x86_64.so.1"), "musl"),
        (program("/lib/ld-linux.so.2", 32, "i686"), "32 bits"),
        (program("/lib/ld-linux-aarch64.so.1", processor="aarch64"), "aarch64"),
    ],
)
def test_another_kind_of_program_is_named(elf, word):
    assert word in reason("mpirun -n 2 ./app", {"/home/u/./app": elf})


def test_the_interpreter_of_a_script_counts():
    files = {"/home/u/./run.sh": "#!/opt/bin/sh -e\n./app\n"}
    elfs = {"/opt/bin/sh": program("/lib/ld-musl-x86_64.so.1")}
    assert "/opt/bin/sh uses the C library musl" in reason("mpirun -n 2 ./run.sh", elfs, files=files)


@pytest.mark.parametrize("library", ["/my programs/libmpiric.so", "/a:b/libmpiric.so"])
def test_a_library_that_no_preload_can_name_is_not_given(library):
    host = ReplayHost(Recording(elfs={library: Elf("", (), (), "", glibc_needed=(2, 17))}))
    job = parse_command(["mpirun", "-n", "2", "./app"], "/home/u", {})
    assert "which LD_PRELOAD cannot name" in why_not_loadable(job, library, host)


def test_a_program_that_says_nothing_is_not_refused():
    assert reason("mpirun -n 2 ./app", {}) == ""
    assert reason("mpirun -n 2 ./app", {"/home/u/./app": program("")}) == ""


UNPACKED = "mpirun -n 2 ch-run /img -- /app"
MOUNT_POINTS = {f"/img/mnt/{number}/.keep": "" for number in range(10)}


def test_an_unpacked_image_is_read_by_its_files():
    old = {"/img/usr/lib/x86_64-linux-gnu/libc.so.6": libc(2, 31)}
    assert reason(UNPACKED, old, files=MOUNT_POINTS) == ""
    assert reason(UNPACKED, old, (2, 36)) == "the image /img has glibc 2.31, and mpiric's library needs 2.36"


def test_an_image_of_musl_of_another_processor_or_without_a_c_library_is_named():
    musl = {"/img/lib/ld-musl-x86_64.so.1": "", "/img/etc/os-release": ""}
    assert "musl" in reason(UNPACKED, {}, files=musl)
    arm = {"/img/usr/lib/aarch64-linux-gnu/libc.so.6": libc(2, 41, processor="aarch64")}
    assert "is for aarch64" in reason(UNPACKED, arm)
    assert "no C library" in reason(UNPACKED, {}, files={"/img/app": ""})


def test_an_image_without_mount_points_is_reported_with_a_fix():
    libraries = {"/img/usr/lib/x86_64-linux-gnu/libc.so.6": libc(2, 31)}
    files = {path: "" for path in MOUNT_POINTS if "/9/" not in path}
    assert reason(UNPACKED, libraries, files=files).endswith("lacks directories for it: mkdir -p /img/mnt/9")


@pytest.mark.parametrize("missing", [(), ("/mnt/9",), ("/mnt/9", "/mnt/0")])
def test_mount_points_of_an_image_are_queried_through_its_engine(missing):
    points = engines()["charliecloud"].mount_points
    inside = "ch-run ./app.sqfs --".split()
    listed = "\n".join(["/", *(path for path in points if path not in missing)])
    commands = {
        command_key([*inside, "ldd", "--version"], None): Completed(0, "ldd (GNU libc) 2.36", ""),
        command_key([*inside, "ls", "-d", "/", *points], None): Completed(2 if missing else 0, listed, ""),
    }
    sentence = reason("mpirun -n 2 ch-run ./app.sqfs -- ./app", {}, commands=commands)
    how = f"mkdir -p {' '.join(missing)}, before the image is packed"
    assert sentence.endswith(how if missing else "")
    assert bool(sentence) == bool(missing)


def test_an_image_that_has_no_ls_is_not_refused():
    command = command_key(["ch-run", "./app.sqfs", "--", "ldd", "--version"], None)
    commands = {command: Completed(0, "ldd (GNU libc) 2.36", "")}
    assert reason("mpirun -n 2 ch-run ./app.sqfs -- ./app", {}, commands=commands) == ""


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (Completed(0, "ldd (Debian GLIBC 2.31-13) 2.31\nCopyright", ""), "glibc 2.31"),
        (Completed(1, "", "musl libc (x86_64)\nVersion 1.2.4"), "musl"),
    ],
)
def test_an_image_in_a_file_is_asked_through_its_engine(answer, word):
    command = command_key(["apptainer", "exec", "app.sif", "ldd", "--version"], None)
    assert word in reason("mpirun -n 2 apptainer exec app.sif ./app", {}, (2, 36), commands={command: answer})


def test_an_image_without_an_answer_is_not_refused():
    assert reason("mpirun -n 2 apptainer exec app.sif ./app", {}, (2, 36)) == ""
