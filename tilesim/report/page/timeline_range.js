// The chosen range, and what every kind of unit did in it: totals from the same sums as the pixels, so that all cells
// together are the range times the tracks.

class Range {
  constructor(picture, place) {
    Object.assign(this, { picture, place, chosen: null });
    place.hidden = true;
  }

  // From one cycle on to before another, whichever comes first; whole cycles of those that there are.
  set(a, b) {
    const { limits } = this.picture.view;
    const inside = (cycle) => Math.min(Math.max(Math.round(cycle), limits.from), limits.to);
    const [from, to] = [inside(Math.min(a, b)), inside(Math.max(a, b))];
    this.chosen = to > from ? { from, to } : null;
    this.picture.redraw();
  }

  // The range stands: its table, and word to the other sections.
  settle() {
    this.place.hidden = !this.chosen;
    if (this.chosen) this.tell();
    else this.place.replaceChildren();
    tilesim.emit("range", this.chosen);
    this.picture.changed();
  }

  clear() {
    if (!this.chosen) return;
    this.chosen = null;
    this.settle();
    this.picture.redraw();
  }

  // A row a role: how many tracks, and the cycles of each kind that they have together, in cycles of their own clock.
  totals() {
    const { spans, data } = this.picture;
    const { from, to } = this.chosen;
    const rows = data.roles.map((words) => ({ words, tracks: 0, factor: 1, arrays: false, cycles: spans.kinds.map(() => 0) }));
    spans.tracks.forEach((_, track) => {
      const row = rows[data.role_of[track]];
      row.factor = spans.factors ? spans.factors[track] : 1;
      row.arrays ||= this.picture.rows.names.get(track).group.arrays;
      row.tracks++;
      spans.totals(track, from, to).forEach((cycles, kind) => (row.cycles[kind] += cycles / row.factor));
    });
    for (const row of rows) {
      row.all = ((to - from) * row.tracks) / row.factor;
      row.idle = row.all - row.cycles.reduce((sum, cycles) => sum + cycles, 0);
    }
    const active = ({ all, idle }) => (all - idle) / all;
    return rows.filter(({ tracks }) => tracks).sort((a, b) => b.arrays - a.arrays || active(b) - active(a));
  }

  tell() {
    const { element } = tilesim;
    const { picture, chosen } = this;
    const rows = this.totals();
    const kinds = picture.spans.kinds.map((kind, k) => ({ ...kind, k })).filter(({ k }) => rows.some(({ cycles }) => cycles[k] > 0));
    const button = (words, act) => element("button", { type: "button", click: act }, words);
    this.place.replaceChildren(
      element("div", { class: "details" }, element("strong", {}, `Range ${window_(chosen.from, chosen.to)} (${duration(chosen.to - chosen.from)})`),
        button("Zoom to it", () => picture.show(chosen.from, chosen.to)), button("Close", () => this.clear()),
        element("span", { class: "muted" }, "Each row is the range times its tracks; bars are shares of it.")),
      element("div", { class: "wide" }, element("table", {}, headOf(kinds), element("tbody", {}, ...rows.map((row) => rowOf(row, kinds))), footOf(rows, kinds))),
    );
  }
}

function headOf(kinds) {
  const { element } = tilesim;
  const titles = kinds.map(({ kind, words }) => element("th", { scope: "col", class: "number" }, swatch(kind), words));
  return element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "units"), element("th", { scope: "col", class: "number" }, "tracks"), ...titles,
    element("th", { scope: "col", class: "number" }, swatch("idle"), "idle"), element("th", { scope: "col", class: "number" }, "cycles")));
}

// Whole numbers; of clocks that divide a range unevenly, tenths.
function cyclesText(cycles) {
  return tilesim.number(Math.round(cycles * 10) / 10);
}

// The cycles, on a bar as long as their share.
function cell(cycles, all, kind) {
  const share = (100 * cycles) / all;
  const style = `background: linear-gradient(to left, color-mix(in srgb, var(--${kind.replace(":", "-")}, var(--stall-other)) 32%, transparent) ${share}%, transparent ${share}%)`;
  return tilesim.element("td", { class: "number", "data-cycles": String(cycles), ...(cycles > 0 ? { style, title: tilesim.percent(cycles / all) } : {}) }, cycles > 0 ? cyclesText(cycles) : "\u2013");
}

function rowOf(row, kinds) {
  const { element } = tilesim;
  return element("tr", {}, element("th", { scope: "row" }, row.words), element("td", { class: "number" }, String(row.tracks)),
    ...kinds.map(({ k, kind }) => cell(row.cycles[k], row.all, kind)), cell(row.idle, row.all, "idle"), element("td", { class: "number", "data-cycles": String(row.all) }, cyclesText(row.all)));
}

function footOf(rows, kinds) {
  const sum = (value) => rows.reduce((all, row) => all + value(row), 0);
  const all = { words: "all", tracks: sum(({ tracks }) => tracks), cycles: [], idle: sum(({ idle }) => idle), all: sum((row) => row.all) };
  for (const { k } of kinds) all.cycles[k] = sum(({ cycles }) => cycles[k]);
  return tilesim.element("tfoot", {}, rowOf(all, kinds));
}
