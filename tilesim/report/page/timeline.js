// The picture: its elements, what it shows, and what it can be told to show. timeline_hands.js tells it.

const HINT = "Point at a span to read about it; click it to keep it here.";
const KEYS = "arrows move, + and \u2212 zoom, Home shows the whole run and then its loading too, n and p go to the next and the previous span, z fills the picture with it, Enter follows what released a stall, / searches, Esc lets go";

class Timeline {
  constructor(root, data, spans, rows) {
    Object.assign(this, { root, data, spans, rows, search: null, walk: null, selected: -1, cursor: null, pending: false });
    this.frames = { count: 0, milliseconds: 0 };
    this.view = new View(data.cycles, spans.earliest, spans.latest);
    this.build();
    this.painter = new Painter(this.canvas, spans.kinds);
    this.attend();
    this.relabel();
    this.resize();
  }

  // ---- elements

  build() {
    const { element } = tilesim;
    const button = (words, act, label) => element("button", { type: "button", click: act, "aria-label": label || words }, words);
    this.query = element("input", { type: "search", placeholder: "unit, instruction or layer", "aria-label": "search the timeline for a unit, an instruction or a layer", size: 26 });
    this.found = element("span", { class: "muted", role: "status" });
    const tools = element("div", { class: "tools" }, this.query, this.found, element("span", { class: "gap" }),
      button("Whole run", () => this.home()), button("+", () => this.zoom(0.5), "zoom in"), button("\u2212", () => this.zoom(2), "zoom out"),
      button("Fold all", () => this.foldAll(true)), button("Unfold all", () => this.foldAll(false)));
    this.top = element("canvas", { class: "top", "aria-hidden": "true" });
    this.head = new Header(this.top, this.data.lanes);
    const nanoseconds = tilesim.number(Number((1e9 / this.data.clock_hz).toPrecision(4)));
    const titles = element("div", { class: "titles", style: `height: ${this.head.height}px` }, element("span", {}, this.head.depth ? "layers" : ""), element("span", {}, `cycles of ${nanoseconds} ns`, element("span", { class: "busy" }, "busy")));
    this.labels = element("div", { class: "labels" });
    this.canvas = element("canvas", {});
    this.over = element("canvas", { class: "over" });
    this.plot = element("div", { class: "plot" }, this.canvas, this.over);
    this.scroller = element("div", { class: "scroller", tabindex: "0", role: "application", "aria-label": `timeline of ${this.spans.tracks.length} units and links; ${KEYS}`, "aria-describedby": "timeline-details" }, this.labels, this.plot);
    this.line = element("output", { id: "timeline-details", "aria-live": "polite" }, HINT);
    this.copy = button("Copy", () => this.copied());
    this.copy.hidden = true;
    const note = this.data.note && element("p", { class: "note" }, this.data.note);
    this.root.append(...[note].filter(Boolean), tools, this.legend(), element("div", { class: "lanes" }, titles, this.top), this.scroller, element("div", { class: "details" }, this.line, this.copy), this.definitions());
  }

  everyKind() {
    return [...this.spans.kinds, { kind: "idle", ...this.data.idle }];
  }

  legend() {
    const { element } = tilesim;
    const entries = this.everyKind().map(({ kind, words, sentence }) => {
      const entry = element("span", { tabindex: "0" }, swatch(kind), words);
      tilesim.tip(entry, () => [sentence]);
      return entry;
    });
    return element("div", { class: "legend", "aria-label": "legend" }, ...entries);
  }

  definitions() {
    const { element } = tilesim;
    const terms = this.everyKind().map(({ kind, words, sentence }) => element("div", {}, element("dt", {}, swatch(kind), words), element("dd", {}, sentence)));
    return element("details", {}, element("summary", {}, "How to read it, and the keys"),
      element("p", {}, "A row is a unit or a link of a bus; a group's row is the sum of its tracks. Each column of pixels is coloured with the exact share of its cycles that each kind takes, busy at the bottom; what is left is idle. \u201cBusy\u201d beside a name is its share of the cycles shown. Cycles count from the beginning of the run, and \u201cto\u201d is the one after the last; the loading of parameters before it has negative ones, and is paler. The dashed arrow leads from a stall to what released it."),
      element("p", {}, `The wheel zooms, dragging moves; ${KEYS}.`), element("dl", {}, ...terms));
  }

