// Speed-up and efficiency against tiles, with the knee.
const WIDTH = 600;
const HEIGHT = 360;
const EDGE = { left: 62, right: 18, top: 20, bottom: 48 };
const DASHES = ["6 3", "2 3", "8 3 2 3", "1 2", "10 4", "4 2 1 2", "12 3", "3 5"];

tilesim.section("explore_scaling", async (root, data) => {
  const all = await allSeries();
  if (!all) {
    root.append(element("p", { class: "note" }, data.note));
    return;
  }
  const words = element("p", { class: "verdict", role: "status" });
  const charts = element("div", { class: "charts" });
  const legend = element("p", { class: "legend" });
  const body = element("tbody", {});
  const beside = choose("beside", "beside it", ["nothing", ...all.axes.map(({ name }) => `any ${name}`)], () => draw());
  let shown = null;

  function draw() {
    const axis = all.axes[beside.list.selectedIndex - 1];
    const others = axis ? all.besides(shown.k, axis).slice(0, DASHES.length).map((k) => ({ ...all.of(k), label: all.wordsOf(k, [axis]) })) : [];
    words.textContent = shown.verdict;
    const label = axis ? all.wordsOf(shown.k, [axis]) : shown.network;
    charts.replaceChildren(chart(shown, others, speedUp), chart(shown, others, efficiency));
    legend.replaceChildren(...(others.length ? [lineKey(label, null, "accent"), ...others.map((other, k) => lineKey(other.label, DASHES[k], `series-${k % 8}`))] : []));
    body.replaceChildren(...shown.chips.map((chip, k) => row(shown, chip, k)));
  }

  const lists = chooser(all, (series) => {
    shown = series;
    draw();
  });
  if (all.axes.length) lists.append(beside.label);
  const titles = ["cycles", "time", "speed-up", "efficiency", "elasticity of the step"].map(right);
  root.append(lists, words, charts, legend,
    element("p", { class: "muted definition" }, all.definition, " Speed-up: how many times as fast as with the fewest tiles, in time. Efficiency: the speed-up by how many times as many tiles. ",
      "Elasticity of a step: the logarithm of its speed-up by that of how many times as many tiles it has; 1 is ideal, 0 is nothing gained. Of several layouts of as many tiles the fastest is shown."),
    element("div", { class: "wide" }, element("table", { id: "scaling" }, head(right("tiles"), "layout", ...titles, "bound by", ""), body)));
});

const speedUp = {
  title: "speed-up", of: (chip) => chip.speed_up, words: (value) => `${significant(value)} \u00d7`,
  scale(values, tiles) {
    const most = Math.max(...values, tiles[tiles.length - 1] / tiles[0]);
    const scale = logarithmic(Math.min(1, ...values), most, HEIGHT - EDGE.bottom, EDGE.top);
    return { scale, ticks: powers(scale.low, scale.high) };
  },
  ideal: (tiles, first) => tiles / first,
};
const efficiency = {
  title: "efficiency", of: (chip) => chip.efficiency, words: share,
  scale(values) {
    const scale = linear(0, Math.max(1, ...values), HEIGHT - EDGE.bottom, EDGE.top);
    return { scale, ticks: rounds(0, scale.high, 5) };
  },
  ideal: () => 1,
};

