"""MPI-IO: only where the job is seen to use it.

Open MPI loads its I/O components when a program first opens a file through MPI, and then they are in the
list of libraries. A library with I/O built in shows nothing: its knobs wait until the user has set one of
its I/O variables. Hints that live in the program's MPI_Info or in a file (ROMIO_HINTS) are out of reach.
"""

from mpiric.knobs._declare import no, yes
from mpiric.knobs._reading import in_force
from mpiric.model.knob import Applicability, Choice, Knob, Promise
from mpiric.model.situation import Situation

_COMPONENTS = ("mca_io_", "mca_fcoll_", "mca_fs_")


def _does_mpi_io(situation: Situation) -> bool:
    calls = situation.observation.mpi_calls
    if calls and not any(name.startswith("mpi_file_") for name in calls):
        return False
    if signs := situation.mpi.capabilities.io_signs:
        return any(in_force(situation, name) for name in signs)
    return any(situation.observation.loads(stem) for stem in _COMPONENTS)


def _implementation_applies(situation: Situation) -> Applicability:
    if not situation.mpi.capabilities.io_implementations:
        return no("the library has one implementation of MPI-IO")
    if not _does_mpi_io(situation):
        return no("the ranks are not seen to do MPI-IO")
    return yes("the ranks load an MPI-IO component")


def _implementation_values(situation: Situation) -> tuple[str, ...]:
    can = situation.mpi.capabilities
    current = in_force(situation, can.io_variable) or "".join(can.io_implementations[:1])
    return tuple(name for name in can.io_implementations if not current.startswith(name))


def _collective_applies(situation: Situation) -> Applicability:
    if not situation.mpi.capabilities.collective_io:
        return no("the library takes its hints from the program or a file only")
    if not _does_mpi_io(situation):
        return no("the ranks are not seen to do MPI-IO")
    return yes("the ranks are seen to do MPI-IO")


def _promise(situation: Situation) -> Promise:
    shared = any(system.is_network for system in situation.machine.file_systems)
    if shared:
        return Promise(0.4, "files lie on a network file system: how ranks join their requests decides")
    return Promise(0.2, "the ranks do MPI-IO")


KNOBS = (
    Knob(
        name="mpi-io",
        sentence="Open MPI's implementation of MPI-IO: its own (ompio) or ROMIO",
        why="They join requests and lock files differently; which is faster depends on the file system",
        source="Open MPI docs, 'MPI IO': io framework, ompio and romio components",
        domain=Choice(("ompio", "romio")),
        values=_implementation_values,
        applies=_implementation_applies,
        promise=_promise,
        ceiling=("mpi_io_bound",),
        symptoms=("io_share", "file_share"),
    ),
    Knob(
        name="collective-io",
        sentence="How collective reads and writes of a file are joined",
        why="Few large requests by some ranks suit parallel file systems; a local disk needs none of it",
        source="Open MPI docs, fcoll framework; MPICH_MPIIO_HINTS in Cray's intro_mpi(3), ROMIO user's guide",
        domain=Choice(("vulcan", "dynamic_gen2", "individual", "buffered")),
        values=lambda situation: situation.mpi.capabilities.collective_io,
        applies=_collective_applies,
        promise=_promise,
        moves_with=("mpi-io",),
        ceiling=("mpi_io_bound",),
        symptoms=("io_share", "file_share"),
    ),
)
