// Words that rotate past units that multiply: a row a clock, a column a unit; beside it the ring at the cursor's clock.

const WIDEST = 140; // CSS pixels of a unit

class Picture {
  constructor(root, words) {
    Object.assign(this, { root, words, clock: 0, unit: 0, picked: null, pending: false });
    this.view = new View(words.data.clocks, words.units);
    this.cells = new Cells(words);
    this.axes = new Axes(words);
    this.marks = new Marks(words);
    this.strip = new Strip(words, this.view, (from) => this.pan(from));
    this.dial = new Dial(words, this.cells);
    this.jumps = new Jumps(words.data);
    this.build();
    this.hands = new Hands(this);
    new ResizeObserver(() => this.redraw()).observe(this.frame);
    tilesim.onTheme(() => this.recolour());
    this.begin();
  }

  // ---- elements

  build() {
    const { element } = tilesim;
    const { data } = this.words;
    this.under = element("canvas", { "aria-hidden": "true" });
    this.over = element("canvas", { class: "rot-over", "aria-hidden": "true" });
    const label = `${tilesim.number(this.words.units)} units over ${tilesim.number(data.clocks)} clocks; arrow keys move the cursor, Enter or Space plays, d draws the way of the word at the cursor, Escape forgets it, plus and minus zoom`;
    this.frame = element("div", { class: "rot-frame", tabindex: "0", role: "application", "aria-label": label, "aria-roledescription": "picture" }, this.under, this.over);
    this.line = element("output", { class: "rot-line", "aria-live": "polite" });
    this.way = element("p", { class: "rot-way" });
    this.legend = element("div", { class: "rot-legend" });
    this.root.append(
      ...(data.note ? [element("p", { class: "note" }, data.note)] : []),
      this.bar(), this.strip.canvas, this.legend,
      element("div", { class: "rot-both" },
        element("div", { class: "rot-picture" }, this.frame, this.line, this.way),
        element("div", { class: "rot-beside" }, this.dial.canvas, this.jumps.root)),
      element("p", { class: "definition" }, this.definition()),
    );
  }

  bar() {
    const { element } = tilesim;
    const button = (words, label, act) => element("button", { type: "button", click: act, "aria-label": label, title: label }, words);
    this.toggler = button("Play", "play or pause (space)", () => this.hands.toggle());
    this.now = element("span", { class: "rot-now" });
    this.layers = element("select", { "aria-label": "layer", change: () => this.toLayer(Number(this.layers.value)) },
      element("option", { value: -1 }, "whole run"), ...this.strip.layers().map(({ layer }) => element("option", { value: layer }, `${layer} ${this.words.data.layers[layer] ?? ""}`)));
    const speed = element("select", { "aria-label": "clocks a second", change: () => this.hands.quicken(Number(speed.value)) }, ...SPEEDS.map((each) => element("option", { value: each, selected: each === 5 }, `${each} a second`)));
    return element("div", { class: "rot-bar-top" }, element("label", {}, "layer ", this.layers),
      element("span", {}, button("\u25c2", "a clock back (arrow up)", () => this.hands.step(-1, 0)), this.toggler, button("\u25b8", "a clock on (arrow down)", () => this.hands.step(1, 0)), speed),
      element("span", {}, button("+", "closer (+)", () => this.zoom(1, this.clock)), button("\u2212", "wider (-)", () => this.zoom(-1, this.clock))),
      this.now);
  }

  definition() {
    return "A row is a clock, a column a unit: the word in its mux-register, in the colour of its channel. Units work with a word in the clock behind the slot that brings it. \u2191 \u2193 \u2190 \u2192 move the cursor, Enter or Space plays, d or a click draws the way of a word, Escape forgets it; drag or Shift and the wheel pan, Ctrl and the wheel or + \u2212 zoom. Above: the layers, and how many of the clocks units work in.";
  }

