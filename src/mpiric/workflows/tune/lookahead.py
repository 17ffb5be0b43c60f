"""A round of runs planned ahead: the search and the proof go on as if every run they ask for did nothing new.

What was measured is answered from the record. For any other run the answer is a belief (that the settings not
measured do nothing), and the run is put down to be made. When as many are put down as a round takes, planning
ends; once they are made, search and proof begin anew with what is known then. Source: the "constant liar" of
Ginsbourger, Le Riche and Carraro 2010 (Kriging is well-suited to parallelize optimization).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from statistics import median

from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.run import Run
from mpiric.model.situation import Situation
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.tuning.blocks import levelled


class RoundFull(Exception):  # noqa: N818 - no error: planning has what it came for
    """Ends planning when a round has as many runs as it takes; never reaches the user."""


class Lookahead:
    """Answers the runs of a plan as a lab does; runs nothing."""

    def __init__(self, made: Sequence[Trial], capacity: int, seed: int = 0) -> None:
        self.known = levelled(made)
        self.planned: list[Run] = []
        self.passed_s = 0.0  # that the runs put down will take
        self._count = len(made)
        self._capacity = capacity
        self._random = Random(f"mpiric round {seed} {len(made)}")  # noqa: S311
        self._objectives: dict[Configuration, list[float]] = defaultdict(list)
        self._walls: dict[Configuration, list[float]] = defaultdict(list)
        for trial in self.known:
            if trial.outcome is Outcome.OK and trial.objective is not None:
                self._objectives[trial.configuration].append(trial.objective)
                self._walls[trial.configuration].append(trial.wall_s)

    def clock(self) -> float:
        """Seconds, of those that the runs put down will take."""
        return self.passed_s

    def predict(self, run: Run, situation: Situation) -> Trial:
        """Put a run down and return what is believed of it. Raises RoundFull."""
        assert run.stop_at is None, "what a run is compared with is not known before it is made"
        trial = Trial(
            run.configuration, run.phase, Outcome.REFUSED, 0.0, pair=run.pair, replicate=run.replicate
        )
        try:
            render(run.configuration, situation)
        except MpiricError as error:
            return replace(trial, reason=error.message)
        if len(self.planned) >= self._capacity and (run.pair < 0 or run.pair != self.planned[-1].pair):
            raise RoundFull
        self._count += 1
        self.planned.append(run)
        like = self._like(run.configuration)
        wall_s, values = median(self._walls[like]), self._objectives[like]
        self.passed_s += wall_s
        # A proof's length follows from how much its runs scatter.
        objective = self._random.choice(values) if run.phase is Phase.PROOF else median(values)
        return replace(trial, outcome=Outcome.OK, wall_s=wall_s, objective=objective, number=self._count)

    def _like(self, configuration: Configuration) -> Configuration:
        """The configuration itself or the largest measured part of it, of several the fastest."""
        wanted = set(configuration.items)
        parts = [known for known in self._objectives if wanted.issuperset(known.items)]
        return min(parts, key=lambda known: (-len(known.items), median(self._objectives[known])))
