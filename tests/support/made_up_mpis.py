"""Made-up hosts with installations of MPI: prefix, library, and the printed versions."""

from dataclasses import dataclass, field

from tests.support.replay_host import Recording, ReplayHost, command_key

from mpiric.host.host import Completed, Elf
from mpiric.mpis._describe import ASK_VERSION


@dataclass(frozen=True)
class Installed:
    """MPI installation: files below a prefix."""

    prefix: str
    says: str
    library: str = "lib/libmpi.so.12"
    launchers: tuple[str, ...] = ("mpiexec", "mpirun", "mpiexec.hydra")
    launcher_says: str = ""
    further_files: tuple[str, ...] = ("bin/mpicc",)
    soname: str = "libmpi.so.12"


@dataclass
class MadeUp:
    """Content of a made-up host, which `host()` returns."""

    installed: tuple[Installed, ...]
    environ: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    linker: dict[str, str] = field(default_factory=dict)
    elfs: dict[str, Elf] = field(default_factory=dict)

    def host(self) -> ReplayHost:
        cache = "".join(f"\t{name} (libc6,x86-64) => {path}\n" for name, path in self.linker.items())
        recording = Recording(
            environ={"MPIRIC_MPI_HOME": "/nowhere", "PATH": "/usr/bin", **self.environ},
            files=dict(self.files),
            links=dict(self.links),
            elfs=dict(self.elfs),
            commands={command_key(["/sbin/ldconfig", "-p"], None): Completed(0, cache, "")},
        )
        for mpi in self.installed:
            _put(recording, mpi)
        return ReplayHost(recording)


def _put(recording: Recording, mpi: Installed) -> None:
    library = f"{mpi.prefix}/{mpi.library}"
    recording.elfs[library] = Elf(mpi.soname, (), (), "")
    ask = command_key(["python3", "-I", "-c", ASK_VERSION, library], None)
    recording.commands[ask] = Completed(0, mpi.says, "")
    for name in mpi.launchers:
        launcher = f"{mpi.prefix}/bin/{name}"
        recording.files[launcher] = ""
        recording.commands[command_key([launcher, "--version"], None)] = Completed(0, mpi.launcher_says, "")
    for name in mpi.further_files:
        recording.files[f"{mpi.prefix}/{name}"] = ""
