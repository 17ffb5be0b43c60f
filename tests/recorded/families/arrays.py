"""Tunes in the jobs of a scheduler: one job, and arrays round after round."""

from tests.recorded.case import OPENMPI, Case
from tests.recorded.program import Effect
from tests.recorded.slurm import with_slurm

FASTER = {"effects": {"binding": Effect(0.8)}}
ARRAY = f"tune --submit --array 3 --only binding --try-all --budget 30m -- {OPENMPI}"

PARAMETER = f"tune --submit --array 3 --only param --param NB=32,64 --budget 30m -- {OPENMPI} {{NB}}"

CASES = (
    Case("array", [with_slurm(), ARRAY], FASTER),
    Case("array-param", [with_slurm(), PARAMETER], {"effects": {"{NB}=64": Effect(0.8)}}),
)
