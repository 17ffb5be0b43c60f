"""The tools around fat executables, as a user meets them."""

# ruff: noqa: E501 — contains sources of other languages

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mpiric.model.errors import ExitCode

pytestmark = pytest.mark.requires("gcc")
Run = Callable[..., "subprocess.CompletedProcess[str]"]

PROGRAM = """
#include <stdio.h>
static double x[256], y[256];
int main(void) {
  double sum = 0;
  for (int i = 0; i < 256; i++) { x[i] = i; y[i] = 256 - i; }
  for (int i = 0; i < 256; i++) y[i] += 3 * x[i];
  for (int i = 0; i < 256; i++) sum += y[i];
  printf("sum %.1f\\n", sum);
  return 0;
}
"""


@pytest.fixture
def fat(tmp_path: Path, run_mpiric: Run) -> Path:
    (tmp_path / "a.c").write_text(PROGRAM)
    assert run_mpiric("cc", "-O3", "a.c", "-o", "fat").returncode == 0
    return tmp_path / "fat"


def test_inspect_tells_scripts_what_they_were_promised(fat: Path, run_mpiric: Run) -> None:
    inspected = json.loads(run_mpiric("inspect", "--json", fat).stdout)
    assert [v["target"] for v in inspected["variants"]] == ["x86_64_v4", "x86_64_v3", "x86_64_v2", "x86_64"]
    assert all(
        {"target", "bytes", "compiler", "flags"} <= set(v) and v["bytes"] > 0 for v in inspected["variants"]
    )
    assert inspected["baseline"] == "x86_64"
    assert inspected["chosen_here"] in {v["target"] for v in inspected["variants"]}
    assert "avx512" in inspected["instruction_sets"]
    assert set(inspected["mpi"]) == {"abi", "soname", "runs_under", "routes"}


def test_explain_prints_one_line_with_the_chosen_target(fat: Path, run_mpiric: Run) -> None:
    done = subprocess.run([fat], env={"MPIRIC_EXPLAIN": "1"}, capture_output=True, text=True)
    chosen = json.loads(run_mpiric("inspect", "--json", fat).stdout)["chosen_here"]
    assert done.stdout == "sum 65280.0\n" or done.stdout.startswith("sum ")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"mpiric: {chosen} chosen")
    other_names = {"x86_64_v4", "x86_64_v3", "x86_64_v2"} - {chosen}
    assert not [name for name in other_names if name in done.stderr]


def test_a_variant_is_named_by_its_level_alone(fat: Path) -> None:
    variables = {"MPIRIC_TARGET": "v2", "MPIRIC_EXPLAIN": "2"}
    first, *other_names = subprocess.run(
        [fat], env=variables, capture_output=True, text=True
    ).stderr.splitlines()
    assert first.startswith("mpiric: x86_64_v2 chosen, as asked")
    assert [line.split()[1] for line in other_names] == ["x86_64_v4", "x86_64_v3", "x86_64"]


def test_a_plain_program_is_silent_about_us(fat: Path) -> None:
    assert subprocess.run([fat], env={}, capture_output=True, text=True).stderr == ""


@pytest.mark.requires("qemu-x86_64")
def test_an_extracted_variant_runs_or_says_why_not(fat: Path, run_mpiric: Run) -> None:
    assert run_mpiric("extract", fat, "--target", "v3", "-o", "only").returncode == 0
    only = fat.with_name("only")
    good = subprocess.run(["qemu-x86_64", "-cpu", "max", only], capture_output=True, text=True)
    assert (good.returncode, good.stdout[:4]) == (0, "sum ")
    bad = subprocess.run(["qemu-x86_64", "-cpu", "Nehalem", only], capture_output=True, text=True)
    assert bad.returncode == 126
    assert "holds only x86_64_v3" in bad.stderr


@pytest.mark.requires("strip")
def test_a_stripped_program_still_tells_what_it_holds(fat: Path, run_mpiric: Run) -> None:
    subprocess.run(["strip", fat], check=True)
    assert len(json.loads(run_mpiric("inspect", "--json", fat).stdout)["variants"]) == 4
    assert subprocess.run([fat], capture_output=True, text=True).stdout.startswith("sum ")


def test_a_program_of_others_is_looked_into_too(run_mpiric: Run) -> None:
    inspected = json.loads(run_mpiric("inspect", "--json", "/bin/ls").stdout)
    assert inspected["variants"] == []
    assert "sse2" in inspected["instruction_sets"]


