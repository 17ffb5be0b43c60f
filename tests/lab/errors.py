"""The one error of the lab."""


class LabError(Exception):
    """One sentence that names what is wrong, and what to do about it."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
