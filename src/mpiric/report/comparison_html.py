"""Two records side by side as one self-contained page."""

from mpiric.model.amount import seconds, size
from mpiric.model.comparison import Comparison
from mpiric.report._amounts import count
from mpiric.report._pages import page
from mpiric.report.comparison_text import headline_value


def comparison_html(comparison: Comparison, version: str) -> str:
    """The whole page."""
    return page(
        "comparison.html",
        comparison=comparison,
        version=version,
        headline=headline_value,
        time=lambda value, _: seconds(value),
        number=lambda value, _: count(value),
        bytes=lambda value, _: size(value),
    )
