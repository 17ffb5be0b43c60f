"""Known endings: text and status of a failed command lead to its cause and its remedy."""

import re

import pytest
from tools.generate import ending_reference

from mpiric.host.host import Space
from mpiric.host.packaged import packaged_table
from mpiric.lab.endings import FailedRun, OutputTail, explain_ending, unknown_ending
from mpiric.launchers import parse_command

ENTRIES = packaged_table("lab/endings")["ending"]
EXAMPLES = [(entry["id"], text) for entry in ENTRIES for text in entry["examples"]]


class SharedMemory:
    """Host whose /dev/shm has a size, and whose kernel may forbid ptrace."""

    def __init__(self, size_bytes: int, ptrace_scope: int = 0) -> None:
        self.size_bytes, self.ptrace_scope = size_bytes, ptrace_scope

    def space(self, _path: str) -> Space:
        return Space(self.size_bytes, self.size_bytes)

    def read_text(self, path: str) -> str | None:
        return f"{self.ptrace_scope}\n" if path.endswith("yama/ptrace_scope") else None


LARGE = SharedMemory(8 << 30)


def explained(text="", status=1, line="mpirun -np 2 ./a", host=LARGE, dialect="openmpi4", **facts):
    job = parse_command(line.split(), "/work", {}, dialect=dialect)
    return explain_ending(FailedRun(job, text, status, **facts), host)


@pytest.mark.parametrize(("name", "text"), EXAMPLES)
def test_each_text_leads_to_its_own_entry(name, text):
    signal = re.search(r"signal (\d+)", text)
    advice = explained(f"some output\n{text}\nmore output\n", 128 + int(signal[1]) if signal else 1)
    assert advice is not None
    assert advice.finding.id == name


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["id"])
def test_each_entry_has_a_sentence_a_remedy_a_source_and_valid_patterns(entry):
    assert all(entry[part] for part in ("says", "fix", "source"))
    assert entry["examples"] or "condition" in entry
    for pattern in entry.get("patterns", ()):
        re.compile(pattern)


def test_entries_have_different_names():
    assert len({entry["id"] for entry in ENTRIES}) == len(ENTRIES) >= 40


def test_an_unknown_ending_is_not_explained():
    assert explained("Error: the input has no atoms", 3) is None


BLOCK = "-" * 74
OF_LAUNCHERS = [
    f"{BLOCK}\nPrimary job  terminated normally, but 1 process returned\na non-zero exit code. Per "
    f"user-direction, the job has been aborted.\n{BLOCK}\n{BLOCK}\nmpirun detected that one or more "
    f"processes exited with non-zero status\n\n  Process name: [[2752,1],1]\n  Exit code:    3\n{BLOCK}\n",
    f"{BLOCK}\nprterun detected that one or more processes exited\n   Exit code:    3\n{BLOCK}\n",
    f"\n{'=' * 83}\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   EXIT CODE: 3\n{'=' * 83}\n",
    "srun: error: n1: task 1: Exited with exit code 3\n",
]


@pytest.mark.parametrize("text", OF_LAUNCHERS)
def test_an_unknown_failure_quotes_the_program_and_not_the_launcher(text):
    job = parse_command("mpirun -np 2 ./a".split(), "/work", {}, dialect="openmpi4")
    output = f"step 1\n{BLOCK}\n a table\n{BLOCK}\nError: no atoms\n{text}"
    advice = unknown_ending(FailedRun(job, output, 3))
    assert advice.explains_run
    assert "exit status 3" in advice.finding.says
    assert advice.finding.evidence == f"its output ends: a table | {BLOCK} | Error: no atoms"


def test_an_unknown_failure_without_output_says_so():
    job = parse_command(["./a"], "/work", {}, dialect="direct")
    assert unknown_ending(FailedRun(job, "", 1)).finding.evidence == "it printed nothing"


def test_a_launcher_that_was_ended_by_sigpipe_lost_standard_input():
    assert explained("step 1\n", 141).finding.id == "launcher-lost-standard-input"
    assert explained("PID 1 on node n1 exited on signal 13 (Broken pipe).", 141) is None
    assert explained("step 1\n", 3) is None


def test_a_recorded_abort_is_the_cause_if_the_launcher_lost_its_message():
    text = "[n1:2] ORTE_ERROR_LOG: Data unpack would read past end of buffer in file orte/util/show_help.c"
    assert explained(text, 3).finding.id == "message-lost"
    finding = explained(text, 3, aborted_rank=1).finding
    assert (finding.id, finding.says[:22]) == ("called-abort", "rank 1 called MPI_Abor")