function chart(series, others, what) {
  const every = [series, ...others].flatMap(({ chips }) => chips);
  const tiles = [...new Set(every.map((chip) => chip.tiles))].sort((a, b) => a - b);
  const first = tiles[0];
  const x = logarithmic(first, tiles[tiles.length - 1], EDGE.left + 14, WIDTH - EDGE.right - 14);
  const { scale: y, ticks } = what.scale(every.map(what.of), tiles);
  const bottom = HEIGHT - EDGE.bottom;
  const place = (chip) => [x.place(chip.tiles), y.place(what.of(chip))];
  const ideal = tiles.map((count) => [x.place(count), y.place(what.ideal(count, series.chips[0].tiles))]).filter(([, at]) => at <= bottom + 1);
  return svg("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": `${what.title} of ${series.network} against tiles` },
    ...xAxis(x, tiles.length > 9 ? powers(first, x.high) : tiles, { top: EDGE.top, bottom, title: "tiles" }),
    ...yAxis(y, ticks, { left: EDGE.left, right: WIDTH - EDGE.right, title: what.title, words: what.words }),
    svg("path", { class: "ideal", d: path(ideal) }),
    svg("text", { class: "muted", x: ideal.at(-1)[0] - (what === efficiency ? 0 : 16), y: ideal.at(-1)[1] + (what === efficiency ? 16 : 4), "text-anchor": "end" }, "ideal"),
    ...kneeMark(series, place, bottom),
    ...others.map((other, k) => svg("path", { class: "other", d: path(other.chips.map(place)), style: `stroke: var(--series-${k % 8}); stroke-dasharray: ${DASHES[k]}` })),
    ...others.flatMap((other, k) => other.chips.map((chip) => dot(other, chip, place(chip), `fill: var(--series-${k % 8})`, 3))),
    svg("path", { class: "curve", d: path(series.chips.map(place)) }),
    ...series.chips.map((chip) => dot(series, chip, place(chip), "fill: var(--accent)", 4.5)));
}

// A line down from the knee, and its name where the curve is not.
function kneeMark(series, place, bottom) {
  const chip = series.chips[series.knee];
  const [x, y] = place(chip);
  const words = series.knee === series.chips.length - 1 ? "no knee up to here" : `knee: ${tilesWords(chip.tiles)}`;
  const before = x > WIDTH / 2;
  return [svg("line", { class: "knee", x1: x, x2: x, y1: y, y2: bottom }), svg("circle", { class: "knee", cx: x, cy: y, r: 9 }),
    svg("text", { class: "knee-words", x: x + (before ? -7 : 7), y: bottom - 9, "text-anchor": before ? "end" : "start" }, words)];
}

function dot(series, chip, [x, y], style, r) {
  const node = svg("circle", { class: "dot", cx: x, cy: y, r, style, tabindex: "0", role: "img", "aria-label": `${series.label || series.network}, ${tilesWords(chip.tiles)}` });
  tilesim.tip(node, () => told(`${series.label || series.network}, ${tilesWords(chip.tiles)} (${chip.shape})`, [
    ["cycles", number(chip.cycles)], ["time", duration(chip.time_us)], ["speed-up", `${chip.speed_up.toFixed(2)} \u00d7`],
    ["efficiency", tilesim.percent(chip.efficiency)], ...(Number.isNaN(chip.elasticity) ? [] : [["elasticity of the step", hundredths(chip.elasticity)]]), ["bound by", chip.bound_by]]));
  return node;
}

function lineKey(words, dashes, hue) {
  const line = svg("line", { x1: 0, x2: 30, y1: 6, y2: 6, style: `stroke: var(--${hue}); stroke-width: 2; ${dashes ? `stroke-dasharray: ${dashes}` : ""}` });
  return element("span", {}, svg("svg", { width: 30, height: 12, style: "vertical-align: -1px" }, line), ` ${words}`);
}

function row(series, chip, k) {
  const step = Number.isNaN(chip.elasticity) ? "–" : hundredths(chip.elasticity);
  return element("tr", { class: k === series.knee ? "at-knee" : null },
    element("th", { class: "number", scope: "row" }, number(chip.tiles)), element("td", {}, chip.shape), cell(number(chip.cycles)), cell(duration(chip.time_us)),
    cell(`${chip.speed_up.toFixed(2)} \u00d7`), cell(tilesim.percent(chip.efficiency)), cell(step), element("td", {}, chip.bound_by),
    element("td", {}, k !== series.knee ? "" : k === series.chips.length - 1 ? "no knee up to here" : "knee"));
}