  paintLegend() {
    const { element } = tilesim;
    const { colours } = this.palette;
    const swatch = (colour, words) => element("span", {}, element("i", { class: "swatch", style: `background: ${css(colour)}` }), words);
    const pair = (way) => element("i", { class: "swatch rot-pair", style: `background: linear-gradient(to right, ${css(colours[way][0])} 50%, ${css(colours[way][1])} 50%)` });
    const channels = this.words.channel.reduce((most, channel) => Math.max(most, channel), -1) + 1;
    const shown = Math.min(HUES, channels);
    this.legend.replaceChildren(
      element("span", {}, pair("bright"), "used for an output"), element("span", {}, pair("pale"), "for nothing"),
      swatch(colours.moving[0], "only loaded or rotated"), swatch(colours.held[0], "stays"), swatch(colours.held[BLANK], "no element"),
      element("span", { class: "rot-channels" }, "channel ", ...[...Array(shown).keys()].map((k) => swatch(colours.bright[k], String(k))), channels > HUES ? element("span", {}, ", then again from the first") : null),
    );
  }

  // ---- what is shown

  begin() {
    const { words } = this;
    let k = 0;
    while (k < words.count - 1 && !words.ops[words.op[k]].work) k++;
    this.recolour();
    this.view.show(words.start[k] - 2);
    this.go(words.start[k], this.firstNamed(words.at(words.start[k])));
  }

  firstNamed(state) {
    for (let unit = 0; unit < this.words.units; unit++) if (this.words.named(state, unit)) return unit;
    return 0;
  }

  recolour() {
    this.palette = new Palette();
    this.paintLegend();
    this.redraw();
  }

  // Moves the cursor, and the window with it.
  go(clock, unit, follow = true) {
    this.clock = Math.max(0, Math.min(this.words.data.clocks - 1, clock));
    this.unit = unit;
    const before = this.view.from;
    if (follow) this.view.reveal(this.clock);
    if (this.view.from !== before) this.redraw();
    else this.remark();
    if (follow) tilesim.emit("cursor", { cycle: this.clock });
    this.tell();
  }

  pan(from) {
    this.view.show(from);
    this.clock = Math.max(this.view.from, Math.min(this.view.to - 1, this.clock));
    this.redraw();
    this.tell();
  }

  zoom(steps, at) {
    this.view.zoom(steps, at);
    this.redraw();
  }

  toLayer(layer) {
    this.hands.pause();
    this.layers.value = layer;
    this.jumps.of(layer);
    const lane = this.strip.layers().find((each) => each.layer === layer);
    const from = lane ? lane.from : 0;
    this.view.show(from);
    this.go(from, this.unit);
    this.redraw();
  }

  // The word at the cursor, whose way is drawn; the one that was picked is let go.
  pick() {
    const word = this.words.word(this.words.at(this.clock), this.unit);
    const again = word && this.picked?.row === word.row && this.picked.source === word.source;
    this.picked = again ? null : word;
    this.remark();
    this.tellWay();
  }

  drop() {
    this.hands.pause();
    this.picked = null;
    this.remark();
    this.tellWay();
  }

  playing(on) {
    this.toggler.textContent = on ? "Pause" : "Play";
    this.line.setAttribute("aria-live", on ? "off" : "polite");
  }

  // ---- words

  tell() {
    const { number } = tilesim;
    const state = this.words.at(this.clock);
    const word = this.words.word(state, this.unit);
    this.now.textContent = `clock ${number(this.clock)} of ${number(this.words.data.clocks)}`;
    this.line.textContent = `Clock ${number(this.clock)}, unit ${number(this.unit)}: ${wordWords(word)}; ${this.weightWords(state, this.unit)}${slotWords(state, this.words.waitAt(this.clock))}${this.useWords(state, this.unit)}.`;
  }

  weightWords(state, unit) {
    if (state.weight < 0) return "";
    const value = this.words.weightOf(state, unit);
    return `weight row ${tilesim.number(state.weight)}${value === null ? "" : ` = ${sign(value)}`}; `;
  }

