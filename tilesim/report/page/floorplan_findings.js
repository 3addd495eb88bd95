// What the run noticed on the ring: at its stop, in its masters' colours, with the nodes that each occupies.

const masterHue = (data, name) => `var(--${(data.masters[name] || "master:other").replace(":", "-")})`;

class Findings {
  constructor(floorplan) {
    const { data, places, picture, beside } = floorplan;
    Object.assign(this, { data, places, drawing: tilesim.svg("g", { class: "findings" }) });
    picture.over.append(this.drawing);
    const { element } = tilesim;
    this.buttons = data.findings.map((finding, k) => element("button", { type: "button", class: "finding", "aria-pressed": "false", click: () => this.show(k) }, `${finding.kind}${finding.cycle >= 0 ? `, cycle ${tilesim.number(finding.cycle)}` : ""}, at ${data.nodes[finding.stop]}`));
    this.about = element("div", { class: "about" });
    beside.append(element("div", {}, element("h3", {}, "Noticed on the ring"), element("div", { class: "list" }, ...this.buttons), ...this.rest(), this.about));
    this.show(0);
  }

  rest() {
    const more = this.data.found - this.data.findings.length;
    return more ? [tilesim.element("p", { class: "muted" }, `and ${tilesim.number(more)} more, in run.json`)] : [];
  }

  show(chosen) {
    this.buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k === chosen)));
    const finding = this.data.findings[chosen];
    this.drawing.replaceChildren();
    finding.masters.forEach((master, k) => this.occupied(finding, master, k));
    this.mark(finding);
    this.about.replaceChildren(...this.words(finding));
  }

  words(finding) {
    const { element } = tilesim;
    const keys = finding.masters.map((master, k) => {
      const nodes = finding.occupied[k];
      const where = nodes?.length ? `, occupies ${this.data.nodes[nodes[0]]} to ${this.data.nodes[nodes[nodes.length - 1]]}` : "";
      return element("div", { class: "master" }, element("i", { class: "swatch", style: `background: ${masterHue(this.data, master)}` }), `${finding.instructions[k] || finding.instructions[0] || "transfer"} from ${master}${where}`);
    });
    const sentence = finding.sentence.charAt(0).toUpperCase() + finding.sentence.slice(1);
    const jump = finding.cycle >= 0 && finding.section === "run" ? [element("button", { type: "button", click: () => this.jump(finding) }, "Show it in the timeline")] : [];
    return [...keys, element("p", {}, `${sentence}.`), ...jump];
  }

  jump(finding) {
    tilesim.emit("track", { name: `chip.ring.link${finding.stop}` });
    tilesim.emit("window", { from: Math.max(0, finding.cycle - 12), to: Math.min(this.data.cycles, finding.cycle + 13) });
    tilesim.emit("cursor", { cycle: finding.cycle });
  }

  // The stretch of the ring that a master's transfer occupies, beside the others', and where it comes from.
  occupied(finding, master, k) {
    const { svg } = tilesim;
    const hue = masterHue(this.data, master);
    const aside = k % 2 ? 7 : -7;
    const nodes = finding.occupied[k] || [];
    for (const node of nodes.slice(0, -1)) this.drawing.append(svg("path", { class: "occupied", d: line(this.places.ringPath(node)), transform: `translate(${-aside} ${aside})`, style: `stroke: ${hue}`, "data-master": master }));
    for (const node of nodes) {
      const [x, y] = this.places.stop(node);
      this.drawing.append(svg("circle", { class: "held", cx: x - aside, cy: y + aside, r: 5, style: `fill: ${hue}` }));
    }
    const from = this.data.nodes.indexOf(master);
    if (from < 1 || from > this.places.tiles) return;
    const { x, y } = this.places.corner(from - 1);
    this.drawing.append(svg("rect", { class: "sender", x: x - 3, y: y - 3, width: TILE_WIDTH + 6, height: TILE_HEIGHT + 6, rx: 7, style: `stroke: ${hue}` }));
  }

  // Both masters' halves of a disc at the stop, with the cycle beside it.
  mark(finding) {
    const { svg } = tilesim;
    const [x, y] = this.places.stop(finding.stop);
    const [one, other] = [finding.masters[0], finding.masters[1] ?? finding.masters[0]];
    const half = (sweep, hue) => svg("path", { d: `M${x} ${y - 13}A13 13 0 0 ${sweep} ${x} ${y + 13}Z`, style: `fill: ${hue}` });
    const words = finding.cycle >= 0 ? `${finding.kind === "meeting" ? "meet" : finding.kind} in cycle ${tilesim.number(finding.cycle)}` : finding.kind;
    this.drawing.append(half(0, masterHue(this.data, one)), half(1, masterHue(this.data, other)), svg("circle", { class: "meeting", cx: x, cy: y, r: 13, "data-node": this.data.nodes[finding.stop] }), svg("text", { class: "found", x: x + 20, y: y - 14 }, words));
  }
}

function findings(floorplan) {
  if (floorplan.data.findings.length) floorplan.findings = new Findings(floorplan);
}
