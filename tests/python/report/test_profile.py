"""The report on a record: text, JSON, and the page in a real browser."""

import html
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console
from tests.support.browser import browse
from tests.support.records import cell, file, rank, record, sent

from mpiric.model.errors import Finding
from mpiric.model.machine import Core
from mpiric.model.profile import Message, NodeTopology
from mpiric.model.record import Region, Timeline
from mpiric.profile.analyse import analyse, compare
from mpiric.report.comparison_text import comparison_html
from mpiric.report.json_objects import profile_json
from mpiric.report.profile_html import charts_library, in_script, profile_html
from mpiric.report.profile_text import print_profile
from mpiric.report.rank_sections import packed
from mpiric.report.sections import SECTIONS

ROOT = Path(__file__).parents[3]
LINE = Timeline(1.0, [0.1] * 10, [0.5] * 10, [0.0] * 10, [0.01] * 10, [0] * 10)


def profile_of(ranks: int = 4, neighbours: int = 1):
    return analyse(
        record(
            *(
                rank(
                    number,
                    10.0,
                    cell("MPI_Send", 5, 5000, 1.0, size_bin=10),
                    cell("MPI_Allreduce", 4, 32, 1.0 + number / ranks, size_bin=4),
                    peers=tuple(sent((number + step) % ranks, 5, 5000) for step in range(1, neighbours + 1)),
                    files=(file("/data/</script><b>", writes=1, bytes_written=9, write_s=0.1),),
                    timeline=LINE,
                )
                for number in range(ranks)
            )
        ),
        "mpirun -n 4 ./app '<x>'",
    )


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attribute_of = dict(attributes)
        if tag == "section":
            self.sections.append(attribute_of["id"])
        if tag != "a":  # a link waits for a reader
            self.loaded += [attribute_of[name] for name in ("src", "href") if name in attribute_of]


def summary(profile, width=80):
    console = Console(file=io.StringIO(), width=width)
    print_profile(profile, console, "/data/r/report.html")
    return console.file.getvalue()


def test_effects_are_marked_and_the_summary_begins_with_the_cause():
    crowded = {"host": "n1", "affinity": "0-1", "switches.involuntary": "500", "time.user_us": "5000000"}
    ranks = [rank(n, 10.0, cell("MPI_Allreduce", 999, 8 << 20, 7.0), facts=crowded) for n in range(4)]
    profile = analyse(record(*ranks))
    text = summary(profile, width=200)
    assert "The CPUs are oversubscribed" in text.strip().splitlines()[1]
    assert text.index("ranks for each CPU they may use") < text.index(
        "an effect of this: the CPUs are oversubscribed"
    )
    assert "an effect of this: the CPUs are oversubscribed" in html.unescape(profile_html(profile, "1"))
    assert ["more-ranks-than-cpus"] in [finding["effect_of"] for finding in profile_json(profile)["findings"]]


def started(init_s: float):
    ranks = (rank(number, 1.0, cell("MPI_Init", 1, 0, init_s)) for number in range(2))
    return analyse(record(*ranks), "mpirun -n 2 ./app")


def test_the_time_of_the_run_includes_its_start_and_end():
    text = summary(started(3.0), width=200)
    assert "2 ranks, 4 s, 3 s of it in MPI_Init and MPI_Finalize" in text
    assert "MPI_Init and MPI_Finalize 75 %" in text
    assert "Starting and ending MPI takes 75 % of the run" in text
    assert profile_json(started(3.0))["run_s"] == pytest.approx(4.0)
    assert "in MPI_Init and MPI_Finalize <strong>75 %" in profile_html(started(3.0), "1")


def test_a_short_start_is_not_mentioned():
    text = summary(started(0.01), width=200)
    assert "Healthy" in text
    assert "of it in MPI_Init" not in text


def test_a_command_is_not_broken_into_lines():
    command = "mpirun -n 64 " + "/a/long/path/of/a/program " * 6
    profile = analyse(record(rank(0, 10.0, cell("MPI_Allreduce", 4, 32, 9.0)), rank(1, 10.0)), command)
    assert f"mpiric tune --advice /data/r -- {command}" in summary(profile)


def test_hardware_counters_are_in_summary_and_page():
    counters = {"counter.instructions": "4000000000", "counter.cycles": "2000000000"}
    profile = analyse(record(rank(0, 2.0, facts={"host": "n1", **counters})))
    assert "2.00 instructions per cycle" in summary(profile)
    assert "instructions per cycle" in profile_html(profile, "1")
    assert "instructions" not in summary(analyse(record(rank(0, 2.0))))


def test_times_that_cannot_be_do_not_become_a_long_summary():
    damaged = record(rank(0, 1e-9, cell("MPI_Send", 1, 8, 1e9, size_bin=4)))
    assert len(summary(analyse(damaged))) < 4000


