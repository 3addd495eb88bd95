// Layers of a systolic run beside SCALE-Sim's count: parts that both have, and parts that one has.
tilesim.section("stall_free", async (root, data) => {
  const { element, number } = tilesim;
  const columns = [
    { title: "M", value: (row) => row.vectors, group: "layer" },
    { title: "K", value: (row) => row.inputs },
    { title: "N", value: (row) => row.outputs },
    { title: "tiles", value: (row) => row.tiles },
    { title: "both", value: (row) => row.both, group: "both" },
    { title: "load", value: (row) => row.load, group: "only SCALE-Sim" },
    { title: "skew", value: (row) => row.skew },
    { title: "in all", value: (row) => row.stall_free, sum: true },
    { title: "more vectors", value: (row) => row.more_vectors, group: "only here" },
    { title: "weight shift", value: (row) => row.weight_shift },
    { title: "weight stall", value: (row) => row.weight_stall },
    { title: "waits", value: (row) => row.waits },
    { title: "in all", value: (row) => row.ours, sum: true },
    { title: "here / SCALE-Sim", value: (row) => (row.ours / row.stall_free).toFixed(2), group: "" },
  ];
  const from = (column) => (column.group === undefined ? "" : " from");
  const spans = columns.flatMap((column, k) => (column.group === undefined ? [] : [k]));
  const groups = spans.map((start, k) => element("th", { scope: "colgroup", class: "from", colspan: String((spans[k + 1] ?? columns.length) - start) }, columns[start].group));
  const cell = (row, column) => element("td", { class: `number${column.sum ? " sum" : ""}${from(column)}` }, typeof column.value(row) === "number" ? number(column.value(row)) : column.value(row));
  const line = (row) => element("tr", { "data-layer": row.index }, element("td", { class: "number" }, row.index), element("td", { class: "name" }, row.name), ...columns.map((column) => cell(row, column)));
  const heads = columns.map((column) => element("th", { scope: "col", class: `number${from(column)}` }, column.title));
  root.append(
    element("p", {}, "Cycles of the dense layers, beside what SCALE-Sim 3.0 counts for a weight-stationary array of this size without stalls."),
    element(
      "div",
      { class: "stall-free-wrap" },
      element(
        "table",
        { class: "stall-free" },
        element("thead", {}, element("tr", {}, element("th", { colspan: "2" }), ...groups), element("tr", {}, element("th", {}, "#"), element("th", { class: "name" }, "layer"), ...heads)),
        element("tbody", {}, ...data.rows.map(line)),
      ),
    ),
    element("dl", { class: "meanings" }, ...Object.entries(data.definitions).flatMap(([words, meaning]) => [element("dt", {}, words), element("dd", {}, meaning)])),
    element("p", { class: "muted" }, data.note),
  );
});
