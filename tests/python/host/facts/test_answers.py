"""Cache of answers that change only with a file."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mpiric.host.facts.local import LocalHost


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A directory with a command ``count`` that says how often it was asked, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    script = tmp_path / "count"
    script.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked; wc -l < {tmp_path}/asked\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "library").write_text("one")
    return tmp_path


def ask(place: Path, **options) -> str:
    return LocalHost().run_cached([str(place / "count")], [str(place / "library")], **options).stdout.strip()


def cached_files(place: Path) -> list[Path]:
    return list((place / "cache").rglob("*.json"))


def test_the_second_answer_is_the_first(place):
    assert [ask(place), ask(place)] == ["1", "1"]


def test_the_answer_for_a_changed_file_is_refreshed(place):
    ask(place)
    (place / "library").write_text("other")
    assert ask(place) == "2"


def test_the_answer_for_a_file_with_another_time_is_refreshed(place):
    ask(place)
    os.utime(place / "library", (1, 1))
    assert ask(place) == "2"


def test_other_variables_are_another_question(place):
    assert [ask(place), ask(place, environment={"A": "1"})] == ["1", "2"]


def test_another_library_path_is_another_question(place, monkeypatch):
    ask(place)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/elsewhere")
    assert ask(place) == "2"


def test_the_answer_for_a_missing_file_is_not_cached(place):
    (place / "library").unlink()
    assert [ask(place), ask(place)] == ["1", "2"]


def test_failures_are_not_kept(place):
    (place / "count").write_text("#!/bin/sh\nexit 1\n")
    ask(place)
    assert not cached_files(place)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": 1}', "null"])
def test_a_damaged_answer_is_refreshed_and_replaced(place, text):
    ask(place)
    cached_files(place)[0].write_text(text)
    assert [ask(place), ask(place)] == ["2", "2"]


def test_a_cache_that_cannot_be_written_is_done_without(place, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/no-cache")
    assert [ask(place), ask(place)] == ["1", "2"]


def test_many_at_once_leave_a_whole_answer(place):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: ask(place), range(16)))
    assert ask(place) == ask(place)
    assert len(list((place / "cache").rglob("*"))) == 3  # two directories and the answer