def test_an_object_tells_which_variants_it_carries(fat: Path, run_mpiric: Run) -> None:
    assert (
        run_mpiric("cc", "-O3", "--targets", "haswell", "-c", fat.parent / "a.c", "-o", "a.o").returncode == 0
    )
    inspected = json.loads(run_mpiric("inspect", "--json", "a.o").stdout)
    assert [(v["target"], v["bytes"] > 0) for v in inspected["variants"]] == [
        ("haswell", True),
        ("x86_64", True),
    ]


def test_a_gap_between_targets_is_said(fat: Path, run_mpiric: Run) -> None:
    assert run_mpiric("cc", "--targets=haswell", "-O3", "a.c", "-o", "gap").returncode == 0
    assert "falls to x86_64" in run_mpiric("inspect", "gap").stderr


def test_a_variant_for_unlike_machines_is_the_best_all_can_run(fat: Path, run_mpiric: Run) -> None:
    inspected = run_mpiric("inspect", "--same-everywhere", "--on", "haswell,zen4,icelake", fat)
    assert inspected.stdout == "x86_64_v3\n"
    (fat.parent / "machines").write_text("n1: zen4\nn2 sandybridge\n")
    inspected = run_mpiric("inspect", "--same-everywhere", fat, env={"MPIRIC_MACHINES": "machines"})
    assert inspected.stdout == "x86_64_v2\n"


def test_cpu_words_are_said_once_and_do_not_reach_the_baseline(fat: Path, run_mpiric: Run) -> None:
    done = run_mpiric("cc", "-O3", "-march=native", "-c", "a.c")
    assert done.stderr.count("-march=native") == 1
    objdump = subprocess.run(["objdump", "-d", fat.with_name("a.o")], capture_output=True, text=True)
    assert "%ymm" not in objdump.stdout


def test_the_compiler_answers_questions_itself(run_mpiric: Run) -> None:
    for arguments in (
        ["--version"],
        ["-dumpversion"],
        ["-print-prog-name=ld"],
        ["-E", "-x", "c", "/dev/null"],
    ):
        wrapped = run_mpiric("cc", "gcc", *arguments)
        compiler_alone = subprocess.run(["gcc", *arguments], capture_output=True, text=True)
        assert (wrapped.returncode, wrapped.stdout) == (compiler_alone.returncode, compiler_alone.stdout)


def test_the_questions_of_a_configure_script_are_answered_by_the_baseline(
    tmp_path: Path, run_mpiric: Run
) -> None:
    (tmp_path / "conftest.c").write_text("int main(void) { return 0; }\n")
    assert run_mpiric("cc", "gcc", "-mavx2", "conftest.c", "-o", "conftest").stderr == ""
    assert json.loads(run_mpiric("inspect", "--json", "conftest").stdout)["variants"] == []


def test_an_error_is_the_compilers_own(tmp_path: Path, run_mpiric: Run) -> None:
    (tmp_path / "bad.c").write_text("int main(void) { return x; }\n")
    wrapped = run_mpiric("cc", "gcc", "-c", "bad.c")
    compiler_alone = subprocess.run(["gcc", "-c", "bad.c"], cwd=tmp_path, capture_output=True, text=True)
    assert (wrapped.returncode, wrapped.stderr) == (compiler_alone.returncode, compiler_alone.stderr)
    assert not (tmp_path / "bad.o").exists()


def test_a_compiler_that_is_not_there_is_named(tmp_path: Path, run_mpiric: Run) -> None:
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    done = run_mpiric("cc", "nosuchcc", "-c", "a.c")
    assert (done.returncode, "nosuchcc" in done.stderr) == (ExitCode.NOT_FOUND, True)


def test_streams_that_are_closed_do_no_harm(fat: Path, run_mpiric: Run) -> None:
    again = f"{shlex.join([sys.executable, '-m', 'mpiric'])} cc -O3 a.c -o again <&- >&- 2>&-"
    done = subprocess.run(["sh", "-c", again], cwd=fat.parent, env=dict(os.environ), check=False)
    assert (done.returncode, (fat.parent / "again").read_bytes() == fat.read_bytes()) == (0, True)


def test_a_link_error_is_the_linkers_own(tmp_path: Path, run_mpiric: Run) -> None:
    (tmp_path / "bad.c").write_text("int f(void);\nint main(void) { return f(); }\n")
    done = run_mpiric("cc", "gcc", "bad.c")
    assert done.returncode == 1
    assert "undefined reference to `f'" in done.stderr
    assert not (tmp_path / "a.out").exists()


