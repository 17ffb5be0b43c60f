"""Settings in files of the MPI library and UCX are read like variables and quoted with file and line."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.support.situations import BY_LABEL, situation

from mpiric.knobs import inherited_problems
from mpiric.launchers import parse_command
from mpiric.workflows.launch.parameter_files import settings_in_files

OPENMPI = BY_LABEL["openmpi-5.0.11"]
OPENMPI_4 = BY_LABEL["openmpi-4.1.4"]
MPICH = BY_LABEL["mpich-4.0.2"]
INTEL = BY_LABEL["intelmpi-2021.19"]


def read(files, library=OPENMPI, **variables):
    return read_for("mpirun -np 2 ./a", files, library, **variables)


def read_for(line, files, library=OPENMPI, **variables):
    host = SimpleNamespace(read_text=files.get)
    job = parse_command(line.split(), "/work", {"HOME": "/home/u", **variables}, dialect=library.dialect)
    return settings_in_files(library, job, host)


@pytest.mark.parametrize(
    ("path", "variable"),
    [
        ("/home/u/.openmpi/mca-params.conf", "OMPI_MCA_btl"),
        ("/home/u/.prte/mca-params.conf", "PRTE_MCA_btl"),
        ("/home/u/.pmix/mca-params.conf", "PMIX_MCA_btl"),
        (f"{OPENMPI.prefix}/etc/openmpi-mca-params.conf", "OMPI_MCA_btl"),
        (f"{OPENMPI.prefix}/etc/prte-mca-params.conf", "PRTE_MCA_btl"),
        (f"{OPENMPI.prefix}/etc/pmix-mca-params.conf", "PMIX_MCA_btl"),
    ],
)
def test_each_file_of_open_mpi_is_read_with_its_line(path, variable):
    (setting,) = [read({path: "# a comment\n\nbtl = tcp,self\n"})[variable]]
    assert (setting.name, setting.value, setting.place) == ("btl", "tcp,self", f"{path}:3")


def test_the_users_file_has_precedence():
    files = {
        f"{OPENMPI.prefix}/etc/openmpi-mca-params.conf": "btl = tcp,self",
        "/home/u/.openmpi/mca-params.conf": "btl = vader,self",
    }
    assert read(files)["OMPI_MCA_btl"].value == "vader,self"


def test_the_packages_of_debian_have_their_own_directory():
    files = {"/etc/openmpi/openmpi-mca-params.conf": "mtl = ^ofi"}
    assert read(files, replace(OPENMPI, prefix="/usr"))["OMPI_MCA_mtl"].value == "^ofi"


def test_mpich_reads_no_file_of_open_mpi():
    assert read({"/home/u/.openmpi/mca-params.conf": "btl = tcp,self"}, MPICH) == {}


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--tune", "-x A=1  --mca btl tcp,self\n"),
        ("-tune", '-mca btl "tcp,self"\n'),
        ("--am", "btl=tcp,self\n"),
        ("--amca", "btl = tcp,self\n"),
    ],
)
def test_a_file_of_the_launch_line_is_read(option, text):
    files = {"/work/my.conf": f"# settings\n{text}", "/home/u/.openmpi/mca-params.conf": "btl = vader"}
    settings = read_for(f"mpirun {option} my.conf -np 2 ./a", files, OPENMPI_4)
    assert settings["OMPI_MCA_btl"].value == "tcp,self"
    assert settings["OMPI_MCA_btl"].place == "/work/my.conf:2"


def test_the_last_of_several_files_of_the_launch_line_decides():
    files = {"/work/a.conf": "-mca btl tcp -x UCX_TLS=rc", "/work/b.conf": "-mca btl self"}
    settings = read_for("mpirun --tune a.conf,b.conf -np 2 ./a", files, OPENMPI_4)
    assert [settings[name].value for name in ("OMPI_MCA_btl", "UCX_TLS")] == ["self", "rc"]


@pytest.mark.parametrize("path", [f"{INTEL.prefix}/etc/mpiexec.conf", "/home/u/.mpiexec.conf"])
def test_the_launchers_files_of_intel_mpi_are_read(path):
    setting = read({path: "-genv I_MPI_FABRICS ofi\n"}, INTEL)["I_MPI_FABRICS"]
    assert (setting.value, setting.place) == ("ofi", f"{path}:1")


def test_the_last_file_of_ucx_decides():
    files = {
        "/etc/ucx/ucx.conf": "UCX_TLS=all",
        "/home/u/ucx.conf": "UCX_TLS=tcp",
        "/dir/ucx.conf": "UCX_TLS=rc",
        "/work/ucx.conf": "UCX_TLS=ud",
    }
    place = read(files, MPICH, UCX_CONFIG_DIR="/dir")["UCX_TLS"].place
    assert place == "/work/ucx.conf:1"
    del files["/work/ucx.conf"]
    assert read(files, MPICH, UCX_CONFIG_DIR="/dir")["UCX_TLS"].value == "rc"


def test_sections_for_some_cpus_are_left_out():
    assert read({"/work/ucx.conf": "UCX_A=1\n[Grace]\nUCX_B=2\n"}, MPICH).keys() == {"UCX_A"}


def with_files(files, **changed):
    return replace(situation(OPENMPI), in_files=read(files), **changed)


def test_a_harmful_setting_in_a_file_is_quoted_with_file_and_line():
    (finding,) = inherited_problems(with_files({"/home/u/.openmpi/mca-params.conf": "\nbtl = tcp,self"}))
    assert finding.id == "shared-memory-off"
    assert finding.evidence == "btl = tcp,self in /home/u/.openmpi/mca-params.conf:2"
    assert finding.fix.startswith("remove btl from /home/u/.openmpi/mca-params.conf:2")


def test_a_variable_replaces_the_setting_of_a_file():
    files = {"/home/u/.openmpi/mca-params.conf": "btl = tcp,self"}
    assert inherited_problems(with_files(files, inherited={"OMPI_MCA_btl": "vader,self"})) == ()
