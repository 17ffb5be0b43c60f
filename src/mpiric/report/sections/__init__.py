"""Sections of the report on a record, one per file: what its template in `templates/profile/` is given.

A section is a module with ``TITLE`` and ``view(profile)``; its name is its anchor in the page, which has
them in `ORDER`.
"""

ORDER = (
    "overview advice functions sizes communicators traffic order ranks timeline placement regions memory "
    "files sites method"
).split()
