import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mpiric.launchers import dialects, parse_command, render
from mpiric.launchers._dialect import Dialect, Option
from mpiric.model.errors import MpiricError
from mpiric.model.job import Meaning

WORD = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
VALUE = st.sampled_from(["a", "n1:2,n2", "x=y", "-1", "core", "/p/q", "a b", "", "é"]) | WORD
PROGRAM = st.sampled_from(["./a.out", "prog", "/bin/x", "python3"])
ARGUMENT = st.sampled_from(["-n", "--", "-x", "in.dat", "4", "", "--mca"]) | WORD


@st.composite
def option_words(draw, dialect: Dialect):
    option: Option = draw(st.sampled_from(dialect.options))
    name = draw(st.sampled_from(option.names))
    grammar = dialect.grammar
    one_dash = len(name) == 1 or (grammar.long_after_one_dash and draw(st.booleans()))
    dashes = "-" if one_dash else "--"
    counted = option.meaning is Meaning.RANKS
    values = [str(draw(st.integers(1, 9999))) if counted else draw(VALUE) for _ in range(option.arity)]
    if option.attached_only:
        return [dashes + name + ("=" + values[0] if not one_dash and draw(st.booleans()) else "")]
    if values and grammar.equals and (not one_dash or grammar.long_after_one_dash) and draw(st.booleans()):
        return [f"{dashes}{name}={values[0]}", *values[1:]]
    return [dashes + name, *values]


@st.composite
def command_lines(draw, dialect: Dialect):
    argv = [draw(st.sampled_from(dialect.launcher_names))]
    for at in range(draw(st.integers(1, 3))):
        argv += [":"] if at else []
        for piece in draw(st.lists(option_words(dialect), max_size=5)):
            argv += piece
        argv += draw(st.sampled_from([[], ["--"]]))
        argv += [draw(PROGRAM), *draw(st.lists(ARGUMENT.filter(lambda word: word != ":"), max_size=4))]
    return argv


def render_again(argv, dialect):
    try:
        job = parse_command(argv, "/work", {"A": "1"}, dialect=dialect.name)
    except MpiricError:
        return None  # refusing a line loses nothing
    return render(job).argv


LAUNCHERS = [name for name, dialect in dialects().items() if dialect.launcher_names]


@pytest.mark.parametrize("name", LAUNCHERS)
@given(data=st.data())
def test_well_formed_lines_are_understood_and_written_again(name, data):
    argv = data.draw(command_lines(dialects()[name]))
    assume(":" not in [word for word in argv if word != ":"])
    assert render_again(argv, dialects()[name]) in (tuple(argv), None)


@pytest.mark.parametrize("name", LAUNCHERS)
@given(
    tail=st.lists(
        ARGUMENT | st.sampled_from(["-np", "-n4", "--host=a", "-genv", "--export", ":"]), max_size=8
    )
)
def test_any_words_are_either_refused_or_written_again(name, tail):
    argv = [dialects()[name].launcher_names[0], *tail]
    assert render_again(argv, dialects()[name]) in (tuple(argv), None)


@given(argv=st.lists(ARGUMENT, min_size=1, max_size=6))
def test_a_command_without_a_launcher_is_written_again(argv):
    assume(not argv[0].startswith("-") and argv[0])
    written = render_again(["./run", *argv], dialects()["direct"])
    assert written == ("./run", *argv)
