"""Tunes with several MPI libraries, and tunes that also try other libraries."""

from tests.recorded.case import Case, tune
from tests.recorded.program import PATH, Effect

FASTER = {"effects": {"binding": Effect(0.8)}}
OTHER_PATH = "/opt/lmp/bin/lmp"  # the recorded machine knows nothing of it
MPICH = f"mpiexec.mpich -n 2 {OTHER_PATH}"
OF_MPICH = {"library": "mpich", "path": OTHER_PATH}
PREFIXES = "/home/user/.local/share/mpiric/mpi"

CASES = (
    Case("mpich", [tune("--max-runs 40", "binding,malloc", MPICH)], {**FASTER, **OF_MPICH}),
    Case(
        "transport",
        [tune("--max-runs 40", "transport", MPICH)],
        {**OF_MPICH, "effects": {"transport": Effect(0.9)}},
    ),
    Case(
        "protocol",
        [tune("--max-runs 60", "protocol")],
        {"effects": {"eager-limit": Effect(0.9), "single-copy": Effect(0.95)}},
    ),
    Case(
        "intel-mpi",
        [
            tune(
                "--max-runs 40", "binding", f"{PREFIXES}/intelmpi-2021.19/bin/mpiexec.hydra -n 2 {OTHER_PATH}"
            )
        ],
        {**FASTER, **OF_MPICH},
    ),
    Case(
        "openmpi-5",
        [tune("--max-runs 40", "binding", f"{PREFIXES}/openmpi-5.0.11/bin/mpirun -n 2 {PATH}")],
        FASTER,
    ),
    Case(
        "other-library",
        [tune("--max-runs 40", "mpi", MPICH)],
        {**OF_MPICH, "effects": {"mpi": Effect(0.85)}},
    ),
    Case("every-knob", [tune("--max-runs 24 --seed 2", "")], {"effects": {"binding": Effect(0.9)}}),
    Case("mpi-option", [tune("--mpi mpich-5.0.2 --max-runs 30", "binding", MPICH)], {**FASTER, **OF_MPICH}),
    Case("unknown-library", [tune("--mpi mpich-9", "binding", MPICH)]),
)
