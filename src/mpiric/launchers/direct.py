"""No launcher: the program itself, or a script that starts a launcher; only the environment reaches it."""

from mpiric.launchers._dialect import Dialect, Grammar, Speller, dialects
from mpiric.model.job import Spelling
from mpiric.model.situation import Situation


def _inside(knob: str) -> Speller:
    """Return the speller by variables of the MPI library's launcher, which the script presumably calls."""

    def spell(situation: Situation, value: str) -> Spelling | None:
        launcher = dialects().get(situation.mpi.dialect)
        speller = launcher.in_scripts.get(knob) if launcher else None
        return speller(situation, value) if speller else None

    return spell


DIALECT = Dialect(
    name="direct",
    launcher_names=(),
    grammar=Grammar(),
    options=(),
    recognise_version=lambda _text: None,
    write={},
    spellings={knob: _inside(knob) for knob in ("binding", "mapping")},
)
