// What the run waited for from its beginning to its end: shares by unit and reason, and by layer, and the longest steps.
const { element, number, percent } = tilesim;
const SHOWN = 12; // lines of a table; the others are folded
const LONGEST = 10; // steps that are listed

tilesim.section("path", async (root, data, columns) => {
  const timeline = document.getElementById("timeline") ? (await tilesim.given("timeline")).data : {};
  const state = { data, columns, whats: timeline.whats || [], range: { from: 0, to: data.cycles }, whole: true };
  const said = element("p", { role: "status" });
  const place = element("div", {});
  const show = () => {
    const { from, to } = state.range;
    said.textContent = state.whole ? `Shares of the run's ${number(data.cycles)} cycles.` : `Shares of cycles ${number(from)} to ${number(to)} (${number(to - from)}), as marked in the timeline.`;
    place.replaceChildren(...drawn(state));
  };
  if (data.note) root.append(element("p", { class: "note" }, data.note));
  root.append(said, place, element("p", { class: "definition" }, data.definition, " Click a share or a step to see it in the timeline, of a share the longest step."));
  show();
  tilesim.on("range", (range) => {
    const [from, to] = range ? [Math.max(0, range.from), Math.min(data.cycles, range.to)] : [0, data.cycles];
    Object.assign(state, { range: { from, to: Math.max(from, to) }, whole: !range });
    show();
  });
});

const hue = (kind) => `var(--${kind.replace(/[: ]/g, "-")}, var(${kind === "not recorded" ? "--idle" : "--stall-other"}))`;

// ---- sums

// The steps of a range, each with the cycles that it has there.
function* stepsOf({ columns, range }) {
  const { start, cycles } = columns;
  for (let step = stepAt(start, range.from); step < start.length && start[step] < range.to; step++) {
    const count = Math.min(start[step] + cycles[step], range.to) - Math.max(start[step], range.from);
    if (count > 0) yield { step, count };
  }
}

// The last step that begins in a cycle or before.
function stepAt(start, cycle) {
  let [low, high] = [0, start.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (start[middle] <= cycle) low = middle;
    else high = middle;
  }
  return low;
}

// Sums by a key, the largest first, each with its longest step.
function sums(state, keyOf) {
  const found = new Map();
  for (const { step, count } of stepsOf(state)) {
    const key = keyOf(step);
    const sum = found.get(key) || { cycles: 0, most: 0, step };
    sum.cycles += count;
    if (count > sum.most) [sum.most, sum.step] = [count, step];
    found.set(key, sum);
  }
  return [...found.values()].sort((a, b) => b.cycles - a.cycles || a.step - b.step);
}

const roleOf = ({ data, columns }, step) => (columns.track[step] < 0 ? "no unit" : data.roles[data.tracks[columns.track[step]].role]);

// ---- what is drawn

function drawn(state) {
  const { data, columns } = state;
  const shares = sums(state, (step) => `${roleOf(state, step)} ${columns.kind[step]}`);
  const layers = sums(state, (step) => columns.layer[step]);
  return [bar(state, shares), element("div", { class: "path-tables" },
    element("div", {}, element("h3", {}, "By unit and reason"), table(state, shares, ["units", "what they do"], "share", (sum) => [roleOf(state, sum.step), data.kinds[columns.kind[sum.step]].words])),
    element("div", {}, element("h3", {}, "By layer"), table(state, layers, ["layer"], "layer", (sum) => [layerOf(state, sum.step)])),
    element("div", { class: "path-steps" }, element("h3", {}, "The longest steps"), longest(state)))];
}

function layerOf({ data, columns }, step) {
  const layer = columns.layer[step];
  return layer < 0 ? "none" : `${layer} ${data.layers[layer].short}`;
}

const coloured = ({ data, columns }, step) => `--of-kind: ${hue(data.kinds[columns.kind[step]].kind)}`;

