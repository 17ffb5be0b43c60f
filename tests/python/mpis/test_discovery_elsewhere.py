"""Machines that are not here: modules, conda, /opt, Cray, Spack, broken installations."""

from dataclasses import replace

from tests.support import mpi_banners
from tests.support.made_up_mpis import Installed, MadeUp
from tests.support.replay_host import command_key

from mpiric.host.host import Completed, Elf
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.mpis import abi_of_program, find_mpis, mpi_of_launcher
from mpiric.mpis._locations import prefixes_in

MPICH = Installed("/sw/mpich/4.2", mpi_banners.MPICH_4, launcher_says=mpi_banners.MPIEXEC_HYDRA)
CRAY = Installed(
    "/opt/cray/pe/mpich/8.1.25/ofi/gnu/9.1",
    mpi_banners.CRAY_8,
    library="lib/libmpi_gnu_91.so.12",
    soname="libmpi_gnu_91.so.12",
    launchers=(),
)


def _libraries_of(made_up: MadeUp) -> list[MpiLibrary]:
    return list(find_mpis(made_up.host()))


def test_a_machine_without_mpi_has_no_libraries():
    assert _libraries_of(MadeUp(())) == []


def test_a_launcher_on_path_leads_to_its_library():
    (mpi,) = _libraries_of(MadeUp((MPICH,), environ={"PATH": "/sw/mpich/4.2/bin:/usr/bin"}))
    assert (mpi.label, mpi.found_by, mpi.prefix) == ("mpich-4.0.2", "path", "/sw/mpich/4.2")


def test_a_link_on_path_leads_to_where_it_ends():
    links = {"/usr/bin/mpiexec": "/sw/mpich/4.2/bin/mpiexec"}
    (mpi,) = _libraries_of(MadeUp((MPICH,), links=links))
    assert mpi.prefix == "/sw/mpich/4.2"


def test_mvapich_is_started_by_hydra():
    installed = Installed(
        "/opt/mvapich2-2.3.7", mpi_banners.MVAPICH_2, launcher_says=mpi_banners.MPIEXEC_HYDRA
    )
    (mpi,) = _libraries_of(MadeUp((installed,)))
    assert (mpi.label, mpi.dialect, mpi.found_by) == ("mvapich-2.3.7", "hydra", "opt")
    assert mpi.abi_families == (AbiFamily.MPICH,)
    assert mpi.launcher == "/opt/mvapich2-2.3.7/bin/mpiexec.hydra"


def test_a_hydra_next_to_mvapich_belongs_to_mvapich():
    installed = Installed("/opt/mvapich-3.0", mpi_banners.MVAPICH_3, launcher_says=mpi_banners.MPIEXEC_HYDRA)
    mpi = mpi_of_launcher(MadeUp((installed,)).host(), "/opt/mvapich-3.0/bin/mpiexec")
    assert mpi is not None
    assert mpi.label == "mvapich-3.0"


def test_cray_mpich_is_started_by_srun():
    made_up = MadeUp((CRAY,), files={"/usr/bin/srun": ""})
    (mpi,) = _libraries_of(made_up)
    assert (mpi.label, mpi.launcher, mpi.dialect) == ("craympich-8.1.25.17", "/usr/bin/srun", "srun")
    assert mpi.abi_families == (AbiFamily.MPICH,)
    assert mpi.transports == ("ofi", "shm")


def test_cray_mpich_without_a_launcher_on_path_has_none():
    (mpi,) = _libraries_of(MadeUp((CRAY,)))
    assert mpi.launcher == ""


def test_a_tcl_module_leads_to_its_prefix():
    text = "#%Module\nset version 4.2\nset root /sw/mpich/$version\nprepend-path PATH $root/bin\n"
    made_up = MadeUp((MPICH,), environ={"MODULEPATH": "/m"}, files={"/m/mpich/4.2": text})
    (mpi,) = _libraries_of(made_up)
    assert (mpi.found_by, mpi.module) == ("module", "mpich/4.2")


def test_a_lua_module_leads_to_its_prefix():
    text = 'local base = "/sw/mpich/4.2"\nprepend_path("PATH", pathJoin(base, "bin"))\n'
    made_up = MadeUp((MPICH,), environ={"MODULEPATH": "/m"}, files={"/m/gcc/12/mpich/4.2.lua": text})
    (mpi,) = _libraries_of(made_up)
    assert mpi.module == "gcc/12/mpich/4.2"


