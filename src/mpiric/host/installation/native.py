"""Where the native parts are: built by `make setup`, or while the package was built from a checkout."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mpiric.model.errors import NotFoundError
from mpiric.model.mpi_library import AbiFamily

_ROOT = Path(__file__).resolve().parents[2] / "_native"
_NO_FAMILY = "any"


def native_part(name: str, family: AbiFamily | None = None) -> str:
    """Absolute path of a native program or library: ``probe-mpi`` of a family, ``probe-stream`` of none."""
    path = _ROOT / (family.value if family else _NO_FAMILY) / name
    if not path.is_file():
        whose = f" for the {family.value} ABI" if family else ""
        raise NotFoundError(
            f"{name}{whose} is not part of this installation: no compiler was there when it was built",
            hint="run 'make setup' in a checkout, or install mpiric again from one where gcc and g++ are",
        )
    return str(path)


@contextlib.contextmanager
def library_under_name(library: str, soname: str, inside: str | None = None) -> Iterator[str]:
    """A directory for LD_LIBRARY_PATH where a library answers to the soname that native parts ask for.

    Debian's MPICH is ``libmpich.so.12`` and otherwise the same ABI as ``libmpi.so.12``. ``inside`` is a
    directory that other hosts see too; without it the directory is among the temporary ones.
    """
    with tempfile.TemporaryDirectory(prefix=".mpiric-" if inside else "mpiric-", dir=inside) as directory:
        (Path(directory) / soname).symlink_to(library)
        yield directory