def test_every_section_has_a_template_and_a_place_in_the_page():
    templates = {path.stem for path in (ROOT / "src/mpiric/report/templates/profile").glob("*.html")}
    assert set(SECTIONS) == templates
    assert Page(profile_html(profile_of(), "1")).sections == list(SECTIONS)


def test_the_page_asks_nothing_of_the_network():
    page = Page(profile_html(profile_of(), "1"))
    assert page.loaded == []


def test_names_from_the_run_cannot_become_markup():
    text = profile_html(profile_of(), "1")
    assert "</script><b>" not in text
    assert "&#39;&lt;x&gt;&#39;" in text


def test_text_in_a_script_cannot_end_it():
    assert "</script" not in in_script("a</script><!--b")
    assert json.loads(in_script(json.dumps("</script>"))) == "</script>"


def test_the_json_has_the_keys_scripts_rely_on():
    data = json.loads(json.dumps(profile_json(profile_of())))
    assert data["ranks"] == 4
    assert data["p2p"] == [[0, 1, 5, 5000], [1, 2, 5, 5000], [2, 3, 5, 5000], [3, 0, 5, 5000]]
    assert {"name": "MPI_Send", "calls": 20, "bytes": 20000}.items() <= next(
        row for row in data["functions"] if row["name"] == "MPI_Send"
    ).items()
    assert data["collective"][0]["communicator"] == data["communicators"][0]["name"] == "MPI_COMM_WORLD"
    assert set(data["findings"][0]) >= set(Finding.__dataclass_fields__)
    assert set(data) >= {"wall_s", "mpi_share", "sizes", "io"}


def test_the_letter_fits_one_screen():
    page = io.StringIO()
    print_profile(profile_of(), Console(file=page, width=100), "/x/report.html")
    assert len(page.getvalue().splitlines()) <= 40
    assert "/x/report.html" in page.getvalue()


def test_summary_and_page_name_the_transport_reported_by_the_library():
    facts = {"mpi.version": "Open MPI v4.1.4", "library.transport": "ob1 over tcp"}
    chosen = {"library.allreduce": "ring", "library.bcast": "chain"}
    calls = cell("MPI_Allreduce", 4, 32, 1.0, size_bin=4)
    profile = analyse(record(rank(0, 10.0, calls, facts=facts | chosen), rank(1, 10.0, calls)))
    page = io.StringIO()
    print_profile(profile, Console(file=page, width=100))
    sentence = "Open MPI v4.1.4, ob1 over tcp, allreduce by ring"  # nothing was broadcast
    assert sentence in page.getvalue()
    assert f">{sentence}<" in profile_html(profile, "1")
    assert profile_json(profile)["library"] == {
        "transport": "ob1 over tcp",
        "allreduce": "ring",
        "bcast": "chain",
    }


def test_a_matrix_too_large_for_a_page_joins_neighbouring_ranks(monkeypatch):
    monkeypatch.setattr("mpiric.report.rank_sections._MOST_ENTRIES", 4)
    ring = [Message(at, (at + 1) % 8, 1, 10) for at in range(8)]
    small = packed(ring, 8)
    assert (small["per_entry"], small["size"]) == (4, 8)
    assert small["count"] == 4


def test_a_comparison_is_a_page_of_its_own():
    both = compare(("a", profile_of()), ("b", profile_of(8)))
    assert Page(comparison_html(both, "1")).sections == ["overview", "functions", "calls", "sizes", "advice"]


@pytest.mark.requires("chromium")
@pytest.mark.slow
def test_a_browser_draws_every_chart_without_complaint(tmp_path):
    assert charts_library(), "run tools/setup/charts"
    dom, complaints = browse(profile_html(profile_of(), "1"), tmp_path)
    assert complaints == []
    assert Page(dom).sections == list(SECTIONS)
    assert re.search(r'data-charts="5"', dom)
    assert dom.count("<canvas") >= 5


@pytest.mark.requires("chromium")
@pytest.mark.slow
def test_a_timeline_is_drawn_by_activity_by_share_of_mpi_and_by_phase(tmp_path):
    phases = (Region("(program)", 1, 10.0), Region("solve", 3, 5.0))
    line = replace(LINE, region=[0, 1] * 5)
    profile = analyse(record(*(rank(n, 10.0, regions=phases, timeline=line) for n in range(3))))
    turning = """<script>
      const by = document.getElementById("course-by"), seen = [];
      const shown = drawn.find(({ chart }) => chart.getDom().dataset.chart === "timeline");
      for (const { value } of by.options) {
        by.value = value;
        by.onchange();
        seen.push(`${value}:${shown.chart.getOption().visualMap[0].dimension}`);
      }
      document.body.dataset.seen = seen.join(" ");
    </script></body>"""
    dom, complaints = browse(profile_html(profile, "1").replace("</body>", turning), tmp_path)
    assert complaints == []
    assert 'data-seen="activity:2 mpi:3 phase:4"' in dom


