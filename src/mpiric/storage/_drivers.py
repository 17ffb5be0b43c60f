"""Which driver of an MPI library's MPI-IO serves a file system."""

from collections.abc import Collection

from mpiric.storage._storage import storages

ANY = "ufs"  # ROMIO's and OMPIO's driver for whatever answers to POSIX calls


def served_by(kind: str, drivers: Collection[str]) -> str | None:
    """The driver made for a file system of this kind, else the general one; None when neither is there.

    The general one knows no layouts: it accepts `striping_factor` and does nothing with it.
    """
    own = storages()[kind].drivers if kind in storages() else ()
    return next((name for name in (*own, ANY) if name in drivers), None)
