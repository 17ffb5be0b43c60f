"""The programs of `benchmarks.field`: origin, input and launch line of each, and an expert's command.

Debian's packages are listed in `packages.txt`, sources in `sources.py`, input files in `inputs/`.
``@STEPS@`` in arguments, inputs and preparations is the number of steps; ``@PROGRAM@`` in arguments is the
program that was built from source.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

INPUTS = Path(__file__).parent / "inputs"
PACKAGES = Path(__file__).parent / "packages.txt"
_PYTHON = "/usr/bin/python3"  # Debian's, whose modules are linked to Debian's Open MPI


@dataclass(frozen=True)
class Expert:
    """A command written by hand: variables that are set for the launch line, and how they were chosen."""

    environment: Mapping[str, str]
    reason: str
    how: str


# One node: nothing but shared memory is opened. Found with `mpirun --mca pml_base_verbose 10` (UCX and
# libfabric are probed, then not used); measured by runs in alternation of a program that does nothing.
_LIGHT_4 = Expert(
    {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader"},
    "MPI_Init and MPI_Finalize open no network component",
    "hello world in alternation: MPI_Init 0.44 s → 0.19 s",
)
_LIGHT_5 = Expert(
    {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,sm"},
    "MPI_Init opens no network component: libfabric alone takes more than a second",
    "hello world in alternation: MPI_Init 1.8 s → 0.14 s; `mtl=^ofi btl=^ofi` 0.18 s",
)
_LIGHT_MPICH = Expert(
    {"MPIR_CVAR_CH4_NETMOD": "ucx", "UCX_TLS": "self,sm"},
    "UCX opens shared memory alone",
    "hello world in alternation; the two libraries below MPICH are probed otherwise",
)
EXPERTS = {"openmpi-4": _LIGHT_4, "openmpi-5": _LIGHT_5, "mpich-5": _LIGHT_MPICH, "mpich-4": _LIGHT_MPICH}


@dataclass(frozen=True)
class FieldProgram:
    """Real program with an input, under an MPI library."""

    name: str
    origin: str  # "Debian: PACKAGE" or "source: NAME"
    arguments: str  # program and arguments, after the launcher
    answer: str  # regular expression of the number that it computes, in its output; the last match counts
    steps: tuple[int, int] = (0, 0)  # steps of the tuned run and of the confirming runs
    inputs: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()  # shell commands, run in the directory once
    library: str = "openmpi-4"
    ranks: int = 2
    options: str = ""  # options for the launcher
    environment: Mapping[str, str] = field(default_factory=lambda: {"OMP_NUM_THREADS": "1"})
    tolerance: float = 1e-6  # relative; of the answer between two right runs
    expert: Expert | None = None  # None: the usual one of the library

    @property
    def is_long(self) -> bool:
        """Return whether the tuned run has more steps than the confirming runs."""
        return self.steps[0] > self.steps[1]

    @property
    def by_hand(self) -> Expert:
        """The expert's command."""
        return self.expert or EXPERTS[self.library]

    @property
    def source(self) -> str:
        """Name in `SOURCES` of a program that is built; "" for one of Debian's."""
        kind, _, name = self.origin.partition(": ")
        return name if kind == "source" else ""


_FOAM = {"OMP_NUM_THREADS": "1", "WM_PROJECT_DIR": "/usr/share/openfoam"}
_CAVITY = "/usr/share/doc/openfoam-examples/examples/incompressible/icoFoam/cavity/cavity"
_SCALAPACK = "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests"
_TWO_HALVES = (
    "FoamFile { version 2.0; format ascii; class dictionary; object decomposeParDict; } "
    "numberOfSubdomains 2; method simple; coeffs { n (2 1 1); }"
)
_PREPARE_GROMACS = (
    "gmx_mpi solvate -cs spc216.gro -box 2.5 2.5 2.5 -o conf.gro -p topol.top",
    "gmx_mpi grompp -f md.mdp -c conf.gro -p topol.top -o run.tpr -maxwarn 3",
)
_PREPARE_FOAM = (
    f"cp -r {_CAVITY}/. . && sed -i 's/(20 20 1)/(60 60 1)/' system/blockMeshDict",
    "sed -i 's/^endTime .*/endTime @STEPS@e-3;/; s/^deltaT .*/deltaT 0.001;/; "
    "s/^writeInterval .*/writeInterval 10000000;/' system/controlDict",
    f"echo '{_TWO_HALVES}' > system/decomposeParDict",
    "blockMesh && decomposePar",
)
_PREPARE_CP2K = ("ln -sf /usr/share/cp2k/BASIS_SET /usr/share/cp2k/GTH_POTENTIALS .",)
_PREPARE_HPCC = (
    "sed -e '6s/^[0-9]*/500/' -e '11s/^[0-9]*/1/' -e '12s/^[0-9]*/2/' "
    "/usr/share/doc/hpcc/examples/_hpccinf.txt > hpccinf.txt",
)
_GMX = "gmx_mpi mdrun -s run.tpr -ntomp 1 -nb cpu"
_MINIAMR = "@PROGRAM@ --npx 2 --npy 1 --npz 1 --init_x 1 --init_y 2 --init_z 2 --num_refine 2 --num_tsteps"

