// The picture: what it shows, and what it can be told to show. timeline_frame.js makes it, timeline_hands.js tells it.

const SETTLING_MS = 100; // without a change, until the picture counts as settled
const LEAST_ROWS = 12;
const AROUND = 150; // CSS pixels of a window that the picture leaves to what is around it

class Timeline {
  constructor(root, data, spans, path) {
    Object.assign(this, { root, data, spans, path, search: null, walk: null, selected: -1, cursor: null, followed: null, reached: -1, pending: false });
    this.rows = new Rows(spans, data);
    this.frames = { count: 0, milliseconds: 0 };
    this.view = new View(data.cycles, spans.earliest, spans.latest);
    this.findings = new Findings(this, data.findings);
    framed(this);
    this.painter = new Painter(this.canvas, spans.kinds);
    this.findings.begin();
    this.refold();
    this.address = new Address(this);
    this.attend();
    if (this.address.restore()) document.getElementById("timeline").scrollIntoView({ behavior: "instant" });
  }

  // Rows that there are, of pinned tracks and all others.
  get rowCount() {
    return this.rows.pins.length + this.rows.shown.length;
  }

  resize() {
    this.ratio = window.devicePixelRatio || 1;
    this.width = Math.max(50, this.plot.clientWidth);
    const around = this.head.height + this.counters.height + AROUND;
    this.height = Math.min(this.rowCount * ROW, Math.max((LEAST_ROWS + this.rows.pins.length) * ROW, window.innerHeight - around));
    this.scroller.style.height = `${this.height}px`;
    this.plot.style.height = `${this.height}px`;
    this.counterRow.hidden = !this.counters.height;
    this.painter.resize(this.width, this.height, this.ratio);
    Object.assign(this.marks.canvas, { width: this.canvas.width, height: this.canvas.height });
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
    this.visible = this.painter.paint(this.rows.shown, this.rows.pins, this.view, this.scroller.scrollTop, this.search);
    this.drawAround();
    this.frames.count++;
    this.frames.milliseconds += performance.now() - begun;
    this.changed();
  }

  // What changes with the pointer and the selection, too.
  drawAround() {
    const { cursor, range, findings } = this;
    this.head.paint(this.view, this.painter.palette, this.width, this.ratio, { cursor: cursor ?? this.followed, range: range.chosen, picked: findings.picked });
    this.counters.paint(this.view, this.painter.palette, this.width, this.ratio, cursor ?? this.followed);
    this.marks.paint();
  }

