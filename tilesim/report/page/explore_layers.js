// Which layers stop scaling where: a matrix of layers and chips, each layer's knee, and what it is held by there.
const VIEWS = {
  efficiency: { words: "efficiency", text: (cell) => share(cell.efficiency), shade: (cell) => cell.efficiency },
  elasticity: { words: "elasticity of the step", text: (cell) => (cell.elasticity === null ? "" : hundredths(cell.elasticity)), shade: (cell) => (cell.elasticity === null ? 0 : cell.elasticity) },
  cycles: { words: "cycles", text: (cell) => whole(cell.cycles), shade: (cell, row) => cell.cycles / row.most },
  tiles: { words: "tiles that it is on", text: (cell) => number(cell.tiles), shade: (cell) => cell.tiles / cell.all },
};
const ORDERS = {
  "as in the network": (a, b) => a.place - b.place,
  "most cycles on the last chip first": (a, b) => b.last - a.last,
  "earliest knee first": (a, b) => a.knee - b.knee || b.last - a.last,
};

tilesim.section("explore_layers", async (root, data, columns) => {
  const all = await allSeries();
  let shown = null;
  const view = choose("layers-view", "shown", Object.values(VIEWS).map(({ words }) => words), () => draw());
  const order = choose("layers-order", "order", Object.keys(ORDERS), () => draw());
  const wide = element("div", { class: "wide" });

  function draw() {
    const chosen = Object.values(VIEWS)[view.list.selectedIndex];
    const rows = layersOf(shown, { data, columns }).sort(Object.values(ORDERS)[order.list.selectedIndex]);
    wide.replaceChildren(matrix(shown, rows, chosen, data));
  }

  const lists = chooser(all, (series) => {
    shown = series;
    draw();
  });
  lists.append(view.label, order.label);
  root.append(lists, wide,
    element("p", { class: "muted definition" }, "A layer's cycles are those that the average tile of those that it is on spends on it, computing or waiting; waits for layers that run on other tiles only are no layer's own. Its efficiency is how many times fewer these are than with the fewest tiles, by how many times as many tiles the chip has. ",
      "The framed cell is the layer's knee, as that of the network: beyond it, where cells are hatched, more tiles of the chip are not worth it for this layer. What holds it is what most cycles are lost to from its knee to the next chip."));
});

function matrix(series, rows, view, data) {
  const titles = series.chips.map((chip, c) => element("th", { class: c === series.knee ? "number at-knee" : "number", scope: "col" }, number(chip.tiles)));
  const above = element("tr", {}, element("td", { colspan: 4 }), element("th", { class: "view muted", colspan: series.chips.length, scope: "colgroup" }, `${view.words}, by tiles of the chip`));
  const names = element("tr", {}, element("th", { scope: "col" }, "layer"), element("th", { scope: "col" }, "kind"), right("knee"), element("th", { scope: "col" }, "held by"), ...titles);
  const body = element("tbody", { keydown: (event) => stepped(event, body) }, ...rows.map((row) => layerRow(series, row, view)));
  const first = body.querySelector(".shaded");
  if (first) first.tabIndex = 0;
  return element("table", { id: "layer-matrix" }, element("thead", {}, above, names), body);
}

// One cell is a stop of the tabulator key; arrows go on from there.
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function stepped(event, body) {
  const from = event.target.closest("td");
  const step = STEPS[event.key];
  if (!step || !from) return;
  event.preventDefault();
  const row = body.rows[from.parentNode.rowIndex - body.rows[0].rowIndex + step[0]];
  const to = row && row.cells[from.cellIndex + step[1]];
  if (!to || !to.classList.contains("shaded")) return;
  from.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}

function layerRow(series, row, view) {
  const at = series.chips[row.knee];
  const swatch = row.held && element("span", { class: "swatch", style: `background: var(--lost-${row.held.name})` });
  return element("tr", {},
    element("th", { scope: "row", title: row.name }, row.short), element("td", {}, row.kind),
    element("td", { class: "number" }, row.held ? number(at.tiles) : "–"), element("td", {}, swatch, row.held ? row.held.words : "–"),
    ...row.cells.map((cell, c) => matrixCell(series, row, cell, c, view)));
}

function matrixCell(series, row, cell, c, view) {
  if (!cell) return element("td", { class: "number muted" }, "–");
  const shade = Math.round(60 * Math.min(1, Math.max(0, view.shade(cell, row))));
  const kind = ["number", "shaded", row.held && c === row.knee ? "knee" : "", row.held && c > row.knee ? "beyond" : ""].filter(Boolean).join(" ");
  const node = element("td", { class: kind, tabindex: "-1", style: `--shade: ${shade}%` }, view.text(cell));
  tilesim.tip(node, () => told(`${row.short} with ${tilesWords(cell.all)}`, [
    ["on tiles", number(cell.tiles)], ["cycles of each", whole(cell.cycles)], ["efficiency", tilesim.percent(cell.efficiency)],
    ...(cell.elasticity === null ? [] : [["elasticity of the step", hundredths(cell.elasticity)]]), ["bound by", cell.bound_by],
    ...(row.held && c === row.knee ? [["held from here on by", row.held.words]] : [])]));
  return node;
}
