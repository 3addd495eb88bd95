// The program's instructions beside what they did: a list, searched and filtered, and all of the one that is chosen.
const { element, number } = tilesim;

tilesim.section("instructions", async (root, data, columns) => {
  if (data.missing) {
    root.append(element("p", { class: "note" }, data.missing));
    return;
  }
  const program = new Program(data, columns);
  const ran = data.traced ? new Ran(program, await tilesim.given("timeline")) : null;
  new Section(root, data, program, ran);
});

const BY_NUMBER = { place: "program order", start: "first cycle", took: "first cycle to end, longest first", busy: "busy, longest first", waiting: "waiting, longest first" };

class Section {
  constructor(root, data, program, ran) {
    Object.assign(this, { program, ran, wanted: { query: "", layer: null, tile: null, kind: null }, by: "place" });
    this.columns = this.listed();
    const head = element("div", { class: "ins-row ins-head", role: "row", "aria-rowindex": "1" }, ...this.columns.map(({ name, title, meaning }) => {
      const cell = element("span", { class: `ins-${name}`, role: "columnheader" }, title);
      if (meaning) tilesim.tip(cell, () => meaning);
      return cell;
    }));
    this.list = new List(head, this.columns, (k, quietly) => this.choose(k, quietly), (k) => this.open(k));
    this.details = new Details(program, ran, (k) => this.choose(k), (k) => this.open(k));
    this.said = element("span", { class: "muted", role: "status" });
    root.append(
      ...(data.note ? [element("p", { class: "note" }, data.note)] : []),
      element("div", { class: "ins-asked" }, ...this.controls(data), this.said),
      element("div", { class: ran ? "ins-both" : "ins-both untraced" }, this.list.scroller, this.details.root),
      element("p", { class: "definition" }, `\u2191 \u2193 choose, Enter or a double click shows the instruction in the timeline. ${ran ? "Busy and waiting are cycles of its own unit, of the average tile." : ""}`),
    );
    this.ask();
    tilesim.on("instruction", ({ label }) => this.follow(label));
  }

  listed() {
    const { program, ran } = this;
    const cycles = (value) => (Number.isFinite(value) ? number(Math.round(value)) : "-");
    return [
      { name: "place", title: "#", show: (k) => number(k) },
      { name: "label", title: "instruction", show: (k) => program.labels[k] },
      { name: "kind", title: "kind", show: (k) => program.of("kinds", k).replace(/_/g, " ") },
      { name: "layer", title: "layer", show: (k) => program.layerOf(k) },
      { name: "on", title: "tiles", show: (k) => tilesWords(program.of("tiles", k) || []) || "-" },
      ran && { name: "start", title: "first", meaning: "The first cycle in which a unit that carries it out was busy with it or waited for it.", show: (k) => cycles(ran.start[k]) },
      ran && { name: "took", title: "took", meaning: "From that cycle to the end of the last, on whatever tile.", show: (k) => cycles(ran.end[k] - ran.start[k]) },
      ran && { name: "busy", title: "busy", meaning: "Cycles that the unit which carries it out was busy with it; of those of several tiles, the average one.", show: (k) => cycles(ran.busy[k]) },
      ran && { name: "waiting", title: "waiting", meaning: "Cycles that the unit which carries it out waited, for whatever reason; of those of several tiles, the average one.", show: (k) => cycles(ran.waiting[k]) },
    ].filter(Boolean);
  }

  // ---- what is asked for

  controls(data) {
    const { program } = this;
    const numbers = (count) => [...Array(count).keys()];
    const layers = [...new Set(program.columns.layer)].filter((layer) => layer >= 0).sort((a, b) => a - b).map((layer) => [layer, `${layer} ${program.layers[layer] ?? ""}`]);
    const orders = Object.entries(BY_NUMBER).filter(([name]) => this.ran || name === "place");
    return [
      element("input", { type: "search", placeholder: "label, operand, flag", "aria-label": "search the instructions", size: 22, input: (event) => this.ask({ query: event.target.value }) }),
      this.select("layer", "all layers", [[-1, "of no layer"], ...layers]),
      this.select("kind", "all kinds", program.texts.kinds.map((kind, k) => [k, kind.replace(/_/g, " ")])),
      data.tiles > 0 && this.select("tile", "all tiles", numbers(data.tiles).map((tile) => [tile, `tile ${tile}`])),
      orders.length > 1 && element("select", { "aria-label": "order", change: (event) => this.order(event.target.value) }, ...orders.map(([name, words]) => element("option", { value: name }, `by ${words}`))),
    ].filter(Boolean);
  }

  select(name, all, options) {
    const change = (event) => this.ask({ [name]: event.target.value === "" ? null : Number(event.target.value) });
    return element("select", { "aria-label": name, change }, element("option", { value: "" }, all), ...options.map(([value, words]) => element("option", { value }, words)));
  }

  order(by) {
    this.by = by;
    this.ask();
  }

  ask(changed) {
    Object.assign(this.wanted, changed);
    const rows = this.sorted(this.program.chosen(this.wanted));
    this.list.show(rows);
    this.said.textContent = `${number(rows.length)} of ${number(this.program.count)} instructions`;
  }

  sorted(rows) {
    const { ran, by } = this;
    if (by === "place") return rows;
    const took = (k) => (Number.isFinite(ran.start[k]) ? ran.end[k] - ran.start[k] : -1);
    const value = { start: (k) => -ran.start[k], took, busy: (k) => ran.busy[k], waiting: (k) => ran.waiting[k] }[by];
    return rows.sort((a, b) => (value(a) === value(b) ? a - b : value(b) > value(a) ? 1 : -1));
  }

  // ---- the one that is chosen

  choose(k, quietly) {
    this.mark(k);
    const { longest } = this.details.known || {};
    if (quietly) return;
    if (longest) tilesim.emit("span", { track: this.ran.tracks[longest.track], cycle: longest.cycle });
    tilesim.emit("instruction", { label: this.program.labels[k] });
  }

  mark(k) {
    if (!this.list.select(k)) this.reveal(k);
    this.details.show(k);
  }

  // Asks for all, if the list hides an instruction that somebody has chosen elsewhere.
  reveal(k) {
    for (const control of this.list.scroller.closest(".drawn").querySelectorAll(".ins-asked input, .ins-asked select:not([aria-label=order])")) control.value = "";
    this.ask({ query: "", layer: null, tile: null, kind: null });
    this.list.select(k);
  }

  open(k) {
    this.choose(k);
    const place = document.getElementById("timeline");
    if (place && this.ran) place.scrollIntoView();
  }

  // What was chosen in the timeline.
  follow(label) {
    const k = this.program.places.get(label);
    if (k !== undefined && k !== this.list.selected) this.mark(k);
  }
}