  // The names beside the rows.
  relabel() {
    const { element } = tilesim;
    const { shown } = this.rows;
    this.labels.replaceChildren(...shown.map((row) => {
      row.busy = element("span", { class: "busy" });
      const found = row.tracks.some((track) => this.search?.tracks.has(track)) ? " found" : "";
      if (!row.isGroup) return element("div", { class: `label${found}`, title: row.path }, element("span", { class: "name" }, row.name), row.busy);
      const folded = row.group.folded;
      const name = element("span", { class: "name" }, `${folded ? "\u25b8" : "\u25be"} ${row.name}`);
      return element("button", { type: "button", class: `label group${found}`, "aria-expanded": String(!folded), click: () => this.fold(row.group) }, name, row.busy);
    }));
    this.labels.style.height = `${shown.length * ROW}px`;
    this.redraw();
  }

  resize() {
    this.ratio = window.devicePixelRatio || 1;
    this.width = Math.max(50, this.plot.clientWidth);
    this.height = Math.min(this.rows.shown.length * ROW, Math.max(12 * ROW, window.innerHeight - this.head.height - 150));
    this.scroller.style.height = `${this.height}px`;
    this.plot.style.height = `${this.height}px`;
    this.painter.resize(this.width, this.height, this.ratio);
    Object.assign(this.over, { width: this.canvas.width, height: this.canvas.height });
    this.redraw();
  }

