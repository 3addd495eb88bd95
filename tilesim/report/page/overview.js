// The run in a few figures.
tilesim.section("overview", async (root, data) => {
  const { element } = tilesim;
  const rows = data.map(({ name, value, meaning }) => element("div", {}, element("dt", {}, name), element("dd", { class: "value" }, value), element("dd", { class: "muted" }, meaning)));
  root.append(element("dl", { class: "figures" }, ...rows));
});
