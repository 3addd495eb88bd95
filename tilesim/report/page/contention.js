// Links over time, and the reasons why units wait.
const { element, number, percent } = tilesim;
const ROW = 13;
const HEADER = 18;
const AXIS = 34;
const GUTTER = 150;
const FOLDED = 24; // buses of more links begin folded, and those that carried nothing
const SHADING = 0.4;

tilesim.section("contention", async (root, data, columns) => {
  if (data.note) root.append(element("p", { class: "note" }, data.note));
  if (data.links) heatMap(root, model(data, columns));
  stallShares(root, data, columns.members);
});

// ---- the numbers

// Every row is a link, or a bus with all its links together.
function model(data, { edges, carried, waiting, by_master }) {
  const bins = edges.length - 1;
  const buses = [...new Set(data.links.map(({ bus }) => bus))].map((name) => ({ name, links: [] }));
  data.links.forEach(({ bus }, link) => buses.find(({ name }) => name === bus).links.push(link));
  const sum = (column, links, bin) => links.reduce((total, link) => total + column[link * bins + bin], 0);
  const ofMaster = (master, links, bin) => sum(by_master.subarray(master * data.links.length * bins), links, bin);
  return {
    data, edges, bins, buses,
    cell: (links, bin) => {
      const room = (edges[bin + 1] - edges[bin]) * links.length;
      const masters = data.masters.map((master, k) => ({ ...master, cycles: ofMaster(k, links, bin) })).filter(({ cycles }) => cycles);
      return { room, masters, carrying: sum(carried, links, bin), waiting: sum(waiting, links, bin) };
    },
    total: (links, what) => links.reduce((all, link) => all + (what === "waiting" ? waiting : carried).subarray(link * bins, (link + 1) * bins).reduce((a, b) => a + b, 0), 0),
  };
}

function rowsOf({ data, buses }, folded) {
  let top = 0;
  const rows = [];
  const add = (height, row) => { rows.push({ ...row, top, height }); top += height; };
  for (const bus of buses) {
    add(HEADER, { bus, links: bus.links, words: `${bus.name} (${bus.links.length})` });
    if (!folded.has(bus.name)) for (const link of bus.links) add(ROW, { links: [link], words: data.links[link].words, track: data.links[link].track });
  }
  return rows;
}

// ---- the heat map

function heatMap(root, shown) {
  const canvas = element("canvas", { class: "heat", tabindex: "0", role: "img", "aria-label": "Links over time: arrow keys move, Enter shows the place in the timeline" });
  const state = { canvas, shown, what: "carrying", folded: new Set(shown.buses.filter(({ links }) => links.length > FOLDED || !shown.total(links, "carrying")).map(({ name }) => name)), at: null };
  const draw = () => drawHeat(state);
  root.append(
    element("h3", {}, "Links over time"),
    chooser(state, draw), canvas, ...noticed(shown.data.findings),
    ...shown.data.definitions.map((words) => element("p", { class: "definition" }, words)),
    element("p", { class: "definition" }, "Click a cell to see its cycles in the timeline, a bus to fold or unfold it. A bus stands for the mean of its links. Colours are stronger than in proportion (the share to the power 0.4), so that little use is seen."),
    element("div", { class: "wide" }, busTable(shown)),
  );
  listen(state, draw);
  tilesim.onTheme(draw);
  new ResizeObserver(draw).observe(canvas.parentElement);
}

function chooser(state, draw) {
  const scale = element("i");
  const masters = state.shown.data.masters.map(masterKey);
  const show = () => {
    scale.style.background = gradient(hueOf(state.what));
    for (const key of masters) key.hidden = state.what === "waiting";
  };
  show();
  const option = (what) => element("label", {}, element("input", { type: "radio", name: "heat-what", value: what, checked: state.what === what, change: () => { state.what = what; show(); draw(); } }), ` ${what}`);
  return element("div", { class: "heat-bar" }, option("carrying"), option("waiting"), element("span", { class: "heat-scale" }, "0 %", scale, "100 % of the time"), ...masters);
}

const hueOf = (what) => (what === "waiting" ? "stall:credit" : "busy");
const variable = (hue) => `var(--${hue.replace(":", "-")}, var(--stall-other))`;
const swatchOf = (hue) => element("i", { class: "swatch", style: `background: ${variable(hue)}` });
const masterKey = ({ words, hue }) => element("span", {}, swatchOf(hue), words);

