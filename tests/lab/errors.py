"""Error of the lab."""


class LabError(Exception):
    """Error: a sentence that names the problem, and a hint how to solve it."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
