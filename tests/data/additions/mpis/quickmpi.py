"""A made-up MPI implementation: ``Quick MPI 3.1``, started by ``quickrun``."""

import re

from mpiric.model.job import Spelling
from mpiric.model.knob import parse_bytes
from mpiric.model.mpi_library import AbiFamily, Capabilities, CollectiveComponents
from mpiric.mpis._implementation import Exported, Implementation


def _recognise(text):
    match = re.match(r"Quick MPI (\d\S*)", text)
    return match[1] if match else None


def _waiting(value, _situation):
    return Spelling(environment={"QUICK_WAIT": value})


def _eager_node(value, _situation):
    return Spelling(environment={"QUICK_EAGER": str(parse_bytes(value))})


def _export(policy, _defaults):
    return Exported({"quick.rules": f"{len(policy.lines)} lines\n"}, {}, {"QUICK_RULES": "quick.rules"})


IMPLEMENTATION = Implementation(
    title="Quick MPI",
    family=AbiFamily.MPICH,
    libraries=("libmpi.so.12",),
    compilers={"c": ("quickcc",)},
    recognise=_recognise,
    dialect=lambda _version: "quickrun",
    transports=lambda _text, _information: ("shm",),
    capabilities=lambda _version, _transports: Capabilities(
        binds_by_default=False,
        can_sleep=True,
        collectives=CollectiveComponents(on_node=("shared-memory",)),
    ),
    spellers=lambda _version: {"waiting": _waiting, "eager-node": _eager_node},
    system_launchers={"quickrun": "quickrun"},
    prefix="QUICK_",
    variables=("QUICK_",),
    export=_export,
)
