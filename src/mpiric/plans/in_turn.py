"""Runs of configurations in turn, for comparison with runs of another day."""

from collections.abc import Iterable

from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.run import Outcome, Phase, Plan, Run


def in_turn(configurations: Iterable[Configuration], rounds: int) -> Plan[dict[Configuration, list[float]]]:
    """Run each configuration once per round, so that drift affects all alike; return their objectives."""
    objectives: dict[Configuration, list[float]] = {configuration: [] for configuration in configurations}
    for number in range(rounds):
        for configuration, values in objectives.items():
            trial = yield Run(configuration, Phase.HISTORY, pair=number)
            if trial.outcome is not Outcome.OK or trial.objective is None:
                raise MpiricError(
                    f"a run failed: {trial.configuration}: {trial.reason}",
                    hint="run the command by hand, and read its output",
                )
            values.append(trial.objective)
    return objectives
