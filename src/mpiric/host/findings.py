"""Findings with texts from data files."""

from mpiric.host.packaged import packaged_table
from mpiric.model.finding import Finding


def finding_from(table: str, key: str, **facts: object) -> Finding:
    """Return a finding whose texts are templates in a TOML file of the package, filled with ``facts``."""
    texts = packaged_table(table)[key]
    return Finding(key, *(texts[part].format(**facts) for part in ("says", "evidence", "fix")))
