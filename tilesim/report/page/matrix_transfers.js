// The transfers that the run waits for most, and what it would save if one took no time.

function transfersTable({ transfers, what_if, cycles }) {
  if (!transfers.length) return [];
  const heads = ["transfer", "unit", "layer", "on the critical path", "of the run", "waited for", "by units", "the run saves if it takes no time"];
  const said = tilesim.element("span", { class: "muted", role: "status" });
  const rows = transfers.map((each) => tilesim.element("tr", { "data-label": each.label },
    ...[each.label, each.unit, each.layer || "\u2013"].map((words) => tilesim.element("td", {}, words)),
    ...[tilesim.number(each.path), tilesim.percent(each.path / cycles), tilesim.number(each.waited), tilesim.number(each.victims)].map((words) => tilesim.element("td", { class: "number" }, words)),
    tilesim.element("td", { class: each.saved === null ? null : "number" }, saving(each, cycles, said))));
  return [
    tilesim.element("h3", {}, "Transfers that the run waits for most"),
    tilesim.element("div", { class: "matrix-scroll" }, tilesim.element("table", { class: "transfers" },
      tilesim.element("thead", {}, tilesim.element("tr", {}, ...heads.map((head, k) => tilesim.element("th", { scope: "col", class: k > 2 && k < 7 ? "number" : null }, head)))),
      tilesim.element("tbody", {}, ...rows))),
    said,
    tilesim.element("p", { class: "definition" }, what_if),
  ];
}

// What was simulated, or the command that does it, to copy.
function saving({ saved, command }, cycles, said) {
  if (saved !== null) return `${tilesim.number(saved)} cycles (${saved < 0 ? "\u2212" : ""}${tilesim.percent(Math.abs(saved) / cycles)})`;
  const copy = async () => { said.textContent = (await tilesim.copied(command)) ? `copied: ${command}` : `the browser does not let this page copy: ${command}`; };
  return tilesim.element("button", { type: "button", class: "plain", title: "Copy the command", click: copy }, tilesim.element("code", {}, command));
}
