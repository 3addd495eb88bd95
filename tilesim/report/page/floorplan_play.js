// A window of the run cycle by cycle: packets on the ring and words on the mesh, flags, queues, and what every unit is at.

const SPEEDS = [1, 2, 5, 10, 30]; // cycles a second
const TOLD = 5; // changes that are said of a cycle
const SHORT = { "ring in": "in", "ring out": "out", "tensor control": "tensor", "\u2193": "", "\u2191": "" };

class Play {
  constructor(floorplan, log) {
    const { data, places, picture, numbers } = floorplan;
    Object.assign(this, { floorplan, data, places, picture, numbers, log, on: false, timer: null });
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.cycle = this.begin();
    this.speed = this.still.matches ? 1 : 5;
    this.over = tilesim.svg("g", { class: "moving" });
    picture.over.append(this.over);
    this.build();
    this.still.addEventListener("change", () => this.pause());
  }

  // The cycle of the first finding in the window, else its first.
  begin() {
    const found = this.data.findings.find(({ section, cycle }) => section === "run" && cycle >= this.log.from && cycle < this.log.to);
    return found ? found.cycle : this.log.from;
  }

  // ---- elements

  build() {
    const { element } = tilesim;
    const button = (words, label, act) => element("button", { type: "button", click: act, "aria-label": label, title: label }, words);
    this.toggler = button("Play", "play or pause (space)", () => this.toggle());
    this.slider = element("input", { type: "range", id: "floorplan-cycle", min: this.log.from, max: this.log.to - 1, step: 1, "aria-label": "cycle", input: () => this.go(Number(this.slider.value)) });
    this.now = element("span", { class: "now", role: "status" });
    this.leave = button("Back to the range", "back to the colours of a range (Escape)", () => this.end());
    const speed = element("select", { id: "floorplan-speed", "aria-label": "cycles a second", change: () => this.quicken(Number(speed.value)) }, ...SPEEDS.map((each) => element("option", { value: each, selected: each === this.speed }, `${each} a second`)));
    this.bar = element("div", { class: "bar play", role: "group", "aria-label": "cycle by cycle", keydown: (event) => this.key(event) },
      element("b", {}, "Cycle by cycle"), button("\u25c2", "a cycle back (,)", () => this.step(-1)), this.toggler, button("\u25b8", "a cycle on (.)", () => this.step(1)), this.slider, this.now, speed, this.leave);
    this.keys = element("div", { class: "bar keys" });
    this.table = element("div", { class: "state" });
    this.floorplan.bar.after(this.bar, this.keys);
    this.floorplan.beside.prepend(this.table);
    this.show();
  }

  // ---- hands

  key(event) {
    const own = event.target.closest("button, select") && event.key === " ";
    if (own || event.ctrlKey || event.metaKey || event.altKey) return false;
    const act = { " ": () => this.toggle(), ".": () => this.step(1), ",": () => this.step(-1), Escape: () => this.on && this.end() }[event.key];
    if (!act) return false;
    act();
    event.preventDefault();
    return true;
  }

  toggle() {
    if (this.timer) return this.pause();
    if (this.cycle >= this.log.to - 1) this.cycle = this.log.from;
    this.go(this.cycle);
    this.timer = setInterval(() => this.tick(), 1000 / this.speed);
    this.show();
  }

  tick() {
    if (this.cycle >= this.log.to - 1) this.pause();
    else this.go(this.cycle + 1);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.show();
  }

  quicken(speed) {
    this.speed = speed;
    if (!this.timer) return;
    this.pause();
    this.toggle();
  }

  step(cycles) {
    this.pause();
    this.go(this.on ? this.cycle + cycles : this.cycle);
  }

  go(cycle) {
    this.on = true;
    this.cycle = Math.max(this.log.from, Math.min(this.log.to - 1, cycle));
    this.draw();
    tilesim.emit("cursor", { cycle: this.cycle });
  }

  end() {
    this.pause();
    this.on = false;
    this.over.replaceChildren();
    this.table.replaceChildren();
    this.keys.replaceChildren();
    this.picture.root.classList.remove("played");
    this.floorplan.scale.hidden = false;
    this.show();
    this.floorplan.recolour();
  }

  show() {
    this.toggler.textContent = this.timer ? "Pause" : "Play";
    this.leave.hidden = !this.on;
    this.slider.value = this.cycle;
    const window = `${tilesim.number(this.log.from)} to ${tilesim.number(this.log.to - 1)}`;
    this.now.textContent = this.on ? `cycle ${tilesim.number(this.cycle)} of ${window}` : `cycles ${window}`;
  }

  // ---- the cycle

  // What a unit or link is doing: a kind of cycles, or idle.
  stateOf(part) {
    if (this.numbers.recorded) return this.numbers.recorded.kindAt(part.track, this.cycle) || "idle";
    return this.log.text(part.track, this.cycle) ? "busy" : "idle";
  }

