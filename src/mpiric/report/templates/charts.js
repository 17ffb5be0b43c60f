// Draws the charts of a report from the JSON in the page; `echarts` is in the page already.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const drawn = [];
const dark = matchMedia("(prefers-color-scheme: dark)");
const printing = matchMedia("print");
/// Cells painted in one frame; 0: all.
const cellsOfAFrame = () => (printing.matches ? 0 : 4000);
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function units(value, base, names) {
  let at = 0;
  while (Math.abs(value) >= base && at < names.length - 1) { value /= base; at += 1; }
  return (value ? Number(value.toPrecision(3)) : 0) + " " + names[at];
}
const asBytes = (value) => units(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
const asCount = (value) => value.toLocaleString("en");
const asSeconds = (value) => (value ? units(value * 1e9, 1000, ["ns", "µs", "ms", "s"]) : "0");

/// A chart that follows the colours and the size of the page; `option` is made anew for each.
function draw(place, option) {
  const chart = echarts.init(place, null, { renderer: "canvas" });
  const paint = () => chart.setOption({
    animation: false, textStyle: { color: style("--ink") }, grid: { left: 70, right: 70, top: 40, bottom: 70 }, ...option(),
  }, true);
  drawn.push({ chart, paint });
  paint();
  return { chart, paint };
}

const axis = (name, format, more) => ({
  type: "value", name, nameTextStyle: { color: style("--soft") }, axisLabel: { color: style("--soft"), formatter: format },
  splitLine: { lineStyle: { color: style("--line") } }, ...more,
});
const category = (labels, name) => ({
  type: "category", data: labels, name, nameLocation: "middle", nameGap: 32, nameTextStyle: { color: style("--soft") },
  axisLabel: { color: style("--soft"), hideOverlap: true },
});
const legend = () => ({ top: 4, textStyle: { color: style("--ink") } });

function drawSizes(place) {
  const { labels, calls, bytes, time_s } = data.sizes;
  const series = [["time of all ranks", time_s, asSeconds, 0], ["bytes", bytes, asBytes, 1], ["calls", calls, asCount, 2]];
  draw(place, () => ({
    legend: legend(), tooltip: { trigger: "axis" }, xAxis: category(labels, "bytes of a call"),
    yAxis: series.map(([name, , format, at]) => axis(at ? "" : name, format, at ? { show: false } : {})),
    series: series.map(([name, values, format, at]) => ({
      name, type: "bar", yAxisIndex: at, data: values, tooltip: { valueFormatter: format },
    })),
  }));
}

function drawStacks(place, { labels, series }, name) {
  const colours = () => Object.fromEntries(activities());
  draw(place, () => ({
    legend: legend(), tooltip: { trigger: "axis", valueFormatter: asSeconds }, xAxis: category(labels, name),
    yAxis: axis("time", asSeconds), dataZoom: [{ type: "inside" }, { type: "slider", height: 18, bottom: 6 }],
    series: Object.entries(series).map(([label, values]) => ({
      name: label, type: "bar", stack: "time", barCategoryGap: labels.length > 64 ? "0%" : "15%", data: values,
      ...(colours()[label] && { color: colours()[label] }),
    })),
  }));
}

const asShare = (value) => `${Math.round(100 * value)} %`;
const activities = () => ["useful", "files", "point to point", "collectives", "other MPI"].map((name, at) => [name, style(`--activity-${at}`)]);
const timeAxis = ({ columns, span_s }) => ({
  ...category(Array.from({ length: columns }, (_, at) => asSeconds(at * span_s)), "time since MPI_Init"), boundaryGap: true,
});

function drawCourse(place) {
  const course = data.timeline;
  draw(place, () => ({
    legend: legend(), tooltip: { trigger: "axis", valueFormatter: asShare }, xAxis: timeAxis(course),
    yAxis: axis("share of all ranks", asShare, { max: 1 }),
    series: activities().map(([name, color]) => ({
      name, type: "line", stack: "share", areaStyle: { opacity: 0.85 }, lineStyle: { width: 0 }, step: "middle", symbol: "none", color,
      data: course.mean[name],
    })),
  }));
}

/// One row a rank, one column a span: what the rank did most there, how much of it was MPI, or its phase.
function drawTimeline(place) {
  const { rows, shares, phase, phases } = data.timeline, by = document.getElementById("course-by");
  place.style.height = `${Math.min(34, 9 + rows.length * 0.9)}rem`;
  const cells = [];
  rows.forEach((_, row) => shares[row][0].forEach((__, column) => {
    const others = shares[row].map((values) => values[column]), mpi = others[1] + others[2] + others[3];
    const all = [Math.max(0, 1 - mpi - others[0]), ...others];
    cells.push([column, row, all.indexOf(Math.max(...all)), mpi, phase[row][column], all]);
  }));
  const pieces = (named) => ({ type: "piecewise", pieces: named.map(([label, color], value) => ({ value, label, color })) });
  const scales = {
    activity: () => ({ dimension: 2, ...pieces(activities()) }),
    mpi: () => ({ dimension: 3, min: 0, max: 1, calculable: false, itemWidth: 12, text: ["all MPI", "none"], inRange: { color: [style("--activity-0"), style("--activity-3")] } }),
    phase: () => ({ dimension: 4, ...pieces(phases.map((name, at) => [name, `hsl(${(at * 137) % 360} 55% 55%)`])) }),
  };
  const { paint } = draw(place, () => ({
    grid: { left: 70, right: 20, top: 36, bottom: 60 },
    tooltip: { formatter: ({ value }) => `rank ${rows[value[1]]}, ${asSeconds(value[0] * data.timeline.span_s)}, ${phases[value[4]]}<br>` +
      activities().map(([name], at) => `${name} <b>${asShare(value[5][at])}</b>`).join("<br>") },
    xAxis: timeAxis(data.timeline), yAxis: { ...category(rows, "rank"), inverse: true, nameGap: 44 },
    visualMap: { orient: "horizontal", left: "center", top: 2, textStyle: { color: style("--ink") }, ...scales[by.value]() },
    series: [{ type: "heatmap", data: cells, encode: { x: 0, y: 1, value: 2 }, progressive: cellsOfAFrame() }],
  }));
  by.onchange = paint;
}

for (const place of document.querySelectorAll("[data-chart]")) {
  const kind = place.dataset.chart;
  if (kind === "sizes") drawSizes(place);
  else if (kind === "matrix") drawMatrix(place);
  else if (kind === "course") drawCourse(place);
  else if (kind === "timeline") drawTimeline(place);
  else drawStacks(place, data[kind], kind === "ranks" ? "rank: what its time went into" : "rank: time in each phase");
}
const again = () => drawn.forEach(({ paint }) => paint());
const fit = () => drawn.forEach(({ chart }) => chart.resize());
dark.addEventListener("change", again);
addEventListener("resize", fit);
/// Paper takes what is there at once, and a chart is painted in the next frame: a finished picture lies over each.
printing.addEventListener("change", () => {
  document.querySelectorAll(".sheet").forEach((sheet) => sheet.remove());
  fit();
  again();
  for (const { chart } of printing.matches ? drawn : []) {
    const sheet = chart.renderToCanvas({ pixelRatio: 2 });
    sheet.className = "sheet";
    chart.getDom().append(sheet);
  }
});
document.body.dataset.charts = String(drawn.length);
