"""Files, settings and directories of others do not become programs, libraries or results of this user."""

import errno
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.small_wheels import write_wheel

from mpiric.host import user_directories
from mpiric.host.facts.local import LocalHost
from mpiric.host.host import HERE
from mpiric.host.installation import native, stand_ins
from mpiric.host.installation.prefixes import install_package, unpack_wheel
from mpiric.host.installation.stand_ins import linked_directory, loadable_directory
from mpiric.host.user_directories import (
    MARK,
    homes,
    installed_prefixes,
    named_path,
    probe_environment,
    user_directory,
)
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MismatchError, MpiricError, NotFoundError
from mpiric.model.evidence import Fingerprint, Recipe
from mpiric.model.mpi_library import AbiFamily, MpiPackage, WheelPart
from mpiric.mpis import packages
from mpiric.schedulers import read_site_defaults
from mpiric.tuning.recipe import write_recipe
from mpiric.tuning.store import default_store
from mpiric.workflows.policies import site_directory
from mpiric.workflows.run.recipe_choice import named_recipe, rounding_settings

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


# Wheels


@pytest.mark.parametrize("name", ["/tmp/absolute-escape", "../escape", "a/../../escape", "//tmp/escape"])
@pytest.mark.parametrize("moves", [{"": ""}, {"": "opt/"}])
def test_no_member_of_a_wheel_is_written_outside_of_the_prefix(tmp_path, name, moves):
    wheel = write_wheel(tmp_path / "w", "tiny-mpi", "1.0", {name: b"x"})
    prefix = tmp_path / "home/prefix"
    with suppress(MpiricError):
        unpack_wheel(wheel, prefix, moves)
    assert not Path("/tmp/absolute-escape").exists()
    assert not Path("/tmp/escape").exists()
    written = [path for path in tmp_path.rglob("*escape*") if path.is_file()]
    assert all(path.is_relative_to(prefix) for path in written)


def test_a_link_within_the_prefix_does_not_lead_out_of_it(tmp_path):
    wheel = write_wheel(tmp_path / "w", "tiny-mpi", "1.0", {"lib/libmpi.so": b"x"})
    (tmp_path / "p").mkdir()
    (tmp_path / "p/lib").symlink_to(tmp_path)
    with pytest.raises(MpiricError, match="outside"):
        unpack_wheel(wheel, tmp_path / "p", {"": ""})
    assert not (tmp_path / "libmpi.so").exists()


@pytest.mark.parametrize("algorithm", ["md5", "sha1"])
def test_a_record_with_weak_digests_is_refused(tmp_path, algorithm):
    import base64
    import hashlib

    wheel = write_wheel(tmp_path, "tiny-mpi", "1.0", {"bin/mpiexec": b"x"})
    with zipfile.ZipFile(wheel) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    digest = base64.urlsafe_b64encode(hashlib.new(algorithm, b"x").digest()).rstrip(b"=").decode()
    record = members["tiny_mpi-1.0.dist-info/RECORD"].decode().split("\n")
    record = [
        f"{row.split(',')[0]},{algorithm}={digest},1" if "bin/mpiexec" in row else row for row in record
    ]
    members["tiny_mpi-1.0.dist-info/RECORD"] = "\n".join(record).encode()
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(MpiricError, match="SHA-256"):
        unpack_wheel(wheel, tmp_path / "p", {"": ""})


def test_every_package_names_the_digests_of_its_wheels():
    for package in packages().values():
        for part in package.parts:
            assert part.sha256
            assert all(len(entry) == 64 and int(entry, 16) for entry in part.sha256)
            assert part.requirement_line.count("--hash=sha256:") == len(part.sha256)


def test_a_wheel_of_another_digest_is_not_installed(tmp_path, monkeypatch):
    write_wheel(tmp_path / "index", "tiny-mpi", "1.0", {"bin/mpiexec": b"x"})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    package = MpiPackage("tiny", (WheelPart("tiny-mpi", "1.0", ("0" * 64,)),))
    with pytest.raises(MismatchError, match="SHA-256 of the wheel"):
        install_package(package, tmp_path / "home")
    assert installed_prefixes({"MPIRIC_MPI_HOME": str(tmp_path / "home")}) == {}


