// The drawing of the places, and their colours over a window.

const SHADING = 0.4; // colours are stronger than in proportion, as in the map of links over time
const LINK_WIDTHS = { ring: 8, instruction_bus: 4, mesh: 7, host: 9 };
const HUES = { busy: "--busy", waiting: "--stall-credit", bytes: "--fg" };

const hueOf = (metric) => HUES[metric] || `--${metric.replace(":", "-")}, var(--stall-other)`;
const shade = (metric, share) => `color-mix(in srgb, var(${hueOf(metric)}) ${(100 * Math.min(1, share) ** SHADING).toFixed(1)}%, var(--idle))`;
const line = (points) => `M${points.map((point) => point.join(" ")).join("L")}`;

class Picture {
  constructor(places, words) {
    const { svg } = tilesim;
    this.places = places;
    this.shapes = new Map();
    this.under = svg("g", {});
    this.over = svg("g", { class: "over" });
    this.labels = svg("g", { class: "labels" });
    const { width, height, scale } = places;
    this.root = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: `plan detail${places.detail}`, style: `max-width: ${Math.round(width * scale)}px`, role: "group", "aria-label": words });
    this.root.append(pattern(), this.boxes(), ...this.links(), ...this.cells(), ...this.stops(), this.texts(), this.over, this.labels);
    this.current = places.parts.find(({ track }) => track && track.endsWith(".mac_array")) || places.parts[0];
    this.shapes.get(this.current).setAttribute("tabindex", "0");
  }

  boxes() {
    const { svg } = tilesim;
    this.tiles = new Map();
    const group = svg("g", {});
    for (const { x, y, width, height, words, tile } of this.places.boxes) {
      const box = svg("rect", { class: "box", x, y, width, height, rx: 5 });
      if (tile !== undefined) this.tiles.set(tile, box);
      group.append(box);
      if (words) group.append(svg("text", { x: x + 8, y: y + 16, class: words === "host" ? "name host" : "name" }, words));
    }
    return group;
  }

  shape(part, node) {
    node.setAttribute("data-part", part.place);
    node.setAttribute("tabindex", "-1");
    node.setAttribute("role", "button");
    node.setAttribute("aria-label", part.words);
    node.classList.add("part");
    this.shapes.set(part, node);
    return node;
  }

  // Links below everything else, the mesh first; each with a wider line under it, so that an idle one shows too.
  links() {
    const { svg } = tilesim;
    const paths = this.places.parts.filter(({ kind }) => kind === "path");
    const order = ["mesh", "host", "instruction_bus", "ring"];
    return order.flatMap((bus) => {
      const ours = paths.filter((part) => part.bus === bus);
      const width = LINK_WIDTHS[bus];
      if (bus === "mesh" || bus === "host") return ours.map((part) => this.shape(part, svg("path", { class: "arrow", d: arrow(part.points, width) })));
      const edge = svg("path", { class: "edge", "stroke-width": width + 2.5, d: ours.map(({ points }) => line(points)).join("") });
      return [edge, ...ours.map((part) => this.shape(part, svg("path", { class: "wire", "stroke-width": width, d: line(part.points) })))];
    });
  }

  cells() {
    const { svg } = tilesim;
    const boxed = this.places.parts.filter(({ kind }) => kind !== "path");
    return boxed.map((part) => this.shape(part, svg("rect", { class: part.kind, x: part.x, y: part.y, width: part.width, height: part.height, rx: 2 })));
  }

  // The stops of the buses, which tie them to tiles, and which way the ring goes.
  stops() {
    const { svg } = tilesim;
    const { places } = this;
    const made = [];
    for (let node = 0; node < places.nodes.length; node++) {
      const [x, y] = places.stop(node);
      made.push(svg("path", { class: "stub", d: `M${x} ${y}V${y + LANE}` }), svg("circle", { class: "stop", cx: x, cy: y, r: 6 }));
      const [[x0, y0], [x1, y1]] = longest(places.ringPath(node));
      const [mx, my, dx, dy] = [(x0 + x1) / 2, (y0 + y1) / 2, Math.sign(x1 - x0), Math.sign(y1 - y0)];
      made.push(svg("path", { class: "way", d: `M${mx - 4 * dx - 3.2 * dy} ${my - 4 * dy - 3.2 * dx}L${mx + 4 * dx} ${my + 4 * dy}L${mx - 4 * dx + 3.2 * dy} ${my - 4 * dy + 3.2 * dx}` }));
    }
    for (let stop = 0; stop <= places.tiles; stop++) {
      const [x, y] = places.busAt(stop);
      const up = stop === places.tiles ? 0 : LANE;
      made.push(svg("path", { class: "stub thin", d: `M${x} ${y}V${y - up}` }), svg("rect", { class: "stop", x: x - 4, y: y - 4, width: 8, height: 8 }));
    }
    return made;
  }

  texts() {
    const { svg } = tilesim;
    const { places } = this;
    const group = svg("g", { class: "labels" });
    const write = (x, y, words, kind = "") => group.append(svg("text", { x, y, class: kind }, words));
    for (const [x, y, words, kind] of places.texts) write(x, y, words, kind);
    for (let tile = 0; tile < places.tiles; tile++) {
      const { x, y } = places.corner(tile);
      if (places.detail === 2) write(x + 14, y + 31, `tile ${tile}`, "name");
      if (places.detail === 1) write(x + 12, y + 34, String(tile), "tile-number");
    }
    this.values = new Map();
    for (const part of places.parts.filter(({ label }) => label)) {
      const own = part.tile < 0 || places.detail === 2;
      const [x, y] = part.middle;
      const isArray = part.label === "MAC array";
      if (own) write(x, isArray ? part.y + 17 : y + 5, part.label, "small");
      if (!isArray || !places.detail) continue;
      const value = svg("text", { x, y: places.detail === 2 ? y + 15 : y + 11, class: "value" });
      this.values.set(part, value);
      group.append(value);
    }
    return group;
  }

  // Colours every part as paintOf says, with null for what nobody has counted.
  colour(paintOf) {
    for (const [part, node] of this.shapes) {
      const paint = paintOf(part);
      node.style.setProperty("--paint", paint || "var(--idle)");
      node.classList.toggle("unknown", paint === null);
    }
  }

  // What stands on MAC arrays.
  write(wordsOf) {
    for (const [part, value] of this.values) value.textContent = wordsOf(part);
  }

  partOf(node) {
    const found = node instanceof Element && node.closest("[data-part]");
    return found ? this.places.parts[found.dataset.part] : null;
  }

  focus(part) {
    this.shapes.get(this.current).setAttribute("tabindex", "-1");
    this.current = part;
    this.shapes.get(part).setAttribute("tabindex", "0");
    this.shapes.get(part).focus();
  }

  // Marks the parts of some tracks, and no others.
  choose(tracks) {
    for (const [part, node] of this.shapes) node.classList.toggle("chosen", tracks.has(part.track));
  }
}

// For parts that nobody has counted.
function pattern() {
  const { svg } = tilesim;
  return svg("defs", {}, svg("pattern", { id: "unknown", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, svg("rect", { width: 6, height: 6, class: "ground" }), svg("rect", { width: 1.2, height: 6, class: "stripe" })));
}

// A link between neighbours, with a head.
function arrow([[x0, y0], [x1, y1]], width) {
  const [dx, dy] = [Math.sign(x1 - x0), Math.sign(y1 - y0)];
  const half = width / 2;
  const at = (ahead, aside) => `${x1 - dx * ahead + dy * aside} ${y1 - dy * ahead - dx * aside}`;
  const from = (aside) => `${x0 + dx + dy * aside} ${y0 + dy - dx * aside}`;
  return `M${from(half)}L${at(10, half)}L${at(10, width)}L${at(1, 0)}L${at(10, -width)}L${at(10, -half)}L${from(-half)}Z`;
}

function longest(points) {
  let [best, found] = [-1, null];
  for (let k = 1; k < points.length; k++) {
    const length = Math.abs(points[k][0] - points[k - 1][0]) + Math.abs(points[k][1] - points[k - 1][1]);
    if (length > best) [best, found] = [length, [points[k - 1], points[k]]];
  }
  return found;
}
