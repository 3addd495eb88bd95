// Energy against tiles, what it buys, and which layers need it.
const WIDTH = 600;
const HEIGHT = 340;
const EDGE = { left: 74, right: 22, top: 20, bottom: 48 };
const MOST = 10; // layers that are listed

tilesim.section("explore_energy", async (root, _data, columns) => {
  const all = await allSeries();
  const layers = await tilesim.given("explore_layers");
  const charts = element("div", { class: "charts" });
  const wide = element("div", { class: "wide" });
  const lists = chooser(all, (series) => {
    const chips = series.chips.map((chip) => ({ ...chip, pj: columns.run[chip.at] }));
    charts.replaceChildren(againstTiles(series, chips), againstTime(series, chips));
    wide.replaceChildren(byLayer(series, layersOf(series, layers).map((row) => ({ ...row, pj: row.cells.map((cell) => (cell ? columns.layer[cell.at] : NaN)) }))));
  });
  root.append(lists, charts, element("h3", {}, "The layers whose energy grows most"), wide,
    element("p", { class: "muted definition" }, "Dynamic energy of the run, of counted actions; none leaks. Against time, down and to the left is better on both. Growth: energy with the most tiles less that with the fewest."));
});

function againstTiles(series, chips) {
  const x = logarithmic(chips[0].tiles, chips[chips.length - 1].tiles, EDGE.left + 14, WIDTH - EDGE.right);
  const y = linear(0, Math.max(...chips.map(({ pj }) => pj)) * 1.06 || 1, HEIGHT - EDGE.bottom, EDGE.top);
  const ticks = chips.length > 9 ? powers(x.low, x.high) : chips.map(({ tiles }) => tiles);
  return drawn(series, chips, `energy of ${series.network} against tiles`, (chip) => [x.place(chip.tiles), y.place(chip.pj)], [
    ...xAxis(x, ticks, { top: EDGE.top, bottom: HEIGHT - EDGE.bottom, title: "tiles" }), ...energyAxis(y, rounds(0, y.high, 6))], () => []);
}

function againstTime(series, chips) {
  const times = chips.map((chip) => chip.time_us);
  const energies = chips.map(({ pj }) => pj);
  const x = logarithmic(Math.min(...times) / 1.15, Math.max(...times) * 1.15, EDGE.left, WIDTH - EDGE.right);
  const y = linear(0, Math.max(...energies) * 1.06 || 1, HEIGHT - EDGE.bottom, EDGE.top);
  return drawn(series, chips, `energy of ${series.network} against time`, (chip) => [x.place(chip.time_us), y.place(chip.pj)], [
    ...xAxis(x, decades(x.low, x.high), { top: EDGE.top, bottom: HEIGHT - EDGE.bottom, title: "time of the run", words: (us) => duration(us, true) }), ...energyAxis(y, rounds(0, y.high, 6))],
  (chip, [at, height], k) => [svg("text", { class: "muted", x: at, y: height + (isBelow(k) ? 20 : chip === chips[series.knee] ? -14 : -10), "text-anchor": "middle" }, number(chip.tiles))]);

  // Where the next point stands where its number would.
  function isBelow(k) {
    const next = chips[k + 1];
    return next && Math.abs(x.place(next.time_us) - x.place(chips[k].time_us)) < 14 && next.pj > chips[k].pj;
  }
}

const energyAxis = (y, ticks) => yAxis(y, ticks, { left: EDGE.left, right: WIDTH - EDGE.right, title: "energy of the run", words: (pj) => energy(pj, true), at: 12 });

function drawn(series, chips, words, place, axes, beside) {
  return svg("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": words },
    ...axes, svg("path", { class: "curve", d: path(chips.map(place)) }),
    svg("circle", { class: "knee", cx: place(chips[series.knee])[0], cy: place(chips[series.knee])[1], r: 9 }),
    ...chips.flatMap((chip, k) => [dot(chip, place(chip), k === series.knee), ...beside(chip, place(chip), k)]));
}

function dot(chip, [x, y], atKnee) {
  const node = svg("circle", { class: "dot", cx: x, cy: y, r: 4.5, style: "fill: var(--accent)", tabindex: "0", role: "img", "aria-label": tilesWords(chip.tiles) });
  tilesim.tip(node, () => told(`${tilesWords(chip.tiles)}${atKnee ? ", the knee" : ""}`, [["energy", energy(chip.pj)], ["time", duration(chip.time_us)], ["energy \u00d7 time", `${significant(chip.pj * chip.time_us * 1e-6)} pJ s`], ["cycles", number(chip.cycles)]]));
  return node;
}

// ---- by layer

function byLayer({ chips }, rows) {
  const growth = ({ pj }) => (pj[pj.length - 1] || 0) - (pj[0] || 0);
  const listed = [...rows].sort((a, b) => growth(b) - growth(a)).slice(0, MOST);
  const most = Math.max(1e-9, ...listed.flatMap(({ pj }) => pj.filter((each) => !Number.isNaN(each))));
  const body = listed.map((row) => element("tr", {}, element("th", { scope: "row", title: row.name }, row.short), element("td", {}, row.kind),
    ...row.pj.map((pj) => (Number.isNaN(pj) ? cell("–") : element("td", { class: "number filled", style: `--share: ${(100 * pj) / most}%` }, energy(pj)))), cell(`${growth(row) < 0 ? "\u2212" : "+"}${energy(Math.abs(growth(row)))}`)));
  return element("table", { id: "layer-energy" }, head("layer", "kind", ...chips.map(({ tiles }) => right(tilesWords(tiles))), right("growth")), element("tbody", {}, ...body));
}