def test_dependencies_are_written_for_the_object_that_was_asked_for(tmp_path: Path, run_mpiric: Run) -> None:
    (tmp_path / "a.c").write_text(PROGRAM)
    assert run_mpiric("cc", "-MD", "-MF", "a.d", "-c", "a.c", "-o", "sub.o").returncode == 0
    assert (tmp_path / "a.d").read_text().startswith("sub.o: a.c")
    (tmp_path / "d").mkdir()
    assert run_mpiric("cc", "-MMD", "-c", "a.c", "-o", "d/sub.o").returncode == 0
    assert (tmp_path / "d/sub.d").read_text() == "d/sub.o: a.c\n"


def test_dependencies_of_a_program_are_written_beside_it(tmp_path: Path, run_mpiric: Run) -> None:
    (tmp_path / "a.c").write_text(PROGRAM)
    (tmp_path / "d").mkdir()
    assert run_mpiric("cc", "-MMD", "a.c", "-o", "d/prog.x").returncode == 0
    assert (tmp_path / "d/prog.d").read_text() == "d/prog.x: a.c\n"
    assert run_mpiric("cc", "-MMD", "a.c").returncode == 0
    assert (tmp_path / "a.d").read_text() == "a.o: a.c\n"
    assert run_mpiric("cc", "-MMD", "-MF", "deps", "-MT", "this", "a.c", "-o", "prog").returncode == 0
    assert (tmp_path / "deps").read_text() == "this: a.c\n"


def test_split_debug_information_is_where_it_is_without_us(tmp_path: Path, run_mpiric: Run) -> None:
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    command = ("-g", "-gsplit-dwarf", "a.c", "-o", "prog")
    subprocess.run(["gcc", *command], cwd=tmp_path, check=True)
    written = {path.name for path in tmp_path.glob("*.dwo")}
    for name in written:
        (tmp_path / name).unlink()
    assert run_mpiric("cc", "gcc", *command).returncode == 0
    assert {path.name for path in tmp_path.glob("*.dwo")} == written


def test_features_that_the_code_does_not_use_are_not_asked_of_a_cpu(tmp_path: Path, run_mpiric: Run) -> None:
    (tmp_path / "a.c").write_text(PROGRAM)
    (tmp_path / "keys.c").write_text(
        "#ifdef __PKU__\n#include <immintrin.h>\nunsigned keys(void) { return _rdpkru_u32(); }\n"
        "#else\nunsigned keys(void) { return 0; }\n#endif\n"
    )

    def needs(*sources: str) -> set[str]:
        command = ["--targets", "skylake_avx512", "-O3", *sources, "-o", "fat"]
        assert run_mpiric("cc", "gcc", *command).returncode == 0
        inspected = json.loads(run_mpiric("inspect", "--json", "fat").stdout)["variants"][0]
        assert "pku" in inspected["made_for"]
        return set(inspected["needs"])

    assert "pku" not in needs("a.c")
    assert "avx512f" in needs("a.c")
    assert "pku" in needs("a.c", "keys.c")


@pytest.mark.requires("clang", "clang++")
def test_clang_builds_fat_programs_and_says_what_it_cannot(tmp_path: Path, run_mpiric: Run) -> None:
    (tmp_path / "a.c").write_text(PROGRAM)
    (tmp_path / "b.cc").write_text(
        "#include <cstdio>\n#include <stdexcept>\nint main() {\n"
        '  try { throw std::out_of_range("range"); } catch (const std::exception &e) { std::puts(e.what()); }\n}\n'
    )
    for verb, compiler, source in (("cc", "clang", "a.c"), ("cxx", "clang++", "b.cc")):
        subprocess.run([compiler, "-O2", source, "-o", "plain"], cwd=tmp_path, check=True)
        plain = subprocess.run(["./plain"], cwd=tmp_path, capture_output=True, text=True).stdout
        done = run_mpiric(verb, compiler, "-O2", "-flto", source, "-o", "fat")
        assert done.returncode == 0, done.stderr
        assert "-flto is left out" in done.stderr
        assert len(json.loads(run_mpiric("inspect", "--json", "fat").stdout)["variants"]) == 4
        for target in ("x86_64", "x86_64_v2", ""):
            fat = subprocess.run(
                ["./fat"], cwd=tmp_path, capture_output=True, text=True, env={"MPIRIC_TARGET": target}
            )
            assert fat.stdout == plain, fat.stderr


