"""Summary of the benchmark of fat executables."""

from benchmarks.fat import Build, rows_of, summary_of

BUILDS = [
    Build("x86_64 alone", ("a",), "", {}),
    Build("fat, x86_64", ("f",), "x86_64 alone", {}),
    Build("x86_64_v3 alone", ("b",), "", {}),
    Build("fat", ("f",), "x86_64 alone", {}),
]
TIMES = {
    "x86_64 alone": [2.0] * 9,
    "fat, x86_64": [2.5] * 9,
    "x86_64_v3 alone": [1.0] * 9,
    "fat": [1.0] * 9,
}
SIZES = dict.fromkeys(TIMES, 2048)


def test_a_variant_is_measured_by_the_native_build_of_its_target() -> None:
    rows = {(row["build"], row["against"]): row["speed"] for row in rows_of("k", BUILDS, TIMES, SIZES)}
    assert rows["fat, x86_64", "x86_64 alone"] == 0.8
    assert rows["fat", "x86_64 alone"] == 2.0
    assert rows["fat", "best: x86_64_v3 alone"] == 1.0
    assert rows["x86_64 alone", None] is None


def test_the_summary_names_misses_of_the_goal() -> None:
    rows = rows_of("k", BUILDS, TIMES, SIZES)
    summary = summary_of(rows, {"added": 0.31}, [])
    assert "below 0.98: k fat, x86_64" in summary
    assert "+0.310 ms, above 0.2 ms" in summary
