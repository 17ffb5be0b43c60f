from pathlib import Path

from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Trial
from mpiric.tuning.store import Store
from mpiric.workflows.tune.array import spent_s


def test_a_benchmark_of_the_collectives_counts_against_the_budget_as_runs_do(tmp_path: Path) -> None:
    with Store(tmp_path).create("app", "job", ("mpiexec", "app")) as record:
        record.append_trial(Trial(Configuration(), Phase.SEARCH, Outcome.OK, 2.0))
        record.append("benchmark", {"refused": "no time"})
        record.append("benchmark", {"calls": 1, "elapsed_s": 12.5})
        assert spent_s(record) == 14.5
