// The layers, a row each: sorted by any column, copied as a table.
const { element, number, percent } = tilesim;

tilesim.section("layers", async (root, data) => {
  if (data.note) {
    root.append(element("p", { class: "note" }, data.note));
    return;
  }
  const columns = columnsOf(data);
  const state = { data, columns, by: null, down: true };
  const table = element("table", { class: "layers" });
  const said = element("span", { class: "muted", role: "status" });
  root.append(
    element("div", { class: "key" }, ...data.causes.map(causeKey), element("button", { type: "button", click: () => copy(state, said) }, "Copy table"), said),
    element("div", { class: "layers-wrap" }, table),
    element("p", { class: "definition" }, "Click a layer to see its cycles in the timeline."),
    element("dl", { class: "meanings" }, ...meanings(data)),
  );
  fill(state, table);
});

const hue = (cause) => `var(--cause-${cause.replace(/[ _]/g, "-")}, var(--stall-other))`;

function causeKey({ name, words, sentence }) {
  const key = element("span", { tabindex: "0" }, element("i", { class: "swatch", style: `background: ${hue(name)}` }), words);
  tilesim.tip(key, () => sentence);
  return key;
}

function meanings(data) {
  const causes = data.causes.map(({ words, sentence }) => [words, sentence]);
  return [...Object.entries(data.definitions), ...causes].flatMap(([words, meaning]) => [element("dt", {}, words), element("dd", {}, meaning)]);
}

// ---- columns: a title, the value that a row is sorted by and copied with, and what a cell shows

function columnsOf(data) {
  const most = Math.max(1, ...data.layers.map((layer) => causesOf(layer).all));
  const joined = (words) => words.replace(/_/g, " ");
  const energy = data.run.energy_pj !== null;
  return [
    { title: "#", value: (row) => row.index, number: true },
    data.networks > 1 && { title: "network", value: (row) => row.network },
    { title: "layer", value: (row) => row.name, cell: nameCell },
    { title: "kind", value: (row) => row.kind },
    { title: "tiles", value: (row) => row.tiles, number: true },
    { title: "MACs", value: (row) => row.macs, number: true },
    { title: "cycles", value: (row) => row.array_cycles, number: true },
    { title: "of run", value: (row) => row.of_run, show: percent, number: true },
    { title: "in use", value: (row) => row.in_use, show: percent, number: true, cell: useCell },
    { title: "bound by", value: (row) => row.bound_words, cell: (row) => boundCell(row, data) },
    { title: "start", value: (row) => (row.index === null || !row.cycles ? null : row.start_cycle), number: true },
    { title: "lasted", value: (row) => (row.index === null ? null : row.cycles), number: true },
    { title: "cycles of all MAC arrays", value: (row) => causesOf(row).all, cell: (row) => causesCell(row, data, most) },
    ...data.buses.map((bus) => ({ title: joined(bus), value: (row) => row.entered[bus] || 0, show: tilesim.bytes, number: true, cell: (row, column) => bytesCell(row, column, bus) })),
    { title: "energy, \u00b5J", value: (row) => (energy && row.energy_pj !== null ? row.energy_pj / 1e6 : null), show: (value) => value.toFixed(value < 1 ? 3 : 1), number: true },
  ].filter(Boolean);
}

function causesOf({ breakdown }) {
  return { all: Object.values(breakdown).reduce((a, b) => a + b, 0), breakdown };
}

function shown(row, column) {
  const value = column.value(row);
  if (value === null || value === undefined || value === "" || (column.number && value === 0 && column.title !== "#" && column.title !== "start")) return "-";
  return (column.show || (column.number ? number : String))(value);
}

function nameCell(row) {
  const words = element("bdi", {}, row.name);
  const cell = element("td", { class: "name" }, row.index === null ? words : element("button", { type: "button", class: "plain", click: () => showLayer(row) }, words));
  if (row.index !== null) tilesim.tip(cell, () => [element("b", {}, row.full_name), element("div", {}, `cycles ${number(row.start_cycle)} to ${number(row.start_cycle + row.cycles)}`)]);
  return cell;
}

function showLayer({ start_cycle: from, cycles }) {
  tilesim.emit("window", { from, to: from + cycles });
  const place = document.getElementById("timeline");
  if (place) place.scrollIntoView();
}

