"""A sentence with the hint that stands below it on stderr."""


def with_hint(sentence: str, hint: str) -> str:
    """Two lines, as errors are printed."""
    return f"{sentence}\nhint: {hint}"
