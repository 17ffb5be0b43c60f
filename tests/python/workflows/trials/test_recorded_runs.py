"""The command as it is, recorded: by scripted runs that leave a real record, a damaged one, or none."""

from pathlib import Path

import pytest
from tests.support.recorded_tune import PROGRAM, RecordedTune
from tests.support.replay_host import ReplayHost
from tests.support.scripted_runner import FAILS, INTERRUPTED, Behaviour

from mpiric.host.host import Elf
from mpiric.host.installation import native
from mpiric.lab import directory_runs
from mpiric.model.errors import ProgramFailedError
from mpiric.model.run import Outcome, Phase

SAMPLE = Path(__file__).parents[3] / "data/record/v2/record.mpiric"


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    """An installation whose runtime is a file that nobody loads."""
    library = tmp_path / "native/openmpi/libmpiric.so"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.setattr(native, "_ROOT", tmp_path / "native")
    return library


@pytest.fixture
def tune(tmp_path, runtime):
    recorded_tune = RecordedTune(tmp_path)
    recorded_tune.runner.record = SAMPLE
    return recorded_tune


def phases(tune, limit=4):
    return [trial.phase for trial in tune.trials[:limit]]


def records(tune):
    return sorted(path.name for path in (tune.place / "store").glob("*/records/*"))


def carries(launch, runtime):
    return any(str(runtime) in setting.value for setting in launch.settings)


def test_the_command_runs_untouched_first_and_then_recorded(tune, runtime):
    tuned = tune(max_runs=12)
    assert phases(tune, 3) == [Phase.OBSERVE, Phase.RECORD, Phase.RECORD]
    assert [carries(launch, runtime) for launch in tune.runner.launches[:3]] == [False, True, True]
    assert not any(carries(launch, runtime) for launch in tune.runner.launches[3:])
    assert records(tune) == ["original-2", "original-3"]
    assert not any("recorded" in note for note in tuned.notes)


def test_recorded_runs_are_compared_with_no_other(tune):
    tune.runner.nth = {2: Behaviour(5.0), 3: Behaviour(5.0)}
    tuned = tune(max_runs=4)
    assert tuned.original.median_s == pytest.approx(10.0, rel=0.01)


def test_a_recorded_run_that_fails_does_not_count_against_the_program(tune):
    tune.runner.nth = {2: FAILS}
    tuned = tune(max_runs=12)
    assert phases(tune, 4) == [Phase.OBSERVE, Phase.RECORD, Phase.OBSERVE, Phase.OBSERVE]
    assert [trial.outcome for trial in tune.trials[:4]].count(Outcome.FAILED) == 1
    assert any("ended by signal 11" in note and "not recorded" in note for note in tuned.notes)


def test_a_program_that_fails_again_untouched_is_the_one_that_failed(tune):
    tune.runner.nth = dict.fromkeys(range(2, 6), FAILS)  # recorded, and three times in a row untouched
    with pytest.raises(ProgramFailedError):
        tune()


def test_a_run_that_leaves_no_record_is_an_original_all_the_same(tune):
    tune.runner.record = None
    tuned = tune(max_runs=12)
    assert phases(tune, 3) == [Phase.OBSERVE, Phase.RECORD, Phase.OBSERVE]
    assert any("no record" in note for note in tuned.notes)


def test_without_the_runtime_a_note_says_why_and_every_run_is_untouched(tune, runtime):
    runtime.unlink()
    tuned = tune(max_runs=12)
    assert phases(tune, 3) == [Phase.OBSERVE] * 3
    assert any("not part of this installation" in note for note in tuned.notes)


def test_a_setuid_or_static_program_is_not_recorded(tune):
    tune.runner.ranks = tuple(
        type(rank)(**{**vars(rank), "libraries": (rank.libraries[0],)}) for rank in tune.runner.ranks
    )
    assert any("no C library" in note for note in tune(max_runs=12).notes)


def test_a_static_program_that_opens_libraries_cannot_be_preloaded(tune, monkeypatch):
    monkeypatch.setattr(ReplayHost, "elf", lambda _, path: Elf("", (), (), "") if path == PROGRAM else None)
    assert any("no C library" in note for note in tune(max_runs=12).notes)


def test_a_resumed_tune_records_anew_and_leaves_no_more_than_before(tune):
    tune.runner.nth = {6: INTERRUPTED}
    assert tune(max_runs=12).interrupted
    before = set(records(tune))
    tune(max_runs=12, resume=True)
    assert len(records(tune)) == len(before) == 2
    assert not before & set(records(tune))


def test_of_large_records_the_last_ones_are_kept(tmp_path, monkeypatch):
    for number in range(3):
        directory = tmp_path / f"original-{number}"
        directory.mkdir()
        (directory / "record.mpiric").write_bytes(bytes(1000))
    monkeypatch.setattr(directory_runs, "_KEPT_BYTES", 2500)
    directory_runs.keep_small(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_the_answer_is_recorded_once_as_the_command_was(tune, runtime):
    tune.runner.settings = {"binding": Behaviour(0.8)}
    tuned = tune(max_runs=60)
    (after,) = [trial for trial in tune.trials if trial.phase is Phase.RECORD and trial.configuration]
    assert after.configuration == tuned.evidence.configuration
    assert sorted(name.split("-")[0] for name in records(tune)) == ["answer", "original", "original"]
    assert tuned.times is not None
    assert tuned.times[0] != tuned.times[1]  # both use one record, in runs of different length
    assert tuned.changes[0].noticed == "; ".join(symptom.noticed for symptom in tuned.changes[0].afterwards)


def test_an_answer_whose_recorded_run_fails_is_an_answer_all_the_same(tune):
    tune.runner.settings = {"binding": Behaviour(0.8)}
    undisturbed = tune(max_runs=60)
    last = len(tune.runner.launches)
    (tune.place / "again").mkdir()
    again = RecordedTune(tune.place / "again")
    again.runner.record, again.runner.settings, again.runner.nth = SAMPLE, tune.runner.settings, {last: FAILS}
    tuned = again(max_runs=60)
    assert tuned.evidence.configuration == undisturbed.evidence.configuration
    assert tuned.times is None
    assert any("it was not recorded" in note for note in tuned.notes)
