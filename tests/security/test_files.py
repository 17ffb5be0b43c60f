"""Files that mpiric creates, opens and moves where other users may write."""

import os
import stat
from types import SimpleNamespace

import pytest
from tests.support.users import USERS

from mpiric.lab import judge

pytestmark = pytest.mark.requires(*USERS)

PRIVATE = "alias ls=ls\n"

STORE = """
import sys
from pathlib import Path
from mpiric.tuning.store import Store
store = Store(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
with store.create("solver", "job", ("solver",)) as log:
    print(log.path)
"""
RESUME = """
import sys
from pathlib import Path
from mpiric.model.errors import MpiricError
from mpiric.tuning.store import Store
try:
    log = Store(Path(sys.argv[1]).parent).resume(Path(sys.argv[1]))
except MpiricError as error:
    print(error.message)
else:
    log.append("planted", {})
"""
WRITE = """
import sys
from pathlib import Path
from mpiric.host.owned_files import write_whole
write_whole(Path(sys.argv[1]), b"new\\n")
"""


@pytest.fixture
def private(people):
    """Create a file that only the owner may read."""
    path = people.owner.home / ".bashrc"
    people.owner.run("sh", "-c", f"umask 077; printf '{PRIVATE}' >.bashrc", check=True)
    yield path
    assert path.read_text() == PRIVATE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_output_replaces_a_link_of_another_user_and_follows_the_owners(people, private):
    project = people.machine.project
    people.other.run("ln", "-s", private, project / "report.html", check=True)
    people.owner.python(WRITE, project / "report.html")
    assert not (project / "report.html").is_symlink()
    assert (project / "report.html").read_text() == "new\n"
    people.owner.run("ln", "-s", project / "real", project / "own", check=True)
    people.owner.python(WRITE, project / "own")
    assert (project / "own").is_symlink()
    assert (project / "real").read_text() == "new\n"


@pytest.mark.parametrize("kind", ["symbolic", "hard"])
def test_a_planted_log_is_not_written_to(people, private, kind):
    tune = people.machine.project / "tune"
    people.other.run("mkdir", "-m", "777", tune, check=True)
    os.link(private, tune / "events.jsonl") if kind == "hard" else (tune / "events.jsonl").symlink_to(private)
    done = people.owner.python(RESUME, tune)
    assert "cannot write to the store" in done.stdout


def test_the_default_store_is_the_owners_alone(people):
    tune = people.owner.python(STORE).stdout.strip()
    store = people.owner.home / ".local/state/mpiric/tunes"
    assert people.owner.home in store.parents
    for directory in (store, *store.iterdir()):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert tune.startswith(str(store))


def test_a_default_store_that_others_could_read_or_write_is_closed(people):
    store = people.owner.home / ".local/state/mpiric/tunes"
    people.owner.python(STORE)
    store.chmod(0o2775)
    people.owner.python(STORE)
    assert stat.S_IMODE(store.stat().st_mode) == 0o2700


def test_a_store_that_the_user_named_keeps_its_mode(people):
    project = people.machine.project
    before = project.stat().st_mode
    people.owner.python(STORE, project)
    link = people.owner.home / ".local/state/mpiric/tunes"
    people.owner.python(STORE, "elsewhere")
    people.owner.run("mkdir", "-p", link.parent, check=True)
    people.owner.run("ln", "-s", project, link, check=True)  # the default store, kept elsewhere
    people.owner.python(STORE)
    assert project.stat().st_mode == before


def test_every_directory_below_the_default_store_is_private(people):
    script = """
from pathlib import Path
from mpiric.tuning.store import default_store, make_directory
for name in ("policies", "fabric-20260101", "runs/abc"):
    make_directory(default_store() / name)
"""
    people.owner.python(f"import os; os.umask(0)\n{script}")
    store = people.owner.home / ".local/state/mpiric/tunes"
    assert stat.S_IMODE(store.stat().st_mode) == 0o700


def test_nobody_else_writes_into_a_tune_of_a_shared_store(people):
    script = f"import os; os.umask(0o002)\n{STORE}"
    tune = people.owner.python(script, people.machine.project).stdout.strip()
    assert people.other.run("touch", f"{tune}/planted").returncode != 0
    assert people.other.run("cat", f"{tune}/events.jsonl").returncode == 0


def test_a_lock_that_is_a_fifo_is_not_waited_for(people):
    path = people.machine.project / "lock"
    people.other.run("mkfifo", "-m", "666", path, check=True)
    script = "import sys\nfrom pathlib import Path\nfrom mpiric.tuning.store import Lock\n"
    done = people.owner.python(f"{script}print(Lock.holder(Path(sys.argv[1])))", path, timeout=60)
    assert done.stdout == "\n"


def test_copies_of_outputs_are_the_owners_alone(tmp_path):
    source = tmp_path / "secret"
    source.write_text("of the program")
    source.chmod(0o600)
    (tmp_path / "outputs").mkdir()
    trial = SimpleNamespace(stdout=str(tmp_path / "outputs/1.stdout"))
    before = os.umask(0)
    try:
        judge._keep_files(trial, SimpleNamespace(written=lambda: {"inner/secret": source}))
    finally:
        os.umask(before)
    kept_files = judge.kept_files(trial)
    assert (kept_files / "inner/secret").read_text() == "of the program"
    for path in (kept_files, kept_files / "inner/secret"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize("name", ["options.json", "jobs", "log"])
def test_a_link_among_the_files_of_a_sweep_or_a_job_is_not_written_through(people, private, name):
    place = people.machine.project / "mpiric-sweep"
    people.other.run("mkdir", "-m", "777", place, check=True)
    people.other.run("ln", "-s", private, place / name, check=True)
    script = """
import sys
from contextlib import suppress
from pathlib import Path
from mpiric.host.owned_files import append
from mpiric.workflows.sweep.log import keep_options, kept_options
path = Path(sys.argv[1])
if path.name == "options.json":
    keep_options(path.parent, ["--collectives", "bcast"])
    print(kept_options(path.parent) == ("--collectives", "bcast"))
else:
    try:
        append(path, "a job\\n")
    except OSError:
        print(True)
"""
    assert people.owner.python(script, place / name).stdout == "True\n"


def test_options_that_another_user_has_left_are_not_taken(people):
    place = people.machine.project / "mpiric-sweep"
    script = """
import sys
from pathlib import Path
from mpiric.workflows.sweep.log import kept_options
print(kept_options(Path(sys.argv[1])))
"""
    people.other.run("mkdir", "-m", "777", place, check=True)
    people.other.run("sh", "-c", f"echo '[\"--site\"]' > {place}/options.json", check=True)
    assert people.owner.python(script, place).stdout == "()\n"


def test_a_directory_in_which_others_write_holds_no_files_of_jobs(people):
    place = people.machine.project / "mpiric-sweep"
    script = (
        "import sys; from mpiric.host.owned_files import why_open_to_others as why; print(why(sys.argv[1]))"
    )
    people.other.run("mkdir", place, check=True)
    assert people.owner.python(script, place).stdout != "\n"
    own_directory = people.machine.project / "own"
    people.owner.run("mkdir", "-m", "755", own_directory, check=True)
    assert people.owner.python(script, own_directory).stdout == "\n"
    people.owner.run("chmod", "775", own_directory, check=True)
    assert people.owner.python(script, own_directory).stdout != "\n"
    link = people.machine.project / "link"
    people.other.run("ln", "-s", people.owner.home, link, check=True)
    assert people.owner.python(script, link).stdout != "\n"
