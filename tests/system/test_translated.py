"""A program of each ABI family, C or Fortran, prints the same under every MPI of another: `run --mpi`."""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.host.installation.stand_ins import fortran_in, stand_ins, write_stand_in
from mpiric.machine.system import read_allocators
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.translation import SONAMES, can_translate, is_native, own_family
from mpiric.workflows.launch.interchange import conforming

SOURCE = Path(__file__).parent / "translated.c"
RING, REPEATS, TOOL = (
    Path(__file__).parent / "runtime_programs" / f"{name}.c" for name in ("ring", "repeats", "tool")
)
FORTRAN = Path(__file__).parent / "translated.F90"
MAKERS = {AbiFamily.MPICH: "mpich", AbiFamily.OPENMPI: "openmpi", AbiFamily.STANDARD: "mpich"}
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}
# The same under MPICH 5.0.2 and Open MPI 5.0.11, for which the program can be built.
EXPECTED = SOURCE.with_suffix(".expected").read_text().splitlines()
# The same under Debian's MPICH 4.0.2 and Open MPI 4.1.4, for which it can be built.
EXPECTED_OF_FORTRAN = """\
initialized 2
operation 12
in place 18
received 28
null requests 2
extent 32
vector 2
attribute 282
largest tag 2
handler 2
error string 2
name 212
callbacks 1162
grid 2242
line 4
graph without weights 22
no communicator 2
group 4
info 2
addresses 8
window 232
file 8
time 2""".splitlines()
EXPECTED_OF_LARGE_COUNTS = """\
operation 23
gathered 301
exchanged 1010
received 224
vector 1220
packed 108
negative 1
contiguous 30300
two blocks 60700
many blocks 30599
indexed 30401
by bytes 30401
equal blocks 60701
struct 30401
subarray 61200
contents 131""".splitlines()
pytestmark = [
    pytest.mark.requires("gcc"),
    pytest.mark.skipif(not stand_ins(), reason="no stand-ins are built"),
]


@pytest.fixture
def built(mpi_prefix: Callable[[str], Path], tmp_path: Path):
    """`built(family, source, …)`: the program of that family, and the launcher of its own library."""

    def build(
        family: AbiFamily, source: Path = SOURCE, *arguments: str | Path, library: str | Path = ""
    ) -> tuple[Path, Path]:
        prefix, program = mpi_prefix(MAKERS[family]), tmp_path / f"{source.stem}-{family.value}"
        library = library or prefix / "lib" / SONAMES[family]
        define = ["-DMPI_ABI"] if family is AbiFamily.STANDARD else []
        line = ["gcc", *define, f"-I{prefix}/include", source, "-o", program, *arguments, library]
        subprocess.run([*line, "-Wl,--allow-shlib-undefined"], check=True)
        return program, prefix / "bin/mpiexec"

    return build


@pytest.fixture
def family(mpi: MpiLibrary) -> AbiFamily:
    """Return the ABI family of the programs that this library runs by translation."""
    results = next((entry for entry in list(AbiFamily)[:2] if can_translate(entry, mpi)), None)
    return results or pytest.skip("no translation")


@pytest.mark.parametrize("family", list(AbiFamily), ids=lambda family: family.value)
def test_a_program_prints_what_it_prints_under_its_own_library(mpi, family, built, run_mpiric, tmp_path):
    is_repaired = family is AbiFamily.STANDARD and conforming(mpi, LocalHost()).repair
    if not is_repaired and (is_native(family, mpi) or not can_translate(family, mpi)):
        pytest.skip("no translation")
    program, launcher = built(family)
    home = {name: os.environ[name] for name in ("MPIRIC_MPI_HOME",) if name in os.environ}
    # Intel MPI on one node and Debian's MPICH 4.0.2 refuse to spawn for their own programs too.
    spawns = ["spawn"] if mpi.implementation == "openmpi" or mpi.label.startswith("mpich-5") else []
    line = [launcher, "-n", "2", program, tmp_path / "file", *spawns]
    done = run_mpiric("run", "--quiet", "--mpi", mpi.label, "--", *line, env={**ENVIRONMENT, **home})
    assert done.stdout.splitlines() == [*EXPECTED, *(f"{word} 20" for word in spawns)], done.stderr