function bar(state, shares) {
  const { from, to } = state.range;
  const part = (sum) => {
    const share = sum.cycles / (to - from);
    const words = `${roleOf(state, sum.step)}: ${state.data.kinds[state.columns.kind[sum.step]].words}`;
    const node = element("button", { type: "button", "aria-label": `${words}, ${percent(share)}`, style: `width: ${100 * share}%; ${coloured(state, sum.step)}`, click: () => go(state, sum.step) }, share > 0.12 ? element("span", {}, `${roleOf(state, sum.step)} ${percent(share)}`) : null);
    tilesim.tip(node, () => [element("b", {}, words), element("div", {}, `${number(sum.cycles)} cycles, ${percent(share)}`)]);
    return node;
  };
  return element("div", { class: "path-bar", role: "group", "aria-label": "Shares of the critical path" }, ...shares.map(part));
}

// A line a sum, the first of its cells a button; below them the sum of all.
function table(state, all, titles, kind, cellsOf) {
  const { from, to } = state.range;
  const line = (sum) => {
    const [first, ...others] = cellsOf(sum);
    const share = sum.cycles / (to - from);
    return element("tr", { [`data-${kind}`]: cellsOf(sum).join(": "), "data-cycles": sum.cycles },
      element("td", {}, element("button", { type: "button", class: "plain", click: () => go(state, sum.step) }, first)),
      ...others.map((words) => element("td", {}, element("i", { class: "swatch", style: `background: ${hue(state.data.kinds[state.columns.kind[sum.step]].kind)}` }), words)),
      element("td", { class: "number" }, number(sum.cycles)),
      element("td", { class: "number share", style: `--share: ${100 * share}%${kind === "share" ? `; ${coloured(state, sum.step)}` : ""}` }, percent(share)));
  };
  const body = element("tbody", {}, ...all.map(line));
  [...body.children].slice(SHOWN).forEach((row) => (row.hidden = true));
  const more = element("button", { type: "button", hidden: all.length <= SHOWN, click: () => { [...body.children].forEach((row) => (row.hidden = false)); more.hidden = true; } }, `${all.length - SHOWN} more`);
  const whole = element("tr", {}, element("th", { scope: "row", colspan: String(titles.length) }, "all"), element("td", { class: "number" }, number(to - from)), element("td", { class: "number" }, percent(1)));
  const heads = element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)), element("th", { scope: "col", class: "number" }, "cycles"), element("th", { scope: "col", class: "number" }, "of path"));
  return element("div", {}, element("table", {}, element("thead", {}, heads), body, element("tfoot", {}, whole)), more);
}

function longest(state) {
  const { data, columns, whats } = state;
  const steps = [...stepsOf(state)].sort((a, b) => b.count - a.count || a.step - b.step).slice(0, LONGEST);
  const line = ({ step, count }) => {
    const track = columns.track[step];
    const at = columns.start[step];
    const cells = [data.kinds[columns.kind[step]].words, whats[columns.what[step]] || "", layerOf(state, step), `${number(at)} to ${number(at + columns.cycles[step])}`];
    return element("tr", { "data-step": step },
      element("td", { class: "name" }, element("button", { type: "button", class: "plain", click: () => go(state, step) }, track < 0 ? "no unit" : data.tracks[track].words)),
      element("td", {}, element("i", { class: "swatch", style: `background: ${hue(data.kinds[columns.kind[step]].kind)}` }), cells[0]),
      ...cells.slice(1, 3).map((words) => element("td", { class: "name" }, words)), element("td", {}, cells[3]), element("td", { class: "number" }, number(count)));
  };
  const titles = ["unit", "what it does", "instruction", "layer", "from cycle to"].map((title) => element("th", { scope: "col" }, title));
  return element("table", {}, element("thead", {}, element("tr", {}, ...titles, element("th", { scope: "col", class: "number" }, "cycles"))), element("tbody", {}, ...steps.map(line)));
}

// Shows a step in the timeline.
function go({ data, columns }, step) {
  const [from, cycles, track] = [columns.start[step], columns.cycles[step], columns.track[step]];
  const margin = Math.ceil(cycles * 0.2) + 4;
  tilesim.emit("window", { from: from - margin, to: from + cycles + margin });
  if (track >= 0) {
    tilesim.emit("track", { name: data.tracks[track].name });
    tilesim.emit("span", { track: data.tracks[track].name, cycle: from });
  }
  const timeline = document.getElementById("timeline");
  if (timeline) timeline.scrollIntoView();
}
