"""Queue of jobs in a directory, shared by all fake schedulers.

A job is a file ``KEY.json``. A separate process waits until the job may run, runs its script, and ends or
restarts it according to the settings of the cluster. Commands create the files ``KEY.cancel`` and
``KEY.requeue`` as requests to this process.
"""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

STATE = Path(os.environ.get("MPIRIC_STAND_IN", "/nonexistent"))
PYTHON = (sys.executable, "-S", "-m")  # no packages: each command is a process
WAITING, RUNNING, ENDED = "waiting", "running", "ended"
_POLL_S = 0.03
_KILL_AFTER_S = 2.0


def setting(name):
    return json.loads((STATE / "settings.json").read_text())[name]


def new_id():
    with (STATE / "last").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        number = int(file.read() or "0") + 1
        file.truncate(0)
        file.write(str(number))
    return str(number)


def key_of(job, index=None):
    return job if index is None else f"{job}.{index}"


def submit(
    script,
    *,
    name,
    environment,
    indices=(),
    after=(),
    at_once=0,
    rerun=True,
    log="",
    nodes=1,
    where=(),
    **more,
):
    """Queue a job, or one element for each index; return the id of the job."""
    job = new_id()
    text = script.read_text() if isinstance(script, Path) else script
    for position, index in enumerate(indices or [None]):
        key = key_of(job, index)
        (STATE / f"{key}.sh").write_text(text)
        record = {
            "key": key,
            "job": job,
            "index": index,
            "name": name,
            "stage": WAITING,
            "end": "",
            "status": None,
            "runs": 0,
            "hosts": [],
            "after": list(after),
            "position": position,
            "at_once": at_once,
            "rerun": rerun,
            "nodes": nodes,
            "where": [name for name in where if name],
            "log": log,
            "environment": environment,
            **more,
        }
        save(record)
    module = sys.modules["__main__"].__spec__.name
    for index in indices or [None]:
        subprocess.Popen(
            [*PYTHON, "tests.support.stand_ins.queue", module, key_of(job, index)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, cwd="/",
        )  # fmt: skip
    return job


def save(record):
    new = STATE / f"{record['key']}.new"
    new.write_text(json.dumps(record))
    new.replace(STATE / f"{record['key']}.json")


def load(key):
    path = STATE / f"{key}.json"
    return json.loads(path.read_text()) if path.exists() else None


def jobs():
    """Return all jobs and elements in the order of their submission."""
    records = [json.loads(path.read_text()) for path in STATE.glob("*.json") if path.stem != "settings"]
    return sorted(records, key=lambda record: (int(record["job"]), record["position"]))


def elements(job):
    return [record for record in jobs() if record["job"] == job]


def usable(record):
    """Return the hosts on which a job may run: the named hosts, or all."""
    names = record["where"] or setting("hosts")
    return [host for host in setting("hosts") if host in names and host not in setting("down")]


def idle():
    """Return the hosts that are up and run no job."""
    busy = {host for record in jobs() if record["stage"] == RUNNING for host in record["hosts"]}
    return [host for host in setting("hosts") if host not in busy and host not in setting("down")]


def request(key, kind):
    (STATE / f"{key}.{kind}").touch()


def is_cancelled(key):
    """Return whether the job must end: it was cancelled, or the test that made the queue has ended."""
    return (STATE / f"{key}.cancel").exists() or not Path(f"/proc/{setting('owner')}").exists()


def run(key, variables):
    """Run a job to its end; ``variables`` returns the variables of a running job."""
    record = load(key)
    while record["stage"] != ENDED:
        if not _may_run(record):
            if is_cancelled(key):
                record.update(stage=ENDED, end="cancelled")
                save(record)
                return
            time.sleep(_POLL_S)
            continue
        up = usable(record)
        record.update(stage=RUNNING, hosts=up[: record["nodes"]], runs=record["runs"] + 1)
        save(record)
        _run_once(record, variables)
        save(record)


def _may_run(record):
    if is_cancelled(record["key"]):
        return False
    if any(element["stage"] != ENDED for job in record["after"] for element in elements(job)):
        return False
    if len(usable(record)) < record["nodes"]:
        return False
    before = [element for element in elements(record["job"]) if element["position"] < record["position"]]
    return not record["at_once"] or sum(element["stage"] != ENDED for element in before) < record["at_once"]


def _run_once(record, variables):
    key = record["key"]
    limit_s = setting("limit_s")
    (STATE / f"{key}.requeue").unlink(missing_ok=True)
    log = STATE / (record["log"] or os.devnull)
    with log.open("ab") as file:
        process = subprocess.Popen(
            ["/bin/sh", str(STATE / f"{key}.sh")], env={**record["environment"], **variables(record)},
            stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True, cwd=STATE,
        )  # fmt: skip
        began, why = time.monotonic(), ""
        while process.poll() is None:
            if is_cancelled(key):
                why = "cancelled"
            elif (STATE / f"{key}.requeue").exists():
                why = "requeued"
            elif set(record["hosts"]) & set(setting("down")):
                why = "host failed"
            elif time.monotonic() - began > limit_s:
                why = "time limit"
            if why:
                _end(process, at_once=why == "host failed")
            time.sleep(_POLL_S)
    if why == "requeued" or (why == "host failed" and record["rerun"]):
        record.update(stage=WAITING, hosts=[])
    else:
        status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        record.update(stage=ENDED, end=why, status=status)


def _end(process, *, at_once):
    with contextlib.suppress(ProcessLookupError):
        if not at_once:
            os.killpg(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_KILL_AFTER_S)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


if __name__ == "__main__":
    from importlib import import_module

    run(sys.argv[2], import_module(sys.argv[1]).variables)
