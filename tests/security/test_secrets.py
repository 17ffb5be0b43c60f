"""Secrets in the arguments of a command are stored nowhere and change no result."""

import json
import os

import pytest

from mpiric.host.command_log import MASK, hide, masked
from mpiric.host.installation.images import TAR, write_image
from mpiric.launchers import parse_command
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Fingerprint, Recipe
from mpiric.model.pack import Content, ContentKind
from mpiric.tuning.recipe import render_recipe
from mpiric.tuning.store import Store
from mpiric.workflows.launch.fingerprints import _program, job_identity
from mpiric.workflows.run.recipe_choice import differences

SECRET = "hunter2"
WITH_SECRETS = (
    [f"--password={SECRET}"],
    ["--password", SECRET],
    [f"--db-password={SECRET},x y"],
    [f"token={SECRET}"],
    ["-x", f"API_TOKEN={SECRET}"],
    ["--export", f"ALL,API_KEY={SECRET},N=1"],
    [f"--export=ALL,HF_TOKEN={SECRET}"],
    ["-genv", "AWS_SECRET_ACCESS_KEY", SECRET],
    ["--apiKey", SECRET],
    ["--auth-token", SECRET],
    ["--header", f"Authorization: Bearer {SECRET}"],
    [f"postgres://user:{SECRET}@host/db"],
    ["bash", "-c", f"./app --password {SECRET} --size 3"],
    ["bash", "-c", f"PASSWD={SECRET} ./app"],
    [f"--PRIVATE_KEY={SECRET}"],
)
WITHOUT = (
    ["-p", "8"],
    ["--tokens", "128"],
    ["--token-count", "5"],
    ["--passes=3"],
    ["--password-file", "secret.txt"],
    ["secret", "input.nml"],
    ["--keys", "a"],
    ["--export=ALL,OMP_NUM_THREADS=2"],
    ["http://host:8080/path"],
    ["-genv", "OMP_NUM_THREADS", "2"],
)


@pytest.mark.parametrize("arguments", WITH_SECRETS, ids=" ".join)
def test_a_value_that_looks_like_a_secret_is_masked(arguments):
    hidden = hide(["mpirun", *arguments, "last"])
    assert SECRET not in " ".join(hidden)
    assert MASK in " ".join(hidden)
    assert (hidden[0], hidden[-1], len(hidden)) == ("mpirun", "last", len(arguments) + 2)
    assert hide(hidden) == hidden


@pytest.mark.parametrize("arguments", WITHOUT, ids=" ".join)
def test_other_words_stay(arguments):
    assert list(hide(["mpirun", *arguments, "last"])) == ["mpirun", *arguments, "last"]


def test_masking_can_be_turned_off(monkeypatch):
    monkeypatch.setenv("MPIRIC_SHOW_SECRETS", "1")
    assert masked(["--password=x"]) == ("--password=x",)
    monkeypatch.setenv("MPIRIC_SHOW_SECRETS", "0")
    assert masked(["--password=x"]) == (f"--password={MASK}",)


def test_the_log_of_a_tune_and_its_recipe_have_no_secret(tmp_path):
    argv = ("mpirun", "-n", "2", "./app", f"--password={SECRET}")
    with Store(tmp_path).create("app", "job", argv) as log:
        assert SECRET not in (log.path / "events.jsonl").read_text()
    made_for = Fingerprint({}, {}, {})
    recipe = Recipe("app", Configuration(), made_for, None, argv, "2026-01-01T00:00:00+00:00")
    assert SECRET not in render_recipe(recipe)


def test_a_recipe_and_a_tune_are_found_again_with_another_secret():
    def job(secret: str):
        return parse_command(("mpirun", "-n", "2", "./app", f"--token={secret}", "in.nml"), "/w", {})

    class Nothing:
        def is_file(self, _):
            return False

    first, second = (_program(job(secret), Nothing()) for secret in ("one", "two"))
    assert not differences(Fingerprint({}, {}, first), Fingerprint({}, {}, second))
    assert "in.nml" in first["arguments"]
    assert job_identity(job("one")) == job_identity(job("two"))


def test_the_object_that_history_prints_has_no_secret_of_an_older_store(run_mpiric, tmp_path):
    directory = tmp_path / "20260101-000000-app-abc"
    directory.mkdir(parents=True)
    meta = {"event": "meta", "at": "2026-01-01T00:00:00+00:00", "job": "x", "program": "app"}
    meta["command"] = ["mpirun", "./app", f"--password={SECRET}"]
    (directory / "events.jsonl").write_text(json.dumps(meta) + "\n")
    for more in ((), ("--json",), ("--", "mpirun", "./app", "--password=other")):
        done = run_mpiric("history", "--store", str(tmp_path), *more, env={**os.environ, "COLUMNS": "250"})
        assert "./app" in done.stdout
        assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize(("mode", "expected"), [(0o644, 0o755), (0o640, 0o750), (0o600, 0o700)])
def test_a_pack_is_no_more_readable_than_a_file_in_it(tmp_path, mode, expected):
    contents = []
    for name, entry in (("program", 0o755), ("table", mode)):
        (tmp_path / name).write_text(SECRET)
        (tmp_path / name).chmod(entry)
        contents.append(Content(name, str(tmp_path / name), ContentKind.GIVEN))
    write_image(iter(contents), tmp_path / "x.pack", TAR, lambda *_: b"")
    assert (tmp_path / "x.pack").stat().st_mode & 0o777 == expected
