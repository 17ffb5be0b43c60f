"""Findings whose texts are data."""

from mpiric.host.packaged import packaged_table
from mpiric.model.finding import Finding


def finding_from(table: str, key: str, **facts: object) -> Finding:
    """A finding with its texts from a TOML file of the package, and facts for what stands there in braces."""
    texts = packaged_table(table)[key]
    return Finding(key, *(texts[part].format(**facts) for part in ("says", "evidence", "fix")))
