"""Registry of the dialects, and recognition of launchers by their banner."""

from functools import cache
from importlib import import_module

from mpiric.host.packaged import modules_of
from mpiric.launchers._dialect import Dialect


@cache
def dialects() -> dict[str, Dialect]:
    """Return the dialects by name, in alphabetical order."""
    modules = modules_of(import_module("mpiric.launchers"))
    return {name: module.DIALECT for name, module in modules.items() if hasattr(module, "DIALECT")}


def recognise_launcher(banner: str) -> tuple[str, str] | None:
    """Return dialect and version from the output of ``--version``; None if no dialect recognises it."""
    for name, dialect in dialects().items():
        version = dialect.recognise_version(banner)
        if version is not None:
            return name, version
    return None
