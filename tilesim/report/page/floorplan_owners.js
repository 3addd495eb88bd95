// Who makes which rows and columns, or channels, of a layer's map, and the bytes of its input that come over the mesh.

const MAP = { width: 300, tallest: 300, least: 46 };

// A tile's own tint: its row of the grid by hue, its column by strength. Numbers stand beside it wherever there is room.
function tint({ rows, columns }, tile) {
  const [row, column] = [Math.floor(tile / columns), tile % columns];
  const strength = 26 + (34 * column) / Math.max(1, columns - 1);
  return `color-mix(in srgb, hsl(${Math.round(35 + (290 * row) / rows)} 60% 52%) ${strength.toFixed(0)}%, var(--bg))`;
}

// The parts of a layer's map that tiles make: [{tile, rows, columns, channels}], each [from, to].
function slicesOf(layer, plan) {
  const { extent: [height, width, channels], rows, columns, block, order } = layer.map;
  const across = order.length ? columns.length - 1 : plan.columns;
  const found = [];
  for (let tile = 0; tile < plan.rows * plan.columns; tile++) {
    const place = order.length ? order.indexOf(tile) : tile;
    const [i, j] = [Math.floor(place / across), place % across];
    const part = block
      ? { tile, rows: [0, height], columns: [0, width], channels: [Math.min(channels, tile * block), Math.min(channels, (tile + 1) * block)] }
      : { tile, rows: [rows[i], rows[i + 1]], columns: [columns[j], columns[j + 1]], channels: [0, channels] };
    if ([part.rows, part.columns, part.channels].every(([from, to]) => to > from)) found.push(part);
  }
  return found;
}

const rangeWords = ([from, to]) => (to - from === 1 ? String(from) : `${from}\u2013${to - 1}`);
const axisWords = (name, [from, to], size) => (to - from === size ? `all ${name}s` : `${name}${to - from === 1 ? "" : "s"} ${rangeWords([from, to])}`);

const nameOf = ({ network, short }) => (network ? `${network}: ${short}` : short);

function sliceWords(layer, part) {
  const [height, width, channels] = layer.map.extent;
  return [axisWords("row", part.rows, height), axisWords("column", part.columns, width), axisWords("channel", part.channels, channels)].join(", ");
}

class Owners {
  constructor(floorplan) {
    const { data, places, picture, numbers } = floorplan;
    Object.assign(this, { floorplan, data, places, picture, layer: null });
    this.sent = this.linkBytes(numbers.recorded, places);
    this.plates = tilesim.svg("g", { class: "plates" });
    picture.over.append(this.plates);
    this.build();
  }

  // Bytes of each mesh link by layer, if the trace has the run's layers.
  linkBytes(recorded, places) {
    const names = recorded?.layers;
    const known = names && this.data.layers.every(({ place, short }) => names[place] === short);
    return known ? recorded.bytesByLayer(places.parts.filter(({ bus }) => bus === "mesh").map(({ track }) => track)) : null;
  }

  // What a tile has got and sent over the mesh for a layer.
  halo(tile, layer) {
    const of = (track) => this.sent?.get(track)?.get(layer.place) || 0;
    let [received, sent] = [0, 0];
    for (const side of Object.keys(SIDES)) {
      const other = this.places.beside(tile, side);
      if (other < 0) continue;
      received += of(`chip.mesh.tile${other}.${OPPOSITE[side]}`);
      sent += of(`chip.mesh.tile${tile}.${side}`);
    }
    return { received, sent };
  }

  // ---- elements

  build() {
    const { element } = tilesim;
    const options = this.data.layers.filter(({ map }) => map).map((layer) => element("option", { value: layer.place }, `${layer.place}: ${nameOf(layer)} (${layer.kind})`));
    this.chooser = element("select", { id: "floorplan-layer", "aria-label": "layer whose map is shown", change: () => this.choose(this.chooser.value) }, element("option", { value: "" }, "no layer"), ...options);
    this.shown = element("div", {});
    const place = element("div", {}, element("h3", {}, "Who makes what of a layer"));
    this.floorplan.beside.append(place);
    if (this.data.unmapped) place.append(element("p", { class: "muted unmapped" }, this.data.unmapped));
    else place.append(this.chooser, this.shown);
  }