function gradient(hue) {
  const stops = [0, 0.02, 0.1, 0.25, 0.5, 1].map((x) => `color-mix(in srgb, ${variable(hue)} ${100 * x ** SHADING}%, var(--idle)) ${100 * x}%`);
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

function layout(state) {
  const rows = rowsOf(state.shown, state.folded);
  const last = rows[rows.length - 1];
  const width = Math.max(320, state.canvas.parentElement.clientWidth);
  return { rows, width, height: (last ? last.top + last.height : 0) + AXIS };
}

function drawHeat(state) {
  const { canvas, shown } = state;
  const { rows, width, height } = layout(state);
  const scale = window.devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.clearRect(0, 0, width, height);
  const hues = Object.fromEntries(["idle", "busy", "fg", "muted", "line", "accent", "stall:credit", ...shown.data.masters.map(({ hue }) => hue), ...shown.data.findings.flatMap(({ hues }) => hues)].map((name) => [name, tilesim.colour(name)]));
  for (const row of rows) drawRow(context, state, row, width, hues);
  drawAxis(context, shown, width, height - AXIS, hues);
  for (const finding of shown.data.findings) drawFinding(context, finding, across(shown, width, finding.cycle), height - AXIS, hues);
}

const across = ({ data }, width, cycle) => GUTTER + ((width - GUTTER) * (cycle + 0.5)) / data.cycles;

// A line through all links, on a mark that is half in the one and half in the other master's colour.
function drawFinding(context, { hues: [first = "fg", other = first] }, x, bottom, hues) {
  context.fillStyle = hues.fg;
  context.fillRect(x - 0.5, 0, 1, bottom);
  for (const [hue, side] of [[first, -1], [other, 1]]) {
    context.fillStyle = hues[hue];
    context.beginPath();
    context.moveTo(x, bottom);
    context.lineTo(x + side * 6, bottom + 9);
    context.lineTo(x, bottom + 9);
    context.fill();
  }
}

function noticed(findings) {
  const show = ({ cycle }) => showWindow(cycle - 16, cycle + 16);
  const line = (finding) => element("li", {}, ...finding.hues.map(swatchOf), element("button", { type: "button", class: "plain", title: "Show it in the timeline", click: () => show(finding) }, finding.words));
  return findings.length ? [element("ul", { class: "findings" }, ...findings.map(line))] : [];
}

function drawRow(context, state, row, width, hues) {
  const { shown, what } = state;
  const across = (width - GUTTER) / shown.bins;
  const scale = window.devicePixelRatio || 1;
  const header = Boolean(row.bus);
  const mark = header ? (state.folded.has(row.bus.name) ? "\u25b8 " : "\u25be ") : "";
  context.font = `${header ? "600 12px" : "11px"} system-ui, sans-serif`;
  context.fillStyle = hues[header ? "fg" : "muted"];
  context.textBaseline = "middle";
  context.textAlign = header ? "left" : "right";
  context.fillText(mark + row.words, header ? 0 : GUTTER - 8, row.top + row.height / 2 + 1, GUTTER - 8);
  const top = row.top + (header ? 4 : 0.5);
  const tall = row.height - (header ? 6 : 1);
  context.fillStyle = hues.idle;
  context.fillRect(GUTTER, top, width - GUTTER, tall);
  const edge = (bin) => Math.round((GUTTER + bin * across) * scale) / scale; // whole pixels: no seams
  for (let bin = 0; bin < shown.bins; bin++) drawCell(context, shown.cell(row.links, bin), what, edge(bin), top, edge(bin + 1) - edge(bin), tall, hues);
  if (state.at && state.at.row === row.words) {
    context.strokeStyle = hues.accent;
    context.lineWidth = 2;
    context.strokeRect(GUTTER + state.at.bin * across - 1, top, across + 2, tall);
  }
}

// Masters share the height of a cell as they share its cycles.
function drawCell(context, cell, what, left, top, width, height, hues) {
  const cycles = cell[what];
  if (!cycles) return;
  context.globalAlpha = Math.max(0.1, Math.min(1, cycles / cell.room) ** SHADING);
  const known = what === "carrying" ? cell.masters : [];
  const parts = known.length ? known : [{ hue: hueOf(what), cycles }];
  for (const part of parts) {
    const tall = (height * part.cycles) / cycles;
    context.fillStyle = hues[part.hue];
    context.fillRect(left, top, width, tall);
    top += tall;
  }
  context.globalAlpha = 1;
}

function drawAxis(context, { data }, width, top, hues) {
  const step = niceStep(data.cycles / ((width - GUTTER) / 110));
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = hues.muted;
  context.strokeStyle = hues.line;
  context.lineWidth = 1;
  context.textBaseline = "top";
  for (let cycle = 0; cycle <= data.cycles; cycle += step) {
    const x = GUTTER + ((width - GUTTER) * cycle) / data.cycles;
    context.beginPath();
    context.moveTo(x, top + 1);
    context.lineTo(x, top + 6);
    context.stroke();
    context.textAlign = x > width - 50 ? "right" : cycle ? "center" : "left";
    context.fillText(number(cycle), x, top + 9);
  }
  context.textAlign = "left";
  context.fillText("cycle of the run", 0, top + 9);
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((k) => k * power).find((step) => step >= least) || 10 * power;
}

// ---- pointing at it

function listen(state, draw) {
  const { canvas } = state;
  canvas.addEventListener("pointermove", (event) => {
    const found = under(state, event);
    canvas.style.cursor = found && (found.row.bus || found.bin !== null) ? "pointer" : "default";
    if (found) tilesim.tipAt(event.clientX, event.clientY, describe(state.shown, found));
    else tilesim.hideTip();
  });
  canvas.addEventListener("pointerleave", tilesim.hideTip);
  canvas.addEventListener("click", (event) => choose(state, under(state, event), draw));
  canvas.addEventListener("keydown", (event) => walk(state, event, draw));
  canvas.addEventListener("blur", tilesim.hideTip);
}

function under(state, event) {
  const { rows, width } = layout(state);
  const y = event.offsetY;
  const row = rows.find(({ top, height }) => top <= y && y < top + height);
  if (!row) return null;
  const bin = Math.floor(((event.offsetX - GUTTER) / (width - GUTTER)) * state.shown.bins);
  return { row, bin: event.offsetX < GUTTER ? null : Math.min(bin, state.shown.bins - 1) };
}

function choose(state, found, draw) {
  if (!found) return;
  if (found.bin === null && found.row.bus) {
    const { name } = found.row.bus;
    if (!state.folded.delete(name)) state.folded.add(name);
    draw();
  } else if (found.bin !== null) {
    state.at = { row: found.row.words, bin: found.bin };
    draw();
    showWindow(state.shown.edges[found.bin], state.shown.edges[found.bin + 1]);
    if (found.row.track) tilesim.emit("track", { name: found.row.track });
  }
}

function showWindow(from, to) {
  tilesim.emit("window", { from, to });
  const place = document.getElementById("timeline");
  if (place) place.scrollIntoView();
}

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function walk(state, event, draw) {
  const { rows } = layout(state);
  const step = STEPS[event.key];
  if (!step && event.key !== "Enter") return;
  event.preventDefault();
  const place = Math.max(0, rows.findIndex(({ words }) => state.at && words === state.at.row));
  const bin = state.at ? state.at.bin : 0;
  if (!step) {
    choose(state, { row: rows[place], bin }, draw);
    return;
  }
  const row = rows[Math.max(0, Math.min(rows.length - 1, place + step[0]))];
  state.at = { row: row.words, bin: Math.max(0, Math.min(state.shown.bins - 1, bin + step[1])) };
  draw();
  const box = state.canvas.getBoundingClientRect();
  const x = box.left + GUTTER + ((box.width - GUTTER) * (state.at.bin + 1)) / state.shown.bins;
  tilesim.tipAt(x, box.top + row.top, describe(state.shown, { row, bin: state.at.bin }));
}

function describe(shown, { row, bin }) {
  const line = (...words) => element("div", {}, ...words);
  const title = element("div", {}, element("b", {}, row.bus ? `${row.bus.name}: all ${row.links.length} links` : row.words));
  if (bin === null) {
    const all = shown.data.cycles * row.links.length;
    return [title, ...["carrying", "waiting"].map((what) => line(`${what} in ${number(shown.total(row.links, what))} of ${number(all)} cycles (${percent(shown.total(row.links, what) / all)})`))];
  }
  const cell = shown.cell(row.links, bin);
  return [
    title,
    line(`cycles ${number(shown.edges[bin])} to ${number(shown.edges[bin + 1])}`),
    ...["carrying", "waiting"].map((what) => line(`${what} in ${number(cell[what])} of ${number(cell.room)} (${percent(cell[what] / cell.room)})`)),
    ...shown.data.findings.filter(({ cycle }) => shown.edges[bin] <= cycle && cycle < shown.edges[bin + 1]).map(({ words, hues }) => line(...hues.map(swatchOf), words)),
    ...cell.masters.map(({ words, hue, cycles }) => line(swatchOf(hue), `${words}: ${number(cycles)}`)),
  ];
}

// ---- numbers in tables

function busTable(shown) {
  const { data, buses } = shown;
  const heads = ["bus", "links", "carrying, cycles", "occupancy", "waiting, cycles", "of the time", "busiest link", "its occupancy", "busiest time", "then occupied"];
  const words = new Set([0, 6, 8]);
  const rows = buses.map(({ name, links }) => {
    const [carried, waited] = ["carrying", "waiting"].map((what) => shown.total(links, what));
    const room = data.cycles * links.length;
    const busiest = links.reduce((best, link) => (shown.total([link], "carrying") > shown.total([best], "carrying") ? link : best), links[0]);
    const peak = peakOf(shown, links);
    const when = carried ? element("button", { type: "button", class: "plain", title: "Show it in the timeline", click: () => showWindow(peak.from, peak.to) }, `${number(peak.from)} to ${number(peak.to)}`) : "\u2013";
    const cells = [name, number(links.length), number(carried), percent(carried / room), number(waited), percent(waited / room), carried ? data.links[busiest].words : "\u2013", percent(shown.total([busiest], "carrying") / data.cycles), when, percent(peak.share)];
    return element("tr", { "data-bus": name }, ...cells.map((cell, k) => element("td", { class: words.has(k) ? null : "number" }, cell)));
  });
  return element("table", { class: "buses" }, element("thead", {}, element("tr", {}, ...heads.map((head, k) => element("th", { scope: "col", class: words.has(k) ? null : "number" }, head)))), element("tbody", {}, ...rows));
}

// The bin in which the links together carry most of the time.
function peakOf(shown, links) {
  let best = { share: -1 };
  for (let bin = 0; bin < shown.bins; bin++) {
    const { carrying, room } = shown.cell(links, bin);
    if (carrying / room > best.share) best = { share: carrying / room, from: shown.edges[bin], to: shown.edges[bin + 1] };
  }
  return best;
}

function stallShares(root, data, cycles) {
  const body = element("tbody");
  let place = 0;
  for (const unit of data.units) {
    const members = unit.members.map((words) => memberOf(words, cycles, place++, data.kinds));
    stallRows(body, { ...unit, members }, data.kinds);
  }
  root.append(
    element("h3", {}, "Why units wait"),
    element("div", { class: "key" }, ...data.kinds.map((kind) => withTip(element("span", { tabindex: "0" }, swatchOf(kind.name), kind.words), () => kind.sentence))),
    element("table", { class: "stalls" }, element("thead", {}, element("tr", {}, ...["units", "share of their cycles", "busy", "stalled", "mostly"].map((head, k) => element("th", { scope: "col", class: k === 2 || k === 3 ? "number" : null }, head)))), body),
    element("p", { class: "definition" }, "Each unit's cycles are busy, stalled for one reason, or idle; a row has those of all units of a kind, and opens to show each. Units that were idle all the time are left out."),
  );
}

// Of all members of all units that which has this place.
function memberOf(words, cycles, place, kinds) {
  const own = cycles.subarray(place * kinds.length, (place + 1) * kinds.length);
  const byKind = Object.fromEntries(kinds.map(({ name }, k) => [name, own[k]]));
  return { words, cycles: byKind, idle: byKind.idle, total: own.reduce((all, part) => all + part, 0) };
}

function withTip(node, words) {
  tilesim.tip(node, words);
  return node;
}

function stallRows(body, unit, kinds) {
  const members = unit.members.map((member) => stallRow(member, kinds, "member"));
  for (const row of members) row.hidden = true;
  const title = unit.count > 1 ? `${unit.count} ${unit.words}` : unit.words;
  const row = stallRow({ ...unit, words: title }, kinds, "kind");
  if (members.length) {
    const button = element("button", { type: "button", class: "plain", "aria-expanded": "false", click: () => {
      for (const member of members) member.hidden = !member.hidden;
      button.setAttribute("aria-expanded", String(!members[0].hidden));
      button.textContent = `${members[0].hidden ? "\u25b8" : "\u25be"} ${title}`;
    } }, `\u25b8 ${title}`);
    row.firstChild.replaceChildren(button);
  }
  body.append(row, ...members);
}

function stallRow(unit, kinds, name) {
  const cyclesOf = (kind) => (kind === "idle" ? unit.idle : unit.cycles[kind] || 0);
  const present = kinds.filter((kind) => kind.name !== "idle" && cyclesOf(kind.name));
  const bar = element("div", { class: "stack" }, ...present.map((kind) => withTip(
    element("span", { style: `width: ${(100 * cyclesOf(kind.name)) / unit.total}%; background: ${variable(kind.name)}` }),
    () => [element("b", {}, `${unit.words}: ${kind.words}`), element("div", {}, `${number(cyclesOf(kind.name))} of ${number(unit.total)} cycles (${percent(cyclesOf(kind.name) / unit.total)})`), element("div", { class: "muted" }, kind.sentence)],
  )));
  const stalls = present.filter((kind) => kind.name !== "busy").sort((a, b) => cyclesOf(b.name) - cyclesOf(a.name));
  const stalled = stalls.reduce((total, kind) => total + cyclesOf(kind.name), 0);
  return element("tr", { class: name, "data-unit": unit.words, "data-busy": unit.cycles.busy, "data-stalled": stalled },
    element("td", {}, unit.words), element("td", {}, bar),
    element("td", { class: "number" }, percent(unit.cycles.busy / unit.total)), element("td", { class: "number" }, percent(stalled / unit.total)),
    element("td", {}, stalls.length ? `${stalls[0].words}: ${percent(cyclesOf(stalls[0].name) / unit.total)}` : "\u2013"));
}
