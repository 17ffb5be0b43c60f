"""Fake Flux, written from the manual pages of flux-core 0.88 and compared with that version.

Pages: flux-batch(1) with its submission directives, flux-jobs(1), flux-cancel(1), flux-resource(1),
flux-getattr(1), flux-environment(7).
"""

import argparse
import json
import os
import re
import shlex
import sys
from pathlib import Path

from tests.support.stand_ins import queue

STATES = {queue.WAITING: "SCHED", queue.RUNNING: "RUN"}
ENDS = {"cancelled": "CANCELED", "time limit": "TIMEOUT", "host failed": "FAILED"}


def name_of(record):
    return f"f{record['job']}"


def variables(record):
    return {
        "FLUX_ENCLOSING_ID": f"ƒ{record['job']}",
        "FLUX_URI": f"local:///made-up/{','.join(record['hosts'])}",
    }


def options():
    parser = argparse.ArgumentParser("flux batch", allow_abbrev=False)
    for names in (
        ["--job-name"], ["--bank", "-B"], ["--queue", "-q"], ["--time-limit", "-t"], ["--nodes", "-N"],
        ["--nslots", "-n"], ["--cores-per-slot", "-c"], ["--requires"], ["--output"],
    ):  # fmt: skip
        parser.add_argument(*names)
    parser.add_argument("--dependency", action="append", default=[])
    parser.add_argument("--exclusive", "-x", action="store_true")
    parser.add_argument("script", nargs="?")
    return parser


def batch(argv):
    arguments = options().parse_args(argv)
    text = Path(arguments.script).read_text()
    lines = [line.removeprefix("# flux:") for line in text.splitlines() if line.startswith("# flux:")]
    directives = options().parse_args([word for line in lines for word in shlex.split(line, comments=True)])
    if not (arguments.nodes or arguments.nslots or directives.nodes or directives.nslots):
        sys.exit("flux-batch: ERROR: Number of slots to allocate must be specified")
    job = queue.submit(
        text,
        name=arguments.job_name or Path(arguments.script).name,
        environment=dict(os.environ),
        after=[dependency.removeprefix("afterany:f") for dependency in arguments.dependency],
        rerun=False,
        log=arguments.output or "",
        nodes=int(arguments.nodes or directives.nodes or 1),
        where=re.findall(r"host:([\w.-]+)", arguments.requires or directives.requires or ""),
    )
    print(f"ƒ{job}")


def jobs(argv):
    form = argv[argv.index("-o") + 1]
    if form == "{name}|{id.f58plain}":
        for record in reversed(queue.jobs()):
            print(f"{record['name']}|{name_of(record)}")
        return
    records = {name_of(record): record for record in queue.jobs()}
    for name in argv[argv.index("-o") + 2 :]:
        if name not in records:
            print(f"JobID {name} unknown", file=sys.stderr)
            continue
        record = records[name]
        word, code, exception = STATES.get(record["stage"], ""), "", ""
        if not word:
            word = ENDS.get(record["end"]) or ("FAILED" if record["status"] else "COMPLETED")
            code = -128 if word == "CANCELED" and not record["runs"] else record["status"]
            exception = {"cancelled": "cancel", "time limit": "timeout", "host failed": "node-failure"}.get(
                record["end"], ""
            )
        print(f"{name}|{word}|{','.join(record['hosts'])}|{code}|{exception}|")


def cancel(argv):
    for record in queue.jobs():
        if name_of(record) in argv:
            queue.request(record["key"], "cancel")


def resource(argv):
    form = argv[argv.index("-o") + 1]
    if form == "{nodelist}":
        hosts, state = queue.setting("hosts"), argv[argv.index("-s") + 1]
        names = {
            "down": queue.setting("down"),
            "free": queue.idle(),
            "allocated": [host for host in hosts if host not in queue.idle()],
        }
        print(",".join(names[state]))
        return
    count = len(queue.setting("hosts"))
    print(f"{count} {8 * count}" if form == "{nnodes} {ncores}" else f"{count} hdr,milan")


def getattr_(argv):
    print({"parent-uri": "local:///made-up/parent"}[argv[0]])


def kvs(argv):
    assert argv == ["get", "resource.R"]
    hosts = os.environ["FLUX_URI"].rpartition("/")[2].split(",")
    resources = [{"rank": f"0-{len(hosts) - 1}", "children": {"core": "0-7"}}]
    print(json.dumps({"version": 1, "execution": {"R_lite": resources, "nodelist": hosts}}))


if __name__ == "__main__":
    verb = {"getattr": getattr_}.get(sys.argv[2]) or globals()[sys.argv[2]]
    sys.exit(verb(sys.argv[3:]))