# Directories that variables name


@pytest.mark.parametrize("kind", ["cache", "config", "data", "state"])
def test_relative_directories_of_xdg_are_ignored(kind):
    variable = f"XDG_{kind.upper()}_HOME"
    home = user_directory({"HOME": "/home/u"}, kind)
    assert home.startswith("/home/u/")
    for relative in ("here", "./here", "../here", "~/here"):
        assert user_directory({"HOME": "/home/u", variable: relative}, kind) == home
        assert user_directory({"HOME": "home/u", variable: relative}, kind) == ""
    assert user_directory({variable: "/there"}, kind) == "/there"


@pytest.mark.parametrize("variable", ["MPIRIC_MPI_HOME", "MPIRIC_POLICIES", "MPIRIC_SITE"])
def test_relative_directories_of_mpiric_are_refused(variable):
    readers = {
        "MPIRIC_MPI_HOME": homes,
        "MPIRIC_POLICIES": site_directory,
        "MPIRIC_SITE": lambda environ: read_site_defaults(environ, None, lambda _: ""),
    }
    with pytest.raises(MpiricError, match="absolute"):
        readers[variable]({variable: "here", "HOME": "/home/u"})
    assert named_path({variable: "/there"}, variable) == Path("/there")
    assert named_path({}, variable) is None


def test_no_launcher_of_the_working_directory_is_run(tmp_path, monkeypatch):
    prefix = tmp_path / "data/mpiric/mpi/mpich-5.0.2"
    prefix.mkdir(parents=True)
    (prefix / MARK).write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert str(prefix) not in map(
        str, installed_prefixes({"XDG_DATA_HOME": "data", "HOME": "/nowhere"}).values()
    )
    monkeypatch.setenv("XDG_STATE_HOME", "data")
    assert default_store().is_absolute()
    assert not default_store().is_relative_to(tmp_path)


@needs_root
def test_a_prefix_of_another_user_in_the_data_directory_does_not_count(tmp_path):
    prefix = tmp_path / "mpiric/mpi/mpich-5.0.2"
    prefix.mkdir(parents=True)
    (prefix / MARK).write_text("{}")
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    assert prefix in installed_prefixes(environ).values()
    os.chown(prefix, 12345, 12345)
    assert prefix not in installed_prefixes(environ).values()


def test_a_user_without_a_home_has_directories_where_nothing_is(monkeypatch):
    """Containers run processes by numbers that no password database knows."""

    def unknown(_):
        raise KeyError

    monkeypatch.setattr(user_directories.pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert homes({}) == (Path(sys.prefix) / "share/mpiric/mpi",)
    with pytest.raises(OSError, match="nonexistent"):
        default_store().stat()


# Directories that libraries are loaded from


@pytest.fixture
def umask():
    before = os.umask(0o002)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_directories_of_libraries_are_nobody_elses_to_write(tmp_path, umask):
    links_path = Path(linked_directory("mpich", {"libmpi.so.12": "/x"}, {"XDG_DATA_HOME": str(tmp_path)}))
    for directory in (links_path, links_path.parent, links_path.parent.parent):
        assert mode(directory) == 0o755
    os.umask(0o077)
    assert mode(loadable_directory(tmp_path / "private", "links", "x")) == 0o700


def test_what_others_could_write_into_is_made_anew(tmp_path):
    links_path = loadable_directory(tmp_path / "mpiric", "links", "mpich")
    (links_path / "libc.so.6").write_text("planted")
    for directory in (links_path, links_path.parent, links_path.parent.parent):
        directory.chmod(0o775)
    again = loadable_directory(tmp_path / "mpiric", "links", "mpich")
    assert (again, list(again.iterdir())) == (links_path, [])
    assert [mode(entry) for entry in (links_path, links_path.parent, links_path.parent.parent)] == [0o755] * 3


@needs_root
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_directory_of_another_user_is_not_used(tmp_path, depth):
    links_path = loadable_directory(tmp_path / "mpiric", "links", "mpich")
    os.chown((links_path, *links_path.parents)[2 - depth], 12345, 12345)
    with pytest.raises(PermissionError) as raised:
        loadable_directory(tmp_path / "mpiric", "links", "mpich")
    assert raised.value.errno == errno.EPERM


def test_a_link_in_place_of_a_directory_is_not_followed(tmp_path):
    (tmp_path / "mpiric/links").mkdir(parents=True, mode=0o755)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "mpiric/links/mpich").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError):
        loadable_directory(tmp_path / "mpiric", "links", "mpich")


