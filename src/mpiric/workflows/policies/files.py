"""Collective policies as files: reading, checks, and placement for rank 0."""

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from mpiric.host.facts.time_slices import tick_s
from mpiric.host.files import is_directory, is_file, read_bounded
from mpiric.host.owned_files import write_text
from mpiric.host.user_directories import named_path
from mpiric.model.errors import MismatchError, NoRoomError, writing
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.policy import LearnedPolicy, Policy
from mpiric.tuning.policy.disturbed import undisturbed
from mpiric.tuning.policy.flat import parse_flat, render_flat
from mpiric.tuning.policy.learned import parse_learned, read_learned
from mpiric.tuning.policy.merge import condense, first_decided
from mpiric.tuning.store.store import default_store, make_directory

SITE = "/etc/mpiric/policies"  # written by `mpiric sweep --site` for all users
_MOST_BYTES = 64 << 20
_HEAD_BYTES = 4096
_MAKER = "`mpiric run --policy-out FILE` and `mpiric sweep` write policies"


def read_policy(path: Path) -> Policy:
    """Return a policy of either format: flat text, or JSON of a learned one."""
    data = read_bounded(path, "policy", _MOST_BYTES, _MAKER)
    if data.lstrip()[:1] == b"{":
        return condense(parse_learned(data, str(path)))
    return parse_flat(data, str(path))


def is_learned_policy(path: Path) -> bool:
    """Return whether a file looks like the JSON of a learned policy (it may be damaged)."""
    return b'"mpiric_policy"' in _head(path)


def is_flat_policy(path: Path) -> bool:
    """Return whether a file looks like a policy for the runtime."""
    return _head(path).startswith(b"mpiric-policy ")


def _head(path: Path) -> bytes:
    try:
        if not is_file(path):  # a FIFO would block
            return b""
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError:
        return b""


def check_mpi(policy: Policy, mpi: MpiLibrary, where: str) -> None:
    """Raise MismatchError if the policy's names have another meaning in this library."""
    major = policy.version.partition(".")[0]
    if policy.implementation != mpi.implementation or major != mpi.version.partition(".")[0]:
        raise MismatchError(
            f"the policy {where} is for {policy.implementation} {policy.version}, and the program runs under "
            f"{mpi.label}",
            hint="make one for it: mpiric run --policy-out FILE -- CMD, or mpiric sweep",
        )


def check_writable(path: Path) -> None:
    """Raise NoRoomError before a long run instead of at its end, if the ranks could not write."""
    directory = path.parent
    if not is_directory(directory):
        raise NoRoomError(
            f"cannot write {path}: the directory {directory} does not exist", hint="name another file"
        )
    if is_directory(path) or not os.access(directory, os.W_OK | os.X_OK):
        raise NoRoomError(f"cannot write {path}", hint="name another file")


def learned_file(directory: Path) -> Path:
    """Return the file to which the ranks of a tune write what they learned."""
    return directory / "learned.policy.json"


def benchmark_file(directory: Path) -> Path:
    """Return the file for benchmark results on calls that the ranks had not decided."""
    return directory / "benchmark.policy.json"


def all_learned(directory: Path) -> LearnedPolicy | None:
    """Return the policy of a tune, from times of the program before benchmarks; None without any times.

    Times that are artefacts of the scheduler are ignored.
    """
    paths = (learned_file(directory), benchmark_file(directory))
    policies = [undisturbed(read_learned(path), tick_s()) for path in paths if is_file(path)]
    return first_decided(policies) if policies else None


def origins(directory: Path) -> list[str]:
    """Return sentences on the origin of decisions, if not all come from the program itself."""
    files = (learned_file(directory), benchmark_file(directory))
    if not all(is_file(path) for path in files):
        return []
    by_program, more = (sum(key.decided for key in read_learned(path).keys) for path in files)
    return [
        f"of its kinds of collective calls {by_program} were decided in the program, "
        f"{more} by a benchmark of them"
    ]


def lay_out(policy: Policy, store: Path | None = None) -> str:
    """Write the flat text below the store, under a name that depends on its content; return its path."""
    text = render_flat(policy)
    path = (store or default_store()) / "policies" / f"{sha256(text.encode()).hexdigest()[:16]}.policy"
    if not is_file(path):
        with writing(path, "name another store"):
            make_directory(path.parent)
        write_text(path, text)
    return str(path.absolute())


def site_directory(environment: Mapping[str, str]) -> Path:
    """Return the directory of the administrator's policies."""
    return named_path(environment, "MPIRIC_POLICIES") or Path(SITE)


def site_policy(mpi: MpiLibrary, environment: Mapping[str, str]) -> Path | None:
    """Return the administrator's policy for this library, if there is one."""
    directory = site_directory(environment)
    path = directory / site_name(mpi.implementation, mpi.version)
    return path if os.access(path, os.R_OK) else None


def site_name(implementation: str, version: str) -> str:
    """Return the file name of a library's policy: ``openmpi-5.policy.json``."""
    return f"{implementation}-{version.partition('.')[0]}.policy.json"
