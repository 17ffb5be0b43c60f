"""Quoting of text for the languages that mpiric writes: one function per language.

Each function returns text that the language reads back as the argument, for any characters, or raises
MpiricError if the language cannot express them. The caller must not escape further.
"""

import re
import shlex
from collections.abc import Iterable

from mpiric.model.errors import MpiricError

# C0 except tab and line break, DEL, C1, marks that change the direction of text, line separators,
# and lone surrogates, which encode bytes that are not UTF-8.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAKS = {"\n": "\\n", "\t": "\\t"}


def is_printable(text: str) -> bool:
    """Return whether `printable` leaves the text as it is."""
    return CONTROL.search(text) is None


def printable(text: str, keep: str = "\n\t") -> str:
    """Return the text with visible escapes for all control characters except those in ``keep``."""
    escaped = CONTROL.sub(_escape, text.replace("\r\n", "\n"))
    for character, escape in _BREAKS.items():
        if character not in keep:
            escaped = escaped.replace(character, escape)
    return escaped


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00  # byte that Python's surrogateescape has encoded
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def printable_json(text: str) -> str:
    """Escape the control characters of JSON text as JSON escapes; the values do not change."""
    return CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FISH_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
# An empty pair of quotes follows each line break in a quoted word, so that no line of a job script
# then begins with the characters of a directive.
_NEXT_LINE = "\n''"


def sh_word(text: str) -> str:
    """Quote one word of POSIX sh, bash, ksh and zsh. Control characters become escapes of printf."""
    _refuse_nul(text, "a word of a shell")
    if is_printable(text):
        return shlex.quote(text).replace("\n", _NEXT_LINE)
    body = text.rstrip("\n")  # $(…) removes trailing line breaks
    tail = shlex.quote(text[len(body) :]).replace("\n", _NEXT_LINE) if body != text else ""
    return f"\"$(printf '{''.join(map(_printf_character, body))}')\"{tail}"


def _printf_character(character: str) -> str:
    if character == "%":
        return "%%"
    if character not in "'\"\\!-`$" and character.isprintable():
        return character
    return _octal(character)


def sh_command(argv: Iterable[str]) -> str:
    """Return a command line for POSIX sh."""
    return " ".join(map(sh_word, argv))


def sh_with_variables(variables: Iterable[tuple[str, str]], command: str) -> str:
    """Return a command line for POSIX sh with variables that are set only for this command."""
    plain, quoted = [], []
    for name, value in variables:
        if _VARIABLE.fullmatch(name):
            plain.append(f"{name}={sh_word(value)}")
        else:  # sh cannot assign it, but env can
            quoted.append(sh_word(f"{name}={value}"))
    return " ".join([*plain, *(["env", *quoted] if quoted else []), *([command] if command else [])])


def csh_word(text: str) -> str:
    """Quote one word of csh and tcsh, where ``!`` and line breaks need a backslash even in quotes."""
    _refuse_nul(text, "a word of a shell")
    word = shlex.quote(text).replace("!", "\\!").replace("\n", f"\\{_NEXT_LINE}")
    return CONTROL.sub(lambda match: f"'\"`printf '{_octal(match[0])}'`\"'", word)


def fish_word(text: str) -> str:
    """Quote one word of fish, where a backslash escapes in single quotes."""
    _refuse_nul(text, "a word of a shell")
    if _FISH_PLAIN.fullmatch(text):
        return text
    inner = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", _NEXT_LINE)
    return CONTROL.sub(lambda match: f"'{_octal(match[0], prefix='X', base='02x')}'", f"'{inner}'")


def variable_name(name: str) -> str:
    """Return the name of an environment variable, if scripts can assign it."""
    if not _VARIABLE.fullmatch(name):
        raise MpiricError(
            f"a script cannot set a variable named {printable(name)!r}",
            hint="names consist of letters, digits and _, and do not begin with a digit",
        )
    return name


def tcl_word(text: str) -> str:
    """Quote one word of Tcl, also for use in a body in braces."""
    _refuse_bytes(text, "a modulefile")
    return '"' + "".join(map(_tcl_character, text)) + '"'


def _tcl_character(character: str) -> str:
    if character in '"\\[]{}$':
        return f"\\{character}"
    return character if character.isprintable() else f"\\u{ord(character):04x}"


def dockerfile_word(text: str) -> str:
    """Quote a value of an ENV instruction of a Dockerfile."""
    value = _single_line(text, "a Dockerfile")
    return '"' + re.sub(r'(["\\\\$])', r"\\\1", value) + '"'


def github_value(text: str) -> str:
    """Return a value for a line ``NAME=value`` of the file $GITHUB_ENV."""
    return _single_line(text, "a line of $GITHUB_ENV")


def comment(text: str) -> str:
    """Return a one-line comment for sh, csh, fish, Python, Tcl and parameter files."""
    line = one_line(text)
    return f"# {line} " if line.endswith("\\") else f"# {line}"  # Tcl would continue it on the next line


def one_line(text: str) -> str:
    """Return the text with control characters, line breaks and tabs as visible escapes."""
    return printable(text, keep="")


def shebang(text: str) -> str:
    """Return the first line of a script."""
    return _single_line(text, "the first line of a script")


def directive(prefix: str, option: str) -> str:
    """Return a scheduler directive of a job script: ``#SBATCH --time=1:00:00``."""
    return f"{prefix} {_single_line(option, f'a {prefix} line of a job script')}"


def directive_value(text: str) -> str:
    """Quote an option value of a directive (schedulers parse shell quotes); "" stays empty."""
    return shlex.quote(_single_line(text, "an option of a job script")) if text else ""


def parameter_value(text: str) -> str:
    """Return a value for a file with lines ``name = value``."""
    return _single_line(text, "a parameter file")


def response_file_word(text: str) -> str:
    """Quote one argument in a response file (``@file``) of compilers and binutils."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def c_string(text: str) -> str:
    """Return a C string literal; ``?`` is escaped because of trigraphs."""
    parts = []
    for character in text:
        if character in '"\\?':
            parts.append(f"\\{character}")
        elif character.isascii() and character.isprintable():
            parts.append(character)
        else:
            parts.append(_octal(character))
    return '"' + "".join(parts) + '"'


def _octal(character: str, prefix: str = "", base: str = "03o") -> str:
    errors = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return "".join(f"\\{prefix}{byte:{base}}" for byte in character.encode(errors=errors))


def _single_line(text: str, where: str) -> str:
    if one_line(text) != text:
        raise MpiricError(
            f"{where} cannot hold a line break or another control character: {one_line(text)!r}",
            hint="remove the character, or use another text",
        )
    return text


def _refuse_nul(text: str, where: str) -> None:
    if "\0" in text:
        raise MpiricError(
            f"{where} cannot hold a NUL character: {one_line(text)!r}", hint="remove the character"
        )


def _refuse_bytes(text: str, where: str) -> None:
    _refuse_nul(text, where)
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise MpiricError(
            f"{where} cannot hold a name that is not UTF-8: {one_line(text)!r}", hint="rename the directory"
        )
