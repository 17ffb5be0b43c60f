"""Layouts of the files that a run used, read when it is over."""

import os
from dataclasses import replace

from mpiric.host.host import Host
from mpiric.model.profile import FileTotal, Profile
from mpiric.model.record import Record
from mpiric.profile.advise import advise
from mpiric.profile.files import ranks_in_one_stripe
from mpiric.profile.numbers import layout_numbers
from mpiric.storage import layouts_of

_MOST_FILES = 32  # the most expensive files; each may need a query to a server


def with_layouts(profile: Profile, record: Record, host: Host, working_directory: str) -> Profile:
    """Add the layouts of the most expensive files, and whether two ranks wrote to one stripe."""
    paths = {
        file.path: os.path.join(working_directory, file.path)  # noqa: PTH118 kept as it is when absolute
        for file in [file for file in profile.files if file.interface != "stream"][:_MOST_FILES]
    }
    layouts = layouts_of(host, tuple(dict.fromkeys(paths.values())))

    def with_layout(file: FileTotal) -> FileTotal:
        layout = layouts.get(paths.get(file.path, ""))
        if layout is None or file.interface == "stream":
            return file
        return replace(
            file, layout=layout, ranks_in_one_stripe=ranks_in_one_stripe(record, file.path, layout)
        )

    files = tuple(map(with_layout, profile.files))
    numbers = {**profile.numbers, **layout_numbers(files, sum(rank.time_s for rank in profile.ranks))}
    completed = replace(profile, files=files, numbers=numbers)
    return replace(completed, advice=advise(completed))
