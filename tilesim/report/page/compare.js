// The runs in figures: how fast each is, what it moves, and what was set otherwise.
tilesim.section("compare", async (root, data) => {
  const fastest = Math.max(...data.runs.map((run) => run.speed_up));

  function speedUp(run) {
    const bar = element("span", { class: "length", style: `width: ${(100 * run.speed_up) / fastest}%` });
    return element("td", { class: "speed" }, element("span", { class: "value" }, times(run.speed_up)), element("span", { class: "track" }, bar));
  }

  const numeric = (value) => element("td", { class: "number" }, value);
  const rows = data.runs.map((run) =>
    element("tr", {},
      element("th", { scope: "row" }, run.name), element("td", {}, run.topology), numeric(number(run.tiles)), numeric(number(run.cycles)),
      numeric(run.time), speedUp(run), numeric(run.efficiency === null ? "–" : tilesim.percent(run.efficiency)),
      numeric(tilesim.percent(run.mac_utilisation)), element("td", {}, run.bound_by ? (data.causes[run.bound_by] || { words: run.bound_by }).words : "–"),
      numeric(run.energy)));
  const titles = ["tiles", "cycles", "time"].map(right);
  const more = ["efficiency", "MACs in use"].map(right);
  root.append(
    ...data.notes.map((note) => element("p", { class: "note" }, note)),
    element("div", { class: "wide" }, element("table", { id: "runs" }, head("run", "chip", ...titles, "speed-up", ...more, "bound by", right("energy")), element("tbody", {}, ...rows))),
    element("p", { class: "muted definition" }, "Speed-up: how many times as fast as the first run, in time. Efficiency: the speed-up over how many times as many tiles, where tiles are alike. ",
      "MACs in use: useful multiply-accumulates of all that the chip could have done. Energy: dynamic only, of counted actions."));

  // Rows of words, a column a run.
  function table(id, title, rows, cell) {
    const body = rows.map(({ key, values }) => element("tr", {}, element("th", { scope: "row" }, key), ...values.map((value) => element("td", { class: cell }, value === null ? "–" : value))));
    const titles = data.names.map((name) => element("th", { class: cell }, name));
    root.append(element("h3", {}, title), element("div", { class: "wide" }, element("table", { id }, head("", ...titles), element("tbody", {}, ...body))));
  }

  if (data.differing.length) table("differing", "What was set otherwise", data.differing, null);
  table("moved", "What it moved, and what it cost", data.moved, "number");
  root.append(element("p", { class: "muted definition" }, "Bytes on a bus are counted on each link that carries them. Streamed parameters come from data memory or weight memory during the run; ",
    "loading brings the others, once, before. Of energies, those are listed that are 1 % of a run or more."));
});
