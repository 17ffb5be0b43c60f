"""Lists of words from one string."""


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(text.split())
