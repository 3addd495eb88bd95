// What pictures of batches share: linear scales from 0, steps over time, axes.
const { element, svg, number, bytes } = tilesim;

const linear = (high, from, to) => ({ high, place: (value) => from + (value / Math.max(high, 1)) * (to - from) });

// Round numbers from 0 on, `most` steps at most; of bytes powers of two.
function ticks(high, most, ofBytes) {
  const sizes = ofBytes ? [2 ** Math.ceil(Math.log2(Math.max(1, high / most)))] : [1, 2, 5, 10].map((k) => k * 10 ** Math.floor(Math.log10(Math.max(1, high / most))));
  const step = sizes.find((each) => each >= high / most) || Math.max(1, high);
  return Array.from({ length: Math.floor(high / step) + 1 }, (_, k) => k * step);
}

// A line that keeps each value until the next point, and comes from and returns to nothing.
function stepped(points, x, y) {
  const parts = points.map(([cycle, size]) => `H${x.place(cycle).toFixed(2)}V${y.place(size).toFixed(2)}`);
  return points.length ? `M${x.place(points[0][0]).toFixed(2)},${y.place(0).toFixed(2)}${parts.join("")}` : "";
}

function columns(x, top, bottom, most, words) {
  return ticks(x.high, most, words === bytes).map((value) => svg("g", {},
    svg("line", { class: "grid", x1: x.place(value), x2: x.place(value), y1: top, y2: bottom }),
    svg("text", { class: "muted", x: x.place(value), y: bottom + 17, "text-anchor": "middle" }, words(value))));
}

function rows(y, left, right, most) {
  return ticks(y.high, most, true).map((value) => svg("g", {},
    svg("line", { class: "grid", x1: left, x2: right, y1: y.place(value), y2: y.place(value) }),
    svg("text", { class: "muted", x: left - 8, y: y.place(value) + 4, "text-anchor": "end" }, bytes(value))));
}
