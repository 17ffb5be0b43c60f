"""Files: layouts on the targets of a file system, and access through MPI-IO.

Open MPI loads its I/O components when a program first opens a file through MPI, and the list of libraries
then contains them. If a library has I/O built in, only a record shows its use.
"""

from mpiric.knobs import _hints, _layouts
from mpiric.knobs._outputs import own_driver
from mpiric.model.file_rules import parse_hints, parse_layouts
from mpiric.model.knob import Choice, Knob, Skip, Try, Written
from mpiric.model.situation import Situation

_COMPONENTS = ("mca_io_", "mca_fcoll_", "mca_fs_")


def _does_mpi_io(situation: Situation) -> bool:
    calls = situation.observation.mpi_calls
    if calls and not any(name.startswith("mpi_file_") for name in calls):
        return False
    if signs := situation.mpi.capabilities.io_signs:
        return any(situation.in_force(name) for name in signs)
    return any(situation.observation.loads(stem) for stem in _COMPONENTS)


def _try_mpi_io(situation: Situation, values: tuple[str, ...]) -> Try:
    if any(system.is_network for system in situation.machine.file_systems):
        because = "files are on a network file system, whose speed depends on how ranks combine requests"
        return Try(values, 0.4, because)
    return Try(values, 0.2, "the ranks do MPI-IO")


def _consider_implementation(situation: Situation) -> Skip | Try:
    can = situation.mpi.capabilities
    if not can.io_implementations:
        return Skip("the library has one implementation of MPI-IO")
    if not _does_mpi_io(situation):
        return Skip("the ranks are not seen to do MPI-IO")
    current = situation.in_force(can.io_variable) or can.io_implementations[0]
    alternatives = tuple(name for name in can.io_implementations if not current.startswith(name))
    return _try_mpi_io(situation, alternatives)


def _consider_driver(situation: Situation) -> Skip | Try:
    if not situation.mpi.capabilities.drivers_switch:
        return Skip("the library chooses its driver by the file system")
    if not own_driver(situation):
        return Skip("the library has no other driver for the files of the job")
    if _hints.no_calls(situation):
        return Skip("no file is read or written through MPI")
    return _try_mpi_io(situation, ("native",))


KNOBS = (
    Knob(
        name="layout",
        sentence="On how many storage targets files are spread, and in stripes of which size",
        why="A file on one target is as fast as that; ranks that write to one stripe wait for its lock",
        source="Lustre Operations Manual, Managing File Layout (Striping) and Free Space; t3pio, XSEDE12, "
        "https://doi.org/10.1145/2335755.2335850",
        evidence="benchmarks/results/io.md: a file of all ranks over all targets, 5.4 to 8 times as fast",
        domain=Written(
            "stripes by directory or pattern of names: `4x1MiB`, `out/:allx4MiB;*.log:1x1MiB`, "
            "`1x1MiB@4MiB,allx4MiB`, `16x1MiB+over`, `4x1MiB+dirs2`",
            parse_layouts,
        ),
        consider=_layouts.consider,
        settings=_layouts.settings,
        touches=("io_bound", "mpi_io_bound", "unsafe_bound"),
        symptoms=("io_share", "file_share"),
    ),
    Knob(
        name="mpi-io",
        sentence="Hints of MPI-IO: which ranks access files for the others, and with which buffers",
        why="Too few ranks that write do not fill the servers, too many get in each other's way",
        source="ROMIO user's guide, Hints; Open MPI docs, 'MPI IO'; Cray's intro_mpi(3), MPICH_MPIIO_HINTS",
        evidence="benchmarks/results/io.md: in answers of 5.4 to 37.5 times",
        domain=Written(
            "hints without blanks, for all files or by pattern of names: `cb_nodes=4,romio_cb_write=enable`, "
            "`*.h5:cb_nodes=4`",
            parse_hints,
        ),
        consider=_hints.consider,
        touches=("mpi_io_bound", "unsafe_bound"),
        symptoms=("io_share", "file_share"),
    ),
    Knob(
        name="mpi-io-library",
        sentence="Open MPI's implementation of MPI-IO: its own (ompio) or ROMIO",
        why="They join requests and lock files differently; which is faster depends on the file system",
        source="Open MPI docs, 'MPI IO': io framework, ompio and romio components",
        evidence="https://github.com/UKFELs/Puffin/issues/87: HDF5 is written slowly by ompio, not by ROMIO",
        domain=Choice(("ompio", "romio")),
        consider=_consider_implementation,
        touches=("mpi_io_bound",),
        symptoms=("io_share", "file_share"),
    ),
    Knob(
        name="mpi-io-driver",
        sentence="Intel MPI's driver for the file system of the job, instead of the NFS driver",
        why="The NFS driver locks every access and does not use stripes",
        source="Intel MPI Library developer reference, 'I_MPI_FILESYSTEM'",
        evidence="benchmarks/results/io.md: Intel MPI, one file, in an answer of 37.5 times",
        domain=Choice(("native",)),
        consider=_consider_driver,
        touches=("mpi_io_bound", "unsafe_bound"),
        symptoms=("io_share", "file_share"),
    ),
)