@pytest.mark.requires("ccache")
def test_a_compiler_cache_below_serves_every_variant(tmp_path: Path, run_mpiric: Run) -> None:
    (tmp_path / "a.c").write_text(PROGRAM)
    cache = {"CCACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        assert run_mpiric("cc", "ccache", "gcc", "-O3", "-c", "a.c", env=cache).returncode == 0
    statistics = subprocess.run(
        ["ccache", "--print-stats"],
        capture_output=True,
        text=True,
        env={**cache, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )
    hits = sum(
        int(line.split()[1])
        for line in statistics.stdout.splitlines()
        if line.startswith(("direct_cache_hit", "preprocessed_cache_hit"))
    )
    assert hits >= 4


def test_vectorisation_is_explained_per_variant(tmp_path: Path, run_mpiric: Run) -> None:
    (tmp_path / "a.c").write_text(PROGRAM)
    done = run_mpiric("cc", "gcc", "--explain-vectorisation", "-O3", "-c", "a.c")
    assert "x86_64_v3: " in done.stderr
    assert "using 32 byte vectors" in done.stderr


def test_without_fma_variants_agree_in_every_bit(tmp_path: Path, run_mpiric: Run) -> None:
    (tmp_path / "a.c").write_text(PROGRAM)
    assert run_mpiric("cc", "gcc", "--no-fma", "-O3", "a.c", "-o", "fat").returncode == 0
    assert "fma" not in json.loads(run_mpiric("inspect", "--json", "fat").stdout)["instruction_sets"]


@pytest.mark.requires("debian-mpich", "mpi:mpich", "qemu-x86_64")
def test_verify_prints_a_matrix_of_right_answers(tmp_path: Path, run_mpiric: Run) -> None:
    (tmp_path / "m.c").write_text(
        "#include <mpi.h>\n#include <stdio.h>\nint main(int n, char **v) {\n  int r, s, one = 1, all;\n  MPI_Init(&n, &v);\n"
        "  MPI_Comm_rank(MPI_COMM_WORLD, &r);\n  MPI_Comm_size(MPI_COMM_WORLD, &s);\n"
        "  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\n"
        '  if (!r) printf("%d of %d\\n", all, s);\n  MPI_Finalize();\n  return 0;\n}\n'
    )
    assert run_mpiric("cc", "mpicc.mpich", "-O2", "m.c", "-o", "m").returncode == 0
    verified = json.loads(
        run_mpiric("verify", "--json", "--cpu", "Haswell", "--mpi", "mpich", "--timeout", "60", "m").stdout
    )
    native = [run for run in verified["runs"] if run["cpu"] == "this machine"]
    assert {run["network"] for run in native} == {"shared memory", "tcp lo"}
    assert len({run["mpi"] for run in native}) > 1
    assert all(run["green"] for run in native)
    haswell = [
        run
        for run in verified["runs"]
        if run["cpu"] == "Haswell" and run["mpi"] == "mpich-4.0.2" and run["network"] == "shared memory"
    ]
    assert [(run["path"], run["green"]) for run in haswell] == [("x86_64_v3", True)]


def test_every_compiler_is_tried_and_one_is_recommended(tmp_path: Path, run_mpiric: Run) -> None:
    (tmp_path / "a.c").write_text(PROGRAM)
    (tmp_path / "Makefile").write_text("a: a.c\n\tgcc a.c -o a\n")
    done = run_mpiric("build", "--try-compilers", "--json", "--repeats", "2", "--run", "./a", "--", "make")
    built = json.loads(done.stdout)
    assert {"gcc default", "gcc strict"} <= {
        attempt["label"] for attempt in built["attempts"] if attempt["agrees"]
    }
    assert built["best"]
    assert not (tmp_path / "a").exists()


def test_a_build_that_compiles_nothing_is_told_from_one_that_does(tmp_path: Path, run_mpiric: Run) -> None:
    (tmp_path / "a.c").write_text(PROGRAM)
    (tmp_path / "Makefile").write_text("a: a.c\n\tgcc a.c -o a\n")
    subprocess.run(["make"], cwd=tmp_path, check=True, capture_output=True)
    done = run_mpiric("build", "--try-compilers", "--json", "--run", "./a", "--", "make")
    built = json.loads(done.stdout)
    assert not any(attempt["built"] for attempt in built["attempts"])
    assert "called no compiler" in built["attempts"][0]["sentence"]


def test_a_run_teaches_a_second_build(tmp_path: Path, run_mpiric: Run) -> None:
    (tmp_path / "a.c").write_text(PROGRAM)
    (tmp_path / "Makefile").write_text("a: a.c\n\tgcc a.c -o a\n")
    command = ["--try-compilers", "--feedback", "--json", "--repeats", "1"]
    built = json.loads(run_mpiric("build", *command, "--run", "./a", "--", "make").stdout)
    learned = {row["label"]: row for row in built["attempts"] if row["flag_set"] == "feedback"}
    assert learned["gcc feedback"]["agrees"]
    assert run_mpiric("build", *command, "--", "make").returncode == ExitCode.USAGE
