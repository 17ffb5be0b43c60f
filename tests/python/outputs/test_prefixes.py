import pytest

from mpiric.outputs.equivalence import AcceptedDifferences
from mpiric.outputs.files import learn_prefixes


def steps(count: int, energy: float = -1.5, start: int = 0) -> str:
    return "".join(f"step {number} energy {energy + number}\n" for number in range(start, count))


@pytest.fixture
def run(tmp_path):
    """A run that printed and wrote this, as (stdout, directory)."""
    numbers = iter(range(1000))

    def write(printed: str, **files: bytes | str):
        place = tmp_path / str(next(numbers))
        (place / "files").mkdir(parents=True)
        (place / "stdout").write_text(printed)
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            (place / "files" / name).write_bytes(data)
        return place / "stdout", place / "files"

    return write


def wrong(runs, other):
    """Return the disagreement of another run as a sentence."""
    expected = learn_prefixes([stdout for stdout, _ in runs], [directory for _, directory in runs])
    stdout, directory = other
    files = {path.name: path for path in directory.iterdir()}
    disagreement = expected.compare(stdout, files)
    return str(disagreement) if disagreement else ""


def test_runs_that_ended_a_little_later_or_in_the_middle_of_a_line_agree(run):
    originals = [run(steps(10)), run(steps(10) + "step 10 ener"), run(steps(11))]
    assert wrong(originals, run(steps(12))) == ""
    assert wrong(originals, run(steps(10) + "st")) == ""


def test_another_value_before_the_mark_is_found(run):
    originals = [run(steps(10)), run(steps(10))]
    other = steps(5) + steps(10, -1.25, start=5)
    assert "line 6" in wrong(originals, run(other))


def test_a_run_that_printed_less_is_found(run):
    assert wrong([run(steps(10)), run(steps(10))], run(steps(7))).startswith("7 lines before the step marker")


def test_output_after_the_end_of_the_shortest_original_is_not_compared(run):
    assert wrong([run(steps(10)), run(steps(12))], run(steps(10) + "Segmentation fault\n")) == ""


def test_a_file_that_was_complete_must_be_the_same(run):
    originals = [run("", setup=b"\0\1\2"), run("", setup=b"\0\1\2")]
    assert wrong(originals, run("", setup=b"\0\1\2")) == ""
    for other in (b"\0\1\3", b"\0\1"):
        disagreement = wrong(originals, run("", setup=other))
        assert disagreement == "the file 'setup' begins differently from the original's"
    assert wrong(originals, run("")) == "the file 'setup' was not written before the mark"


def test_a_file_that_grows_agrees_as_far_as_the_shortest_original(run):
    originals = [run("", log=steps(10)), run("", log=steps(13)), run("", dump=b"", log=steps(12))]
    assert wrong(originals, run("", log=steps(9))) == ""
    assert "in the file 'log', line 4" in wrong(originals, run("", log=steps(3) + steps(12, -9.0, start=3)))


def test_bytes_that_grow_agree_as_far_as_the_shortest_original(run):
    data = bytes(range(1, 200)) + b"\0"
    originals = [run("", dump=b"\0" + data), run("", dump=b"\0" + data[:150])]
    assert wrong(originals, run("", dump=b"\0" + data[:150] + b"other")) == ""
    assert "begins differently" in wrong(originals, run("", dump=b"\0" + data[:100] + b"x" + data[101:]))


def test_a_file_that_no_original_writes_is_found(run):
    assert wrong([run(""), run("")], run("", core=b"1")) == "the file 'core' is not written by the original"


def test_times_in_a_file_that_happened_to_be_the_same_in_all_originals_may_differ(run):
    text = "Created 4000 atoms\n  create_atoms CPU = 0.00{} seconds\n"
    originals = [run("", log=text.format(1)), run("", log=text.format(1))]
    assert wrong(originals, run("", log=text.format(2))) == ""
    assert "in the file 'log', line 1" in wrong(
        originals, run("", log=text.replace("4000", "4001").format(1))
    )


def test_the_last_line_counts_of_a_file_that_was_complete(run):
    originals = [run("", result="42\n"), run("", result="42\n")]
    assert "in the file 'result', line 1" in wrong(originals, run("", result="43\n"))


def test_a_line_that_names_a_setting_moves_no_other_one_over_the_mark(run):
    line = "OMP_NUM_THREADS is not set, using 1\n"
    runs = [run(line + steps(count)) for count in (10, 11)]
    expected = learn_prefixes([stdout for stdout, _ in runs], [])
    silent, _ = run(steps(12))
    assert expected.compare(silent, {}, AcceptedDifferences(settings=("OMP_NUM_THREADS",))) is None
    assert "is missing" in str(expected.compare(silent, {}))
    short, _ = run(steps(8))
    assert str(expected.compare(short, {}, AcceptedDifferences(settings=("OMP_NUM_THREADS",)))).startswith(
        "8 lines before the step marker"
    )
