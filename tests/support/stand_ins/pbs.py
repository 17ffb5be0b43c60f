"""Fake PBS, written from the manual pages of OpenPBS 23; not compared with a real one.

Pages: qsub(1B) for options and directives, qstat(1B) and pbs_job_attributes(7B) for states and attributes,
qdel(1B), qrerun(1B), qselect(1B), pbsnodes(8B); "Job Exit Status Codes" of the Administrator's Guide.
"""

import argparse
import os
import re
import shlex
import sys
from pathlib import Path

from tests.support.stand_ins import queue

SERVER = "svr"
STATES = {queue.WAITING: "Q", queue.RUNNING: "R", queue.ENDED: "F"}


def name_of(record):
    index = "" if record["index"] is None else f"[{record['index']}]"
    return f"{record['job']}{index}.{SERVER}"


def variables(record):
    nodes = queue.STATE / f"{record['key']}.nodes"
    nodes.write_text("".join(f"{host}\n" * record["mpiprocs"] for host in record["hosts"]))
    values = {"PBS_JOBID": name_of(record), "PBS_NODEFILE": str(nodes), "PBS_QUEUE": "workq", "NCPUS": "2"}
    if record["index"] is not None:
        values["PBS_ARRAY_INDEX"] = str(record["index"])
        values["PBS_ARRAY_ID"] = f"{record['job']}[].{SERVER}"
    return values


def options():
    parser = argparse.ArgumentParser("qsub")
    for flag in "N A P q o j r J S":
        if flag.strip():
            parser.add_argument(f"-{flag}")
    parser.add_argument("-V", action="store_true")
    parser.add_argument("-l", action="append", default=[])
    parser.add_argument("-W", action="append", default=[])
    parser.add_argument("script", nargs="?")
    return parser


def qsub(argv):
    arguments = options().parse_args(argv)
    text = Path(arguments.script).read_text()
    lines = [line.removeprefix("#PBS ") for line in text.splitlines() if line.startswith("#PBS ")]
    directives = options().parse_args([word for line in lines for word in shlex.split(line)])
    resources = {**resources_of(directives.l), **resources_of(arguments.l)}
    if not re.fullmatch(r"\d+|\d+(:\d\d){1,2}", resources.get("walltime", "1")):
        sys.exit("qsub: Illegal attribute or resource value Resource_List.walltime")
    chunks = [chunk.split(":") for chunk in resources.get("select", "1:ncpus=1").split("+")]
    settings = [dict(part.split("=") for part in chunk[1:]) for chunk in chunks]
    ranks = [
        (int(chunk[0]), int(resources_of_chunk.get("mpiprocs", "1")))
        for chunk, resources_of_chunk in zip(chunks, settings, strict=True)
    ]
    # Free: the few ranks of a test fit one host.
    spread = resources.get("place", "free").startswith("scatter")
    indices, at_once = array(arguments.J) if arguments.J else ((), 0)
    attributes = [value for value in arguments.W if value.startswith("depend=")]
    dependencies = [value.removeprefix("depend=afterany:") for value in attributes]
    job = queue.submit(
        text,
        name=arguments.N or Path(arguments.script).name,
        environment=dict(os.environ) if arguments.V or directives.V else {},
        indices=indices,
        at_once=at_once,
        after=[job_id.partition("[")[0].partition(".")[0] for job_id in dependencies],
        rerun=directives.r != "n",
        log=(arguments.o or "").replace("^array_index^", "0"),
        nodes=sum(count for count, _ in ranks) if spread else 1,
        where=[part["host"] for part in settings if "host" in part],
        mpiprocs=ranks[0][1] if spread else sum(count * per_chunk for count, per_chunk in ranks),
    )
    print(f"{job}{'[]' if indices else ''}.{SERVER}")


def resources_of(lists):
    return dict(part.split("=", 1) for text in lists for part in re.split(r",(?=\w+=)", text))


def array(text):
    match = re.fullmatch(r"(\d+)-(\d+)(?::(\d+))?(?:%(\d+))?", text)
    if not match or int(match[1]) >= int(match[2]):
        sys.exit("qsub: illegal -J value")
    indices = range(int(match[1]), int(match[2]) + 1, int(match[3] or 1))
    if len(indices) > queue.setting("array_limit"):
        sys.exit("qsub: Array job exceeds server or queue size limit")
    return tuple(indices), int(match[4] or 0)


def qstat(argv):
    if "-B" in argv:
        print(f"Server: {SERVER}\n    server_state = Active")
        print(f"    max_array_size = {queue.setting('array_limit')}")
        return 0
    assert argv[:2] == ["-x", "-f"]
    records = {name_of(record): record for record in queue.jobs()}
    unknown = False
    for name in argv[2:]:
        if name not in records:
            unknown = True
            print(f"qstat: Unknown Job Id {name}", file=sys.stderr)
            continue
        record = records[name]
        print(f"Job Id: {name}\n    Job_Name = {record['name']}\n    job_state = {STATES[record['stage']]}")
        if record["hosts"]:
            print("    exec_host = " + "+".join(f"{host}/0*2" for host in record["hosts"]))
        print(f"    run_count = {record['runs']}\n    Variable_List = PBS_O_HOME=/root,PBS_O_WORKDIR=/a,")
        print("\tPBS_O_SYSTEM=Linux")
        if record["stage"] == queue.ENDED:
            codes = {"time limit": -29, "host failed": -20}
            status = codes.get(record["end"], record["status"])
            if record["end"] == "cancelled" and record["runs"]:
                status = 271
            print(f"    substate = {91 if record['end'] == 'cancelled' else 93 if status else 92}")
            if status is not None:
                print(f"    Exit_status = {status}")
        print()
    return 153 if unknown else 0


def qselect(argv):
    options = dict(zip(argv[1::2], argv[2::2], strict=True))
    records = [record for record in queue.jobs() if record["name"] == options["-N"]]
    for record in records[:1]:
        print(f"{record['job']}{'' if record['index'] is None else '[]'}.{SERVER}")


def qdel(argv):
    for name in argv:
        for record in queue.jobs():
            if name in (name_of(record), f"{record['job']}[].{SERVER}"):
                queue.request(record["key"], "cancel")


def qrerun(argv):
    for record in queue.jobs():
        if name_of(record) in argv and record["stage"] == queue.RUNNING:
            queue.request(record["key"], "requeue")


def pbsnodes(argv):
    for host in queue.setting("hosts"):
        if argv == ["-a"] or host in argv:
            down, busy = host in queue.setting("down"), host not in queue.idle()
            state = "down" if down else "job-exclusive" if busy else "free"
            print(f"{host}\n     Mom = {host}\n     state = {state}\n     resources_available.arch = linux")
            print("     resources_available.ncpus = 8\n     resources_available.model = milan\n")


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]](sys.argv[2:]))