def test_modules_as_spack_and_easybuild_write_them_lead_to_their_prefix():
    spack_tcl = "#%Module1.0\nprepend-path --delim {:} PATH {/sw/mpich/4.2/bin}\n"
    spack_lua = 'prepend_path("PATH", "/sw/mpich/4.2/bin", ":")\n'
    easybuild = "#%Module\nset root    /sw/mpich/4.2\nprepend-path\tPATH\t\t${root}/bin\n"
    fedora = "#%Module 1.0\nconflict\t\tmpi\nprepend-path \t\tPATH \t\t/sw/mpich/4.2/bin\n"
    for text in (spack_tcl, spack_lua, easybuild, fedora):
        assert prefixes_in(text) == ("/sw/mpich/4.2",)


def test_a_module_that_needs_its_language_to_run_leads_nowhere():
    assert prefixes_in("set root [exec find-it]\nprepend-path PATH $root/bin\n") == ()


def test_a_library_on_path_learns_the_module_that_brings_it():
    text = "#%Module\nprepend-path PATH /sw/mpich/4.2/bin\n"
    made_up = MadeUp(
        (MPICH,), environ={"MODULEPATH": "/m", "PATH": "/sw/mpich/4.2/bin"}, files={"/m/mpich/4.2": text}
    )
    (mpi,) = _libraries_of(made_up)
    assert (mpi.found_by, mpi.module) == ("path", "mpich/4.2")


def test_modules_of_other_software_are_not_read():
    made_up = MadeUp(
        (MPICH,), environ={"MODULEPATH": "/m"}, files={"/m/gcc/12": "prepend-path PATH /sw/mpich/4.2/bin"}
    )
    assert _libraries_of(made_up) == []


def test_every_conda_environment_is_looked_into():
    installed = Installed(
        "/home/u/miniforge3/envs/sim",
        mpi_banners.OPENMPI_5,
        library="lib/libmpi.so.40",
        soname="libmpi.so.40",
        launchers=("mpirun",),
        launcher_says=mpi_banners.MPIRUN_OPENMPI_5,
    )
    (mpi,) = _libraries_of(MadeUp((installed,), environ={"HOME": "/home/u"}))
    assert (mpi.label, mpi.found_by, mpi.dialect) == ("openmpi-5.0.11", "conda", "openmpi5")


def test_spacks_installations_are_found():
    installed = Installed(
        "/s/opt/spack/linux/gcc-12/mpich-4.2-abc",
        mpi_banners.MPICH_4,
        launcher_says=mpi_banners.MPIEXEC_HYDRA,
    )
    (mpi,) = _libraries_of(MadeUp((installed,), environ={"SPACK_ROOT": "/s"}))
    assert mpi.found_by == "spack"


def test_a_library_reached_in_two_ways_counts_once():
    made_up = MadeUp(
        (MPICH,),
        environ={"PATH": "/sw/mpich/4.2/bin"},
        linker={"libmpi.so.12": "/etc/link/libmpi.so.12"},
        links={"/etc/link/libmpi.so.12": "/sw/mpich/4.2/lib/libmpi.so.12"},
    )
    assert len(_libraries_of(made_up)) == 1


def test_a_library_that_cannot_be_queried_is_left_out():
    broken = Installed("/opt/mpich-broken", "")
    assert _libraries_of(MadeUp((broken,))) == []


def test_a_launcher_without_its_library_still_tells_its_dialect():
    made_up = MadeUp((), files={"/x/bin/mpiexec": ""})
    host = made_up.host()
    host.recording.commands[command_key(["/x/bin/mpiexec", "--version"], None)] = Completed(
        0, mpi_banners.MPIRUN_OPENMPI_5, ""
    )
    mpi = mpi_of_launcher(host, "/x/bin/mpiexec")
    assert mpi is not None
    assert (mpi.library, mpi.dialect, mpi.version) == ("", "openmpi5", "5.0.11")


def test_a_sites_wrapper_leads_to_the_mpi_it_starts():
    made_up = MadeUp((MPICH,), files={"/site/bin/mpirun": ""}, environ={"MPI_HOME": "/sw/mpich/4.2"})
    host = made_up.host()
    host.recording.commands[command_key(["/site/bin/mpirun", "--version"], None)] = Completed(
        0, mpi_banners.MPIEXEC_HYDRA, ""
    )
    mpi = mpi_of_launcher(host, "/site/bin/mpirun")
    assert mpi is not None
    assert (mpi.label, mpi.launcher) == ("mpich-4.0.2", "/site/bin/mpirun")
    assert mpi.library == "/sw/mpich/4.2/lib/libmpi.so.12"


