"""Hostile text comes back unchanged from every language that mpiric writes, and runs nothing there."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mpiric.model import quoting
from mpiric.model.errors import MpiricError
from mpiric.model.quoting import is_printable, printable

HOSTILE = (
    "",
    "\n",
    "a\nb",
    "a\n\n",
    "\ntouch gone\n",
    "x'; touch gone; '",
    '"; touch gone; "',
    "$(touch gone)",
    "`touch gone`",
    "a\\",
    "\\'; touch gone #",
    "a\\\nb",
    "!!",
    "!$!",
    "}; exec touch gone; {",
    "[exec touch gone]",
    "{",
    "}",
    "$HOME ${HOME} %d %s %%",
    "-n",
    "#SBATCH --wrap=x",
    "a\n#BSUB -J other",
    "\x1b]0;title\x07",
    "\x1b[31m\r\x7f\x9b",
    "\u202egpj.exe\u2066",
    "\udcff\udc80",
    "tab\there",
    "ünï \U0001f600",
    "~ * ? [a] {a,b} <in >out & | ; ( )",
)
CHARACTERS = st.one_of(
    st.sampled_from(sorted({character for text in HOSTILE for character in text})),
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
)
WORD = st.one_of(st.sampled_from(HOSTILE), st.text(CHARACTERS, max_size=12))
WORDS = st.lists(WORD, min_size=1, max_size=30)
FEW = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
PRINTF = shutil.which("printf") or "printf"


def run(argv, directory: Path) -> bytes:
    done = subprocess.run(
        argv,
        cwd=directory,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(directory)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def same(command, printed: bytes, directory: Path) -> None:
    assert [os.fsdecode(word) for word in printed.split(b"\0")[:-1]] == list(command)
    assert not (directory / "gone").exists()


def as_script(text: str, directory: Path) -> str:
    path = directory / "script"
    path.write_bytes(os.fsencode(text))
    return str(path)


@pytest.mark.parametrize("shell", ["sh", "dash", "bash", "zsh", "ksh"])
@example(list(HOSTILE))
@FEW
@given(texts=WORDS)
def test_words_of_sh_come_back(tmp_path, shell, texts):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    script = as_script(f"{PRINTF} '%s\\0' {quoting.sh_command(texts)}\n", tmp_path)
    same(texts, run([shell, script], tmp_path), tmp_path)


@example(list(HOSTILE))
@FEW
@given(texts=WORDS)
def test_bash_finds_no_fault_in_scripts_with_them(tmp_path, texts):
    array = as_script(f"words=({quoting.sh_command(texts)})\n{PRINTF} '%s\\0' \"${{words[@]}}\"\n", tmp_path)
    run(["bash", "-n", array], tmp_path)
    same(texts, run(["bash", array], tmp_path), tmp_path)


@pytest.mark.parametrize(
    ("shell", "word"), [("tcsh", "csh_word"), ("csh", "csh_word"), ("fish", "fish_word")]
)
@example(list(HOSTILE))
@FEW
@given(texts=WORDS)
def test_words_of_csh_and_fish_come_back(tmp_path, shell, word, texts):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    quote = getattr(quoting, word)
    script = as_script(f"{PRINTF} '%s\\0' {' '.join(map(quote, texts))}\n", tmp_path)
    argv = [shell, "-f", script] if shell != "fish" else [shell, "--no-config", script]
    same(texts, run(argv, tmp_path), tmp_path)


@example([text for text in HOSTILE if "\udcff" not in text])
@FEW
@given(texts=WORDS)
def test_words_of_tcl_come_back_also_within_braces(tmp_path, texts):
    if shutil.which("tclsh") is None:
        pytest.skip("tclsh is not installed")
    command = [
        word
        for word in texts
        if not re.search("[\ud800-\udfff]", word) and max(word, default="") < "\U00010000"
    ]
    lines = ["fconfigure stdout -encoding utf-8 -translation binary"]
    lines += [
        f'if {{ 1 }} {{ puts -nonewline "[encoding convertto utf-8 {quoting.tcl_word(w)}]\\0" }}'
        for w in command
    ]
    script = as_script("\n".join([*lines, ""]), tmp_path)
    same(command, run(["tclsh", "-encoding", "utf-8", script], tmp_path), tmp_path)


@FEW
@given(texts=WORDS)
def test_no_line_of_a_command_begins_as_a_directive(texts):
    for quote in (quoting.sh_word, quoting.csh_word, quoting.fish_word):
        line = " ".join(["program", *map(quote, texts)])
        assert not any(part.lstrip().startswith("#") for part in line.split("\n"))


@given(text=WORD)
def test_a_comment_is_one_line(text):
    line = quoting.comment(text)
    assert len(line.splitlines()) == 1
    assert line.startswith("# ")
    assert not line.endswith("\\")
    assert is_printable(line)


@given(text=WORD)
def test_a_directive_is_one_line_or_refused(text):
    if quoting.one_line(text) != text:
        with pytest.raises(MpiricError):
            quoting.directive_value(text)
        with pytest.raises(MpiricError):
            quoting.directive("#SBATCH", text)
        return
    line = quoting.directive("#SBATCH", f"--job-name={quoting.directive_value(text)}")
    assert shlex.split(line.removeprefix("#SBATCH ")) == [f"--job-name={text}"]


@pytest.mark.parametrize("function", [quoting.parameter_value, quoting.shebang])
@given(text=WORD)
def test_a_parameter_and_a_first_line_are_one_line_or_refused(function, text):
    if quoting.one_line(text) == text:
        assert function(text) == text
        return
    with pytest.raises(MpiricError) as raised:
        function(text)
    assert is_printable(raised.value.message)


@pytest.mark.parametrize("name", ["", "A B", "A;touch gone", "A\nB", "1A", "A=B", "é", "$(x)"])
def test_only_names_of_variables_are_assigned(name):
    with pytest.raises(MpiricError):
        quoting.variable_name(name)


@FEW
@given(pairs=st.dictionaries(st.text(st.sampled_from("AB1 ;$'\n"), min_size=1, max_size=4), WORD, max_size=5))
def test_variables_before_a_command_reach_it_whatever_their_names(tmp_path, pairs):
    show = (
        "import os, sys; values = [os.environb[os.fsencode(name)] for name in sys.argv[1:]];"
        "sys.stdout.buffer.write(b''.join(value + bytes(1) for value in values))"
    )
    line = quoting.sh_with_variables(pairs.items(), quoting.sh_command([sys.executable, "-c", show, *pairs]))
    printed = run(["bash", as_script(f"{line}\n", tmp_path)], tmp_path)
    if pairs:
        same(pairs.values(), printed, tmp_path)


@pytest.mark.parametrize("function", [quoting.sh_word, quoting.csh_word, quoting.fish_word, quoting.tcl_word])
def test_a_nul_character_is_refused(function):
    with pytest.raises(MpiricError):
        function("a\0b")


@FEW
@given(texts=st.lists(st.text(CHARACTERS, max_size=12), min_size=1, max_size=10))
def test_strings_of_c_come_back(tmp_path, texts):
    if shutil.which("cc") is None:
        pytest.skip("a C compiler is not installed")
    array = "".join(f"{quoting.c_string(text)},\n" for text in texts)
    source = tmp_path / "text.c"
    source.write_text(
        "#include <stdio.h>\nint main(void) {\n"
        f"static const char *const texts[] = {{\n{array}0}};\n"
        "for (int at = 0; texts[at]; ++at) { fputs(texts[at], stdout); putchar(0); }\nreturn 0; }\n"
    )
    subprocess.run(["cc", "-std=c99", "-w", "-o", tmp_path / "text", source], check=True)
    same(texts, run([str(tmp_path / "text")], tmp_path), tmp_path)


def test_nothing_else_quotes_by_itself():
    """Only `model/quoting.py` quotes text for other languages."""
    package = Path(quoting.__file__).parents[1]
    files = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"shlex\.(quote|join)|from shlex import.*\b(quote|join)\b", path.read_text())
    ]
    assert files == ["model/quoting.py"]


@given(text=st.text())
def test_printable_text_controls_no_terminal(text):
    shown = printable(text)
    assert is_printable(shown)
    assert printable(shown) == shown
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)
