// The chip as it lies: what each unit, link and memory did over a range, by colour; and what is chosen beside it.

const RANGES = { run: "whole run", visible: "what the timeline shows", range: "dragged range" };
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const NO_PART = "Point at a unit, a link or a memory to read about it; a click shows it in the timeline. Arrow keys go from one to the next, Enter shows it in the timeline.";

class Floorplan {
  constructor(root, data, numbers) {
    Object.assign(this, { root, data, numbers });
    this.places = new Places(data);
    this.picture = new Picture(this.places, `floorplan of ${this.places.tiles} tiles; arrow keys go from part to part, Enter shows it in the timeline`);
    this.windows = { run: { from: 0, to: data.cycles, whole: true }, visible: null, range: null };
    this.chosen = { range: "run", metric: "busy" };
    this.build();
    this.listen();
    this.attend();
    this.recolour();
  }

  // ---- elements

  build() {
    const { element } = tilesim;
    const metrics = [["busy", "busy"], ["waiting", "waiting, for anything"], ...this.numbers.reasons.map((name) => [name, this.wordsOf(name)]), ["bytes", "bytes carried"]];
    const metric = element("select", { id: "floorplan-metric", change: () => this.show({ metric: metric.value }) }, ...metrics.map(([value, words]) => element("option", { value }, words)));
    this.radios = Object.fromEntries(Object.keys(RANGES).map((name) => [name, element("input", { type: "radio", name: "floorplan-range", value: name, checked: name === "run", disabled: name !== "run", change: () => this.show({ range: name }) })]));
    const ranges = Object.entries(RANGES).map(([name, words]) => element("label", {}, this.radios[name], ` ${words}`));
    this.scale = element("span", { class: "scale" });
    this.line = element("output", { id: "floorplan-line", "aria-live": "polite" }, NO_PART);
    this.beside = element("div", { class: "beside" });
    this.bar = element("div", { class: "bar" }, element("label", {}, "colour by ", metric), element("span", { role: "radiogroup", "aria-label": "cycles" }, ...this.data.traced ? ranges : []), this.scale);
    const width = Math.max(460, Math.round(this.places.width * this.places.scale));
    if (this.data.note) this.root.append(element("p", { class: "note" }, this.data.note));
    this.root.append(this.bar, element("div", { class: "both" }, element("div", { class: "drawing", style: `max-width: ${width}px; flex-basis: min(640px, ${width}px)` }, this.picture.root, this.line), this.beside), element("p", { class: "definition" }, this.definition()));
  }

  definition() {
    const memories = this.numbers.accesses ? "Memories are coloured by the accesses of the whole run to their ports, whatever the range: nobody records when each was." : "How often memories were accessed, this run has not counted.";
    return `Colours are the share of the range's cycles, stronger than in proportion (to the power ${SHADING}); of bytes, the share of what the part that carried most did. Thick lines: the ring, thin ones: the instruction bus, both in the order of their stops; arrows between tiles: the mesh. ${memories}`;
  }

  wordsOf(name) {
    return this.data.kinds.find((kind) => kind.name === name)?.words || name;
  }

  // ---- what is shown

  get window() {
    return this.windows[this.chosen.range] || this.windows.run;
  }

  show(chosen) {
    Object.assign(this.chosen, chosen);
    if (this.play?.on) this.play.end();
    else this.recolour();
  }

  // A range that can be chosen from now on; null: no more.
  offer(name, window) {
    const inside = (cycle) => Math.max(0, Math.min(this.data.cycles, cycle));
    this.windows[name] = window && { from: inside(window.from), to: inside(window.to), whole: false };
    this.radios[name].disabled = !window;
    if (name === "range") this.choose(window ? "range" : "run");
    else if (this.chosen.range === name && !this.play?.on) this.recolour();
  }

  choose(range) {
    this.radios[range].checked = true;
    this.show({ range });
  }

  recolour() {
    const { window, picture, numbers } = this;
    const { metric } = this.chosen;
    const most = metric === "bytes" ? Math.max(1, ...this.places.parts.filter(({ track }) => track).map(({ track }) => numbers.bytesOf(track, window))) : 0;
    const shareOf = (part) => numbers.share(part, metric, window, most);
    picture.colour((part) => (shareOf(part) === null ? null : shade(metric, shareOf(part))));
    picture.write((part) => (metric === "bytes" ? "" : shareWords(shareOf(part))));
    const cycles = `${tilesim.number(Math.floor(window.from))} to ${tilesim.number(Math.ceil(window.to))}`;
    const top = metric === "bytes" ? tilesim.bytes(Math.round(most)) : "100 %";
    const stops = [0, 0.02, 0.1, 0.25, 0.5, 1].map((share) => `${shade(metric, share)} ${100 * share}%`);
    this.scale.replaceChildren("0", tilesim.element("i", { style: `background: linear-gradient(to right, ${stops.join(", ")})` }), `${top}, cycles ${cycles}`);
    this.scale.dataset.from = Math.floor(window.from);
    this.scale.dataset.to = Math.ceil(window.to);
    if (this.pointed) this.point(this.pointed);
  }

