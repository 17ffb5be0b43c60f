"""Run shell scripts in trial directories and report the state of the user's files.

This is a separate program, so that an ordinary user can run it: ``python overlay_attacks.py SCRIPT…`` prints
one JSON object. Each script is one trial. Trials use an overlay, or a copy if COPY is in the environment.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from mpiric.host.isolation.working_copies import CopyPolicy, WorkingCopies
from mpiric.host.processes.execution import Runner, Workspace
from mpiric.model.job import Launch


def make_tree(work: Path) -> None:
    """Create files of all kinds that a program may change."""
    (work / "deep/er").mkdir(parents=True)
    (work / "results").mkdir()
    for name in ("in.dat", "deep/er/x", "results/old", "log", "shared"):
        (work / name).write_text(f"original {name}\n")
    (work / "second-name").hardlink_to(work / "shared")
    (work / "absolute").symlink_to(work / "in.dat")
    (work / "up").symlink_to("../../outside/far")
    (work / "sealed").write_text("sealed")
    (work / "sealed").chmod(0o444)


def state_of(tree: Path) -> dict[str, list[object]]:
    """Return the metadata and the contents of all files of a tree."""
    states: dict[str, list[object]] = {}
    for path in sorted([tree, *tree.rglob("*")]):
        status = path.lstat()
        state = [status.st_ino, status.st_mode, status.st_nlink, status.st_uid, status.st_gid, status.st_size]
        state += [status.st_mtime_ns, status.st_ctime_ns]
        state += [path.read_text()] if path.is_file() and not path.is_symlink() else []
        states[str(path.relative_to(tree))] = state
    return states


def main(scripts: list[str]) -> None:
    """Run each script in a separate directory and print the report."""
    with tempfile.TemporaryDirectory() as place, Runner() as runner:
        work = Path(place) / "a, b:c/project/run"
        work.mkdir(parents=True)
        (work.parents[1] / "outside").mkdir()
        (work.parents[1] / "outside/far").write_text("far")
        make_tree(work)
        before = state_of(work)
        printed, written = [], []
        store = Path(place) / "store"
        mounter = None if "COPY" in os.environ else runner
        with WorkingCopies(work, store, CopyPolicy(on_this_node=True, mounter=mounter)) as copies:
            for number, script in enumerate(scripts):
                directory = copies.fresh()
                output = Path(place) / f"out{number}"
                launch = Launch(("/bin/bash", "-c", script, "attack", str(work)), str(work))
                done = runner.execute(
                    launch,
                    os.environ,
                    Workspace(directory.path, output, output, directory.mount),
                    60,
                )
                printed.append(f"{done.exit_status} {output.read_text()}")
                written.append(sorted(directory.written()))
        report = {
            "overlaid": directory.mount is not None,
            "same": state_of(work) == before,
            "printed": printed,
            "written": written,
            "left": sorted(str(path) for path in Path(place).rglob(".mpiric-trials-*")),
            "mounts": Path("/proc/self/mountinfo").read_text().count(str(place)),
        }
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1:])