def test_variables_of_module_systems_name_prefixes():
    (mpi,) = _libraries_of(MadeUp((MPICH,), environ={"EBROOTMPICH": "/sw/mpich/4.2"}))
    assert mpi.found_by == "environment"


def test_a_library_on_the_users_library_path_is_found():
    (mpi,) = _libraries_of(MadeUp((MPICH,), environ={"LD_LIBRARY_PATH": "/sw/mpich/4.2/lib"}))
    assert (mpi.found_by, mpi.launcher) == ("environment", "/sw/mpich/4.2/bin/mpiexec.hydra")


def test_a_system_library_hidden_by_the_users_path_needs_its_directory():
    system = Installed(
        "/usr", mpi_banners.MPICH_4, library="lib64/libmpi.so.12", launcher_says=mpi_banners.MPIEXEC_HYDRA
    )
    linker = {"libmpi.so.12": "/usr/lib64/libmpi.so.12"}
    plain = MadeUp((system,), linker=linker)
    hidden = MadeUp((system, MPICH), linker=linker, environ={"LD_LIBRARY_PATH": "/sw/mpich/4.2/lib"})
    paths = {mpi.prefix: mpi.library_path for mpi in _libraries_of(plain)}
    assert paths["/usr"] == ()
    paths = {mpi.prefix: mpi.library_path for mpi in _libraries_of(hidden)}
    assert paths["/usr"] == ("/usr/lib64",)


def test_the_standard_abi_library_belongs_to_the_one_in_its_directory():
    made_up = MadeUp(
        (replace(MPICH, further_files=("lib/libmpi_abi.so.1",)),),
        environ={"LD_LIBRARY_PATH": "/sw/mpich/4.2/lib"},
    )
    (mpi,) = _libraries_of(made_up)
    assert mpi.abi_families == (AbiFamily.MPICH, AbiFamily.STANDARD)
    assert mpi.standard_library == "/sw/mpich/4.2/lib/libmpi_abi.so.1"


def test_intel_mpi_prefers_the_libfabric_its_makers_ship():
    root = "/opt/intel/oneapi/mpi/2021.19"
    installed = Installed(
        root,
        mpi_banners.INTEL_2021_19,
        launcher_says=mpi_banners.MPIEXEC_INTEL,
        further_files=("opt/mpi/libfabric/lib/libfabric.so.1", "opt/mpi/libfabric/lib/prov/libtcp-fi.so"),
    )
    (mpi,) = _libraries_of(MadeUp((installed,), linker={"libfabric.so.1": "/usr/lib/libfabric.so.1"}))
    assert mpi.library_path == (f"{root}/lib", f"{root}/opt/mpi/libfabric/lib")
    assert mpi.environment["FI_PROVIDER_PATH"] == f"{root}/opt/mpi/libfabric/lib/prov"


def test_intel_mpi_without_a_libfabric_takes_the_one_of_an_mpich_wheel():
    installed = Installed(
        "/opt/intel/oneapi/mpi/2021.19", mpi_banners.INTEL_2021_19, launcher_says=mpi_banners.MPIEXEC_INTEL
    )
    made_up = MadeUp(
        (installed,),
        environ={"MPIRIC_MPI_HOME": "/mine"},
        files={"/mine/mpich-5.0.2/lib/mpich/libfabric.so.1": ""},
    )
    (mpi,) = _libraries_of(made_up)
    assert mpi.library_path[1:] == ("/mine/mpich-5.0.2/lib/mpich",)


def test_a_program_of_a_cray_has_the_mpich_family():
    elfs = {"/home/u/app": Elf("", ("libmpi_gnu_91.so.12", "libc.so.6"), (), "/lib64/ld-linux-x86-64.so.2")}
    assert abi_of_program(MadeUp((), elfs=elfs).host(), "/home/u/app") is AbiFamily.MPICH


def test_origin_in_a_run_path_is_the_programs_own_directory():
    elfs = {
        "/app/bin/sim": Elf("", ("libsim.so",), ("$ORIGIN/../lib",), "/lib64/ld-linux-x86-64.so.2"),
        "/app/bin/../lib/libsim.so": Elf("libsim.so", ("libmpi.so.40",), (), ""),
    }
    assert abi_of_program(MadeUp((), elfs=elfs).host(), "/app/bin/sim") is AbiFamily.OPENMPI