  // ---- numbers of a part

  facts(part) {
    const { numbers, window } = this;
    const cycles = Math.max(1, window.to - window.from);
    const share = (count) => `${tilesim.number(count)} cycles (${tilesim.percent(count / cycles)})`;
    if (part.kind === "memory") return numbers.accesses ? [...part.actions.map((action) => [action.replace("_", " "), `${tilesim.number(numbers.accessesOf(part, action))} accesses in the whole run`]), ["port in use", tilesim.percent(numbers.memoryShare(part, "busy"))]] : [];
    const kinds = this.data.kinds.map(({ name, words }) => [words, numbers.cyclesOf(part.track, name, window), name]).filter(([, count]) => count);
    const bytes = Math.round(numbers.bytesOf(part.track, window));
    return [...kinds.map(([words, count, name]) => [words, share(count), name]), ...(kinds.length ? [] : [["idle", "all the time"]]), ...(bytes ? [["moved", this.rate(part, bytes, cycles)]] : [])];
  }

  rate(part, bytes, cycles) {
    const most = this.data.bytes_a_cycle[part.bus];
    return `${tilesim.bytes(bytes)}${most ? `, ${tilesim.percent(bytes / (most * cycles))} of what it could carry` : ""}`;
  }

  tipOf(part) {
    const { element } = tilesim;
    const swatch = (name) => (name ? element("i", { class: "swatch", style: `background: var(${hueOf(name)})` }) : null);
    if (this.play?.on) return [element("div", {}, element("b", {}, part.words)), ...this.play.tipOf(part)];
    const facts = this.facts(part).map(([words, value, name]) => element("div", {}, swatch(name), `${words}: ${value}`));
    return [element("div", {}, element("b", {}, part.words)), ...facts, ...this.owners.wordsOf(part.tile).map((words) => element("div", { class: "muted" }, words))];
  }

  point(part) {
    this.pointed = part;
    if (this.play?.on && part) return this.play.listState();
    this.line.textContent = part ? [part.words, ...this.facts(part).map(([words, value]) => `${words} ${value}`)].join(" \u00b7 ") : NO_PART;
  }

  // ---- hands

  listen() {
    const { root } = this.picture;
    root.addEventListener("pointermove", (event) => {
      const part = this.picture.partOf(event.target);
      if (!part) return tilesim.hideTip();
      if (part !== this.pointed) this.point(part);
      tilesim.tipAt(event.clientX, event.clientY, this.tipOf(part));
    });
    root.addEventListener("pointerleave", tilesim.hideTip);
    root.addEventListener("click", (event) => this.open(this.picture.partOf(event.target)));
    root.addEventListener("focusin", (event) => this.point(this.picture.partOf(event.target)));
    root.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (this.play?.key(event)) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (ARROWS[event.key]) this.picture.focus(nearest(this.places.parts, this.picture.current, ARROWS[event.key]));
    else if (event.key === "Enter" || event.key === " ") this.open(this.picture.current);
    else return;
    event.preventDefault();
  }

  // Shows a part's track in the timeline; while cycles are played, its tile's state here instead.
  open(part) {
    if (!part) return;
    this.point(part);
    if (part.track && !this.play?.on) tilesim.emit("track", { name: part.track });
  }

  // ---- asked from elsewhere

  attend() {
    const { timeline } = tilesim; // which may have been there first
    if (timeline) this.offer("visible", { from: timeline.view.from, to: timeline.view.to });
    if (timeline?.range.chosen) this.offer("range", timeline.range.chosen);
    tilesim.on("visible", (window) => this.offer("visible", window));
    tilesim.on("range", (window) => this.offer("range", window));
    tilesim.on("track", ({ name }) => this.picture.choose(new Set([name])));
    tilesim.on("span", ({ track }) => this.picture.choose(new Set([track])));
    tilesim.on("instruction", (chosen) => this.picture.choose(chosen && this.numbers.recorded ? this.numbers.recorded.tracksOf(chosen.label) : new Set()));
  }
}

function shareWords(share) {
  return share < 0.0005 ? "\u2013" : `${Number((100 * share).toFixed(share < 0.0995 ? 1 : 0))} %`;
}

tilesim.section("floorplan", async (root, data, columns) => {
  const timeline = data.traced && document.getElementById("timeline") ? await tilesim.given("timeline") : null;
  const recorded = timeline && timeline.columns.gap ? new Recorded(timeline.data, timeline.columns) : null;
  const numbers = new Numbers(data, columns, recorded);
  tilesim.floorplan = new Floorplan(root, data, numbers);
  findings(tilesim.floorplan);
  owners(tilesim.floorplan);
  play(tilesim.floorplan, columns);
});
