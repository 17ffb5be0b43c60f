"""The script that a pack begins with, run by bash."""

import os
import platform
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from mpiric.model.errors import ExitCode, MismatchError
from mpiric.model.pack import GlibcNeed, Pack, SettingsNeed, Start
from mpiric.workflows.pack.glibc import check_glibc
from mpiric.workflows.pack.pack import render_starter

TOO_NEW = GlibcNeed((2, 99), "lib/libfoo.so.1", "frobnicate", required=True)
PACK = Pack("app", (), (), Start(("@/tree/app",)), platform.machine(), (TOO_NEW,))


@pytest.fixture
def check(tmp_path: Path):
    """Return the output of a pack's script on this machine, and its status."""

    def run(pack: Pack, unpacked_bytes: int = 4096, **variables: str) -> tuple[int, str]:
        file = tmp_path / "app.pack"
        file.write_bytes(render_starter(pack, "tar", "0123", unpacked_bytes))
        done = subprocess.run(
            ["bash", file],
            env={"PATH": os.environ["PATH"], "MPIRIC_PACK": "check", **variables},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stderr

    return run


def test_the_image_begins_at_a_multiple_of_4096_bytes():
    script = render_starter(PACK, "squashfs", "0123", 4096)
    assert len(script) % 4096 == 0
    assert f"offset=$((10#{len(script):010d}))".encode() in script


def test_a_program_that_fits_is_started(check):
    assert check(replace(PACK, needs=())) == (0, "")


def test_a_symbol_that_is_too_new_is_named_before_the_start(check):
    status, output = check(PACK)
    assert status == ExitCode.MISMATCH
    assert "lib/libfoo.so.1 needs glibc 2.99 for frobnicate, and this system has 2." in output


def test_it_is_reported_once_per_node(check):
    assert check(PACK, MPI_LOCALRANKID="1") == (ExitCode.MISMATCH, "")


def test_a_library_that_need_not_load_is_a_warning(check):
    status, output = check(replace(PACK, needs=(replace(TOO_NEW, required=False),)))
    assert status == 0
    assert "lib/libfoo.so.1 cannot be loaded here" in output


@pytest.mark.requires("libgcc_s.so.1")
@pytest.mark.parametrize(("version", "status"), [("GCC_3.0", 0), ("GCC_99.0", ExitCode.MISMATCH)])
def test_the_sites_own_library_of_a_compiler_serves_where_it_has_what_is_asked(check, version, status):
    need = replace(TOO_NEW, name="lib/libgcc_s.so.1", stand_in="libgcc_s.so.1")
    pack = replace(PACK, needs=(need,), of_compilers=(("libgcc_s.so.1", (version,)),))
    assert check(pack)[0] == status


def test_another_architecture_is_named(check):
    status, output = check(replace(PACK, processor="riscv64"))
    assert (status, "holds a program for riscv64" in output) == (ExitCode.MISMATCH, True)


def test_a_node_without_room_is_named(check, tmp_path):
    status, output = check(PACK, 1 << 60, MPIRIC_PACK="", MPIRIC_PACK_DIR=str(tmp_path))
    assert status == ExitCode.MISMATCH
    assert "no directory of this node can hold it: there are less than" in output


def test_a_missing_mpi_is_named(check):
    start = replace(PACK.start, mpi_names=("libmpi.so.99",))
    status, output = check(replace(PACK, needs=(), start=start))
    assert (status, "needs libmpi.so.99 of the site" in output) == (ExitCode.MISMATCH, True)


def test_a_target_that_is_too_old_is_refused_when_packing():
    with pytest.raises(MismatchError, match=r"needs glibc 2.99 for frobnicate, and the target has 2.28"):
        check_glibc(PACK, (2, 28))


@pytest.fixture
def start(tmp_path: Path):
    """Return a function that starts a pack with variables and returns its status and messages."""

    def run(pack: Pack, **variables: str) -> tuple[int, str]:
        file = tmp_path / "app.pack"
        tree = tmp_path / "tree"
        (tree / ".mpiric").mkdir(parents=True, exist_ok=True)
        (tree / ".mpiric/pack.json").touch()
        (tree / "app").write_text("#!/bin/sh\necho started\n")
        (tree / "app").chmod(0o755)
        image = subprocess.run(["tar", "-czf", "-", "-C", tree, "."], capture_output=True).stdout
        file.write_bytes(render_starter(pack, "tar", "0123", 4096) + image)
        environment = {"PATH": os.environ["PATH"], "MPIRIC_PACK_DIR": str(tmp_path), **variables}
        done = subprocess.run(["bash", file], env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return run


OPEN_MPI, MPICH = "libmpi.so.40", "libmpi.so.12"


@pytest.mark.parametrize(
    ("library", "launcher"),
    [
        (OPEN_MPI, {"MPI_LOCALNRANKS": "2", "MPI_LOCALRANKID": "0", "PMI_SIZE": "2", "PMI_RANK": "0"}),
        (MPICH, {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "0", "PMIX_RANK": "0"}),
    ],
)
def test_a_launcher_of_another_library_is_refused(start, tmp_path, library, launcher):
    (tmp_path / library).touch()
    pack = replace(PACK, needs=(), start=replace(PACK.start, command=("@/app",), mpi_names=(library,)))
    status, output = start(pack, LD_LIBRARY_PATH=str(tmp_path), **launcher)
    assert (status, "it would run 2 times as a single rank" in output) == (ExitCode.MISMATCH, True)


@pytest.mark.parametrize(
    ("library", "launcher"),
    [
        (OPEN_MPI, {"OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "0"}),
        (OPEN_MPI, {"MPI_LOCALNRANKS": "1", "PMI_SIZE": "1"}),
        (MPICH, {"MPI_LOCALNRANKS": "2", "PMI_SIZE": "2", "PMI_RANK": "0"}),
        (MPICH, {}),
    ],
)
def test_a_launcher_of_the_library_starts_it(start, tmp_path, library, launcher):
    (tmp_path / library).touch()
    pack = replace(PACK, needs=(), start=replace(PACK.start, command=("@/app",), mpi_names=(library,)))
    assert start(pack, LD_LIBRARY_PATH=str(tmp_path), **launcher) == (0, "started\n")


def test_a_directory_of_another_user_is_named(start, tmp_path):
    directory = tmp_path / f"mpiric-pack-{os.getuid()}"
    (tmp_path / "elsewhere").mkdir()
    directory.symlink_to(tmp_path / "elsewhere")
    pack = replace(PACK, needs=(), start=replace(PACK.start, command=("@/app",)))
    # A bound on the size lets no other directory of this machine do instead.
    file = tmp_path / "app.pack"
    file.write_bytes(render_starter(pack, "tar", "0123", 1 << 60))
    environment = {"PATH": os.environ["PATH"], "MPIRIC_PACK_DIR": str(tmp_path)}
    done = subprocess.run(["bash", file], env=environment, capture_output=True, text=True)
    assert done.returncode == ExitCode.MISMATCH
    assert f"{directory} is a link" in done.stderr


def test_a_directory_in_which_others_can_replace_files_is_not_used(check, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    for mode, reason in ((0o775, "others can write into"), (0o1777, "less than"), (0o755, "less than")):
        shared.chmod(mode)
        _, output = check(PACK, 1 << 60, MPIRIC_PACK="", MPIRIC_PACK_DIR=str(shared))
        sentence = output.partition("can hold it: ")[2].partition(";")[0]
        assert reason in sentence, output


NETWORK = SettingsNeed(
    ("FI_TCP_IFACE", "UCX_NET_DEVICES"), "network interface nosuch0", ("/sys/class/net/nosuch0",)
)


def with_need(need: SettingsNeed) -> Pack:
    settings = tuple((name, "value") for name in need.variables)
    return replace(PACK, needs=(), start=replace(PACK.start, settings=settings, needs=(need,)))


def test_settings_for_a_missing_network_are_reported(check):
    status, output = check(with_need(NETWORK))
    assert status == 0
    assert "FI_TCP_IFACE, UCX_NET_DEVICES of the recipe: left out" in output
    assert "no network interface nosuch0" in output


def test_settings_for_an_existing_network_are_not_reported(check):
    present = replace(NETWORK, paths=("/sys/class/net/nosuch0", "/sys/class/net/l*"))
    assert check(with_need(present)) == (0, "")


def test_a_check_reports_that_the_pack_can_start(tmp_path):
    file = tmp_path / "app.pack"
    file.write_bytes(render_starter(replace(PACK, needs=()), "tar", "0123", 4096))
    environment = {"PATH": os.environ["PATH"], "MPIRIC_PACK": "check"}
    done = subprocess.run(["bash", file], env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("app: starts here: ")