  choose(value) {
    this.layer = value === "" ? null : this.data.layers.find(({ place }) => place === Number(value));
    this.plates.replaceChildren();
    this.shown.replaceChildren();
    this.picture.root.classList.toggle("owned", Boolean(this.layer));
    if (this.layer) this.draw(this.layer);
  }

  draw(layer) {
    const slices = slicesOf(layer, this.places);
    const mine = new Set(slices.map(({ tile }) => tile));
    for (const part of slices) this.plate(layer, part);
    for (let tile = 0; tile < this.places.tiles; tile++) if (!mine.has(tile)) this.veil(tile);
    this.shown.append(this.about(layer, slices), this.map(layer, slices), this.table(layer, slices));
  }

  about(layer, slices) {
    const { element } = tilesim;
    const [height, width, channels] = layer.map.extent;
    const bands = layer.bands > 1 ? ` It is made in ${layer.bands} bands of rows, one after the other; what a band needs beyond a tile's own rows, the tile makes itself.` : "";
    return element("p", {}, `${height} \u00d7 ${width} \u00d7 ${channels} (rows, columns, channels), spread ${layer.spread === "channel" ? "by channel" : "over the grid"} (${layer.reason}); ${tilesim.number(slices.length)} of ${tilesim.number(this.places.tiles)} tiles make some of it.${bands} ${this.haloWords(layer)}`);
  }

  haloWords(layer) {
    if (!this.sent) return `Over the mesh came ${tilesim.bytes(layer.mesh)} of its input; to which tile, only a trace tells.`;
    const found = [...this.sent.values()].reduce((sum, of) => sum + (of.get(layer.place) || 0), 0);
    const lacks = found === layer.mesh ? "" : `, of which the trace has ${tilesim.bytes(found)}`;
    return layer.mesh ? `Halo: ${tilesim.number(layer.mesh)} bytes of its input came over the mesh${lacks}.` : "Nothing came over the mesh for it.";
  }

  // ---- on the tiles

  plate(layer, part) {
    const { svg } = tilesim;
    const { x, y } = this.places.corner(part.tile);
    const { detail } = this.places;
    const fill = tint(this.places, part.tile);
    const [left, top, width, height] = detail ? [78, 32, 114, 98] : [4, 4, TILE_WIDTH - 8, TILE_HEIGHT - 8];
    this.plates.append(svg("rect", { class: "plate", x: x + left, y: y + top, width, height, rx: 3, style: `fill: ${fill}`, "data-tile": part.tile }));
    const lines = detail === 2 ? this.linesOf(layer, part) : detail === 1 ? this.shortLines(layer, part) : [];
    const step = detail === 2 ? 18 : 34;
    const first = y + top + height / 2 - (step * (lines.length - 1)) / 2 + 5;
    lines.forEach((words, k) => this.plates.append(svg("text", { class: "owner", x: x + left + width / 2, y: first + k * step }, words)));
  }

  linesOf(layer, part) {
    const { received, sent } = this.halo(part.tile, layer);
    const [height, width, channels] = layer.map.extent;
    const axes = layer.map.block ? [axisWords("channel", part.channels, channels)] : [axisWords("row", part.rows, height), axisWords("column", part.columns, width)];
    return [...axes, ...(this.sent && layer.mesh ? [`in ${tilesim.bytes(received)}`, `out ${tilesim.bytes(sent)}`] : [])];
  }

  shortLines(layer, part) {
    return layer.map.block ? [rangeWords(part.channels)] : [rangeWords(part.rows), rangeWords(part.columns)];
  }

