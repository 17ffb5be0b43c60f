"""Parts of output lines do not depend on previous lines."""

from hypothesis import given
from hypothesis import strategies as st

from mpiric.outputs.lines import take_apart

TEXTS = st.text("0123456789abcdefx./:-+ [=%", max_size=40)


@given(TEXTS, st.permutations("0123456789"))
def test_lines_that_differ_in_digits_alone_keep_their_own_values(text: str, digits: list[str]) -> None:
    take_apart(text.translate(str.maketrans("0123456789", "".join(digits))))
    behind_an_address = take_apart(f"0x0 {text}")  # lines with an address are not cached
    assert take_apart(text).values == behind_an_address.values[1:]


def test_an_address_begins_with_nought_only() -> None:
    assert take_apart("at 1x3f and 12").values == ("1", "3", "12")
    assert take_apart("at 0x3f and 12").values == ("0x3f", "12")
    assert take_apart("at 0x3f and 12").shape != take_apart("at 1x3f and 12").shape
