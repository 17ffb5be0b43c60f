"""Time to write, open and zoom the report on a record of many ranks, in Chromium.

Records are generated: a periodic 3-D grid whose ranks send to their 6 or 26 neighbours, each with a timeline.
Times in the page are measured around drawing by the clock of the browser, the first one with the whole matrix
visible. A long drawing time freezes the page.
"""

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from benchmarks._report import Result, options, run, tell
from mpiric import __version__
from mpiric.model.errors import NotFoundError
from mpiric.model.record import (
    CallCell,
    CommunicatorRow,
    Peer,
    RankRecord,
    RankState,
    ReceiveTiming,
    Record,
    Region,
    Timeline,
    TrafficKind,
)
from mpiric.profile.analyse import analyse
from mpiric.report.profile_html import profile_html

COLUMNS = {
    "ranks": "ranks",
    "messages": "pairs",
    "page_s": "making it s",
    "page_mib": "MiB",
    "load_ms": "opening ms",
    "whole_ms": "whole matrix ms",
    "zoom_ms": "a zoom ms",
    "longest_ms": "longest ms",
}
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
MEASURE = """<script>
  const matrix = drawn.find(({ chart }) => chart.getDom().dataset.chart === "matrix");
  const timed = (work) => {
    const begin = performance.now();
    work();
    matrix.paint();
    matrix.chart.getZr().flush();
    return performance.now() - begin;
  };
  const whole = timed(() => {}), zooms = [];
  for (let at = 0; at < 10; at += 1) zooms.push(timed(() => document.getElementById("matrix-in").click()));
  for (let at = 0; at < 10; at += 1) zooms.push(timed(() => document.getElementById("matrix-out").click()));
  document.body.dataset.measured = JSON.stringify({ load: performance.now(), whole, zooms });
</script></body>"""
SPANS = 128


def record_of(edge: tuple[int, int, int], reach: str) -> Record:
    """Return a record with a grid of ranks."""
    steps = [s for s in product((-1, 0, 1), repeat=3) if any(s) and (reach == "box" or sum(map(abs, s)) == 1)]
    places = list(product(*map(range, edge)))
    number = {place: rank for rank, place in enumerate(places)}
    world = CommunicatorRow(
        *(1, 0, len(places), 0, 0), is_window=False, is_between=False, is_world=True, name="MPI_COMM_WORLD"
    )
    busy = tuple(0.02 + 0.01 * (at % 5) for at in range(SPANS))
    line = Timeline(0.1, busy, busy, busy, busy, (0,) * SPANS)

    def rank(place: tuple[int, ...]) -> RankRecord:
        to = {number[tuple((p + d) % n for p, d, n in zip(place, step, edge, strict=True))] for step in steps}
        cell = CallCell("MPI_Send", 0, 0, 17, 100, 6_553_600, 100, 3.0, 0.01, 0.05, 0.0, (0,) * 32)
        return RankRecord(
            rank=number[place],
            state=RankState.FINALIZED,
            job=1,
            begin_unix_s=0.0,
            wall_s=12.8,
            thread_level=0,
            cells=(cell,),
            communicators=(world,),
            peers=tuple(Peer(peer, TrafficKind.MESSAGE, 100, 6_553_600) for peer in sorted(to)),
            regions=(Region("(program)", 1, 12.8),),
            files=(),
            sites=(),
            receives=ReceiveTiming(0, 0, 0, 0),
            timeline=line,
            facts={"host": f"n{number[place] // 128}", "affinity": str(number[place] % 128)},
            lost={},
        )

    return Record(len(places), {"MPI_Send": "send"}, tuple(map(rank, places)))


def in_browser(page: str, place: Path) -> dict[str, float]:
    """Return the times that the page measures itself, in milliseconds."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise NotFoundError("chromium is not installed", hint="apt install chromium")
    file = place / "report.html"
    file.write_text(page.replace("</body>", MEASURE), encoding="utf-8")
    done = subprocess.run(
        [chromium, *FLAGS, f"--user-data-dir={place}/browser", "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=300,
    )
    match = re.search(r'data-measured="([^"]*)"', done.stdout)
    if match is None:
        raise NotFoundError("the browser ended before the page was measured")
    measured = json.loads(match[1].replace("&quot;", '"'))
    zooms = measured["zooms"]
    return {
        "load_ms": measured["load"] - measured["whole"] - sum(zooms),
        "whole_ms": measured["whole"],
        "zoom_ms": statistics.median(zooms),
        "longest_ms": max([measured["whole"], *zooms]),
    }


def work(arguments: argparse.Namespace) -> Result:
    """Return a row for each size."""
    grids = [((4, 4, 4), "faces"), ((10, 10, 10), "faces"), ((20, 20, 25), "faces"), ((20, 20, 25), "box")]
    rows = []
    for edge, reach in grids[:2] if arguments.quick else grids:
        record = record_of(edge, reach)
        tell(f"{record.world_size} ranks")
        start = time.perf_counter()
        profile = analyse(record, "mpirun ./app")
        page = profile_html(profile, __version__)
        made_s = time.perf_counter() - start
        with tempfile.TemporaryDirectory() as place:
            measured = in_browser(page, Path(place))
        rows.append(
            {
                "ranks": record.world_size,
                "messages": len(profile.p2p),
                "page_s": made_s,
                "page_mib": len(page) / 2**20,
                **measured,
            }
        )
    longest = max(float(row["longest_ms"]) for row in rows)
    return Result(COLUMNS, rows, f"No drawing takes longer than {longest:.0f} ms.")


def main() -> int:
    """Run it."""
    return run("report_page", options("report_page", __doc__ or "").parse_args(), work)


if __name__ == "__main__":
    sys.exit(main())
