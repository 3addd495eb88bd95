// Where the cycles of each run went, and by how much that is more or less than in the first.
tilesim.section("compare_causes", async (root, data) => {
  const { names, causes, rows, cycles } = data;
  const longest = Math.max(...cycles);
  const of = (k) => Object.fromEntries(rows.map((row) => [row.cause, row.cycles[k]]));

  const bars = names.flatMap((name, k) => [
    element("span", { class: "name" }, name), stacked(name, of(k), causes, longest), element("span", { class: "number" }, number(cycles[k]))]);
  const axis = element("div", { class: "axis" }, ...ticks(longest).map((at) => element("span", { style: `left: ${(100 * at) / longest}%` }, number(at))));
  root.append(
    legend(causes),
    element("div", { class: "bars", id: "cause-bars" }, ...bars, element("span", {}), axis, element("span", { class: "muted" }, "cycles")),
    element("p", { class: "muted definition" }, "Each bar is the run as the average MAC array of its chip spent it: computing, or waiting for what the legend names (point at it). ",
      "So its parts add up to the cycles of the run, whatever the number of tiles, and the differences below to the difference of the runs."));

  const differences = rows.map((row) => row.cycles.map((each) => each - row.cycles[0]));
  const largest = Math.max(1, ...differences.flat().map(Math.abs));

  function difference(value, cause) {
    const width = (50 * Math.abs(value)) / largest;
    const part = element("span", { style: `width: ${width}%; ${value < 0 ? "right" : "left"}: 50%; background: ${colourOf(cause)}` });
    return [element("td", { class: "number" }, signed(value)), element("td", {}, element("span", { class: "diverging" }, part))];
  }

  const body = rows.map((row, k) => {
    const swatch = element("span", { class: "swatch", style: `background: ${colourOf(row.cause)}` });
    const title = element("th", { scope: "row", tabindex: "0" }, swatch, causes[row.cause].words);
    tip(title, () => [causes[row.cause].meaning]);
    return element("tr", { "data-cause": row.cause }, title, element("td", { class: "number" }, whole(row.cycles[0])), ...differences[k].slice(1).flatMap((value) => difference(value, row.cause)));
  });
  const all = element("tr", { class: "sum" }, element("th", { scope: "row" }, "all"), element("td", { class: "number" }, number(cycles[0])),
    ...cycles.slice(1).flatMap((each) => [element("td", { class: "number" }, signed(each - cycles[0])), element("td", {})]));
  const titles = names.slice(1).flatMap((name) => [right(name), element("th", { class: "muted middle" }, "less | more")]);
  root.append(
    element("h3", {}, `Cycles more or less than ${names[0]}`),
    element("div", { class: "wide" }, element("table", { id: "causes" }, head("cause", right(names[0]), ...titles), element("tbody", {}, ...body, all))));
});
