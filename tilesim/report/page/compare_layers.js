// Each layer in all runs: what it took of the run, by cause, and how that compares with the first.
tilesim.section("compare_layers", async (root, data) => {
  const { names, causes, layers, outside } = data;
  const sums = layers.map((layer) => layer.runs.map((part) => (part ? part.cycles : 0)));
  const longest = Math.max(1e-9, ...sums.flat());
  const difference = (row) => Math.max(...row.map((cycles) => Math.abs(cycles - row[0])));

  function bars(title, parts) {
    return element("td", { class: "layer-bars" }, ...parts.map((byCause, k) => (byCause ? stacked(`${title} in ${names[k]}`, byCause, causes, longest) : element("div", { class: "stacked" }))));
  }

  function figures(part, first, isFirst) {
    if (!part) return element("td", { class: "number muted" }, "–");
    const cell = element("td", { class: "number", tabindex: "0" }, whole(part.cycles));
    if (!isFirst && first && part.cycles && first.cycles) cell.append(element("span", { class: "muted factor" }, times(first.cycles / part.cycles)));
    if (part.bound_by) cell.append(element("span", { class: "bound" }, element("span", { class: "swatch", style: `background: ${colourOf(part.bound_by)}` }), (causes[part.bound_by] || { words: part.bound_by }).words));
    tip(cell, () => details(part));
    return cell;
  }

  function details(part) {
    const rows = [
      ["tiles", number(part.tiles)], ["from its first step to its last word", `${number(part.lasted_cycles)} cycles`],
      ...(part.parameters ? [["parameters", part.parameters]] : []), ...(part.energy_pj === null ? [] : [["energy", `${number(Math.round(part.energy_pj))} pJ`]])];
    return [element("table", { class: "told" }, ...rows.map(([name, value]) => element("tr", {}, element("td", {}, name), element("td", { class: "number" }, value))))];
  }

  function row(layer) {
    const title = element("th", { scope: "row", title: layer.name }, layer.short);
    const parts = layer.runs.map((part) => part && part.causes);
    return element("tr", { class: "layer" }, title, element("td", {}, layer.kind), bars(layer.short, parts), ...layer.runs.map((part, k) => figures(part, layer.runs[0], k === 0)));
  }

  const rows = layers.map(row);
  const rest = element("tr", {}, element("th", { scope: "row" }, "outside layers"), element("td", {}), element("td", {}), ...outside.map((byCause) => element("td", { class: "number" }, whole(total(byCause)))));
  const all = element("tr", { class: "sum" }, element("th", { scope: "row" }, "all"), element("td", {}), element("td", {}),
    ...names.map((_, k) => element("td", { class: "number" }, whole(total(outside[k]) + sums.reduce((sum, each) => sum + each[k], 0)))));
  const body = element("tbody", {});
  const order = element("select", { id: "order", change: () => show() }, element("option", { value: "network" }, "as in the network"), element("option", { value: "difference" }, "largest difference first"));

  function show() {
    const places = layers.map((_, k) => k);
    if (order.value === "difference") places.sort((a, b) => difference(sums[b]) - difference(sums[a]) || a - b);
    body.replaceChildren(...places.map((k) => rows[k]), rest, all);
  }

  show();
  const several = `bars: ${names.join(", ")}, from the top`;
  root.append(
    element("p", {}, element("label", {}, "Order: ", order)), legend(causes),
    element("div", { class: "wide" }, element("table", { id: "layers" }, head("layer", "kind", element("th", {}, element("span", { class: "muted" }, several)), ...names.map(right)), body)),
    element("p", { class: "muted definition" }, "Cycles of a layer: those that the average MAC array of the chip spent on it, computing or waiting for it. They add up to the run, unlike the times from a layer's first step to its last word, as layers overlap. ",
      "Factors: how many times fewer cycles than in the first run."));
});