  paintOf(part) {
    if (part.kind === "memory") return "var(--idle)";
    if (part.bus === "ring") {
      const packet = this.log.packet(part.track, this.cycle);
      return packet ? masterHue(this.data, packet.master) : "var(--idle)";
    }
    const state = this.stateOf(part);
    return state === "idle" || state === "stall:work" ? "var(--idle)" : `var(${hueOf(state)})`;
  }

  draw() {
    this.picture.root.classList.add("played");
    this.floorplan.scale.hidden = true;
    this.picture.colour((part) => this.paintOf(part));
    this.over.replaceChildren(...this.packets(), ...this.words(), ...this.cellTexts(), ...this.met());
    this.show();
    this.legend();
    this.floorplan.line.textContent = this.told();
    this.listState();
  }

  // Rows at stops and on their way over links, in their masters' colours.
  packets() {
    const disc = ([x, y], packet, radius, where) => {
      const { svg } = tilesim;
      return [svg("circle", { class: "packet", cx: x, cy: y, r: radius, style: `fill: ${masterHue(this.data, packet.master)}`, "data-at": where, "data-text": `${packet.label} ${packet.row}` }), svg("text", { class: "row", x, y: y + 4.5 }, packet.row)];
    };
    return this.data.nodes.flatMap((name, node) => {
      const [standing, leaving] = [`chip.ring.stop${node}`, `chip.ring.link${node}`].map((signal) => this.log.packet(signal, this.cycle));
      const way = standing || leaving ? along(this.places.ringPath(node)) : null;
      return [...(standing ? disc(this.places.stop(node), standing, 11, `stop ${node}`) : []), ...(leaving ? disc(way, leaving, 9, `link ${node}`) : [])];
    });
  }

  words() {
    const meshes = this.places.parts.filter(({ bus, track }) => bus === "mesh" && this.log.text(track, this.cycle));
    return meshes.map(({ middle: [x, y], track }) => tilesim.svg("rect", { class: "word", x: x - 6, y: y - 6, width: 12, height: 12, "data-at": track }));
  }

  // On each cell what it is, what its MAC array is at, how much waits in its queue and how far its flag has counted.
  cellTexts() {
    const { places, log, cycle } = this;
    if (places.detail < 2) return [];
    const made = [];
    const write = (x, y, words, kind) => words && made.push(tilesim.svg("text", { class: `badge ${kind}`, x, y }, words));
    for (const part of places.parts.filter(({ kind, track }) => kind === "cell" && track)) {
      const [fill, flag] = [log.count(`${part.track}.fifo`, cycle), flagOf(part.track)];
      const raised = flag && log.count(flag, cycle) ? `\u25b8${log.count(flag, cycle)}` : "";
      if (part.track.includes(".mesh_")) write(...meshBadge(part), raised, `mesh ${meshSide(part)}`);
      else if (part.label === "MAC array") write(part.middle[0], part.middle[1] + 4, ending(log.text(part.track, cycle)), "middle at");
      else {
        const base = part.y + part.height / 2 + 4;
        write(part.x + 3, base, SHORT[part.label] ?? part.label, "start plain");
        write(part.x + part.width - 2, base, [fill || "", raised].filter(Boolean).join(" "), "end");
      }
    }
    for (let tile = 0; tile < places.tiles; tile++) {
      const [[x, y], tails] = [places.stop(tile + 1), log.count(`chip.tile${tile}.flags.ring_producer_a`, cycle)];
      write(x + 6, y + 14, tails ? `\u25b8${tails}` : "", "start");
    }
    return made;
  }

  // Where transfers meet in this very cycle.
  met() {
    const found = this.data.findings.filter(({ section, cycle }) => section === "run" && cycle === this.cycle);
    return found.map(({ stop }) => tilesim.svg("circle", { class: "meets", cx: this.places.stop(stop)[0], cy: this.places.stop(stop)[1], r: 17 }));
  }

  // ---- in words

  legend() {
    const { element } = tilesim;
    const masters = new Set(this.log.names.filter((name) => name.startsWith("chip.ring.")).map((name) => this.log.packet(name, this.cycle)?.master).filter(Boolean));
    const kinds = [...new Set(this.places.parts.filter(({ track, bus }) => track && bus !== "ring").map((part) => this.stateOf(part)))].filter((kind) => kind !== "idle" && kind !== "stall:work");
    const swatch = (paint, words) => element("span", {}, element("i", { class: "swatch", style: `background: ${paint}` }), words);
    this.keys.replaceChildren(...this.data.kinds.filter(({ name }) => kinds.includes(name)).map(({ name, words }) => swatch(`var(${hueOf(name)})`, words)), ...[...masters].map((name) => swatch(masterHue(this.data, name), `row from ${name}`)), element("span", { class: "muted" }, "disc: a row on the ring; square: a word on the mesh; \u25b8 flag count; number: instructions in the queue"));
  }

