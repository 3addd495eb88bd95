// The points of a sweep in figures: how many ran, which are best, and why others did not run.
tilesim.section("explore", async (root, data) => {
  const space = await theSpace();
  root.append(figures(data), ...notes(data), bestTable(space, data), ...whyNot(data));
});

function figures(data) {
  const { ran, refused, failed } = data.counts;
  const share = (count) => (data.count ? tilesim.percent(count / data.count) : NONE);
  const networks = data.networks.slice(0, 4).join(", ") + (data.networks.length > 4 ? " …" : "");
  const rows = [
    ["points", number(data.count), `of ${counted(data.networks.length, "network")}: ${networks}`],
    ["ran", number(ran), share(ran)],
    ["refused", number(refused), `${share(refused)}: the chip or its options can't be`],
    ["failed", number(failed), `${share(failed)}: the run could not go on`]];
  return element("dl", { class: "figures" }, ...rows.map(([name, value, meaning]) =>
    element("div", {}, element("dt", {}, name), element("dd", { class: "value" }, value), element("dd", { class: "muted" }, meaning))));
}

function notes({ counts, unlike_outputs: unlike }) {
  if (unlike.length) return [element("p", { class: "note" }, `Not all points of ${unlike.join(", ")} with as many inferences have the same outputs.`)];
  return counts.ran > 1 ? [element("p", { class: "muted" }, "All points of a network that ran as many inferences have the same outputs, byte for byte.")] : [];
}

function bestTable(space, { bests }) {
  if (!bests.length) return element("p", { class: "note" }, "No point ran.");
  const titles = ["network", "best by", "", "point"].map((title, k) => element("th", { scope: "col", class: k === 2 ? "number" : null }, title));
  const body = bests.map((best, k) => element("tr", { "data-point": best.point }, ...whose(bests, k), ...bestCells(space, best)));
  const table = element("table", { id: "bests", class: "of-points" }, element("thead", {}, element("tr", {}, ...titles, ...keyTitles(space))), element("tbody", {}, ...body));
  const equals = bests.some(({ ties }) => ties) ? [element("p", { class: "muted definition" }, "(+3): three others are as good.")] : [];
  return element("div", { class: "wide" }, table, ...equals);
}

// The network, in the first of its rows.
function whose(bests, k) {
  const { network } = bests[k];
  if (k && bests[k - 1].network === network) return [];
  return [element("th", { scope: "rowgroup", title: network, rowspan: bests.filter((best) => best.network === network).length }, network)];
}

function bestCells(space, { measure: place, point, ties }) {
  const measure = space.measures[place];
  return [
    element("th", { scope: "row", title: `${lowest(measure)}: ${measure.definition}` }, measure.words),
    element("td", { class: "number" }, withUnit(measure, measure.values[point])),
    element("td", {}, ...pointButton(point, ties, true)), ...keyCells(space, point)];
}

function whyNot({ reasons }) {
  if (!reasons.length) return [];
  const rows = reasons.map(({ status, sentence, points, first }) =>
    element("tr", {}, element("td", { class: "number" }, number(points)), element("td", {}, status), element("td", { class: "sentence" }, sentence), element("td", {}, ...pointButton(first, 0, true))));
  const head = element("tr", {}, element("th", { scope: "col", class: "number" }, "points"), ...["", "why", "such as"].map((title) => element("th", { scope: "col" }, title)));
  return [
    element("h3", {}, "Why points did not run"),
    element("div", { class: "wide" }, element("table", { id: "reasons" }, element("thead", {}, head), element("tbody", {}, ...rows))),
    element("p", { class: "muted definition" }, "Sentences that differ in numbers alone are counted together; their first point's stands here.")];
}
