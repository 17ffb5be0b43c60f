"""Drivers of MPI-IO implementations that serve a file system."""

from collections.abc import Collection

from mpiric.storage._storage import storages

ANY = "ufs"  # driver of ROMIO and OMPIO for any POSIX file system


def served_by(kind: str, drivers: Collection[str]) -> str | None:
    """Return the driver for a kind of file system, else the general one; None if neither is available.

    The general driver does not support layouts: it accepts `striping_factor` and ignores it.
    """
    special = storages()[kind].drivers if kind in storages() else ()
    return next((name for name in (*special, ANY) if name in drivers), None)