def test_an_installed_prefix_is_not_writable_by_a_group(tmp_path, monkeypatch, umask):
    write_wheel(tmp_path / "index", "tiny-mpi", "1.0", {"bin/mpiexec": b"x", "lib/a/libmpi.so": b"x"})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    prefix = install_package(MpiPackage("tiny", (WheelPart("tiny-mpi", "1.0"),)), tmp_path / "home")
    writable = [entry for entry in (prefix.parent, prefix, *prefix.rglob("*")) if mode(entry) & 0o022]
    assert writable == []


@pytest.fixture
def native_parts(tmp_path, monkeypatch, umask):
    """An installation of native parts that was made under umask 002."""
    monkeypatch.setattr(native, "_ROOT", tmp_path / "_native")
    paths = [tmp_path / "_native" / name for name in ("any/a", "mpich/a", "translate/mpich-openmpi/a")]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x")
        path.chmod(0o775)
    return paths


def test_native_parts_that_a_group_could_write_are_closed_before_they_are_used(native_parts, tmp_path):
    assert {mode(entry) for entry in (tmp_path / "_native").rglob("*")} == {0o775}
    assert native.native_part("a")
    assert native.native_part("a", AbiFamily.MPICH)
    assert native.native_stand_in(AbiFamily.MPICH, AbiFamily.OPENMPI, "a")
    assert {mode(entry) for entry in (tmp_path / "_native", *native_parts)} == {0o755}
    assert {mode(path.parent) for path in native_parts} == {0o755}


@needs_root
@pytest.mark.parametrize("what", ["a", ".", ".."])
def test_native_parts_of_another_user_that_a_group_could_write_are_not_used(native_parts, what):
    assert native.native_part("a")
    entry = native_parts[0] if what == "a" else native_parts[0].parent / what
    os.chown(entry, 12345, 12345)
    assert native.native_part("a"), "the installation of another user is used if that user alone writes it"
    entry.chmod(0o775)
    with pytest.raises(NotFoundError) as raised:
        native.native_part("a")
    assert "go-w" in raised.value.hint