@pytest.mark.requires("chromium")
@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--blink-settings=preferredColorScheme=0",)], ids=["light", "dark"])
def test_on_a_phone_only_scrolling_parts_are_wider_than_the_screen(tmp_path, flags):
    looking = """<script>
      const page = document.documentElement, paper = getComputedStyle(document.body).backgroundColor;
      parent.document.body.dataset.seen = [innerWidth, page.scrollWidth <= innerWidth, paper].join(" ");
    </script></body>"""
    page = profile_html(profile_of(), "1").replace("</body>", looking)
    phone = f'<body><iframe width="390" height="844" style="border: 0" srcdoc="{html.escape(page)}"></iframe>'
    dom, complaints = browse(phone, tmp_path, "--dump-dom", *flags)
    assert complaints == []
    colour = "rgb(20, 25, 31)" if flags else "rgb(255, 255, 255)"
    assert f'data-seen="390 true {colour}"' in dom, re.findall(r'data-seen="[^"]*"', dom)


@pytest.mark.requires("chromium")
@pytest.mark.slow
def test_on_paper_every_chart_has_a_finished_picture(tmp_path):
    looking = """<script>
      const inked = ({ chart }) => {
        const sheet = chart.getDom().querySelector(".sheet");
        const { data } = sheet.getContext("2d").getImageData(0, 0, sheet.width, sheet.height);
        return data.filter((value, at) => at % 4 === 3 && value > 0).length / (sheet.width * sheet.height);
      };
      printing.addEventListener("change", () => printing.matches && console.log(
        "inked", ...drawn.map((one) => `${one.chart.getDom().dataset.chart}=${inked(one) > 0.1}`)));
    </script></body>"""
    page = profile_html(profile_of(), "1").replace("</body>", looking)
    _, complaints = browse(page, tmp_path, f"--print-to-pdf={tmp_path}/page.pdf")
    unfolded = dict(re.findall(r"(\w+)=(true|false)", " ".join(complaints)))
    assert unfolded.keys() == {"sizes", "matrix", "ranks", "course", "timeline"}
    assert (unfolded["matrix"], unfolded["timeline"]) == ("true", "true")


def test_a_record_without_timelines_says_so():
    profile = analyse(record(rank(0, 1.0)))
    assert "no timeline" in profile_html(profile, "1")


def test_ranks_are_drawn_on_the_cores_they_are_bound_to():
    facts = ({"host": "n1", "affinity": "0"}, {"host": "n1", "affinity": "2-3", "cpu": "2"})
    shape = NodeTopology("n1", tuple(Core(at, at // 2, at // 2, (at,)) for at in range(4)))
    ranks = (rank(at, 1.0, facts=facts_of_rank) for at, facts_of_rank in enumerate(facts))
    text = profile_html(replace(analyse(record(*ranks)), shape=shape), "1")
    drawn = re.findall(r'title="core (\d+), CPUs \d+(?:: ranks ([\d, ]+) may run here)?', text)
    assert drawn == [("0", "0"), ("1", ""), ("2", "1"), ("3", "1")]


def test_ranks_on_cpus_that_the_known_node_lacks_are_listed_instead():
    shape = NodeTopology("n1", (Core(0, 0, 0, (0,)),))
    profile = replace(analyse(record(rank(0, 1.0, facts={"host": "n2", "affinity": "64"}))), shape=shape)
    assert 'class="chip"' in profile_html(profile, "1")


@pytest.mark.requires("chromium")
@pytest.mark.slow
def test_ten_thousand_ranks_are_drawn_and_zoomed_without_freezing(tmp_path):
    """The number of drawn cells does not depend on the number of messages."""
    page = profile_html(profile_of(10_000, neighbours=6), "1")
    counting = """<script>
      for (let at = 0; at < 8; at += 1) { document.getElementById("matrix-in").click(); }
      const shown = drawn.find(({ chart }) => chart.getDom().dataset.chart === "matrix");
      shown.paint();
      document.body.dataset.cells = String(shown.chart.getOption().series[0].data.length);
      document.body.dataset.where = document.getElementById("matrix-where").textContent;
    </script></body>"""
    dom, complaints = browse(page.replace("</body>", counting), tmp_path)
    assert complaints == []
    assert 0 < int(re.search(r'data-cells="(\d+)"', dom)[1]) <= 96 * 96
    first, last = map(int, re.search(r'data-where="(\d+)–(\d+)', dom).groups())
    assert last - first + 1 == pytest.approx(10_000 / 2**8, abs=4)


@pytest.mark.requires("chromium")
@pytest.mark.slow
def test_without_the_chart_library_tables_remain(tmp_path, monkeypatch):
    monkeypatch.setattr("mpiric.report.profile_html.charts_library", lambda: "")
    dom, complaints = browse(profile_html(profile_of(), "1"), tmp_path)
    assert complaints == []
    assert "without-charts" in dom
    assert "MPI_Allreduce" in dom