@pytest.mark.parametrize(("word", "value"), [("spawn by path", 20), ("port", 1)])
def test_children_are_where_an_info_says_and_ports_as_long_as_the_programs_room(
    mpi, family, word, value, built, run_mpiric, tmp_path
):
    if not mpi.label.startswith("mpich-5"):
        pytest.skip("the library does not do so for its own programs either")
    program, launcher = built(family)
    line = [launcher, "-n", "2", program, tmp_path / "file", word]
    done = run_mpiric("run", "--quiet", "--mpi", mpi.label, "--", *line, env=ENVIRONMENT)
    assert done.stdout.splitlines() == [*EXPECTED, f"{word} {value}"], done.stderr


@pytest.mark.parametrize("source", ["translated_classes.c", "translated_objects.c"])
def test_each_class_of_argument_comes_through_as_under_its_own_library(
    mpi, family, source, built, run_mpiric, environment, tmp_path
):
    program, launcher = built(family, SOURCE.with_name(source))
    has_mpi_4 = not mpi.label.startswith("openmpi-4")
    puts = not mpi.label.startswith("mpich-4.0.2")  # Debian's puts elsewhere, for its own programs too
    command = [*(["put"] if puts else []), *(["sessions", "partitioned"] if has_mpi_4 else [])]
    line = [launcher, "-n", "2", program, tmp_path / "file", *command]
    variables = {**environment, **ENVIRONMENT, "LD_LIBRARY_PATH": str(launcher.parents[1] / "lib")}
    plain = subprocess.run(line, env=variables, capture_output=True, text=True)
    done = run_mpiric("run", "--quiet", "--mpi", mpi.label, "--", *line, env=ENVIRONMENT)
    assert done.stdout.splitlines() == plain.stdout.splitlines(), done.stderr
    assert plain.stdout.endswith("after 1\n"), plain.stderr


