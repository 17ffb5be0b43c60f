from pathlib import Path

import pytest

from mpiric.outputs.digest import NanWatch, first_nan
from mpiric.workflows.tune.check_answer import WholeOutput, whole_disagreement


@pytest.fixture
def output(tmp_path: Path):
    numbers = iter(range(100))

    def write(text: str | None = "energy -42\n", **files: str | bytes) -> WholeOutput:
        place = tmp_path / str(next(numbers))
        place.mkdir()
        for name, content in files.items():
            (place / name).write_bytes(content.encode() if isinstance(content, str) else content)
        stdout = place / "stdout"
        if text is not None:
            stdout.write_text(text)
        return (stdout if text is not None else None), {name: place / name for name in files}

    return write


def test_the_same_output_and_files_agree(output) -> None:
    assert whole_disagreement([output(a="1\n")], output(a="1\n")) == ""


def test_another_number_at_the_end_is_found(output) -> None:
    assert "-43" in whole_disagreement([output()], output("energy -43\n"))


def test_a_file_that_is_missing_or_differs_is_named(output) -> None:
    reference = output(restart=b"\0\1")
    assert whole_disagreement([reference], output()) == "the file 'restart' was not written"
    assert "'restart' differs" in whole_disagreement([reference], output(restart=b"\0\2"))


def test_differences_between_whole_runs_of_the_original_are_accepted(output) -> None:
    references = [output("done by 17\n", dump=b"\0\1"), output("done by 23\n", dump=b"\0\2")]
    assert whole_disagreement(references, output("done by 40\n", dump=b"\0\3")) == ""
    assert whole_disagreement(references[:1], output("done by 40\n", dump=b"\0\1")) != ""


def test_a_reference_without_output_compares_files_alone(output) -> None:
    assert whole_disagreement([output(None, a="1\n")], output("anything\n", a="1\n", b="new\n")) == ""


@pytest.mark.parametrize("line", ["energy nan", "NaN 1.0", "x=-nan(ind)", "T: -NaN,"])
def test_nan_is_found_however_it_is_written(tmp_path: Path, line: str) -> None:
    path = tmp_path / "stdout"
    path.write_text(f"step 1\n{line}\nstep 3\n")
    assert first_nan(path) == line


@pytest.mark.parametrize("line", ["banana", "nano 3", "finance", "Nancy", "a.nan", "nan-tool"])
def test_words_with_these_letters_are_none(tmp_path: Path, line: str) -> None:
    path = tmp_path / "stdout"
    path.write_text(line)
    assert first_nan(path) == ""


def test_nan_that_comes_in_two_pieces_is_found() -> None:
    watch = NanWatch()
    watch.feed(b"energy n")
    watch.feed(b"an")
    assert watch.end() == "energy nan"
