from pathlib import Path

import pytest

from mpiric.model.errors import MpiricError
from mpiric.outputs.equivalence import AcceptedDifferences
from mpiric.outputs.files import FilesExpectation, files_in, learn_files


def _run(root: Path, name: str, files: dict[str, bytes]) -> Path:
    directory = root / name
    for path, data in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(data)
    return directory


def _files(run: int, **changes: bytes) -> dict[str, bytes]:
    files = {
        "out/result.bin": b"\x00\x01\x02",
        "log.txt": f"energy 1.5\nelapsed 1.{run} s\nrun {run}\n".encode(),
        f"core.{run}": b"x",
        "scratch.bin": b"\x00" + bytes([run]),
    }
    return {**files, **{key.replace("__", "/").replace("_", "."): value for key, value in changes.items()}}


@pytest.fixture
def expectation(tmp_path: Path) -> FilesExpectation:
    return learn_files([_run(tmp_path, f"run{run}", _files(run)) for run in (1, 2, 3)])


def test_another_run_agrees(expectation: FilesExpectation, tmp_path: Path) -> None:
    assert expectation.compare(files_in(_run(tmp_path, "new", _files(4)))) is None


@pytest.mark.parametrize(
    ("files", "difference"),
    [
        (_files(4, out__result_bin=b"\x00\x01\x03"), "'out/result.bin' differs"),
        (_files(4, log_txt=b"energy 1.6\nelapsed 1.4 s\nrun 4\n"), "in the file 'log.txt', line 1: 1.6"),
        (_files(4, extra_txt=b"x"), "'extra.txt' is not written by the original"),
        ({key: value for key, value in _files(4).items() if key != "log.txt"}, "'log.txt' was not written"),
    ],
)
def test_a_file_that_differs_is_named(
    expectation: FilesExpectation, tmp_path: Path, files: dict[str, bytes], difference: str
) -> None:
    disagreement = expectation.compare(files_in(_run(tmp_path, "new", files)))
    assert disagreement is not None
    assert difference in disagreement.sentence


def test_a_file_with_a_newline_in_its_name_is_compared_and_named_on_one_line(tmp_path: Path) -> None:
    expected = learn_files([_run(tmp_path, f"run{run}", {"new\nline": b"\0one"}) for run in range(2)])
    assert expected.compare(files_in(_run(tmp_path, "same", {"new\nline": b"\0one"}))) is None
    disagreement = expected.compare(files_in(_run(tmp_path, "other", {"new\nline": b"\0two"})))
    assert disagreement is not None
    assert "'new\\nline' differs" in disagreement.sentence


def test_a_time_in_a_text_file_that_was_equal_by_chance_is_not_a_disagreement(tmp_path: Path) -> None:
    runs = [_run(tmp_path, f"r{run}", {"log": b"sum 3\ntook 0.1 s\n"}) for run in range(2)]
    assert learn_files(runs).compare(files_in(_run(tmp_path, "new", {"log": b"sum 3\ntook 0.2 s\n"}))) is None
    assert (
        learn_files(runs).compare(files_in(_run(tmp_path, "bad", {"log": b"sum 4\ntook 0.1 s\n"})))
        is not None
    )


def test_files_are_not_learned_from_one_run(tmp_path: Path) -> None:
    with pytest.raises(MpiricError):
        learn_files([tmp_path])


def test_a_line_of_a_file_that_names_a_variable_that_was_set_may_go(tmp_path: Path) -> None:
    for run in ("a", "b", "c"):
        (tmp_path / run).mkdir()
        (tmp_path / run / "log").write_text("OMP_NUM_THREADS is not set\nenergy -1.25\n")
    expectation = learn_files([tmp_path / "a", tmp_path / "b"])
    (tmp_path / "c" / "log").write_text("energy -1.25\n")
    assert expectation.compare(files_in(tmp_path / "c")) is not None
    assert (
        expectation.compare(files_in(tmp_path / "c"), AcceptedDifferences(settings=("OMP_NUM_THREADS",)))
        is None
    )
