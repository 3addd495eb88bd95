// Where everything is: tiles in their grid, each with the same inside; the ring and the instruction bus past them in their
// real order; the mesh between neighbours; controller, classifier and host beside. A part is a unit or a link, or a memory.

const [TILE_WIDTH, TILE_HEIGHT] = [204, 140];
const LANE = 18; // from a tile to the bus beside it
const BACK = 14; // from a bus to the lane on which it comes back
const APART = 10; // between the lanes of two buses
const ACROSS = 48; // between two tiles in a row
const DOWN = 2 * (LANE + BACK) + APART;
const LEFT = 176; // room for the controller and the host
const [RING_AT, BUS_AT] = [138, 164]; // where a tile's stops are
const BOX = { left: 26, width: 108 }; // controller, host and sink
const SIDES = { north: [-1, 0], east: [0, 1], south: [1, 0], west: [0, -1] };
const OPPOSITE = { north: "south", east: "west", south: "north", west: "east" };
const MOST_SCALE = 1.15;
const TALLEST = 1050; // pixels

// The cells within a tile: [ending of the track, words, left, top, width, height, the least detail that shows it].
const CELLS = [
  ["ring_consumer", "ring in", 86, 8, 50, 20, 0],
  ["ring_producer", "ring out", 140, 8, 50, 20, 0],
  ["mac_array", "MAC array", 80, 34, 110, 62, 0],
  ["tensor", "tensor control", 80, 101, 110, 28, 0],
  ["narrow_to_wide", "\u2193", 14, 73, 27, 18, 1],
  ["wide_to_narrow", "\u2191", 45, 73, 27, 18, 1],
  ["mesh_in_north", "", 44, 0, 16, 9, 1],
  ["mesh_out_north", "", 64, 0, 16, 9, 1],
  ["mesh_out_south", "", 44, TILE_HEIGHT - 9, 16, 9, 1],
  ["mesh_in_south", "", 64, TILE_HEIGHT - 9, 16, 9, 1],
  ["mesh_in_west", "", 0, 54, 9, 16, 1],
  ["mesh_out_west", "", 0, 76, 9, 16, 1],
  ["mesh_out_east", "", TILE_WIDTH - 9, 54, 9, 16, 1],
  ["mesh_in_east", "", TILE_WIDTH - 9, 76, 9, 16, 1],
];
// The ports of its memories: [words, left, top, width, height, the actions that use it].
const MEMORIES = [
  ["narrow memory, read port", 14, 40, 28, 30, ["narrow_read"]],
  ["narrow memory, write port", 43, 40, 29, 30, ["narrow_write"]],
  ["wide memory", 14, 94, 58, 35, ["wide_read", "wide_write"]],
];

class Places {
  constructor({ rows, columns, nodes, findings }) {
    Object.assign(this, { rows, columns, nodes, tiles: rows * columns, parts: [], boxes: [], texts: [] });
    this.top = LANE + (findings.length ? 38 : 20); // room for what is said of a finding
    this.right = this.x(columns - 1) + TILE_WIDTH + 22;
    this.strip = this.y(rows - 1) + TILE_HEIGHT + LANE + BACK + APART; // the lane of classifier and sink
    this.width = Math.max(this.right + 14, this.x(0) + 190);
    this.height = this.strip + LANE + 46;
    this.scale = Math.min(MOST_SCALE, TALLEST / this.height);
    const seen = Math.min(this.scale, 1000 / this.width);
    this.detail = seen >= 0.6 ? 2 : seen >= 0.3 ? 1 : 0;
    for (let tile = 0; tile < this.tiles; tile++) this.mesh(tile);
    for (let tile = 0; tile <= this.tiles; tile++) this.busStop(tile);
    for (let node = 0; node < nodes.length; node++) this.ringLink(node);
    for (let tile = 0; tile < this.tiles; tile++) this.tile(tile);
    this.around();
  }

  x(column) {
    return LEFT + column * (TILE_WIDTH + ACROSS);
  }

  y(row) {
    return this.top + row * (TILE_HEIGHT + DOWN);
  }

  corner(tile) {
    const [row, column] = [Math.floor(tile / this.columns), tile % this.columns];
    return { row, column, x: this.x(column), y: this.y(row) };
  }

  // ---- parts

  add(part) {
    this.parts.push({ tile: -1, ...part, place: this.parts.length });
  }

  cell(track, words, label, x, y, width, height, tile = -1) {
    this.add({ kind: "cell", track, words, label, x, y, width, height, tile, middle: [x + width / 2, y + height / 2] });
  }

  path(bus, track, words, points, middle = along(points)) {
    this.add({ kind: "path", bus, track, words, points, middle });
  }

  // ---- a tile

  tile(tile) {
    const { x, y } = this.corner(tile);
    this.boxes.push({ x, y, width: TILE_WIDTH, height: TILE_HEIGHT, tile });
    for (const [ending, label, left, top, width, height, detail] of CELLS) {
      const side = /^mesh_out_(.*)$/.exec(ending);
      if (detail > this.detail || (side && this.beside(tile, side[1]) < 0)) continue;
      this.cell(`chip.tile${tile}.${ending}`, `tile ${tile}, ${wordsOf(ending)}`, label, x + left, y + top, width, height, tile);
    }
    for (const [words, left, top, width, height, actions] of MEMORIES)
      this.add({ kind: "memory", track: null, actions, words: `tile ${tile}, ${words}`, x: x + left, y: y + top, width, height, tile, middle: [x + left + width / 2, y + top + height / 2] });
    if (this.detail === 2) this.texts.push([x + 43, y + 59, "narrow", "small"], [x + 43, y + 116, "wide", "small"]);
  }