  // ---- drawing

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
    });
  }

  draw() {
    const begun = performance.now();
    this.visible = this.painter.paint(this.rows.shown, this.view, this.scroller.scrollTop, this.search);
    this.drawAround();
    this.frames.count++;
    this.frames.milliseconds += performance.now() - begun;
    clearTimeout(this.settled);
    this.settled = setTimeout(() => this.showBusy(), 80);
  }

  // What changes with the pointer and the selection, too.
  drawAround() {
    this.head.paint(this.view, this.painter.palette, this.width, this.ratio, this.cursor);
    this.drawOver();
  }

  // The share of busy cycles beside each name that shows.
  showBusy() {
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW));
    const busy = this.spans.kinds.findIndex(({ kind }) => kind === "busy");
    for (const row of this.rows.shown.slice(first, first + this.visible + 1)) {
      const share = busy < 0 ? 0 : row.mix(this.view.from, this.view.to)[busy];
      row.busy.textContent = share ? tilesim.percent(share) : "\u2013";
    }
  }

  x(cycle) {
    return ((cycle - this.view.from) / this.view.width) * this.width;
  }

  cycleAt(x) {
    return this.view.from + (x / this.width) * this.view.width;
  }

  y(span) {
    return this.rows.indexOf(this.spans.trackOf(span)) * ROW - this.scroller.scrollTop + 1;
  }

  // The hairline under the pointer, the selected span, and the arrow to what released it.
  drawOver() {
    const context = this.over.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.strokeStyle = context.fillStyle = this.painter.palette.muted;
    const edge = this.x(0);
    if (edge > 0 && edge < this.width) context.fillRect(Math.round(edge), 0, 1, this.height);
    context.strokeStyle = context.fillStyle = this.painter.palette.accent;
    if (this.cursor !== null) {
      context.globalAlpha = 0.5;
      context.fillRect(this.x(this.cursor), 0, 1 / this.ratio, this.height);
      context.globalAlpha = 1;
    }
    if (this.selected < 0) return;
    this.outline(context, this.selected);
    const releasing = this.spans.released_by[this.selected];
    if (releasing < 0) return;
    this.outline(context, releasing);
    this.arrow(context, this.selected, releasing);
  }

  outline(context, span) {
    const left = this.x(this.spans.starts[span]);
    const width = Math.max(2, this.x(this.spans.endOf(span)) - left);
    context.lineWidth = 2;
    context.strokeRect(left, this.y(span) - 1, width, BAR + 2);
  }

  // From the end of a stall to the end of the span that released it.
  arrow(context, stall, releasing) {
    const [x0, y0] = [this.x(this.spans.endOf(stall)), this.y(stall) + BAR / 2];
    const [x1, y1] = [this.x(this.spans.endOf(releasing)), this.y(releasing) + BAR / 2];
    const bend = Math.max(24, Math.min(90, Math.abs(y1 - y0) / 3));
    context.lineWidth = 1.5;
    context.setLineDash([5, 3]);
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 + bend, y1, x1 + 3, y1);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(x1 + 1, y1);
    context.lineTo(x1 + 10, y1 - 5);
    context.lineTo(x1 + 10, y1 + 5);
    context.fill();
  }

  // ---- moving

  home() {
    this.view.home();
    this.redraw();
  }

  zoom(factor, at) {
    this.view.zoom(factor, at);
    this.redraw();
  }

  show(from, to) {
    this.view.set(from, to);
    this.redraw();
  }

  pan(cycles) {
    this.view.pan(cycles);
    this.redraw();
  }

  fold(group) {
    this.rows.fold(group, !group.folded);
    this.refold();
    this.labels.children[this.rows.shown.findIndex((row) => row.isGroup && row.group === group)].focus();
  }

  foldAll(folded) {
    this.rows.foldAll(folded);
    this.refold();
  }

  refold() {
    this.relabel();
    this.resize();
  }

  // Unfolds and scrolls to a track.
  scrollTo(track) {
    const before = this.rows.shown.length;
    const index = this.rows.reveal(track);
    if (this.rows.shown.length !== before) this.refold();
    const [top, room] = [index * ROW, this.height - ROW];
    if (top < this.scroller.scrollTop || top > this.scroller.scrollTop + room) this.scroller.scrollTop = Math.max(0, top - room / 2);
    this.redraw();
    return index;
  }

  // Shows a span: its row, and its cycles if they don't show, or are too few to see.
  goTo(span) {
    this.scrollTo(this.spans.trackOf(span));
    const [start, end, { from, to, width }] = [this.spans.starts[span], this.spans.endOf(span), this.view];
    const middle = (start + end) / 2;
    const wanted = this.x(end) - this.x(start) < 4 ? Math.max((end - start) * 40, 60) : width;
    if (start < from || end > to || wanted !== width) this.show(middle - wanted / 2, middle + wanted / 2);
    this.select(span);
  }

  select(span) {
    this.selected = span;
    this.line.textContent = span >= 0 ? details(this.spans, span) : HINT;
    this.copy.hidden = span < 0;
    this.redraw();
  }

  // From a stall to what released it.
  follow() {
    const releasing = this.selected >= 0 ? this.spans.released_by[this.selected] : -1;
    if (releasing >= 0) this.goTo(releasing);
    return releasing >= 0;
  }

  beside(forward) {
    const span = this.selected >= 0 ? this.spans.beside(this.selected, forward) : -1;
    if (span >= 0) this.goTo(span);
  }

  // Shows nothing but the selected span.
  fill() {
    if (this.selected < 0) return;
    const cycles = this.spans.cycles[this.selected];
    this.show(this.spans.starts[this.selected] - cycles * 0.1, this.spans.endOf(this.selected) + cycles * 0.1);
  }

  async copied() {
    try {
      await navigator.clipboard.writeText(this.line.textContent);
      this.copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(this.line); // the browser does not let pages copy; now the user can
    }
    setTimeout(() => (this.copy.textContent = "Copy"), 1500);
  }

  // ---- searching

  find(query) {
    this.search = searched(this.spans, this.rows, query);
    this.walk = this.search && hitsOf(this.spans, this.search);
    this.found.textContent = searchWords(this.search);
    this.relabel();
  }

  nextHit() {
    if (!this.search) return;
    let { value, done } = this.walk.next();
    if (done) {
      this.walk = hitsOf(this.spans, this.search);
      ({ value, done } = this.walk.next());
    }
    if (done) return;
    if (value.span === undefined) this.flash(this.scrollTo(value.track));
    else this.goTo(value.span);
  }

  flash(index) {
    const label = this.labels.children[index];
    label.classList.add("flash");
    setTimeout(() => label.classList.remove("flash"), 1200);
  }

  // ---- asked from elsewhere

  attend() {
    new ResizeObserver(() => this.resize()).observe(this.root);
    tilesim.onTheme(() => {
      this.painter.recolour();
      this.redraw();
    });
    tilesim.on("window", ({ from, to }) => this.shown(() => this.show(from, to)));
    tilesim.on("track", ({ name }) => {
      const track = this.spans.tracks.indexOf(name);
      if (track >= 0) this.shown(() => this.flash(this.scrollTo(track)));
    });
  }

  shown(act) {
    act();
    document.getElementById("timeline").scrollIntoView();
  }
}

tilesim.section("timeline", async (root, data, columns) => {
  if (data.missing) return void root.append(tilesim.element("p", {}, data.missing));
  const say = tilesim.sayIn(root);
  const spans = new Spans(data, columns);
  const rows = new Rows(spans, data.groups);
  for (const [k, head] of rows.heads.entries()) {
    if (spans.count > 100000) await say(`adding up groups: ${k + 1} of ${rows.heads.length}`);
    head.series.length;
  }
  root.replaceChildren();
  // Also for whoever tries things in the browser's console.
  tilesim.timeline = new Timeline(root, data, spans, rows);
  new Hands(tilesim.timeline);
});