  changed() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.settle(), SETTLING_MS);
  }

  // Names, shares, the address and the other sections follow when nothing moves.
  settle() {
    if (this.rows.lead(this.view.from, this.view.to)) this.redraw();
    this.labels.shares();
    this.counters.label();
    this.address.write();
    const { from, to } = this.view;
    if (this.told?.from === from && this.told?.to === to) return;
    this.told = { from, to };
    tilesim.emit("visible", { from, to });
  }

  x(cycle) {
    return ((cycle - this.view.from) / this.view.width) * this.width;
  }

  cycleAt(x) {
    return this.view.from + (x / this.width) * this.view.width;
  }

  // Where the bar of a track begins; null if it has no row, or (unless anywhere) one that is scrolled away.
  y(track, anywhere = false) {
    const pinned = this.rows.pins.findIndex((row) => row.track === track);
    if (pinned >= 0) return pinned * ROW + 1;
    const index = this.rows.indexOf(track);
    const band = this.rows.pins.length * ROW;
    const y = band + index * ROW - this.scroller.scrollTop + 1;
    return index < 0 || (!anywhere && (y < band || y > this.height)) ? null : y;
  }

  // Whether the row of a track shows it, and not another track of its group.
  isDrawn(track) {
    return this.rows.isPinned(track) || this.rows.shown[this.rows.indexOf(track)]?.track === track;
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

  // Unfolds and scrolls to a track.
  scrollTo(track) {
    const before = this.rows.shown.length;
    const index = this.rows.reveal(track);
    this.reached = track;
    if (this.rows.shown.length !== before) this.refold();
    const [top, room] = [index * ROW, this.height - (this.rows.pins.length + 1) * ROW];
    if (!this.rows.isPinned(track) && (top < this.scroller.scrollTop || top > this.scroller.scrollTop + room)) this.scroller.scrollTop = Math.max(0, top - room / 2);
    this.redraw();
    return index;
  }

  // Shows a span: its row, and its cycles if they don't show, or are too few to see.
  goTo(span, quiet = false) {
    this.scrollTo(this.spans.trackOf(span));
    const [start, end, { from, to, width }] = [this.spans.starts[span], this.spans.endOf(span), this.view];
    const middle = (start + end) / 2;
    const wanted = this.x(end) - this.x(start) < 4 ? Math.max((end - start) * 40, 60) : width;
    if (start < from || end > to || wanted !== width) this.show(middle - wanted / 2, middle + wanted / 2);
    this.select(span, quiet);
  }

  // quiet: whoever asked for it knows.
  select(span, quiet = false) {
    this.selected = span;
    this.line.textContent = span >= 0 ? details(this.spans, span) : HINT;
    this.copy.hidden = span < 0;
    this.chain.selected(span);
    this.redraw();
    const label = span >= 0 ? this.spans.whats[this.spans.what[span]] : "";
    if (label && !quiet) tilesim.emit("instruction", { label });
  }

  // From a stall to what released it, and on.
  follow() {
    return this.chain.step();
  }

  // The next span of the selected one's track, or the one before; if none is selected, the first that shows of the track
  // that one has come to.
  beside(forward) {
    const { spans, selected, view } = this;
    const track = this.reached >= 0 ? this.reached : this.rows.shown.find((row) => row.track >= 0)?.track ?? -1;
    const span = selected >= 0 ? spans.beside(selected, forward) : track >= 0 ? spans.firstIn(track, view.from) : -1;
    if (span >= 0) this.goTo(span);
  }

  // Shows nothing but the selected span.
  fill() {
    if (this.selected < 0) return;
    const cycles = this.spans.cycles[this.selected];
    this.show(this.spans.starts[this.selected] - cycles * 0.1, this.spans.endOf(this.selected) + cycles * 0.1);
  }

  rangeHere() {
    const { selected, spans, view } = this;
    this.range.set(...(selected >= 0 ? [spans.starts[selected], spans.endOf(selected)] : [Math.ceil(view.from), Math.floor(view.to)]));
    this.range.settle();
  }

  // ---- rows

  fold(group) {
    this.rows.fold(group, !group.folded);
    this.refold();
    this.rows.shown.find((row) => row.isGroup && row.group === group).label.focus();
  }

  foldAll(folded) {
    this.rows.foldAll(folded);
    this.refold();
  }

  sort(byShare) {
    this.rows.byShare = byShare;
    this.rows.list();
    this.refold();
  }

  toggleIdle() {
    this.rows.withIdle = !this.rows.withIdle;
    this.rows.list();
    this.refold();
  }

  toggleCounters() {
    this.counters.hidden = !this.counters.hidden;
    this.refold();
  }

  togglePath() {
    if (!this.path) return;
    this.path.isShown = !this.path.isShown;
    this.refold();
  }

  pin(track) {
    this.rows.pin(track);
    this.refold();
  }

  // The track of the row that the pointer is over, or of the selected span, or the one that one has come to.
  pinHere(row) {
    const track = row ? row.track : this.selected >= 0 ? this.spans.trackOf(this.selected) : this.reached;
    if (track >= 0) this.pin(track);
  }

  refold() {
    this.rows.lead(this.view.from, this.view.to);
    this.labels.fill();
    this.buttons();
    this.resize();
  }

  buttons() {
    const pressed = (node, is) => node.setAttribute("aria-pressed", String(is));
    pressed(this.idleButton, this.rows.withIdle);
    pressed(this.counterButton, !this.counters.hidden);
    pressed(this.pathButton, Boolean(this.path?.isShown));
    this.order.value = this.rows.byShare ? "share" : "name";
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
    this.labels.fill();
    this.redraw();
  }

  nextHit() {
    if (!this.search) return;
    let { value, done } = this.walk.next();
    if (done) {
      this.walk = hitsOf(this.spans, this.search);
      ({ value, done } = this.walk.next());
    }
    if (done) return;
    if (value.span === undefined) this.labels.flash(this.scrollTo(value.track));
    else this.goTo(value.span);
  }

  // ---- asked from elsewhere

  attend() {
    new ResizeObserver(() => this.resize()).observe(this.root);
    tilesim.onTheme(() => {
      this.painter.recolour();
      this.redraw();
    });
    const track = (name) => this.spans.tracks.indexOf(name);
    tilesim.on("window", ({ from, to }) => this.shown(() => this.show(from, to)));
    tilesim.on("track", ({ name }) => track(name) >= 0 && this.shown(() => this.labels.flash(this.scrollTo(track(name)))));
    tilesim.on("span", (asked) => track(asked.track) >= 0 && this.shown(() => this.goToCycle(track(asked.track), asked.cycle)));
    tilesim.on("instruction", (asked) => asked && this.instruction(asked.label));
    tilesim.on("cursor", (asked) => {
      this.followed = asked ? asked.cycle : null;
      this.drawAround();
    });
  }

  goToCycle(track, cycle) {
    const span = this.spans.at(track, cycle);
    if (span >= 0) return this.goTo(span);
    this.scrollTo(track);
    this.select(-1);
    if (cycle < this.view.from || cycle >= this.view.to) this.show(cycle - this.view.width / 2, cycle + this.view.width / 2);
  }

  // The first span of an instruction, unless one of its spans is what is selected.
  instruction(label) {
    const { spans, selected } = this;
    if (selected >= 0 && spans.whats[spans.what[selected]] === label) return;
    const hits = Uint8Array.from(spans.whats, (name) => (name === label ? 1 : 0));
    const span = following(spans, { hits }, -1);
    if (span < 0) return;
    this.goTo(span, true);
  }

  shown(act) {
    act();
    document.getElementById("timeline").scrollIntoView();
  }
}

tilesim.section("timeline", async (root, data, columns) => {
  if (data.missing) return void root.append(tilesim.element("p", {}, data.missing));
  axis.ticks_hz = data.ticks_hz || 0;
  const spans = new Spans(data, columns);
  if (spans.count > 100000) await tilesim.sayIn(root)("adding up what buses carry");
  const path = await pathOf();
  root.replaceChildren();
  // Also for whoever tries things in the browser's console.
  tilesim.timeline = new Timeline(root, data, spans, path);
  new Hands(tilesim.timeline);
});