@pytest.fixture(scope="module")
def fortran(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """`fortran(dialect, name, …)`: with module mpi or mpi_f08, built by Debian's library of that name."""
    place = tmp_path_factory.mktemp("fortran")

    def build(dialect: str, name: str, *link: str) -> Path:
        program = place / "-".join((dialect, name, *(["rpath"] if link else [])))
        if not program.exists():
            define = ["-DF08"] if dialect == "f08" else []
            command = (f"mpif90.{name}", "-w", *define, FORTRAN, "-o", program, *link)
            subprocess.run(command, check=True, cwd=place)
        return program

    return build


@pytest.mark.requires("gfortran", "debian-mpich", "debian-openmpi")
@pytest.mark.parametrize("dialect", ["f90", "f08"])
def test_so_does_one_in_fortran(mpi, family, dialect, fortran, run_mpiric, tmp_path):
    name = family.value
    line = [f"mpiexec.{name}", "-n", "2", fortran(dialect, name), tmp_path / "file"]
    done = run_mpiric("run", "--quiet", "--mpi", mpi.label, "--", *line, env=ENVIRONMENT)
    assert done.stdout.splitlines() == EXPECTED_OF_FORTRAN, done.stderr


@pytest.mark.requires("gfortran", "debian-mpich", "debian-openmpi")
@pytest.mark.newest_only
def test_so_does_one_that_a_script_starts(mpi, family, fortran, run_mpiric, tmp_path):
    script = tmp_path / "run.sh"
    script.write_text(f'#!/bin/sh\nexec {fortran("f90", family.value)} "$1"\n')
    script.chmod(0o755)
    line = [f"mpiexec.{family.value}", "-n", "2", script, tmp_path / "file"]
    done = run_mpiric("run", "--quiet", "--mpi", mpi.label, "--", *line, env=ENVIRONMENT)
    assert done.stdout.splitlines() == EXPECTED_OF_FORTRAN, done.stderr


@pytest.mark.sweep
@pytest.mark.requires("gfortran", "debian-mpich", "debian-openmpi")
@pytest.mark.parametrize("dialect", ["f90", "f08"])
def test_so_does_one_in_fortran_with_an_rpath(mpi, family, dialect, fortran, run_mpiric, tmp_path):
    name = family.value
    bound = "-Wl,--disable-new-dtags,-rpath,/usr/lib/x86_64-linux-gnu"
    line = [f"mpiexec.{name}", "-n", "2", fortran(dialect, name, bound), tmp_path / "file"]
    done = run_mpiric("run", "--quiet", "--mpi", mpi.label, "--", *line, env=ENVIRONMENT)
    assert done.stdout.splitlines() == EXPECTED_OF_FORTRAN, done.stderr


@pytest.mark.requires("gfortran", "debian-mpich")
def test_without_its_own_fortran_library_it_runs_above_ours(mpi, fortran, environment, tmp_path):
    if not can_translate(AbiFamily.MPICH, mpi):
        pytest.skip("no translation")
    stand_in = write_stand_in(tmp_path / "stand-in", AbiFamily.MPICH, mpi)
    own_library = fortran_in(tmp_path / "stand-in", AbiFamily.MPICH)
    paths = (str(Path(own_library).parent), *mpi.library_path)
    variables = {**ENVIRONMENT, **mpi.environment, "LD_LIBRARY_PATH": ":".join(paths)}
    line = [mpi.launcher, "-n", "2", "env", f"LD_PRELOAD={stand_in}:{own_library}", fortran("f90", "mpich")]
    done = subprocess.run(
        [*line, tmp_path / "file"], env={**environment, **variables}, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == EXPECTED_OF_FORTRAN, done.stderr


def test_its_profile_counts_what_the_profile_under_its_own_library_counts(
    mpi, family, built, run_mpiric, tmp_path
):
    program, launcher = built(family, RING)
    counts = []
    variables = {"LD_LIBRARY_PATH": str(launcher.parents[1] / "lib")}
    for options, env in (([], variables), (["--mpi", mpi.label], {})):
        command = ["profile", "--json", "-o", tmp_path / f"p{len(options)}", *options, "--"]
        done = run_mpiric(*command, launcher, "-n", "2", program, env={**ENVIRONMENT, **env})
        assert done.returncode == 0, done.stderr
        profile = json.loads(done.stdout)
        counts.append(({entry["name"]: entry["calls"] for entry in profile["functions"]}, profile["p2p"]))
    assert counts[1] == counts[0]
    assert counts[1][0]["MPI_Send"] == 20


def test_algorithms_of_the_library_and_of_ours_give_it_right_results(
    mpi, family, built, run_mpiric, tmp_path
):
    program, launcher = built(family, REPEATS)
    command = ("profile", "--json", "-o", tmp_path / "p", "--mpi", mpi.label)
    line = (launcher, "-n", "2", program, "100", "4096")
    rotate = {"MPIRIC_COLLECTIVES": "rotate", "OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
    done = run_mpiric(*command, "--", *line, env={**ENVIRONMENT, **rotate})
    assert done.returncode == 0, done.stderr
    assert "right" in done.stderr.splitlines()
    named = json.loads(done.stdout)["mpi"]
    assert mpi.version in named or named == "Intel(R) MPI Library"  # it contains no version number


def test_tools_are_given_the_calls_above_the_translation_and_below_it(
    mpi, family, built, environment, tmp_path
):
    below = own_family(mpi)
    assert below
    shared = ("-shared", "-fPIC")
    above_it, _ = built(family, TOOL, *shared)
    below_it, _ = built(below, TOOL, *shared, library=mpi.library)
    linked = tmp_path / "linked"
    built(family, RING, "-Wl,--no-as-needed", f"-Wl,-rpath,{tmp_path}", above_it)[0].rename(linked)
    alone, _ = built(family, RING)
    stand_in = write_stand_in(tmp_path / "stand-in", family, mpi)
    paths = ":".join((str(tmp_path / "stand-in"), *mpi.library_path))
    variables = {**environment, **ENVIRONMENT, **mpi.environment, "LD_LIBRARY_PATH": paths}
    for preload, started in (
        (f"{above_it}:{stand_in}", alone),
        (stand_in, linked),
        (f"{stand_in}:{below_it}", alone),
    ):
        line = [mpi.launcher, "-n", "2", "env", f"LD_PRELOAD={preload}", started]
        done = subprocess.run(line, env=variables, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "sum 2\n"), done.stderr
        assert done.stderr.count("tool saw 10 sends") == 2, preload


def test_large_counts_are_narrowed_where_the_library_has_none(mpi, built, run_mpiric):
    if mpi.implementation != "openmpi":
        pytest.skip("the library has large counts")
    program, launcher = built(AbiFamily.MPICH, SOURCE.with_name("large_counts.c"))
    line = ("--mpi", mpi.label, "--", launcher, "-n", "2", program)
    done = run_mpiric("run", "--quiet", *line, env=ENVIRONMENT)
    assert done.stdout.splitlines() == EXPECTED_OF_LARGE_COUNTS, done.stderr


def test_a_program_translated_there_and_back_prints_the_same(mpi, built, environment, tmp_path):
    if not mpi.label.startswith("mpich-5"):
        pytest.skip("the program is built for MPICH 5")
    program, _ = built(AbiFamily.MPICH)
    inner = write_stand_in(tmp_path / "inner", AbiFamily.OPENMPI, mpi)
    as_openmpi = replace(mpi, library=inner, abi_families=(AbiFamily.OPENMPI,))
    outer = write_stand_in(tmp_path / "outer", AbiFamily.MPICH, as_openmpi)
    variables = {**environment, **mpi.environment, "LD_LIBRARY_PATH": str(Path(mpi.library).parent)}
    preloaded = ["env", f"LD_PRELOAD={outer}", program, tmp_path / "file", "there and back"]
    done = subprocess.run(
        [mpi.launcher, "-n", "2", *preloaded], env=variables, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == [*EXPECTED, "noticed 1", "version of the header 1"], done.stderr


def test_a_library_of_its_own_family_that_a_program_does_not_find_is_put_under_it(
    mpi, built, run_mpiric, tmp_path
):
    if not mpi.label.startswith("mpich-5"):
        pytest.skip("the program is built for MPICH 5")
    program, launcher = built(AbiFamily.MPICH)
    line = [launcher, "-n", "2", program, tmp_path / "file"]
    done = run_mpiric("run", "--quiet", "--mpi", mpi.label, "--", *line)
    assert done.stdout.splitlines() == EXPECTED, done.stderr


def test_the_constants_of_a_standard_abi_are_those_of_the_standard_or_repaired(mpi):
    if not mpi.standard_library:
        pytest.skip("it has no standard ABI")
    result = conforming(mpi, LocalHost())
    draft = {
        *("MPI_SEEK_SET", "MPI_SEEK_CUR", "MPI_SEEK_END", "MPI_ERRORS_RETURN", "MPI_ERRORS_ABORT"),
        *("MPI_LASTUSEDCODE", "MPI_UNIVERSE_SIZE", "MPI_APPNUM"),
    }
    assert set(result.wrong_constants) == (draft if mpi.label.startswith("intelmpi-2021.19") else set())
    assert bool(result.repair) == bool(result.wrong_constants)


def test_another_allocator_may_be_preloaded_before_the_stand_in(mpi, family, built, run_mpiric):
    result = dict(read_allocators(LocalHost()))
    if not mpi.label.startswith(("mpich-5", "openmpi-5")) or "jemalloc" not in result:
        pytest.skip("one library of each family, and jemalloc")
    program, launcher = built(family, RING)
    line = ("--mpi", mpi.label, "--set", "allocator=jemalloc", "--", launcher, "-n", "2", program)
    done = run_mpiric("run", "--quiet", *line, env=ENVIRONMENT)
    assert (done.returncode, done.stdout) == (0, "sum 2\n"), done.stderr


def test_what_the_library_needs_is_its_own_and_not_what_the_programs_path_has(
    mpi, family, built, environment, tmp_path
):
    if mpi.found_by != "mpiric":
        pytest.skip("it needs libraries of the system")
    environment_of_run = {path.name for path in Path(mpi.prefix).rglob("lib*.so.*")}
    names = sorted(environment_of_run & {"libfabric.so.1", "libucp.so.0"})
    if not names:
        pytest.skip("it brings none of these")
    trap = tmp_path / "trap.c"
    trap.write_text(
        "#include <unistd.h>\n__attribute__((constructor)) static void trap(void) { _exit(9); }\n"
    )
    for name in names:
        command = ("gcc", "-shared", "-fPIC", trap, f"-Wl,-soname,{name}", "-o", tmp_path / name)
        subprocess.run(command, check=True)
    program, _ = built(family, RING)
    stand_in = write_stand_in(tmp_path / "stand-in", family, mpi)
    paths = f"LD_LIBRARY_PATH={tmp_path / 'stand-in'}:{tmp_path}"
    line = [mpi.launcher, "-n", "2", "env", f"LD_PRELOAD={stand_in}", paths, program]
    variables = {**environment, **ENVIRONMENT, **mpi.environment}
    done = subprocess.run(line, env=variables, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "sum 2\n"), done.stderr


@pytest.mark.sweep
@pytest.mark.parametrize(
    "flags",
    [("-no-pie",), ("-fPIE", "-pie", "-Wl,-z,now"), ("-fsanitize=address",), ("-Wl,--disable-new-dtags",)],
    ids=["no-pie", "pie-now", "asan", "rpath"],
)
def test_however_a_program_is_linked_it_prints_the_same(mpi, family, built, flags, run_mpiric, tmp_path):
    expected = built(family)[1].parents[1] / "lib"
    program, launcher = built(family, SOURCE, *flags, f"-Wl,-rpath,{expected}")
    line = ("--mpi", mpi.label, "--", launcher, "-n", "2", program, tmp_path / "file")
    done = run_mpiric("run", "--quiet", *line, env={**ENVIRONMENT, "ASAN_OPTIONS": "detect_leaks=0"})
    assert done.stdout.splitlines() == EXPECTED, done.stderr


@pytest.mark.sweep
def test_many_threads_are_translated_at_once(mpi, family, built, run_mpiric):
    program, launcher = built(family, SOURCE.with_name("translated_threads.c"), "-pthread")
    line = ("--mpi", mpi.label, "--", launcher, "-n", "2", program)
    done = run_mpiric("run", "--quiet", *line, env=ENVIRONMENT)
    assert done.stdout == "level 1 right 16\n", done.stderr


@pytest.mark.sweep
def test_a_million_objects_that_come_and_go_leave_nothing_behind(mpi, family, built, run_mpiric):
    program, launcher = built(family, SOURCE.with_name("translated_lifetimes.c"))
    line = ("--mpi", mpi.label, "--", launcher, "-n", "1", program, "1000000")
    done = run_mpiric("run", "--quiet", *line, env=ENVIRONMENT)
    grown = {name: int(kib) for name, kib in map(str.split, done.stdout.splitlines())}
    assert len(grown) == 6, done.stderr
    assert max(grown.values()) < 1024, grown


def test_a_program_that_opens_the_library_by_name_finds_the_stand_in(mpi, family, environment, tmp_path):
    program = tmp_path / "opened"
    subprocess.run(["gcc", SOURCE.with_name("translated_opened.c"), "-o", program, "-ldl"], check=True)
    stand_in = write_stand_in(tmp_path / "stand-in", family, mpi)
    paths = ":".join((str(tmp_path / "stand-in"), *mpi.library_path))
    variables = {**environment, **ENVIRONMENT, **mpi.environment, "LD_LIBRARY_PATH": paths}
    line = [mpi.launcher, "-n", "2", "env", f"LD_PRELOAD={stand_in}", program, SONAMES[family]]
    done = subprocess.run(line, env=variables, capture_output=True, text=True)
    assert done.stdout == "size 2\nsize 2\n", done.stderr


@pytest.mark.sweep
def test_files_are_right_through_the_romio_inside_open_mpi_4(mpi, built, run_mpiric, tmp_path):
    if not mpi.label.startswith("openmpi-4"):
        pytest.skip("another version")
    program, launcher = built(AbiFamily.MPICH)
    line = ("--mpi", mpi.label, "--", launcher, "-n", "2", program, tmp_path / "file")
    done = run_mpiric("run", "--quiet", *line, env={**ENVIRONMENT, "OMPI_MCA_io": "romio321"})
    assert done.stdout.splitlines() == EXPECTED, done.stderr
