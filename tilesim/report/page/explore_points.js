// The points of a sweep in figures. The other sections wait for the points, which this one brings.
tilesim.space = new Promise((resolve, reject) => {
  tilesim.section("explore_points", async (root, data, columns) => {
    try {
      const space = spaceOf(data, columns);
      resolve(space);
      root.append(figures(data), ...notes(data), bestTable(space, data), ...whyNot(data));
    } catch (error) {
      reject(error);
      throw error;
    }
  });
});

function spaceOf(data, columns) {
  const text = (name) => {
    const [words, places, ends] = [data.texts[name], columns[`${name} words`], columns[`${name} ends`]];
    return (k) => Array.from(places.subarray(k ? ends[k - 1] : 0, ends[k]), (place) => words[place]).join(" ");
  };
  return {
    count: data.count, networks: data.networks, network: columns.network, statuses: data.statuses, statusOf: columns.status,
    keys: data.keys.map((key, place) => ({ ...key, places: columns[`key ${place}`] })),
    measures: data.measures.map((measure, place) => ({ ...measure, values: columns[`measure ${place}`] })),
    status: (k) => data.statuses[columns.status[k]],
    ran: (k) => columns.status[k] === 0,
    bound: (k) => (columns.status[k] === 0 ? data.bounds[columns.bound[k]] : ""),
    command: text("command"), reason: text("reason"),
  };
}

function figures(data) {
  const { ran, refused, failed } = data.counts;
  const share = (count) => (data.count ? tilesim.percent(count / data.count) : NONE);
  const networks = data.networks.length > 4 ? `${data.networks.slice(0, 4).join(", ")} …` : data.networks.join(", ");
  const rows = [
    ["points", number(data.count), `of ${counted(data.networks.length, "network")}: ${networks}`],
    ["ran", number(ran), share(ran)],
    ["refused", number(refused), `${share(refused)}: the network, chip or options can't be`],
    ["failed", number(failed), `${share(failed)}: the run could not go on`]];
  return element("dl", { class: "figures" }, ...rows.map(([name, value, meaning]) =>
    element("div", {}, element("dt", {}, name), element("dd", { class: "value" }, value), element("dd", { class: "muted" }, meaning))));
}

function notes({ counts, unlike_outputs: unlike }) {
  if (unlike.length) return [element("p", { class: "note" }, `Not all points of ${unlike.join(", ")} have the same outputs.`)];
  return counts.ran > 1 ? [element("p", { class: "muted" }, "All points of a network that ran have the same outputs, byte for byte.")] : [];
}

const show = (k) => tilesim.emit("point", { k, jump: true });

function bestTable(space, { bests }) {
  const body = bests.map(({ network, measure: place, point, ties }, k) => {
    const measure = space.measures[place];
    const first = k === 0 || bests[k - 1].network !== network;
    const rows = bests.filter((best) => best.network === network).length;
    const whose = element("th", { scope: "rowgroup", rowspan: rows }, network);
    const what = element("th", { scope: "row", title: measure.definition }, `${measure.better === "higher" ? "highest" : "lowest"} ${measure.words}`);
    const equals = ties ? element("span", { class: "muted" }, ` and ${number(ties)} more`) : null;
    const which = element("button", { type: "button", class: "plain", click: () => show(point) }, `point ${number(point + 1)}`);
    return element("tr", { "data-point": point }, ...(first ? [whose] : []), what, element("td", { class: "number" }, withUnit(measure, measure.values[point])), element("td", {}, which, equals), element("td", { class: "keys" }, keysLine(space, point)));
  });
  if (!body.length) return element("p", { class: "note" }, "No point ran.");
  const head = element("tr", {}, ...["network", "best by", "", "point", "keys"].map((title, k) => element("th", { scope: "col", class: k === 2 ? "number" : null }, title)));
  return element("div", { class: "wide" }, element("table", { id: "bests" }, element("thead", {}, head), element("tbody", {}, ...body)));
}

function whyNot({ reasons }) {
  if (!reasons.length) return [];
  const rows = reasons.map(({ status, sentence, points, first }) => {
    const which = element("button", { type: "button", class: "plain", click: () => show(first) }, `point ${number(first + 1)}`);
    return element("tr", {}, element("td", { class: "number" }, number(points)), element("td", {}, status), element("td", { class: "sentence" }, sentence), element("td", {}, which));
  });
  const head = element("tr", {}, element("th", { class: "number" }, "points"), element("th", {}, ""), element("th", {}, "why"), element("th", {}, "such as"));
  return [
    element("h3", {}, "Why points did not run"),
    element("div", { class: "wide" }, element("table", { id: "reasons" }, element("thead", {}, head), element("tbody", {}, ...rows))),
    element("p", { class: "muted definition" }, "Sentences that differ in numbers alone are counted together, and stand here as their first point has them.")];
}
