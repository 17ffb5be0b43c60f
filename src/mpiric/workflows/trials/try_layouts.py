"""Check if file layouts can be set in the job's directory: set on an empty directory, and read back."""

import tempfile
from pathlib import Path

from mpiric import knobs
from mpiric.host.host import Host
from mpiric.host.isolation.trial_area import PREFIX
from mpiric.host.owned_files import remove_tree
from mpiric.host.processes.captured import make_ready
from mpiric.model.launch import Launch
from mpiric.model.situation import Situation
from mpiric.model.storage import FileLayout, Stripes
from mpiric.storage import Storage, read_mounts, read_storage, storages

MIB = 1 << 20


def layout_refusal(situation: Situation, host: Host, *, in_place: bool) -> str:
    """Return the reason why no layout can be set in the job's directory, "" if one can."""
    system = knobs.output_system(situation)
    storage = storages().get(system.kind) if system else None
    if storage is None or storage.render is None:
        return ""
    if in_place:
        return "with --in-place the directory itself would keep the layout"
    return _why_not(storage, situation, host)


def _why_not(storage: Storage, situation: Situation, host: Host) -> str:
    """Return the reason why another layout cannot be set on a new directory, "" if it can."""
    try:
        directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=situation.job.working_directory))
    except OSError as error:
        return f"a directory for trying a layout cannot be made: {error.strerror}"
    try:
        before = _default(directory, host)
        count = 1 if before is not None and before.count != 1 else 2
        layout = FileLayout((Stripes(count, MIB),))
        assert storage.render is not None
        launch = Launch((), str(directory), prepare=storage.render(layout, str(directory)))
        if complaint := make_ready(launch, situation.job.environment, directory):
            return complaint
        after = _default(directory, host)
        if after is None or [(stripes.count, stripes.size_bytes) for stripes in after.stripes] != [
            (count, MIB)
        ]:
            return "a layout that was set on a directory was not in force when it was read back"
    finally:
        remove_tree(directory)
    return ""


def _default(directory: Path, host: Host) -> FileLayout | None:
    system = read_storage(host, str(directory), read_mounts(host))
    return system.default_layout if system else None