  useWords(state, unit) {
    if (!this.words.works(state)) return "";
    return this.words.named(state, unit) ? ", here for an output" : ", here for nothing";
  }

  tellWay() {
    this.way.hidden = !this.picked;
    this.way.textContent = this.picked ? `The way of ${this.travelled(this.picked)} Escape forgets it.` : "";
  }

  // How long a word is in units in the window, and in how many of these clocks it is worked with for an output.
  travelled(picked) {
    let [clocks, used] = [0, 0];
    for (let clock = this.view.from; clock < this.view.to; clock++) {
      const state = this.words.at(clock);
      const unit = state.row < 0 ? -1 : this.words.unitOf(state, picked);
      if (unit < 0) continue;
      clocks++;
      if (this.words.works(state) && this.words.named(state, unit)) used++;
    }
    return `${wordWords(picked)}: in units for ${tilesim.number(clocks)} of these ${tilesim.number(this.view.to - this.view.from)} clocks, in ${tilesim.number(used)} for an output.`;
  }

  tipOf({ clock, unit }) {
    const { element, number } = tilesim;
    const state = this.words.at(clock);
    const word = this.words.word(state, unit);
    const { way, hue } = this.cells.shade(state, unit);
    const weight = this.weightWords(state, unit).replace("; ", "");
    const label = state.op ? `${state.active ? "" : "after "}${state.op.label}` : "";
    return [
      element("div", {}, element("b", {}, `unit ${number(unit)}, clock ${number(clock)}`)),
      element("div", {}, element("i", { class: "swatch", style: `background: ${css(this.palette.colours[way][hue])}` }), wordWords(word)),
      ...(weight ? [element("div", {}, weight)] : []),
      element("div", {}, slotWords(state, this.words.waitAt(clock)) + this.useWords(state, unit)),
      ...(label ? [element("div", { class: "muted" }, label)] : []),
    ];
  }

  // ---- drawing

  get box() {
    const told = this.view.row >= 12;
    const x = told ? LEFT.told : LEFT.plain;
    const room = this.frame.clientWidth - x - 6;
    return { x, y: TOP, width: Math.min(room, this.words.units * WIDEST) };
  }

  get ratio() {
    return devicePixelRatio || 1;
  }

  cellAt(x, y) {
    const { box, view } = this;
    const [clock, unit] = [Math.floor((y - box.y) / view.row) + view.from, Math.floor(((x - box.x) / box.width) * this.words.units)];
    return y >= box.y && clock < view.to && unit >= 0 && unit < this.words.units ? { clock, unit } : null;
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.paint();
    });
  }

  context(canvas) {
    const height = TOP + PLOT_HEIGHT + 4;
    canvas.width = Math.round(this.frame.clientWidth * this.ratio);
    canvas.height = Math.round(height * this.ratio);
    const context = canvas.getContext("2d");
    context.scale(this.ratio, this.ratio);
    return context;
  }

  paint() {
    if (!this.frame.clientWidth) return;
    const { view, palette, ratio } = this;
    const { box } = this;
    const context = this.context(this.under);
    this.cells.paint(context, view, box, ratio, palette);
    this.axes.paint(context, view, box, palette, this.clock);
    this.strip.paint(palette, ratio);
    this.paintOver();
    this.frame.dataset.from = view.from;
    this.frame.dataset.to = view.to;
    if (this.picked) this.tellWay();
  }

  remark() {
    if (!this.frame.clientWidth) return;
    this.paintOver();
  }

  paintOver() {
    this.marks.paint(this.context(this.over), this.view, this.box, this.palette, this);
    this.dial.paint(this.palette, this.ratio, this);
    Object.assign(this.frame.dataset, { clock: this.clock, unit: this.unit });
  }
}

tilesim.section("rotation", async (root, data, columns) => {
  if (data.missing) {
    root.append(tilesim.element("p", { class: "note" }, data.missing));
    return;
  }
  tilesim.rotation = new Picture(root, new Words(data, columns));
});
