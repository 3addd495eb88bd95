// Who waits for whom: a row a victim, a column a culprit, in cycles.
const { element, number, percent } = tilesim;
const SHADING = 0.4; // so that little is seen
const STRONGEST = 45; // per cent of a reason's colour, so that words can be read on it

tilesim.section("matrix", (root, data, columns) => {
  if (data.note) root.append(element("p", { class: "note" }, data.note));
  const names = ["victim", "culprit", "kind", "resource", "cycles", "longest_start", "longest_cycles"];
  const rows = Array.from(columns.victim, (_, k) => Object.fromEntries(names.map((name) => [name, columns[name][k]])));
  const senders = new Map(Object.entries(data.links || {}).map(([track, bus]) => [track, columns[`sender.${bus}`]]));
  const state = { data, whole: rows, rows, senders, by: "role", only: "", open: new Set(), range: null };
  const place = element("div", { class: "matrix-scroll", tabindex: "0", role: "region", "aria-label": "Who waits for whom" });
  const whose = element("span", { class: "muted", role: "status" });
  const draw = () => {
    whose.textContent = state.range ? `cycles ${number(state.range.from)} to ${number(state.range.to)}, as marked in the timeline` : "the whole run";
    place.replaceChildren(table(state, draw));
  };
  root.append(controls(state, draw, whose), place, element("div", { class: "matrix-key" }, ...data.kinds.filter((_, kind) => rows.some((row) => row.kind === kind)).map(key)), element("p", { class: "definition" }, data.definition, " A cell is as strong as it has cycles, in the colour of the reason that most of them have; click it to see the longest of its stalls in the timeline, a row's name to see its units."), ...transfersTable(data));
  draw();
  tilesim.on("range", (range) => follow(state, range, draw));
});

function key({ kind, words, sentence }) {
  const node = element("span", { tabindex: "0" }, element("i", { class: "swatch", style: `background: ${hue(kind)}` }), words);
  tilesim.tip(node, () => sentence);
  return node;
}

const hue = (kind) => `var(--${kind.replace(":", "-")}, var(--stall-other))`;

// ---- what is shown

function controls(state, draw, whose) {
  const { data } = state;
  const choose = (name) => (event) => { state[name] = event.target.value; state.open.clear(); draw(); };
  const option = (value, words) => element("option", { value }, words);
  const used = (name, list, words) => list.map((each, k) => [k, words(each)]).filter(([k]) => state.whole.some((row) => row[name] === k)).map(([k, each]) => option(`${name} ${k}`, each));
  return element("div", { class: "matrix-bar" },
    element("label", {}, "units by ", element("select", { id: "matrix-by", change: choose("by") }, option("role", "kind"), option("place", "place"))),
    element("label", {}, "only ", element("select", { id: "matrix-only", change: choose("only") }, option("", "everything"),
      element("optgroup", { label: "reason" }, ...used("kind", data.kinds, ({ words }) => words)),
      element("optgroup", { label: "what for" }, ...used("resource", data.resources, (words) => words)))),
    whose);
}

async function follow(state, range, draw) {
  state.range = range;
  if (range) {
    const timeline = await spansOfTimeline();
    if (state.range !== range || !timeline) return;
    state.recount ||= new Recount({ data: state.data, rows: state.whole, senders: state.senders }, timeline);
    state.rows = state.recount.between(Math.max(0, range.from), Math.min(state.data.cycles, range.to));
  } else state.rows = state.whole;
  draw();
}

// ---- sums

const groupOf = (state, unit) => (unit < 0 ? state.data.nobody[unit] : state.data[`${state.by}s`][state.data[`${state.by}_of`][unit]]);

function sumUp(cell, row) {
  cell.cycles += row.cycles;
  cell.kinds.set(row.kind, (cell.kinds.get(row.kind) || 0) + row.cycles);
  cell.resources.set(row.resource, (cell.resources.get(row.resource) || 0) + row.cycles);
  if (row.longest_cycles > (cell.longest?.longest_cycles ?? 0)) cell.longest = row;
}

const empty = () => ({ cycles: 0, kinds: new Map(), resources: new Map(), longest: null });

// Lines of the table, each with a cell a culprit: those of all units of a group, then of each where it is open.
function sums(state) {
  const [name, place] = state.only.split(" ");
  const rows = state.rows.filter((row) => !name || row[name] === Number(place));
  const lines = new Map();
  const across = new Map();
  const add = (id, row, of) => {
    const line = lines.get(id) || { id, ...of, cells: new Map(), sum: empty() };
    const culprit = groupOf(state, row.culprit);
    if (!line.cells.has(culprit)) line.cells.set(culprit, empty());
    sumUp(line.cells.get(culprit), row);
    sumUp(line.sum, row);
    lines.set(id, line);
  };
  for (const row of rows) {
    const group = groupOf(state, row.victim);
    add(group, row, { group, words: group, units: new Set() });
    lines.get(group).units.add(row.victim);
    add(`${group} ${row.victim}`, row, { group, unit: row.victim, words: state.data.words[row.victim] });
    const culprit = groupOf(state, row.culprit);
    if (!across.has(culprit)) across.set(culprit, { words: culprit, nobody: row.culprit < 0, sum: empty() });
    sumUp(across.get(culprit).sum, row);
  }
  const bySum = (a, b) => b.sum.cycles - a.sum.cycles || (a.words < b.words ? -1 : 1);
  const heads = [...lines.values()].filter(({ units }) => units).sort(bySum);
  return {
    heads,
    unitsOf: ({ group }) => [...lines.values()].filter((line) => line.group === group && !line.units).sort(bySum),
    culprits: [...across.values()].sort((a, b) => a.nobody - b.nobody || bySum(a, b)),
    all: rows.reduce((sum, row) => sum + row.cycles, 0),
  };
}

