"""Sections of the report on a record, one per file, each with a template in `templates/profile/`.

A section is a module with ``TITLE`` and ``view(profile)``, the values of its template. Its name is its
anchor in the page; `ORDER` is the order of the sections.
"""

ORDER = (
    "overview advice functions sizes communicators traffic order ranks timeline placement regions memory "
    "files sites method"
).split()
