// The matrix of who sends to whom. Its entries stay a sparse list; what is looked at is binned into at most `most` rows and columns,
// so that ten thousand ranks cost no more to draw than a hundred.
"use strict";
const most = 96;

function column(text, Kind) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at += 1) bytes[at] = raw.charCodeAt(at);
  return new Kind(bytes.buffer);
}

function unpacked(packed) {
  return {
    perEntry: packed.per_entry, ranks: packed.size, size: Math.ceil(packed.size / packed.per_entry),
    source: column(packed.source, Uint32Array), destination: column(packed.destination, Uint32Array),
    bytes: column(packed.bytes, Float64Array), messages: column(packed.messages, Float64Array),
  };
}

/// Position of the first entry whose source is not below `row`; entries are ordered by source.
function firstOf(source, row) {
  let low = 0, high = source.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (source[middle] < row) low = middle + 1; else high = middle;
  }
  return low;
}

/// Sums over the cells of a window: `step` rows and columns each.
function binned(matrix, view, by) {
  const step = Math.ceil(view.size / most), cells = Math.ceil(view.size / step);
  const sums = new Float64Array(cells * cells);
  const values = matrix[by], { source, destination } = matrix;
  for (let at = firstOf(source, view.row), end = firstOf(source, view.row + view.size); at < end; at += 1) {
    const to = destination[at] - view.column;
    if (to >= 0 && to < view.size) sums[Math.floor((source[at] - view.row) / step) * cells + Math.floor(to / step)] += values[at];
  }
  const found = [];
  for (let at = 0; at < sums.length; at += 1)
    if (sums[at]) found.push([at % cells, Math.floor(at / cells), sums[at], Math.log10(sums[at])]);
  return { step, cells, found };
}

function drawMatrix(place) {
  const matrices = {};
  for (const name of ["p2p", "nodes", "one_sided"]) if (data.traffic[name]) matrices[name] = unpacked(data.traffic[name]);
  const what = document.getElementById("matrix-what"), by = document.getElementById("matrix-by");
  let matrix = matrices[what.value], view = { row: 0, column: 0, size: matrix.size }, now = null;

  const label = (first, step) => {
    const names = data.traffic.node_names, from = first * matrix.perEntry;
    const to = Math.min((first + step) * matrix.perEntry, matrix.ranks) - 1;
    const word = (at) => (what.value === "nodes" ? names[at] : String(at));
    return from >= to ? word(from) : `${word(from)}–${word(to)}`;
  };
  const labels = (start) => Array.from({ length: now.cells }, (_, at) => label(start + at * now.step, Math.min(now.step, view.size - at * now.step)));
  const format = (value) => (by.value === "bytes" ? asBytes(value) : asCount(value));

  const { chart, paint } = draw(place, () => {
    now = binned(matrix, view, by.value);
    const scale = now.found.map((cell) => cell[3]);
    const high = Math.max(...scale, 2), low = Math.max(0, Math.min(...scale, high - 2));  // two decades at least
    const columns = labels(view.column), rows = labels(view.row);
    document.getElementById("matrix-where").textContent =
      `${label(view.row, view.size)} → ${label(view.column, view.size)}${now.step * matrix.perEntry > 1 ? `, ${now.step * matrix.perEntry} a cell` : ""}`;
    return {
      grid: { left: 80, right: 20, top: 10, bottom: 100 },
      tooltip: { formatter: ({ value }) => `${rows[value[1]]} → ${columns[value[0]]}<br><b>${format(value[2])}</b>` },
      xAxis: category(columns, "receiver"), yAxis: { ...category(rows, "sender"), inverse: true, nameGap: 56 },
      visualMap: {
        dimension: 3, min: low, max: high, orient: "horizontal", left: "center", bottom: 4, itemHeight: 160, calculable: false,
        text: [format(10 ** high), format(10 ** low)], textStyle: { color: style("--soft") }, formatter: (value) => format(10 ** value),
        inRange: { color: ["#2c4a8a", "#2f8ac0", "#5cc494", "#e8d24a", "#e0653b"] },
      },
      series: [{ type: "heatmap", data: now.found, encode: { x: 0, y: 1, value: 2 }, progressive: cellsOfAFrame() }],
    };
  });

  let asked = false;
  const show = () => {
    if (!asked) requestAnimationFrame(() => { asked = false; paint(); });
    asked = true;
  };
  const look = (row, column, size) => {
    const whole = matrix.size, side = Math.round(Math.min(whole, Math.max(Math.min(8, whole), size)));
    const inside = (start) => Math.round(Math.min(Math.max(0, start), whole - side));
    view = { row: inside(row), column: inside(column), size: side };
    show();
  };
  const zoom = (factor, at) => {
    const size = view.size * factor, gone = view.size - size;
    look(view.row + gone * at[1], view.column + gone * at[0], size);
  };
  const share = (event) => {
    const cell = chart.convertFromPixel({ gridIndex: 0 }, [event.offsetX, event.offsetY]);
    return cell.map((position) => Math.min(1, Math.max(0, (position + 0.5) / now.cells)));
  };
  const surface = chart.getZr();
  surface.on("mousewheel", (event) => {
    zoom(event.wheelDelta > 0 ? 0.7 : 1 / 0.7, share(event));
    event.event.preventDefault();
  });
  let held = null;
  surface.on("mousedown", (event) => { held = { at: share(event), ...view }; });
  surface.on("mousemove", (event) => {
    if (!held) return;
    const at = share(event);
    look(held.row - (at[1] - held.at[1]) * view.size, held.column - (at[0] - held.at[0]) * view.size, view.size);
  });
  for (const name of ["mouseup", "globalout"]) surface.on(name, () => { held = null; });
  document.getElementById("matrix-in").onclick = () => zoom(0.5, [0.5, 0.5]);
  document.getElementById("matrix-out").onclick = () => zoom(2, [0.5, 0.5]);
  document.getElementById("matrix-all").onclick = () => look(0, 0, matrix.size);
  by.onchange = show;
  what.onchange = () => {
    matrix = matrices[what.value];
    look(0, 0, matrix.size);
  };
}
