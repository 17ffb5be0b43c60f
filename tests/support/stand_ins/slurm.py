"""Fake Slurm, written from sbatch(1), squeue(1), scontrol(1), scancel(1) and sinfo(1) of 22.05.

The virtual cluster runs the real Slurm; this module lets all schedulers pass the same tests.
"""

import argparse
import os
import re
import shlex
import sys
from pathlib import Path

from tests.support.stand_ins import queue

ENDS = {"cancelled": "CANCELLED", "time limit": "TIMEOUT", "host failed": "NODE_FAIL"}


def name_of(record):
    return record["job"] if record["index"] is None else f"{record['job']}_{record['index']}"


def word_of(record):
    if record["stage"] != queue.ENDED:
        return "PENDING" if record["stage"] == queue.WAITING else "RUNNING"
    return ENDS.get(record["end"]) or ("FAILED" if record["status"] else "COMPLETED")


def variables(record):
    values = {
        "SLURM_JOB_ID": str(1000 + int(record["job"]) * 100 + record["position"]),
        "SLURM_JOB_NODELIST": ",".join(record["hosts"]),
        "SLURM_JOB_CPUS_PER_NODE": f"8(x{len(record['hosts'])})",
        "SLURM_TASKS_PER_NODE": f"1(x{len(record['hosts'])})",
        "SLURM_RESTART_COUNT": str(record["runs"] - 1),
    }
    if record["index"] is None:
        return {**values, "SLURM_JOB_ID": record["job"]}
    return {**values, "SLURM_ARRAY_JOB_ID": record["job"], "SLURM_ARRAY_TASK_ID": str(record["index"])}


def options():
    parser = argparse.ArgumentParser("sbatch", allow_abbrev=False)
    texts = "job-name output comment dependency array account partition time nodes ntasks ntasks-per-node "
    texts += "cpus-per-task export open-mode constraint nodelist hint"
    for name in texts.split():
        parser.add_argument(f"--{name}")
    for name in ("parsable", "requeue", "exclusive", "test-only"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("script", nargs="?")
    return parser


def sbatch(argv):
    arguments = options().parse_args(argv)
    text = Path(arguments.script).read_text()
    lines = [line.removeprefix("#SBATCH ") for line in text.splitlines() if line.startswith("#SBATCH ")]
    lines = [line.partition("  #")[0] for line in lines]
    directives = options().parse_args([word for line in lines for word in shlex.split(line)])
    if arguments.test_only:
        print("sbatch: Job 1 to start at 2026-11-21T08:43:31", file=sys.stderr)
        return
    match = re.fullmatch(r"0-(\d+)(?:%(\d+))?", arguments.array or "")
    if match and int(match[1]) >= queue.setting("array_limit"):
        sys.exit("sbatch: error: Batch job submission failed: Invalid job array specification")
    job = queue.submit(
        text,
        name=arguments.job_name or Path(arguments.script).name,
        environment=dict(os.environ),
        indices=tuple(range(int(match[1]) + 1)) if match else (),
        at_once=int(match[2] or 0) if match else 0,
        after=re.findall(r"afterany:(\d+)", arguments.dependency or ""),
        rerun=directives.requeue,
        log=(arguments.output or "").replace("%a", "0"),
        nodes=int(arguments.nodes or directives.nodes or 1),
        where=(arguments.nodelist or directives.nodelist or "").split(","),
        comment=arguments.comment or "",
    )
    print(job)


def squeue(argv):
    options = dict(word.partition("=")[::2] for word in argv)
    if "--me" in options:
        for record in queue.jobs():
            print(f"{name_of(record)}|{record['comment']}")
        return
    names = options["--jobs"].split(",")
    records = [record for record in queue.jobs() if name_of(record) in names]
    if not records:
        sys.exit("slurm_load_jobs error: Invalid job id specified")
    for record in records:
        reason = "Dependency" if word_of(record) == "PENDING" and record["after"] else "None"
        print(f"{name_of(record)}|{word_of(record)}|{reason}|{','.join(record['hosts'])}")


def scontrol(argv):
    if argv == ["show", "config"]:
        print(f"MaxArraySize            = {queue.setting('array_limit')}")
        return
    record = next((record for record in queue.jobs() if name_of(record) == argv[-1]), None)
    if record is None:
        sys.exit("slurm_load_jobs error: Invalid job id specified")
    if argv[0] == "requeue":
        queue.request(record["key"], "requeue")
        return
    restarts = record["runs"] - (record["stage"] != queue.WAITING)
    code = f"{record['status'] or 0}:0"
    print(
        f"JobId={record['job']} JobState={word_of(record)} Reason=None Restarts={restarts} "
        f"ExitCode={code} NodeList={','.join(record['hosts'])}"
    )


def scancel(argv):
    for record in queue.jobs():
        if {name_of(record), record["job"]} & set(argv):
            queue.request(record["key"], "cancel")


def sinfo(argv):
    form = next(word for word in argv if word.startswith("--format=")).removeprefix("--format=")
    if form == "%N|%T":
        for host in queue.setting("hosts"):
            print(f"{host}|{'down*' if host in queue.setting('down') else 'allocated'}")
        return
    if form == "%P|%N|%T":
        assert {"--Node", "--states=idle", "--responding"} <= set(argv)
        print("\n".join(f"batch*|{host}|idle" for host in queue.idle()))
        return
    fields = {"%P": "batch*", "%D": len(queue.setting("hosts")), "%X": 2, "%Y": 4, "%Z": 1, "%b": "milan,hdr"}
    print("|".join(str(fields[part]) for part in form.split("|")))


def srun(argv):
    assert argv[-1] == "/bin/true"


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]](sys.argv[2:]))