  beside(tile, side) {
    const { row, column } = this.corner(tile);
    const [down, across] = SIDES[side];
    const [r, c] = [row + down, column + across];
    return r >= 0 && r < this.rows && c >= 0 && c < this.columns ? r * this.columns + c : -1;
  }

  mesh(tile) {
    const { x, y } = this.corner(tile);
    const from = { north: [x + 72, y, 0, -DOWN], south: [x + 52, y + TILE_HEIGHT, 0, DOWN], east: [x + TILE_WIDTH, y + 62, ACROSS, 0], west: [x, y + 84, -ACROSS, 0] };
    for (const side of Object.keys(SIDES)) {
      const to = this.beside(tile, side);
      if (to < 0) continue;
      const [x0, y0, across, down] = from[side];
      this.path("mesh", `chip.mesh.tile${tile}.${side}`, `mesh, tile ${tile} ${side} to tile ${to}`, [[x0, y0], [x0 + across, y0 + down]]);
    }
  }

  // ---- the ring

  // Where the stop of a node is.
  stop(node) {
    if (node === 0) return [BOX.left + BOX.width / 2, this.top - LANE];
    if (node === this.tiles + 1) return [this.x(0) + 80, this.strip];
    if (node === this.tiles + 2) return [BOX.left + BOX.width / 2, this.strip];
    const { x, y } = this.corner(node - 1);
    return [x + RING_AT, y - LANE];
  }

  ringLink(node) {
    const next = (node + 1) % this.nodes.length;
    const words = `ring, ${this.nodes[node]} to ${this.nodes[next]} (link ${node})`;
    this.path("ring", `chip.ring.link${node}`, words, this.ringPath(node));
  }

  ringPath(node) {
    const [from, to] = [this.stop(node), this.stop((node + 1) % this.nodes.length)];
    if (node === this.nodes.length - 1) return [from, [8, from[1]], [8, to[1]], to];
    if (from[1] === to[1]) return [from, to];
    const lane = this.corner(node - 1).y + TILE_HEIGHT + LANE + BACK + APART;
    const out = [from, [this.right, from[1]], [this.right, lane]];
    return lane === to[1] ? [...out, to] : [...out, [LEFT - 32, lane], [LEFT - 32, to[1]], to];
  }

  // ---- the instruction bus

  busAt(stop) {
    if (stop === this.tiles) return [this.x(0) + 126, this.strip + LANE];
    const { x, y } = this.corner(stop);
    return [x + BUS_AT, y + TILE_HEIGHT + LANE];
  }

  busStop(stop) {
    const words = stop === this.tiles ? "classifier" : `tile ${stop}`;
    this.path("instruction_bus", `chip.instruction_bus.stop${stop}`, `instruction bus, stop of ${words}`, this.busPath(stop), this.busAt(stop));
  }

  busPath(stop) {
    const to = this.busAt(stop);
    if (stop === 0) return [[BOX.left + BOX.width, this.top + 62], [LEFT - 16, this.top + 62], [LEFT - 16, to[1]], to];
    const from = this.busAt(stop - 1);
    if (from[1] === to[1]) return [from, to];
    const edge = this.right - 12;
    const out = [from, [edge, from[1]], [edge, from[1] + BACK]];
    return stop === this.tiles ? [...out, [to[0], from[1] + BACK], to] : [...out, [LEFT - 16, from[1] + BACK], [LEFT - 16, to[1]], to];
  }

  // ---- controller, classifier, host

  around() {
    const { left, width } = BOX;
    const host = this.top + 118;
    const strip = this.strip + LANE;
    this.boxes.push({ x: left, y: this.top, width, height: 84, words: "controller" }, { x: left, y: host, width, height: 32, words: "host" });
    this.cell("chip.infeed", "infeed: the ring's source", "infeed", left + 6, this.top + 22, width - 12, 24);
    this.cell("chip.controller", "controller, which issues instructions", "instructions", left + 6, this.top + 52, width - 12, 26);
    this.cell("chip.outfeed", "outfeed: the ring's sink", "outfeed", left, strip, width, 32);
    this.cell("chip.classifier", "classifier", "classifier", this.x(0) + 20, strip, 120, 32);
    this.path("host", "chip.host.infeed", "host to chip", [[left + 30, host], [left + 30, this.top + 84]]);
    this.path("host", "chip.host.outfeed", "chip to host", [[left + 30, strip], [left + 30, host + 32]]);
  }
}

// The middle of the first stretch of a path that is the longest.
function along(points) {
  let [best, middle] = [-1, points[0]];
  for (let k = 1; k < points.length; k++) {
    const [[x0, y0], [x1, y1]] = [points[k - 1], points[k]];
    const length = Math.abs(x1 - x0) + Math.abs(y1 - y0);
    if (length > best) [best, middle] = [length, [(x0 + x1) / 2, (y0 + y1) / 2]];
  }
  return middle;
}

function wordsOf(ending) {
  return { mac_array: "MAC array", tensor: "tensor control" }[ending] || ending.replace(/_/g, " ");
}

// The part that is nearest in a direction, [across, down]; the same one if there is none.
function nearest(parts, from, [across, down]) {
  let [best, found] = [Infinity, from];
  for (const part of parts) {
    const [x, y] = [part.middle[0] - from.middle[0], part.middle[1] - from.middle[1]];
    const ahead = x * across + y * down;
    const aside = Math.abs(x * down) + Math.abs(y * across);
    if (ahead > 1 && ahead + 3 * aside < best) [best, found] = [ahead + 3 * aside, part];
  }
  return found;
}
