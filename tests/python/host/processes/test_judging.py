"""Observations of the keeper on ranks, with the paths outside of its mounts."""

from mpiric.host.processes.execution import ranks_of

ROW = {
    "rank": 0,
    "program": "/area/root/home/u/app",
    "cpus_allowed": "0-1",
    "libraries": ("/area/root/u/a.so",),
}


def test_paths_of_ranks_in_an_overlay_are_those_outside():
    (rank,) = ranks_of([ROW], "/area/root")
    assert (rank.program, rank.libraries) == ("/home/u/app", ("/u/a.so",))


def test_other_paths_stay():
    (rank,) = ranks_of([ROW])
    assert rank.program == "/area/root/home/u/app"