PROGRAMS = (
    FieldProgram("Quantum ESPRESSO", "Debian: quantum-espresso", "pw.x -in si.in",
                 r"! +total energy += +(\S+)",
                 inputs=("si.in",)),
    FieldProgram("GROMACS", "Debian: gromacs", _GMX, r"Potential +(\S+)", (500, 500), ("md.mdp", "topol.top"),
                 _PREPARE_GROMACS),
    FieldProgram("GROMACS, an hour", "Debian: gromacs", f"{_GMX} -dlb no -notunepme -reprod",
                 r"Potential +(\S+)", (2_000_000, 1000), ("md.mdp", "topol.top"), _PREPARE_GROMACS),
    FieldProgram("OpenFOAM", "Debian: openfoam", "icoFoam -parallel", r"cumulative = (\S+)", (200, 200),
                 prepare=_PREPARE_FOAM, environment=_FOAM, tolerance=1.0),
    FieldProgram("OpenFOAM, an hour", "Debian: openfoam", "icoFoam -parallel", r"cumulative = (\S+)",
                 (1_000_000, 1000), prepare=_PREPARE_FOAM, environment=_FOAM, tolerance=1.0),
    FieldProgram("ABINIT", "Debian: abinit", "abinit h2.abi", r"etotal1? +(\S+)", inputs=("h2.abi",)),
    FieldProgram("CP2K", "Debian: cp2k", "cp2k.popt water.inp", r"Total FORCE_EVAL.*: +(\S+)", (2, 2),
                 ("water.inp",), _PREPARE_CP2K),
    FieldProgram("CP2K, an hour", "Debian: cp2k", "cp2k.popt water.inp", r"Total FORCE_EVAL.*: +(\S+)",
                 (4000, 5), ("water.inp",), _PREPARE_CP2K),
    FieldProgram("Meep", "Debian: meep-openmpi", "meep waveguide.ctl", r"field:, (\S+)", (150, 150),
                 ("waveguide.ctl",)),
    FieldProgram("Meep, an hour", "Debian: meep-openmpi", "meep waveguide.ctl", r"field:, (\S+)",
                 (200_000, 300), ("waveguide.ctl",)),
    FieldProgram("Meep in Python", "Debian: python3-meep-openmpi", f"{_PYTHON} ring.py",
                 r"field: \(?(\S+?)[+-]\S*j", inputs=("ring.py",)),
    FieldProgram("petsc4py", "Debian: python3-petsc4py", f"{_PYTHON} poisson_petsc.py", r"norm (\S+)",
                 inputs=("poisson_petsc.py",)),
    FieldProgram("DOLFINx", "Debian: python3-dolfinx", f"{_PYTHON} poisson_dolfinx.py", r"norm (\S+)",
                 inputs=("poisson_dolfinx.py",)),
    FieldProgram("mpi4py-fft", "Debian: python3-mpi4py-fft", f"{_PYTHON} fft.py", r"energy (\S+)",
                 inputs=("fft.py",)),
    FieldProgram("h5py", "Debian: python3-h5py-mpi", f"{_PYTHON} h5.py", r"sum (\S+)", inputs=("h5.py",)),
    FieldProgram("mpi4py, an hour", "Debian: python3-mpi4py", f"{_PYTHON} jacobi.py @STEPS@", r"change (\S+)",
                 (4_000_000, 1000), ("jacobi.py",)),
    FieldProgram("LAMMPS", "Debian: lammps", "lmp -in melt.in", r"^ +\d+ +(\S+)", (200, 200), ("melt.in",)),
    FieldProgram("HPCC", "Debian: hpcc", "hpcc", r"", prepare=_PREPARE_HPCC),
    FieldProgram("mpgrafic", "Debian: mpgrafic", "sh -c 'mpgrafic < Input.stdin'", r"",
                 prepare=("sed '1s/.*/64/' /usr/share/doc/mpgrafic/examples/Input.stdin > Input.stdin",)),
    FieldProgram("MUMPS", "Debian: mumps-test", "sh -c '/usr/lib/mumps/dsimpletest < input'",
                 r"Solution is +(\S+)", prepare=("cp /usr/lib/mumps/input_simpletest_real input",)),
    FieldProgram("ScaLAPACK", "Debian: scalapack-mpi-test", f"{_SCALAPACK}/xdlu", r"",
                 prepare=(f"cp {_SCALAPACK}/LU.dat .",)),
    FieldProgram("CloverLeaf", "source: CloverLeaf", "@PROGRAM@", r"", (200, 200), ("clover.in",)),
    FieldProgram("CloverLeaf, an hour", "source: CloverLeaf", "@PROGRAM@", r"", (200_000, 400),
                 ("clover.in",)),
    FieldProgram("miniFE", "source: miniFE", "@PROGRAM@ -nx 40 -ny 40 -nz 40", r"Final Resid Norm: (\S+)"),
    FieldProgram("miniAMR", "source: miniAMR", f"{_MINIAMR} 20", r""),
    FieldProgram("Graph500", "source: Graph500", "@PROGRAM@ 12", r""),
    FieldProgram("LULESH", "source: LULESH", "@PROGRAM@ -s 12 -i @STEPS@", r"Final Origin Energy += +(\S+)",
                 (60, 60), ranks=1),
    FieldProgram("HPL", "source: HPL", "@PROGRAM@", r"=\s+(\S+) \.+ PASSED", inputs=("HPL.dat",),
                 tolerance=1.0),
    FieldProgram("OSU allreduce", "source: OSU allreduce", "@PROGRAM@ -m 65536 -i 20000", r""),
    FieldProgram("AMG", "source: AMG", "@PROGRAM@ -P 2 1 1 -n 24 24 24",
                 r"Final Relative Residual Norm = (\S+)"),
    FieldProgram("miniMD", "source: miniMD", "@PROGRAM@ -i in.lj.miniMD -s 16 -n @STEPS@", r"", (100, 100),
                 ("in.lj.miniMD",)),
    FieldProgram("heat in hybrid form", "source: heat-hybrid", "@PROGRAM@ 600 600 @STEPS@",
                 r"Average temperature: +(\S+)", (300, 300)),
    FieldProgram("miniFE, Open MPI 5", "source: miniFE", "@PROGRAM@ -nx 40 -ny 40 -nz 40",
                 r"Final Resid Norm: (\S+)", library="openmpi-5"),
    FieldProgram("miniAMR, Open MPI 5", "source: miniAMR", f"{_MINIAMR} 20", r"", library="openmpi-5"),
    FieldProgram("OSU allreduce, Open MPI 5", "source: OSU allreduce", "@PROGRAM@ -m 65536 -i 20000", r"",
                 library="openmpi-5"),
    FieldProgram("miniFE, MPICH 5", "source: miniFE", "@PROGRAM@ -nx 40 -ny 40 -nz 40",
                 r"Final Resid Norm: (\S+)", library="mpich-5"),
    FieldProgram("miniAMR, MPICH 5", "source: miniAMR", f"{_MINIAMR} 20", r"", library="mpich-5"),
    FieldProgram("LULESH, MPICH 5", "source: LULESH", "@PROGRAM@ -s 12 -i @STEPS@",
                 r"Final Origin Energy += +(\S+)", (60, 60), library="mpich-5", ranks=1),
    FieldProgram("miniFE, MPICH 4", "source: miniFE", "@PROGRAM@ -nx 40 -ny 40 -nz 40",
                 r"Final Resid Norm: (\S+)", library="mpich-4"),
    FieldProgram("miniAMR, MPICH 4", "source: miniAMR", f"{_MINIAMR} 20", r"", library="mpich-4"),
    FieldProgram("CloverLeaf, MPICH 4", "source: CloverLeaf", "@PROGRAM@", r"", (200, 200), ("clover.in",),
                 library="mpich-4"),
    FieldProgram("HPL, MPICH 4", "source: HPL", "@PROGRAM@", r"=\s+(\S+) \.+ PASSED", inputs=("HPL.dat",),
                 library="mpich-4", tolerance=1.0),
    FieldProgram("OSU allreduce, MPICH 4", "source: OSU allreduce", "@PROGRAM@ -m 65536 -i 20000", r"",
                 library="mpich-4"),
)  # fmt: skip
