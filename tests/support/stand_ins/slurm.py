"""Stand-in for Slurm, written from sbatch(1), squeue(1), scontrol(1), scancel(1) and sinfo(1) of 22.05.

The virtual cluster runs the real one; this one is there so that every scheduler passes the same tests.
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
    found = {
        "SLURM_JOB_ID": str(1000 + int(record["job"]) * 100 + record["position"]),
        "SLURM_JOB_NODELIST": ",".join(record["hosts"]),
        "SLURM_JOB_CPUS_PER_NODE": f"8(x{len(record['hosts'])})",
        "SLURM_TASKS_PER_NODE": f"1(x{len(record['hosts'])})",
        "SLURM_RESTART_COUNT": str(record["runs"] - 1),
    }
    if record["index"] is None:
        return {**found, "SLURM_JOB_ID": record["job"]}
    return {**found, "SLURM_ARRAY_JOB_ID": record["job"], "SLURM_ARRAY_TASK_ID": str(record["index"])}


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


def sbatch(words):
    given = options().parse_args(words)
    text = Path(given.script).read_text()
    lines = [line.removeprefix("#SBATCH ") for line in text.splitlines() if line.startswith("#SBATCH ")]
    lines = [line.partition("  #")[0] for line in lines]
    directives = options().parse_args([word for line in lines for word in shlex.split(line)])
    if given.test_only:
        print("sbatch: Job 1 to start at 2026-11-21T08:43:31", file=sys.stderr)
        return
    found = re.fullmatch(r"0-(\d+)(?:%(\d+))?", given.array or "")
    if found and int(found[1]) >= queue.setting("array_limit"):
        sys.exit("sbatch: error: Batch job submission failed: Invalid job array specification")
    job = queue.submit(
        text,
        name=given.job_name or Path(given.script).name,
        environment=dict(os.environ),
        indices=tuple(range(int(found[1]) + 1)) if found else (),
        at_once=int(found[2] or 0) if found else 0,
        after=re.findall(r"afterany:(\d+)", given.dependency or ""),
        rerun=directives.requeue,
        log=(given.output or "").replace("%a", "0"),
        nodes=int(given.nodes or directives.nodes or 1),
        comment=given.comment or "",
    )
    print(job)


def squeue(words):
    given = dict(word.partition("=")[::2] for word in words)
    if "--me" in given:
        for record in queue.jobs():
            print(f"{name_of(record)}|{record['comment']}")
        return
    names = given["--jobs"].split(",")
    records = [record for record in queue.jobs() if name_of(record) in names]
    if not records:
        sys.exit("slurm_load_jobs error: Invalid job id specified")
    for record in records:
        reason = "Dependency" if word_of(record) == "PENDING" and record["after"] else "None"
        print(f"{name_of(record)}|{word_of(record)}|{reason}|{','.join(record['hosts'])}")


def scontrol(words):
    if words == ["show", "config"]:
        print(f"MaxArraySize            = {queue.setting('array_limit')}")
        return
    record = next((record for record in queue.jobs() if name_of(record) == words[-1]), None)
    if record is None:
        sys.exit("slurm_load_jobs error: Invalid job id specified")
    if words[0] == "requeue":
        queue.request(record["key"], "requeue")
        return
    restarts = record["runs"] - (record["stage"] != queue.WAITING)
    code = f"{record['status'] or 0}:0"
    print(
        f"JobId={record['job']} JobState={word_of(record)} Reason=None Restarts={restarts} "
        f"ExitCode={code} NodeList={','.join(record['hosts'])}"
    )


def scancel(words):
    for record in queue.jobs():
        if {name_of(record), record["job"]} & set(words):
            queue.request(record["key"], "cancel")


def sinfo(words):
    form = next(word for word in words if word.startswith("--format=")).removeprefix("--format=")
    if form == "%N|%T":
        for host in queue.setting("hosts"):
            print(f"{host}|{'down*' if host in queue.setting('down') else 'allocated'}")
        return
    fields = {"%P": "batch*", "%D": len(queue.setting("hosts")), "%X": 2, "%Y": 4, "%Z": 1, "%b": "milan,hdr"}
    print("|".join(str(fields[part]) for part in form.split("|")))


def srun(words):
    assert words[-1] == "/bin/true"


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]](sys.argv[2:]))
