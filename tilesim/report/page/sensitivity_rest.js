// The keys that change nothing, the steps that could not be run, and those that there are not.
tilesim.section("sensitivity_rest", async (root, data) => {
  const { element } = tilesim;

  function table(id, title, titles, rows) {
    if (!rows.length) return;
    const body = rows.map(([key, ...cells]) => element("tr", {}, element("th", { scope: "row" }, key), ...cells.map((cell) => element("td", {}, cell))));
    const head = element("thead", {}, element("tr", {}, ...titles.map((each) => element("th", { scope: "col" }, each))));
    root.append(element("h3", {}, title), element("div", { class: "wide" }, element("table", { id, class: "rest" }, head, element("tbody", {}, ...body))));
  }

  table("idle", "Without effect on time, cycles and energy", ["key", "as it is", "tried"], data.idle.map((row) => [row.key, row.value, row.tried]));
  table("refused", "What did not run", ["key", "as it is", "tried", "why it did not"], data.refused.map((row) => [row.key, row.value, row.tried, `${row.status}: ${row.reason}`]));
  table("unstepped", "Not stepped, or one way only", ["key", "as it is", "why"], data.unstepped.map((row) => [row.key, row.value, row.reason]));
  if (!root.childElementCount) root.append(element("p", {}, "Every step changes something."));
});
