"""First process of a cluster, which builds it and ends with it.

It is PID 1 of a PID namespace that holds every process of every host. When it ends, however it ends, the
kernel kills them all; with them go the namespaces, their interfaces and their mounts. So nothing has to be
cleaned up, and a cluster that is killed while it is being built vanishes as well.

    python -m tests.lab.supervisor DIRECTORY READY_FD GO_FD
"""

import os
import signal
import sys
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.hosts import Birth, begin_host
from tests.lab.namespaces import mount, namespace
from tests.lab.networks import connect
from tests.lab.plan import Plan
from tests.lab.state import OUTLIVES, PLAN, Holder, Record, write_record
from tests.lab.switch import build


def main(directory: Path, plan: Plan, ready: int, go: int) -> int:
    """Build the cluster, report the result on ``ready``, and continue on a message or an open ``go``."""
    try:
        mount("proc", "/proc", "proc")
        _build(directory, plan)
    except LabError as error:
        os.write(ready, f"{error.message}\n{error.hint}".encode())
        return 1
    except OSError as error:
        os.write(ready, f"{error.filename}: {error.strerror}\n".encode())
        return 1
    os.write(ready, b"ready")
    os.close(ready)
    word = os.read(go, 1)
    if not word:
        return 1  # whoever wanted the cluster is gone
    signal.signal(signal.SIGCHLD, _reap)  # daemons of the hosts become children of this process
    _reap()
    while word == OUTLIVES or os.read(go, 1):
        signal.pause()
    return 0


def _reap(*_: object) -> None:
    """Reap children, and end after the last one. A thread would end after the others, so none is used."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        sys.exit(0)


def _build(directory: Path, plan: Plan) -> None:
    (directory / "hosts").write_text(plan.hosts_file())
    switch = build(directory) if any(network.delay_us for network in plan.networks) else None
    births: dict[str, Birth] = {name: begin_host(name, plan, directory) for name in plan.hosts}
    for birth in births.values():
        birth.await_word("mounted")
    for network in plan.networks:
        connect(network, plan, {name: birth.pid for name, birth in births.items()}, switch, directory)
    for birth in births.values():
        birth.say("connected")
    for birth in births.values():
        birth.await_word("ready")
    holders = {name: Holder(birth.pid, namespace(birth.pid, "net")) for name, birth in births.items()}
    write_record(directory, Record(plan, holders, namespace("self", "pid"), str(directory)))


if __name__ == "__main__":
    import json

    place = Path(sys.argv[1])
    plan_of_cluster = Plan.from_json(json.loads((place / PLAN).read_text()))
    sys.exit(main(place, plan_of_cluster, int(sys.argv[2]), int(sys.argv[3])))