  // What changes in the cycle: rows, then flags, then the rest.
  told() {
    const said = [];
    for (const name of this.log.changed(this.cycle)) {
      const kind = this.log.kinds[this.log.places.get(name)];
      const rank = { packet: 0, flag: 1, instruction: 2, word: 3, fill: 4 }[kind];
      const words = this.saidOf(name, kind);
      if (words) said.push([rank, words]);
    }
    said.sort(([a], [b]) => a - b);
    const rest = said.length > TOLD ? `; and ${said.length - TOLD} more` : "";
    return `Cycle ${tilesim.number(this.cycle)}: ${said.slice(0, TOLD).map(([, words]) => words).join("; ") || "nothing changes"}${rest}`;
  }

  saidOf(name, kind) {
    const unit = name.split(".").slice(1).join(" ").replace(/_/g, " ").replace(/([a-z])([0-9])/, "$1 $2").replace(/ fifo$/, " queue");
    if (kind === "packet") {
      const packet = this.log.packet(name, this.cycle);
      return packet && `row ${packet.row} of ${packet.label} from ${packet.master} ${name.includes(".link") ? "enters" : "stands at"} ${unit}`;
    }
    if (kind === "flag" || kind === "fill") return `${unit.replace(" flags ", " flag ")} ${this.log.count(name, this.cycle)}`;
    const text = this.log.text(name, this.cycle);
    return text && kind === "instruction" && `${unit} at ${text}`;
  }

  tipOf(part) {
    if (!part.track) return [];
    const { element } = tilesim;
    const packet = part.bus === "ring" && this.log.packet(part.track, this.cycle);
    const state = packet ? `row ${packet.row} of ${packet.label} from ${packet.master}` : this.floorplan.wordsOf(this.stateOf(part));
    const text = packet ? "" : this.log.text(part.track, this.cycle);
    return [element("div", {}, `cycle ${tilesim.number(this.cycle)}: ${state}`), ...(text ? [element("div", {}, text)] : [])];
  }

  // The units of the tile that was pointed at last, or of the first.
  listState() {
    const { element } = tilesim;
    const tile = this.floorplan.pointed ? this.floorplan.pointed.tile : 0;
    const units = this.places.parts.filter((part) => part.kind === "cell" && part.tile === tile);
    const rows = units.map((part) => {
      const state = this.stateOf(part);
      const cells = [part.words.replace(/^tile [0-9]+, /, ""), state === "idle" ? "idle" : this.floorplan.wordsOf(state), this.log.text(part.track, this.cycle), this.log.count(`${part.track}.fifo`, this.cycle) || ""];
      return element("tr", { "data-track": part.track }, ...cells.map((cell, k) => element("td", { class: k === 3 ? "number" : null }, cell)));
    });
    const raised = tile < 0 ? [] : this.log.flags(`chip.tile${tile}`, this.cycle).filter(([, count]) => count).map(([flag, count]) => `${flag} ${count}`);
    const heads = ["unit", "state", "instruction", "queue"].map((head) => element("th", { scope: "col" }, head));
    this.table.replaceChildren(element("h3", {}, `${tile < 0 ? "Beside the tiles" : `Tile ${tile}`} in cycle ${tilesim.number(this.cycle)}`), element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows)), element("p", { class: "flags" }, `Flags: ${raised.join(", ") || "none is raised"}.`));
  }
}

// The flag that a tile's engine raises.
function flagOf(track) {
  const [, tile, engine] = /^(chip\.tile[0-9]+)\.(.*)$/.exec(track) || [];
  if (!tile) return null;
  const mesh = /^mesh_(in|out)_(.*)$/.exec(engine);
  const flag = mesh ? `mesh_${mesh[2]}_${mesh[1]}` : { tensor: "avdata", ring_consumer: "ring_read_a", ring_producer: "ring_write", narrow_to_wide: engine, wide_to_narrow: engine }[engine];
  return flag ? `${tile}.flags.${flag}` : null;
}

const meshSide = ({ track }) => ({ east: "start", west: "end" })[track.split("_").pop()] || "middle";
const ending = (label) => (label.length > 15 ? `\u2026${label.slice(-14)}` : label);

// Beside an engine of the mesh: within its tile at its north and south, between the tiles at its east and west.
function meshBadge({ track, x, y, width, height }) {
  const upper = track.endsWith("out_east") || track.endsWith("in_west");
  const beside = upper ? y - 1 : y + height + 8;
  return { north: [x + width / 2, y + height + 9], south: [x + width / 2, y - 2], east: [x + width + 3, beside], west: [x - 3, beside] }[track.split("_").pop()];
}

function play(floorplan, columns) {
  const { data } = floorplan;
  if (data.log) floorplan.play = new Play(floorplan, new StateLog({ ...data.log, nodes: data.nodes }, columns));
}
