"""Files: layouts on the targets of a file system, and access through MPI-IO.

Open MPI loads its I/O components when a program first opens a file through MPI, and the list of libraries
then contains them. If a library has I/O built in, only a record shows its use.
"""

from mpiric.knobs import _layouts
from mpiric.knobs._declaration import knob
from mpiric.knobs._outputs import own_driver
from mpiric.model.knob import Choice, Skip, Try, Written
from mpiric.model.situation import Situation
from mpiric.model.storage import parse_hints, parse_layouts

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
    if _layouts.no_calls(situation):
        return Skip("no file is read or written through MPI")
    return _try_mpi_io(situation, ("native",))


KNOBS = (
    knob(
        "layout",
        Written(
            "stripes by directory or pattern of names: `4x1MiB`, `out/:allx4MiB;*.log:1x1MiB`, "
            "`1x1MiB@4MiB,allx4MiB`, `16x1MiB+over`, `4x1MiB+dirs2`",
            parse_layouts,
        ),
        _layouts.consider,
        settings=_layouts.settings,
    ),
    knob(
        "mpi-io",
        Written(
            "hints without blanks, for all files or by pattern of names: `cb_nodes=4,romio_cb_write=enable`, "
            "`*.h5:cb_nodes=4`",
            parse_hints,
        ),
        _layouts.consider_hints,
    ),
    knob("mpi-io-library", Choice(("ompio", "romio")), _consider_implementation),
    knob("mpi-io-driver", Choice(("native",)), _consider_driver),
)
