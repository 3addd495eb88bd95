// The sweep in figures: how many points ran, the fastest of each network, and why others did not run.
tilesim.section("explore", async (root, data) => {
  const { element, number } = tilesim;
  const figures = data.figures.map(({ name, value, meaning }) => element("div", {}, element("dt", {}, name), element("dd", { class: "value" }, value), element("dd", { class: "muted" }, meaning)));
  root.append(element("dl", { class: "figures" }, ...figures));
  if (data.best.length) root.append(table("fastest", ["network", "fastest", "command"], data.best.map(({ network, latency, command }) => [element("th", { scope: "row" }, network), element("td", { class: "number" }, latency), element("td", {}, element("code", {}, command))])));
  if (data.reasons.length) root.append(table("reasons", ["points", "", "why"], data.reasons.map(({ count, status, reason }) => [element("td", { class: "number" }, number(count)), element("td", {}, status), element("td", {}, reason)])));

  function table(id, titles, rows) {
    const head = element("thead", {}, element("tr", {}, ...titles.map((title) => element("th", {}, title))));
    return element("div", { class: "wide" }, element("table", { id }, head, element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells)))));
  }
});