INTEL = (
    "=   RANK 0 PID 1 RUNNING AT n1\n=   KILLED BY SIGNAL: 9 (Killed)\n"
    "=   RANK 1 PID 2 RUNNING AT n1\n=   KILLED BY SIGNAL: {}\n"
)
SIGNALS = [
    (INTEL.format("7 (Bus error)"), 135, "bus-error"),
    (INTEL.format("9 (Killed)"), 137, "killed"),
    (INTEL.format("9 (Killed)"), 3, None),  # the launcher ended the other ranks after an exit status
    ("THE EXIT STRING: Illegal instruction (signal 4)\n", 4, "illegal-instruction"),  # hydra of MPICH
    ("[n1:2] Signal: Segmentation fault (11)\n", 139, "segmentation-fault"),
    ("2 total processes failed to start\n", 132, None),  # a status of Open MPI's launcher
]


@pytest.mark.parametrize(("text", "status", "expected"), SIGNALS)
def test_the_signal_of_the_first_rank_counts(text, status, expected):
    advice = explained(text, status)
    assert (advice.finding.id if advice else None) == expected


def test_a_program_without_launcher_ends_with_the_signal_of_its_status():
    advice = explained("", 132, "./a", dialect="direct")
    assert advice is not None
    assert advice.finding.id == "illegal-instruction"


def test_a_bus_error_with_a_small_shared_memory_is_its_fault():
    advice = explained("exited on signal 7 (Bus error)", 135, host=SharedMemory(1 << 20))
    assert advice is not None
    assert advice.finding.id == "shared-memory-too-small-bus-error"
    assert "/dev/shm has 1 MiB" in advice.finding.evidence


def test_a_kill_counts_as_out_of_memory_only_if_the_kernel_counted_one():
    text = "exited on signal 9 (Killed)"
    assert [explained(text, 137, oom_kills=kills).finding.id for kills in (0, 1)] == [
        "killed",
        "out-of-memory-killed",
    ]


@pytest.mark.parametrize(
    ("ptrace_scope", "namespaces", "expected"),
    [
        (0, ("user:[1]", "user:[2]"), "copy-between-namespaces"),
        (1, (), "copy-forbidden-by-yama"),
        (0, (), "copy-between-ranks-refused"),
    ],
)
def test_a_refused_copy_names_the_namespaces_or_yama(ptrace_scope, namespaces, expected):
    host = SharedMemory(8 << 30, ptrace_scope)
    advice = explained("process_vm_readv failed (errno 1)", host=host, namespaces=namespaces)
    assert advice.finding.id == expected
    assert all(name in advice.finding.evidence for name in namespaces)
    assert advice.remedy.values == {"single-copy": "none"}


COMMANDS = [
    (
        "There are not enough slots available in the system to satisfy the 5",
        "mpirun --oversubscribe -np 5 ./a",
    ),
    ("Read -1, expected 100, errno =1", "mpiric run --set single-copy=none -- mpirun -np 5 ./a"),
    ("OFI addrinfo() failed", "FI_PROVIDER=tcp mpirun -np 5 ./a"),
]


@pytest.mark.parametrize(("text", "command"), COMMANDS)
def test_the_command_that_cures_it_is_named(text, command):
    assert explained(text, line="mpirun -np 5 ./a").commands == (command,)


def test_a_secret_is_hidden_in_the_shown_command_only():
    advice = explained("OFI addrinfo() failed", line="mpirun -np 5 ./a --password x")
    assert advice.commands == ("FI_PROVIDER=tcp mpirun -np 5 ./a --password '***'",)
    assert advice.remedy.launch.argv == ("mpirun", "-np", "5", "./a", "--password", "x")
    assert advice.remedy.launch.environment == {"FI_PROVIDER": "tcp"}


def test_the_printed_line_is_the_evidence():
    advice = explained(
        "a\nx: error while loading shared libraries: libf.so.1: cannot open shared object file: No\n"
    )
    assert advice.finding.says == "the ranks do not find the shared library libf.so.1"
    assert advice.finding.evidence.startswith("it printed: x: error while loading")


def test_only_the_end_of_an_output_is_kept():
    tail = OutputTail(LARGE)
    tail.feed(b"first\n" + b"x" * (64 << 10))
    tail.feed(b"\nlast")
    assert tail.text.endswith("last")
    assert "first" not in tail.text


def test_the_page_of_known_endings_is_current():
    assert ending_reference.TARGET.read_text() == ending_reference.render()
