"""Nodes that become slow during a tune.

After a run of the original that is slower than its earlier runs, the nodes are measured and compared with one
another, and slow ones are named. Search and proof need no correction: the model of the search follows the
speed of the machine at the runs of the original, and the proof compares runs that follow one another. The
results are logged, so that a resumed tune does not measure again.
"""

import logging
from collections.abc import Callable

from mpiric.host.host import Host
from mpiric.model.errors import MpiricError
from mpiric.model.run import Trial
from mpiric.schedulers import batch_schedulers
from mpiric.workflows.tune.state import TuneState

LOG = logging.getLogger(__package__)
_EVENT = "nodes measured"
_MOST = 3  # measurements in a tune, of about 15 s each


def watch_nodes(state: TuneState, host: Host) -> Callable[[Trial], None] | None:
    """Return the action after a slow run of the original; None for one node, or for jobs of an array."""
    if state.situation.nodes < 2 or state.request.spread or state.is_planned:
        return None
    events = state.log.read().named(_EVENT)
    measured = [event.get("after") for event in events]
    for event in events:
        for sentence in event.get("slow", ()):
            state.note(str(sentence))
    last = max((trial.number for trial in state.earlier), default=0)

    def measure(trial: Trial) -> None:
        if trial.number <= last or trial.number in measured or len(measured) >= _MOST:
            return
        measured.append(trial.number)
        state.narrator.say("the original has become slower: measuring the nodes for about 15 s")
        slow = _slow_nodes(state, host, trial)
        state.log.append(_EVENT, {"after": trial.number, "slow": slow})
        for sentence in slow:
            state.narrator.say(sentence)
            state.note(sentence)

    return measure


def _slow_nodes(state: TuneState, host: Host, trial: Trial) -> list[str]:
    """Measure the nodes, and return a sentence for each slow one."""
    from mpiric.workflows.fabric.nodes import examine_job_nodes  # few tunes need it

    try:
        report = examine_job_nodes(state.situation, host)
    except MpiricError as error:
        LOG.info("the nodes cannot be measured: %s", error.message)
        return []
    if report is None:
        return []
    scheduler = batch_schedulers().get(report.scheduler)
    sentences = []
    for name in report.slow:
        worst = max((o for o in report.outliers if o.host == name), key=lambda outlier: abs(outlier.change))
        exclusion = scheduler.exclusion.format(name) if scheduler and scheduler.exclusion else ""
        sentences.append(
            f"{name} has become slow before run {trial.number} ({worst}); gains are relative to the original "
            f"on the same nodes{f'; leave the node out with {exclusion}' if exclusion else ''}"
        )
    return sentences