// ---- the table

function table(state, draw) {
  const { heads, unitsOf, culprits, all } = sums(state);
  if (!all) return element("p", {}, "Nobody waits.");
  const most = Math.max(...heads.flatMap(({ cells }) => [...cells.values()].map(({ cycles }) => cycles)));
  const lines = heads.flatMap((head) => [line(state, head, culprits, most, all, draw), ...(state.open.has(head.group) ? unitsOf(head).map((unit) => line(state, unit, culprits, most, all, draw)) : [])]);
  const foot = element("tr", { class: "sums" }, element("th", { scope: "row" }, "all"), ...culprits.map(({ sum }) => total(sum.cycles, all)), total(all, all));
  return element("table", { class: "matrix" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "who waits \\ for whom"), ...culprits.map(({ words, nobody }) => element("th", { scope: "col", class: nobody ? "number nobody" : "number" }, words)), element("th", { scope: "col", class: "number" }, "all"))),
    element("tbody", {}, ...lines), element("tfoot", {}, foot));
}

function line(state, each, culprits, most, all, draw) {
  const open = state.open.has(each.group);
  const fold = () => {
    if (!state.open.delete(each.group)) state.open.add(each.group);
    draw();
    document.querySelector(`#matrix tr[data-line="${CSS.escape(each.id)}"] th button`).focus();
  };
  const many = each.units && (each.units.size > 1 || open);
  const words = each.units && each.units.size > 1 ? `${each.units.size} ${each.words}` : each.words;
  const head = many && state.by === "place" ? each.words : words;
  const name = many ? element("button", { type: "button", class: "plain", "aria-expanded": String(open), click: fold }, `${open ? "\u25be" : "\u25b8"} ${head}`) : element("span", { class: "alone" }, head);
  return element("tr", { class: each.units ? null : "unit", "data-line": each.id },
    element("th", { scope: "row" }, name),
    ...culprits.map(({ words }) => cell(state, each, words, each.cells.get(words), most)), total(each.sum.cycles, all));
}

function total(cycles, all) {
  const node = element("td", { class: "number sum", "data-cycles": cycles, tabindex: "0" }, short(cycles));
  tilesim.tip(node, () => `${number(cycles)} stalled cycles, ${percent(cycles / all)} of all`);
  return node;
}

function cell(state, victim, culprit, sum, most) {
  if (!sum) return element("td", {});
  const [kind] = largest(sum.kinds)[0];
  const strength = Math.round(6 + (STRONGEST - 6) * Math.min(1, sum.cycles / most) ** SHADING);
  const { longest } = sum;
  const show = () => longest && longest.longest_start >= 0 && goTo(state.data.tracks[longest.victim], longest);
  const button = element("button", { type: "button", class: "plain", click: show }, short(sum.cycles));
  tilesim.tip(button, () => told(state, victim, culprit, sum));
  return element("td", { class: "number", "data-culprit": culprit, "data-cycles": sum.cycles, style: `background: color-mix(in srgb, ${hue(state.data.kinds[kind].kind)} ${strength}%, var(--bg))` }, button);
}

const largest = (sums) => [...sums].sort((a, b) => b[1] - a[1]);

function told({ data }, victim, culprit, { cycles, kinds, resources, longest }) {
  const row = (...words) => element("div", {}, ...words);
  const parts = largest(kinds).map(([kind, part]) => row(element("i", { class: "swatch", style: `background: ${hue(data.kinds[kind].kind)}` }), `${number(part)} ${data.kinds[kind].words}`));
  const what = largest(resources).map(([resource, part]) => row(element("span", { class: "muted" }, "for "), `${data.resources[resource]}: ${number(part)}`));
  const when = longest && longest.longest_start >= 0 ? [row(element("span", { class: "muted" }, "longest "), `${data.words[longest.victim]}, cycles ${number(longest.longest_start)} to ${number(longest.longest_start + longest.longest_cycles)}`)] : [];
  return [row(element("b", {}, `${victim.words} \u2190 ${culprit}`)), row(`${number(cycles)} stalled cycles`), ...parts, ...what, ...when];
}

// Shows a stall in the timeline, with as much beside it.
function goTo(track, { longest_start: start, longest_cycles: cycles }) {
  const margin = Math.max(8, Math.round(cycles / 2));
  tilesim.emit("window", { from: start - margin, to: start + cycles + margin });
  tilesim.emit("span", { track, cycle: start });
  const place = document.getElementById("timeline");
  if (place) place.scrollIntoView();
}

// A number of cycles in few letters.
function short(cycles) {
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) if (cycles >= 10 * size || (size > 1e3 && cycles >= size)) return `${Number((cycles / size).toPrecision(3))} ${unit}`;
  return number(cycles);
}
