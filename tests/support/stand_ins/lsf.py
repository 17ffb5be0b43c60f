"""Fake LSF, written from the LSF 10.1 Command Reference; not compared with a real one.

Pages: bsub (-J with an index list, -w, -o, -r), bjobs (-o with a delimiter; "Job status"), bkill, brequeue,
bparams, bhosts, lshosts; "Environment variables set for job execution" and "Job termination reasons".
"""

import argparse
import os
import re
import shlex
import sys

from tests.support.stand_ins import queue

STATES = {queue.WAITING: "PEND", queue.RUNNING: "RUN"}
REASONS = {
    "cancelled": "TERM_OWNER: job killed by owner",
    "time limit": "TERM_RUNLIMIT: job killed after reaching LSF run time limit",
    "host failed": "TERM_ZOMBIE: job exited while LSF is not available",
}


def name_of(record):
    return record["job"] if record["index"] is None else f"{record['job']}[{record['index']}]"


def variables(record):
    return {
        "LSB_JOBID": record["job"],
        "LSB_JOBINDEX": str(record["index"] or 0),
        "LSB_MCPU_HOSTS": " ".join(f"{host} {record['ptile']}" for host in record["hosts"]),
        "LSB_QUEUE": "normal",
    }


def options():
    parser = argparse.ArgumentParser("bsub")
    for flag in ("-J", "-P", "-q", "-W", "-n", "-o", "-w", "-m"):
        parser.add_argument(flag)
    parser.add_argument("-R", action="append", default=[])
    parser.add_argument("-x", action="store_true")
    parser.add_argument("-r", action="store_true")
    return parser


def bsub(argv):
    arguments = options().parse_args(argv)
    text = sys.stdin.read()
    lines = [line.removeprefix("#BSUB ") for line in text.splitlines() if line.startswith("#BSUB ")]
    directives = options().parse_args([word for line in lines for word in shlex.split(line)])
    match = re.fullmatch(r"([^[]+)(?:\[(\d+)-(\d+)\])?(?:%(\d+))?", arguments.J or directives.J or "job")
    indices = tuple(range(int(match[2]), int(match[3]) + 1)) if match[2] else ()
    if len(indices) > queue.setting("array_limit"):
        sys.exit("Bad job name. Job array index exceeds the limit. Job not submitted.")
    spans = re.findall(r"span\[ptile=(\d+)\]", " ".join([*directives.R, *arguments.R]))
    ranks = int(arguments.n or directives.n or 1)
    ptile = int(spans[-1]) if spans else ranks  # a host has slots for the few ranks of a test
    job = queue.submit(
        text,
        name=match[1],
        environment=dict(os.environ),
        indices=indices,
        at_once=int(match[4] or 0),
        after=re.findall(r"ended\((\d+)\)", arguments.w or ""),
        rerun=arguments.r or directives.r,
        log=(arguments.o or directives.o or "").replace("%I", "0"),
        nodes=-(-ranks // ptile),
        where=(arguments.m or directives.m or "").split(),
        ptile=ptile,
    )
    print(f"Job <{job}> is submitted to default queue <normal>.")


def bjobs(argv):
    parser = argparse.ArgumentParser("bjobs")
    parser.add_argument("-a", action="store_true")
    parser.add_argument("-noheader", action="store_true")
    parser.add_argument("-o")
    parser.add_argument("-J")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args(argv)
    if arguments.J:
        ids = [record["job"] for record in queue.jobs() if record["name"] == arguments.J]
        print("\n".join(ids)) if ids else print(f"Job <{arguments.J}> is not found", file=sys.stderr)
        return 0 if ids else 255
    assert arguments.o.startswith("jobid jobindex stat exec_host exit_code exit_reason pend_reason")
    records = {name_of(record): record for record in queue.jobs()}
    for name in arguments.names:
        if name not in records:
            print(f"Job <{name}> is not found", file=sys.stderr)
            continue
        record = records[name]
        word = STATES.get(record["stage"]) or ("EXIT" if record["end"] or record["status"] else "DONE")
        hosts = ":".join(f"{record['ptile']}*{host}" for host in record["hosts"])
        code = record["status"] if word == "EXIT" and record["status"] else "-"
        why, pending = REASONS.get(record["end"], "-"), "-"
        if word == "PEND":
            pending = "Job dependency condition not satisfied;" if record["after"] else "New job is waiting;"
        line = (record["job"], record["index"] or 0, word, hosts or "-", code, why, pending)
        print("|".join(map(str, line)))
    return 0 if all(name in records for name in arguments.names) else 255


def _requested(argv, kind):
    for name in argv:
        for record in queue.jobs():
            if name in (name_of(record), record["job"]):
                queue.request(record["key"], kind)


def bkill(argv):
    _requested(argv, "cancel")


def brequeue(argv):
    _requested(argv, "requeue")


def bparams(argv):
    assert argv == ["-a"]
    print(f"    MAX_JOB_NUM = 10000\n    MAX_JOB_ARRAY_SIZE = {queue.setting('array_limit')}")


def bhosts(argv):
    print("HOST_NAME          STATUS       JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV")
    for host in argv[1:] or queue.setting("hosts"):
        down, busy = host in queue.setting("down"), host not in queue.idle()
        state, slots = "unavail" if down else "ok", 8 * (busy and not down)
        print(f"{host:18} {state:12} -      8 {slots:6} {slots:6}      0      0      0")


def bqueues(argv):
    assert argv[:3] == ["-o", "hosts", "-noheader"]
    print("/ ".join(queue.setting("hosts")) + "/")


def lshosts(argv):
    assert argv == ["-w"]
    print("HOST_NAME                       type       model  cpuf ncpus maxmem maxswp server RESOURCES")
    for host in queue.setting("hosts"):
        print(f"{host:30} X86_64      milan  60.0     8 250.0G   4.0G    Yes (mg hdr)")


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]](sys.argv[2:]))
