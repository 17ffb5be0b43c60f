"""The baseline for the comparison of a later day."""

from datetime import datetime, timezone
from pathlib import Path

from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Trial
from mpiric.tuning.store import Store
from mpiric.workflows.history.baseline import AgainstRequest, baseline_of

LARGER, ANSWER = Configuration.of({"binding": "core", "malloc": "x"}), Configuration.of({"binding": "core"})
WITHOUT = Configuration.of({"malloc": "x"})


def tuned(store: Path, result: dict[str, object]) -> None:
    """A tune whose last run is of an answer without one of its settings."""
    with Store(store).create("app", "job", ("./app",), objective="wall") as log:
        runs = ((Configuration(), 0, 3.0), (ANSWER, 0, 2.0), (LARGER, 0, 2.1), (WITHOUT, -1, 2.9))
        for configuration, replicate, seconds in runs:
            trial = Trial(
                configuration, Phase.PROOF, Outcome.OK, seconds, seconds, pair=0, replicate=replicate
            )
            log.append_trial(trial)
        log.append("finished", {"result": {"recipe": "x.toml", **result}})


def baseline(store: Path) -> Configuration:
    today = f"{datetime.now(timezone.utc):%Y-%m-%d}"
    return baseline_of(AgainstRequest(("./app",), ".", {}, today, store=store), "job").configuration


def test_the_result_of_a_tune_names_the_proved_settings(tmp_path: Path) -> None:
    tuned(tmp_path, {"configuration": ANSWER.as_dict()})
    assert baseline(tmp_path) == ANSWER


def test_an_older_tune_is_described_by_its_last_round(tmp_path: Path) -> None:
    tuned(tmp_path, {})
    assert baseline(tmp_path) == WITHOUT