function useCell(row, column) {
  return element("td", { class: "number use", style: `--share: ${100 * row.in_use}%` }, shown(row, column));
}

function boundCell(row, data) {
  const cause = data.causes.find(({ name }) => name === row.bound_by);
  const cell = element("td", {}, ...(cause ? [element("i", { class: "swatch", style: `background: ${hue(cause.name)}` }), row.bound_words] : ["-"]));
  if (cause) tilesim.tip(cell, () => [element("b", {}, `${row.name}: ${row.bound_words}`), element("div", {}, `Most of its MAC arrays' cycles: ${cause.sentence}`), row.macs && row.bound_words.endsWith("MACs") ? element("div", {}, `In a cycle in which an array was busy it did ${row.bound_words}, on average.`) : null].filter(Boolean));
  return cell;
}

function causesCell(row, data, most) {
  const { all, breakdown } = causesOf(row);
  const scale = row.index === null ? Math.max(1, all) : most;
  const parts = data.causes.filter(({ name }) => breakdown[name]);
  const bar = element("div", { class: "stack" }, ...parts.map(({ name }) => element("span", { style: `width: ${(100 * breakdown[name]) / scale}%; background: ${hue(name)}` })));
  const line = ({ name, words }) => element("div", {}, element("i", { class: "swatch", style: `background: ${hue(name)}` }), `${words}: ${number(breakdown[name])} (${percent(breakdown[name] / all)})`);
  if (all) tilesim.tip(bar, () => [element("b", {}, `${row.name}: ${number(all)} cycles of MAC arrays`), ...parts.map(line)]);
  return element("td", { "data-cycles": all }, bar);
}

function bytesCell(row, column, bus) {
  const cell = element("td", { class: "number", "data-bytes": row.entered[bus] || 0 }, shown(row, column));
  if (row.entered[bus]) tilesim.tip(cell, () => `${number(row.entered[bus])} bytes entered; the links carried ${number(row.carried[bus] || 0)}, each counted`);
  return cell;
}

// ---- the table

function fill(state, table) {
  const { data, columns } = state;
  const line = (row, name) => element("tr", { "data-layer": name }, ...columns.map((column) => (column.cell || plainCell)(row, column)));
  table.replaceChildren(
    element("thead", {}, element("tr", {}, ...columns.map((column) => heading(state, column, table)))),
    element("tbody", {}, ...sorted(state).map((row) => line(row, row.index))),
    element("tfoot", {}, line(data.beside, "beside"), line(data.run, "run")),
  );
}

function plainCell(row, column) {
  return element("td", { class: column.number ? "number" : null }, shown(row, column));
}

function heading(state, column, table) {
  const sort = state.by === column.title ? (state.down ? "descending" : "ascending") : "none";
  const choose = () => {
    state.down = state.by === column.title ? !state.down : Boolean(column.number || column.title.startsWith("cycles"));
    state.by = column.title;
    fill(state, table);
    [...table.querySelectorAll("th button")].find((button) => button.textContent === column.title).focus();
  };
  return element("th", { scope: "col", class: column.number ? "number" : null, "aria-sort": sort }, element("button", { type: "button", class: "plain", click: choose }, column.title));
}

function sorted({ data, columns, by, down }) {
  const column = columns.find(({ title }) => title === by);
  if (!column) return data.layers;
  const order = (a, b) => (typeof a === "string" || typeof b === "string" ? String(a ?? "").localeCompare(String(b ?? "")) : (a ?? -1) - (b ?? -1));
  return [...data.layers].sort((a, b) => (down ? -1 : 1) * order(column.value(a), column.value(b)) || a.index - b.index);
}

// Tabs between columns and exact numbers, as spreadsheets take them.
async function copy(state, said) {
  const { data, columns } = state;
  const cells = (row) => columns.map((column) => String(column.value(row) ?? "").replace(/[\t\n\r]/g, " "));
  const text = [columns.map(({ title }) => title), ...[...sorted(state), data.beside, data.run].map(cells)].map((row) => row.join("\t")).join("\n");
  said.textContent = (await tilesim.copied(text)) ? `copied ${data.layers.length + 2} rows` : "the browser does not let this page copy: select the table";
}
