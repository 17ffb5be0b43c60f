"""Lists of words, written as they are read."""


def words(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(text.split())