# Probes


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A working directory with programs and modules that another user has put there."""
    for name in ("sha256sum", "lfs", "mpiexec"):
        (tmp_path / name).write_text("#!/bin/sh\necho planted\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "socket.py").write_text("print('planted')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_probes_start_in_the_root_directory(planted):
    host = LocalHost()
    assert host.run(["pwd"]).stdout == "/\n"
    assert host.run(["pwd"], working_directory=HERE).stdout == f"{planted}\n"
    assert host.run([sys.executable, "-c", "import socket"]).stdout == ""


def test_empty_entries_of_search_paths_are_left_out(planted, monkeypatch):
    path = os.environ["PATH"]
    for before, after in (("", path), (path, ""), (path, f":{path}")):
        monkeypatch.setenv("PATH", f"{before}:{after}")
        monkeypatch.setenv("LD_LIBRARY_PATH", ":/lib::")
        host = LocalHost()
        for directory in ("/", HERE):
            show = ["/bin/sh", "-c", 'echo "$LD_LIBRARY_PATH:$PATH"']
            assert "::" not in f":{host.run(show, working_directory=directory).stdout.strip()}:".replace(
                "::/", ":/"
            )
            assert "planted" not in host.run(["sha256sum", "/dev/null"], working_directory=directory).stdout
        assert host.which("lfs") != str(planted / "lfs")
    monkeypatch.setenv("PATH", f":{path}")
    assert LocalHost().which("mpiexec", by_shell=True) == str(planted / "mpiexec")


def test_the_environment_of_a_probe_keeps_everything_else():
    environment = probe_environment({"PATH": ":/bin:", "A": "::"}, {"B": "1", "LD_LIBRARY_PATH": "/x:"})
    assert environment == {"PATH": "/bin", "A": "::", "B": "1", "LD_LIBRARY_PATH": "/x"}
    assert probe_environment({"PATH": ":", "B": "1"}, {"B": None}) == {}


def test_the_linker_takes_no_library_of_the_working_directory_into_a_probe(planted, monkeypatch):
    source, use, library = planted / "evil.c", planted / "use.c", planted / "libplanted.so.1"
    source.write_text(
        "#include <unistd.h>\n"
        '__attribute__((constructor)) static void f(void) { (void)!write(1, "evil", 4); }\n'
    )
    use.write_text("int main(void) { return 0; }\n")
    build = ["cc", "-shared", "-fPIC", "-Wl,-soname,libplanted.so.1", "-o", library, source]
    if not shutil.which("cc"):
        pytest.skip("a C compiler is not installed")
    subprocess.run(build, check=True)
    program = planted / "user"
    subprocess.run(["cc", "-Wl,--no-as-needed", "-o", program, use, library], check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", f":{planted}/none")
    assert "evil" in subprocess.run([program], capture_output=True, text=True).stdout
    for directory in ("/", HERE):
        assert "evil" not in LocalHost().run([str(program)], working_directory=directory).stdout


# Recipes


def recipe_of(path: Path, **values: str) -> Recipe:
    made_for = Fingerprint({}, {}, {"name": "app"})
    recipe = Recipe("app", Configuration.of(values), made_for, None, ("app",), "2026-01-01T00:00:00+00:00")
    write_recipe(path, recipe)
    path.chmod(0o644)
    return recipe


def test_settings_that_may_change_rounding_are_known():
    tuned = SimpleNamespace(policy=(), configuration=Configuration.of({"collectives": "online"}))
    assert rounding_settings(tuned) == ("collectives=online",)
    lines = ("mpiric-policy 1", "mpi mpich 5.0.2", "allreduce * * * * * 0 - library:recursive_doubling")
    tuned.configuration = Configuration.of({"collectives": "library"})
    assert lines
    assert rounding_settings(tuned) == ()


@needs_root
def test_a_recipe_of_another_user_that_may_change_rounding_needs_consent(tmp_path):
    path, current = tmp_path / "app.recipe.toml", Fingerprint({}, {}, {"name": "app"})
    recipe_of(path, collectives="online")
    _, _, messages = named_recipe(path, current)
    assert any("last digits" in sentence for sentence in messages)
    os.chown(path, 12345, 12345)
    with pytest.raises(MismatchError, match="last digits") as raised:
        named_recipe(path, current)
    assert "--allow-rounding" in raised.value.hint
    _, _, messages = named_recipe(path, current, allow_rounding=True)
    assert any("collectives=online" in sentence for sentence in messages)


@needs_root
def test_a_recipe_of_another_user_that_changes_no_result_needs_none(tmp_path):
    path = tmp_path / "app.recipe.toml"
    recipe_of(path, malloc="keep-memory")
    os.chown(path, 12345, 12345)
    _, _, messages = named_recipe(path, Fingerprint({}, {}, {"name": "app"}))
    assert not any("last digits" in sentence for sentence in messages)


def test_the_base_of_libraries_is_absolute():
    assert all(base.is_absolute() for base in stand_ins.bases({"XDG_DATA_HOME": "here", "HOME": "there"}))
