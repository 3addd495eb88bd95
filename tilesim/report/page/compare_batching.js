// Runs in batches: weights that were fetched against bytes that waited in the buffer, and the latter over time.
const WIDTH = 1180;
const HEIGHT = 400;
const EDGE = { top: 34, bottom: 48 };
const TRADE = { left: 84, right: 470 };
const TIME = { left: 580, right: 1164 };

tilesim.section("compare_batching", async (root, data) => {
  root.append(
    element("p", { class: "legend" }, ...data.runs.map((run) => element("span", {}, element("span", { class: "swatch", style: `background: ${hue(run)}` }), `${run.name} (${run.schedule})`))),
    picture(data.runs), element("div", { class: "wide" }, table(data)), element("p", { class: "muted definition" }, data.definition));
});

const hue = (run) => `var(--series-${run.number % 8})`;

function picture(runs) {
  const bottom = HEIGHT - EDGE.bottom;
  const highest = Math.max(1, ...runs.map((run) => run.peak_buffer_bytes));
  const y = linear(highest * 1.08, bottom, EDGE.top);
  const across = linear(Math.max(1, ...runs.map((run) => run.weight_bytes)) * 1.12, TRADE.left, TRADE.right);
  const x = linear(Math.max(1, ...runs.map((run) => run.cycles)), TIME.left, TIME.right);
  const title = (place, words) => svg("text", { class: "title", x: place.left, y: 16 }, words);
  const below = (place, words) => svg("text", { x: (place.left + place.right) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, words);
  return svg("svg", { class: "batches", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "Weights fetched against the largest footprint, and the footprint over time" },
    title(TRADE, "Largest footprint against weights fetched"), title(TIME, "Footprint over time"),
    ...columns(across, EDGE.top, bottom, 4, bytes), ...rows(y, TRADE.left, TRADE.right, 5), below(TRADE, "weights fetched"),
    ...columns(x, EDGE.top, bottom, 5, number), ...rows(y, TIME.left, TIME.right, 5), below(TIME, "cycle of the run"),
    svg("text", { transform: `translate(14 ${(EDGE.top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, "in the unified buffer"),
    ...runs.map((run) => over(run, x, y)), ...runs.flatMap((run) => dot(run, across, y)));
}

function over(run, x, y) {
  return svg("path", { class: "line", style: `stroke: ${hue(run)}`, d: stepped(run.footprint, x, y), "data-run": run.number });
}

// A run's dot, with its name on the side where there is room.
function dot(run, x, y) {
  const [at, height] = [x.place(run.weight_bytes), y.place(run.peak_buffer_bytes)];
  const left = run.weight_bytes > 0.6 * x.high;
  const mark = svg("circle", { class: "dot", cx: at, cy: height, r: 6, style: `fill: ${hue(run)}`, tabindex: "0", "data-run": run.number, "aria-label": run.name });
  tilesim.tip(mark, () => [element("strong", {}, run.name), ...run.figures.map(({ name, value }) => element("div", {}, `${name}: ${value}`))]);
  return [mark, svg("text", { x: at + (left ? -11 : 11), y: height + 4, "text-anchor": left ? "end" : "start" }, `${run.schedule}: ${number(run.weight_set_loads)} weight sets`)];
}

function table({ runs }) {
  const head = element("tr", {}, element("th", {}), ...runs.map((run) => element("th", { class: "number" }, run.name)));
  const body = runs[0].figures.map(({ name }, k) => element("tr", {}, element("th", { scope: "row" }, name), ...runs.map((run) => element("td", { class: "number" }, run.figures[k].value))));
  return element("table", { id: "batching-figures" }, element("thead", {}, head), element("tbody", {}, ...body));
}
