"""slurm.conf of a cluster. Pure text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lab.errors import LabError


@dataclass(frozen=True)
class Phantoms:
    """Nodes that exist in the configuration only: jobs on them can be checked, and queue, but never run."""

    partition: str
    count: int
    geometry: str  # "Sockets=2 CoresPerSocket=64 ThreadsPerCore=2 RealMemory=245000"


@dataclass(frozen=True)
class SlurmPlan:
    """Slurm settings. ``geometry`` and ``topology`` simulate nodes of any size for slurmd."""

    geometry: str = ""  # geometry of every host; "" for the real machine
    topology: str = ""  # synthetic description for hwloc, "pack:2 core:64 pu:2", or an XML file
    phantoms: tuple[Phantoms, ...] = ()
    features: tuple[tuple[str, str], ...] = ()  # host and its features: ("n1", "fast,ib"), for sbatch -C
    more: str = ""  # further lines of slurm.conf


def phantoms(text: str) -> Phantoms:
    """Parse ``betzy:1200:Sockets=2 CoresPerSocket=64``."""
    partition, _, remaining = text.partition(":")
    count, _, geometry = remaining.partition(":")
    if not (partition.isalnum() and count.isdigit() and int(count) > 0 and geometry):
        raise LabError(
            f"this partition cannot be made: {text!r}",
            hint="write it like 'betzy:1200:Sockets=2 CoresPerSocket=64 ThreadsPerCore=2 RealMemory=245000'",
        )
    return Phantoms(partition, int(count), geometry)


def slurm_conf(hosts: Sequence[str], plan: SlurmPlan, geometry: str, directory: Path) -> str:
    """Return the file for these hosts; logs are in ``directory``, state is in /var of each host."""
    return "\n".join(
        [
            "ClusterName=lab",
            f"SlurmctldHost={hosts[0]}",
            "SlurmUser=root",
            "SlurmdUser=root",
            "AuthType=auth/munge",
            "CredType=cred/munge",
            "AuthInfo=socket=/run/munge/munge.socket",
            "StateSaveLocation=/var/spool/slurmctld",
            "SlurmdSpoolDir=/var/spool/slurmd",
            "SlurmctldPidFile=/run/slurmctld.pid",
            "SlurmdPidFile=/run/slurmd.pid",
            f"SlurmctldLogFile={directory}/slurmctld.log",
            f"SlurmdLogFile={directory}/slurmd.%h.log",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/affinity",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core",
            "SlurmdParameters=config_overrides",  # nodes may be said to have more than the machine
            "ReturnToService=2",
            "MpiDefault=none",
            "JobAcctGatherType=jobacct_gather/none",
            "SlurmctldTimeout=30",
            "SlurmdTimeout=15",  # a dead host is noticed soon
            "InactiveLimit=0",
            "KillWait=5",
            "JobRequeue=1",
            *_node_lines(hosts, geometry, dict(plan.features)),
            f"PartitionName=debug Nodes={','.join(hosts)} Default=YES MaxTime=INFINITE State=UP",
            *_phantom_lines(plan.phantoms),
            plan.more,
            "",
        ]
    )


def features(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Parse ``n1,n2=fast,ib``: hosts and their features."""
    parts = [text.partition("=") for text in texts]
    if not all(hosts and equals and names for hosts, equals, names in parts):
        raise LabError("features are written like n1,n2=fast,ib", hint="--features n1,n2=fast,ib")
    return tuple((host, names) for hosts, _, names in parts for host in hosts.split(","))


def _node_lines(hosts: Sequence[str], geometry: str, features_of: Mapping[str, str]) -> list[str]:
    alike: dict[str, list[str]] = {}
    for host in hosts:
        alike.setdefault(features_of.get(host, ""), []).append(host)
    return [
        f"NodeName={','.join(names)} {geometry} State=UNKNOWN" + (f" Feature={expected}" if expected else "")
        for expected, names in alike.items()
    ]


def _phantom_lines(variables: Sequence[Phantoms]) -> list[str]:
    if not variables:
        return []
    # Slurm takes nodes of a cloud that sleeps for usable, and wakes none for --test-only.
    lines = [
        "PrivateData=cloud",
        "SuspendProgram=/bin/true",
        "ResumeProgram=/bin/true",
        "SuspendTime=3600",
        "ResumeTimeout=600",
    ]
    for entry in variables:
        names = f"{entry.partition}[1-{entry.count}]"
        lines.append(f"NodeName={names} {entry.geometry} State=CLOUD")
        lines.append(f"PartitionName={entry.partition} Nodes={names} MaxTime=7-0 State=UP")
    return lines
