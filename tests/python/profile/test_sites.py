"""Places in the program: by file and offset, whatever the address, and by name where the file tells."""

from dataclasses import dataclass, field, replace

import pytest
from tests.support.records import cell, rank, record

from mpiric.host.host import Completed
from mpiric.model.record import CallSite
from mpiric.profile.analyse import analyse
from mpiric.profile.sites import name_sites, short_name, site_uses, waiting_place


def called_from(address: int, calls: int) -> CallSite:
    return CallSite(address, "MPI_Send", calls, 8 * calls, 0.5)


RECORD = record(
    rank(0, 1.0, sites=(called_from(0x5555_0000_1234, 1),), facts={"module.555500000000": "/home/me/app"}),
    rank(1, 1.0, sites=(called_from(0x7777_0000_1234, 2),), facts={"module.777700000000": "/home/me/app"}),
)


@dataclass
class Binutils:
    """Host with the two programs that are run, and one file."""

    environ: dict[str, str] = field(default_factory=dict)
    commands: list[list[str]] = field(default_factory=list)
    source: str = "/src/app.c:42 (discriminator 3)"
    size: int = 0x100  # size of the function in bytes

    def run(self, argv, **_) -> Completed:
        self.commands.append(list(argv))
        if argv[0] == "readelf":
            return Completed(0, "  LOAD           0x000000 0x0000000000400000 0x0000000000400000 R\n", "")
        if argv[0] == "nm":
            return Completed(0, f"0000000000401200 {self.size:016x} T solve\n", "")
        return Completed(0, f"solve\n{self.source}\n", "")


def test_ranks_that_map_the_program_elsewhere_share_their_places():
    (use,) = site_uses(RECORD)
    assert (use.place, use.calls, use.bytes, use.time_s) == ("/home/me/app+0x1234", 3, 24, 1.0)


def waiting(number, *times):
    sites = tuple(CallSite(0x5555_0000_1000 + at, "MPI_Barrier", 1, 0, s) for at, s in enumerate(times))
    return rank(number, 1.0, sites=sites, facts={"host": "n1", "module.555500000000": "/home/me/app"})


def test_the_place_where_ranks_wait_for_the_busiest_one_is_found():
    uneven = record(waiting(0, 0.1, 0.0), waiting(1, 0.1, 0.6), waiting(2, 0.1, 0.6))
    assert waiting_place(uneven, 0) == "MPI_Barrier at /home/me/app+0x1001"


def test_ranks_that_do_not_wait_have_no_place():
    assert waiting_place(record(rank(0, 1.0), rank(1, 1.0)), 0) == ""


def test_the_advice_on_uneven_work_names_the_line_before_which_it_differs():
    ranks = (waiting(0, 0.0), waiting(1, 0.8), waiting(2, 0.8))
    calls = [replace(one, cells=(cell("MPI_Barrier", 1, 0, one.sites[0].time_s),)) for one in ranks]
    profile = name_sites(analyse(record(*calls)), Binutils())
    (advice,) = [item for item in profile.advice if item.finding.id == "load-imbalance"]
    assert "the work before MPI_Barrier at solve (app.c:42) differs" in advice.finding.evidence


def test_an_address_in_no_known_file_stays_one():
    (use,) = site_uses(record(rank(0, 1.0, sites=(called_from(0x1234, 1),))))
    assert use.place == "0x1234"


def test_places_get_names_from_the_byte_before_the_return_address():
    host = Binutils()
    (use,) = name_sites(analyse(RECORD), host).sites
    assert use.place == "solve (app.c:42)"
    assert host.commands[-1] == ["addr2line", "-f", "-C", "-e", "/home/me/app", "0x401233"]


@pytest.mark.parametrize("source", ["??:0", "??:?", "/home/me/app.c:?"])
def test_a_program_without_lines_has_functions(source):
    (use,) = name_sites(analyse(RECORD), Binutils(source=source)).sites
    assert use.place == "solve (app+0x1234)"


def test_a_place_behind_the_end_of_a_function_is_not_named_after_it():
    (use,) = name_sites(analyse(RECORD), Binutils(source="??:0", size=0x20)).sites
    assert use.place == "/home/me/app+0x1234"


def test_a_missing_program_leaves_places_unresolved():
    class Bare(Binutils):
        def run(self, argv, **_) -> Completed:
            return Completed(127, "", "")

    (use,) = name_sites(analyse(RECORD), Bare()).sites
    assert use.place == "/home/me/app+0x1234"


@pytest.mark.parametrize(
    ("function", "short"),
    [
        ("solve_", "solve_"),
        ("void app::solve<app::Matrix<double, int> >(app::Matrix<double, int>&, double*)", "app::solve"),
        ("LAMMPS_NS::CommBrick::forward_comm(int)", "LAMMPS_NS::CommBrick::forward_comm"),
        ("app::(anonymous namespace)::step(int)", "app::(anonymous)::step"),
        ("std::ostream& app::operator<<(std::ostream&, app::X const&)", "app::operator<<"),
        ("bool A::operator<(A const&)", "A::operator<"),
        ("bool A::operator< <int>(B<int> const&)", "A::operator<"),
        ("A::operator()(int) const", "A::operator()"),
        ("B<int>* A::operator->()", "A::operator->"),
    ],
)
def test_names_of_functions_are_short(function, short):
    assert short_name(function) == short