  veil(tile) {
    const { x, y } = this.places.corner(tile);
    this.plates.append(tilesim.svg("rect", { class: "veil", x, y, width: TILE_WIDTH, height: TILE_HEIGHT, rx: 5 }));
  }

  // ---- the map

  map(layer, slices) {
    const { svg } = tilesim;
    const [height, width, channels] = layer.map.extent;
    const { block } = layer.map;
    const [down, across] = block ? [1, channels] : [height, width];
    const tall = block ? MAP.least : Math.max(MAP.least, Math.min(MAP.tallest, (MAP.width * down) / across));
    const wide = block ? MAP.width : Math.max(MAP.least, Math.min(MAP.width, (tall * across) / down));
    const frame = svg("svg", { class: "map", viewBox: `-1 -1 ${wide + 2} ${tall + 2}`, width: wide + 2, height: tall + 2, role: "img", "aria-label": `map of ${nameOf(layer)}: ${slices.length} parts, listed in the table below` });
    for (const part of slices) frame.append(...this.slice(layer, part, wide / across, tall / down, block ? [[0, 1], part.channels] : [part.rows, part.columns]));
    return tilesim.element("figure", {}, frame, tilesim.element("figcaption", { class: "muted" }, block ? `channels 0 to ${channels - 1}, by the tile that makes them` : `${height} rows down, ${width} columns across, by the tile that makes them`));
  }

  slice(layer, part, across, down, [[y0, y1], [x0, x1]]) {
    const { svg } = tilesim;
    const [x, y, width, height] = [x0 * across, y0 * down, (x1 - x0) * across, (y1 - y0) * down];
    const rect = svg("rect", { class: "slice", x, y, width, height, style: `fill: ${tint(this.places, part.tile)}`, "data-tile": part.tile, click: () => this.goTo(part.tile) });
    tilesim.tip(rect, () => [`tile ${part.tile}`, ...this.wordsOf(part.tile)].map((words) => tilesim.element("div", {}, words)));
    const room = Math.min(height, width / (0.62 * String(part.tile).length));
    return [rect, ...(room >= 9 ? [svg("text", { x: x + width / 2, y: y + height / 2 + 4, class: "owner" }, part.tile)] : [])];
  }

  // What a tile makes of the layer that is shown, for the tips of its parts.
  wordsOf(tile) {
    const part = this.layer && slicesOf(this.layer, this.places).find((each) => each.tile === tile);
    if (!part) return [];
    const { received, sent } = this.halo(tile, this.layer);
    return [`of ${nameOf(this.layer)}: ${sliceWords(this.layer, part)}`, ...(this.sent ? [`halo: ${tilesim.number(received)} bytes received, ${tilesim.number(sent)} sent`] : [])];
  }

  goTo(tile) {
    this.picture.focus(this.places.parts.find((part) => part.tile === tile && part.label === "MAC array"));
  }

  // ---- the same in numbers

  table(layer, slices) {
    const { element } = tilesim;
    const fill = () => {
      if (!folded.open || folded.querySelector("table")) return;
      const heads = ["tile", "rows", "columns", "channels", ...(this.sent ? ["received, bytes", "sent, bytes"] : [])];
      const rows = slices.map((part) => {
        const { received, sent } = this.halo(part.tile, layer);
        const cells = [part.tile, ...[part.rows, part.columns, part.channels].map(rangeWords), ...(this.sent ? [received, sent].map(tilesim.number) : [])];
        return element("tr", { "data-tile": part.tile }, ...cells.map((cell) => element("td", { class: "number" }, cell)));
      });
      folded.append(element("div", { class: "rows" }, element("table", {}, element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col", class: "number" }, head)))), element("tbody", {}, ...rows))));
    };
    const folded = element("details", { toggle: fill }, element("summary", {}, "Tile by tile"));
    return folded;
  }
}

function owners(floorplan) {
  floorplan.owners = new Owners(floorplan);
}
