// Draws the charts of a report from the JSON in the page; `echarts` is in the page already.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const drawn = [];
const dark = matchMedia("(prefers-color-scheme: dark)");
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function units(value, base, names) {
  let at = 0;
  while (Math.abs(value) >= base && at < names.length - 1) { value /= base; at += 1; }
  return (value ? Number(value.toPrecision(3)) : 0) + " " + names[at];
}
const asBytes = (value) => units(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
const asCount = (value) => value.toLocaleString("en");
const asSeconds = (value) => units(value * 1e9, 1000, ["ns", "µs", "ms", "s"]);

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
  draw(place, () => ({
    legend: legend(), tooltip: { trigger: "axis", valueFormatter: asSeconds }, xAxis: category(labels, name),
    yAxis: axis("time", asSeconds), dataZoom: [{ type: "inside" }, { type: "slider", height: 18, bottom: 6 }],
    series: Object.entries(series).map(([label, values]) => ({
      name: label, type: "bar", stack: "time", barCategoryGap: labels.length > 64 ? "0%" : "15%", data: values,
    })),
  }));
}

for (const place of document.querySelectorAll("[data-chart]")) {
  const kind = place.dataset.chart;
  if (kind === "sizes") drawSizes(place);
  else if (kind === "matrix") drawMatrix(place);
  else drawStacks(place, data[kind], kind === "ranks" ? "rank: what its time went into" : "rank: time in each phase");
}
const again = () => drawn.forEach(({ paint }) => paint());
const fit = () => drawn.forEach(({ chart }) => chart.resize());
dark.addEventListener("change", again);
addEventListener("resize", fit);
addEventListener("beforeprint", fit);
document.body.dataset.charts = String(drawn.length);
