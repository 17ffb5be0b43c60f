"""The far-away proposals: Optuna's multivariate TPE, told of every run so far."""

from collections.abc import Sequence

from mpiric.tuning.search.space import Point, SearchSpace


def propose(
    space: SearchSpace, points: Sequence[Point], logs: Sequence[float], seed: int, count: int
) -> list[Point]:
    """Propose up to ``count`` different points that tree-structured Parzen estimators would try next.

    A fresh study is told all runs, so the answer depends on them and the seed alone.
    """
    import optuna  # slow to import, and needed by few searches

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    scales: dict[str, optuna.distributions.BaseDistribution] = {
        str(index): optuna.distributions.CategoricalDistribution(tuple(range(len(factor.values) + 1)))
        for index, factor in enumerate(space.factors)
    }
    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, n_startup_trials=0)
    study = optuna.create_study(sampler=sampler)
    for point, value in zip(points, logs, strict=True):
        parameters = {str(index): level for index, level in enumerate(point)}
        study.add_trial(optuna.trial.create_trial(params=parameters, distributions=scales, value=value))
    found: dict[Point, None] = {}
    for _ in range(count):
        trial = study.ask(scales)
        found[tuple(int(trial.params[str(index)]) for index in range(len(space.factors)))] = None
    return list(found)
