// Pixels: rows of shares, and over them what only shows when one looks closely.

const ROW = 15; // CSS pixels from row to row
const BAR = 12; // of them coloured
const MASTERS = 12; // colours of them
const OPAQUE = 255 << 24;
const LEAST_TEXT = 30; // CSS pixels that a span must have for its instruction's name
const MOST_TEXTS = 1000; // spans of a row that are looked at for names

// "#rrggbb" or "rgb(...)" as three numbers.
function channels(colour) {
  const context = (channels.context ||= document.createElement("canvas").getContext("2d"));
  context.fillStyle = colour;
  const hex = context.fillStyle;
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function packed([r, g, b]) {
  return OPAQUE | (b << 16) | (g << 8) | r;
}

function mixed(a, b, share) {
  return a.map((value, k) => Math.round(value * (1 - share) + b[k] * share));
}

// What one can read on a colour.
function inkOn([r, g, b]) {
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#15181c" : "#ffffff";
}

class Palette {
  constructor(kinds) {
    this.masters = [...Array(MASTERS).keys()].map((k) => tilesim.colour(`master:${k}`));
    const named = (name) => channels(tilesim.colour(name));
    this.background = named("bg");
    this.idle = named("idle");
    this.kinds = kinds.map(({ kind }) => named(kind));
    this.dim = this.kinds.map((colour) => mixed(colour, this.background, 0.5));
    this.ink = this.kinds.map(inkOn);
    this.empty = tilesim.colour("idle");
    this.used = tilesim.colour("busy");
    for (const name of ["fg", "muted", "line", "accent", "bg", "raised"]) this[name === "bg" ? "paper" : name] = tilesim.colour(name);
  }
}

class Painter {
  constructor(canvas, kinds) {
    Object.assign(this, { canvas, kinds, context: canvas.getContext("2d", { alpha: false }) });
    this.recolour();
  }

  recolour() {
    this.palette = new Palette(this.kinds);
  }

  resize(width, height, ratio) {
    const [across, down] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
    if (this.across === across && this.down === down && this.ratio === ratio) return;
    Object.assign(this, { across, down, ratio });
    Object.assign(this.canvas, { width: across, height: down });
    this.margin = Math.ceil(ROW * ratio); // rows that are cut at an edge are drawn whole
    this.image = new ImageData(across, down + 2 * this.margin);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.shares = this.kinds.map(() => new Float32Array(across));
    this.marks = new Float32Array(across);
  }

  // Draw the rows that show at a scroll position, below those that are pinned.
  paint(rows, pins, view, scroll, search) {
    this.pixels.fill(packed(this.palette.background));
    const band = pins.length * ROW;
    const first = Math.max(0, Math.floor(scroll / ROW));
    const last = Math.min(rows.length, Math.ceil((scroll + this.down / this.ratio - band) / ROW));
    const y = (k) => band + k * ROW - scroll;
    for (let k = first; k < last; k++) this.row(rows[k], view, y(k), search);
    if (band) this.pixels.fill(packed(this.palette.background), 0, (Math.round(band * this.ratio) + this.margin) * this.across);
    pins.forEach((row, k) => this.row(row, view, k * ROW, search));
    this.context.putImageData(this.image, 0, -this.margin);
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    for (let k = first; k < last; k++) if (y(k) > band - 2) this.close(rows[k], view, y(k));
    pins.forEach((row, k) => this.close(row, view, k * ROW));
    this.edge(view, band);
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    return last - first + pins.length;
  }

  row(row, view, y, search) {
    if (row.series === NONE) return;
    const per = view.width / this.across;
    const zero = Math.min(this.across, Math.max(0, Math.round(-view.from / per)));
    const [top, height] = [Math.round((y + 1) * this.ratio) + this.margin, Math.round(BAR * this.ratio)];
    if (top < 0 || top + height > this.down + 2 * this.margin) return;
    const idle = packed(this.palette.idle);
    for (let line = top; line < top + height; line++) this.pixels.fill(idle, line * this.across, (line + 1) * this.across);
    const kinds = this.kindsIn(row, view, per);
    this.stack(kinds, this.palette.dim, 0, zero, top, height);
    this.stack(kinds, this.palette.kinds, zero, this.across, top, height);
    if (search) this.mark(row.found(search), view, per, top);
  }

  // The kinds that a row has in the window, their shares filled in.
  kindsIn(row, view, per) {
    const found = [];
    row.series.forEach((series, kind) => {
      if (series.a === series.b || total(series, view.from, view.to) === 0) return;
      shares(series, view.from, per, this.shares[kind], this.across, 1);
      found.push(kind);
    });
    return found;
  }

  // Each column from the bottom up: a kind takes its share of the height; a pixel that two kinds share is mixed.
  stack(kinds, colours, from, to, top, height) {
    const { across, pixels } = this;
    const [ir, ig, ib] = this.palette.idle;
    const bottom = (top + height - 1) * across;
    const shown = kinds.map((kind) => ({ part: this.shares[kind], solid: packed(colours[kind]), r: colours[kind][0], g: colours[kind][1], b: colours[kind][2] }));
    for (let x = from; x < to; x++) {
      let at = bottom + x;
      let left = height;
      let covered = 0; // of the pixel at hand, with r, g and b
      let r = 0;
      let g = 0;
      let b = 0;
      for (let k = 0; k < shown.length; k++) {
        const kind = shown[k];
        let h = kind.part[x] * height;
        if (h < 0.001) continue;
        if (covered > 0) {
          const part = Math.min(h, 1 - covered);
          r += part * kind.r;
          g += part * kind.g;
          b += part * kind.b;
          covered += part;
          h -= part;
          if (covered < 0.9999 || left === 0) continue;
          pixels[at] = OPAQUE | (b << 16) | (g << 8) | r;
          at -= across;
          left--;
          covered = 0;
        }
        for (; h > 0.9999 && left > 0; h--, left--, at -= across) pixels[at] = kind.solid;
        if (h < 0.001) continue;
        r = h * kind.r;
        g = h * kind.g;
        b = h * kind.b;
        covered = h;
      }
      if (covered === 0 || left === 0) continue;
      const rest = Math.max(0, 1 - covered);
      pixels[at] = OPAQUE | ((b + rest * ib) << 16) | ((g + rest * ig) << 8) | (r + rest * ir);
    }
  }

  // A line over the columns in which a search has found something.
  mark(series, view, per, top) {
    if (series.a === series.b) return;
    shares(series, view.from, per, this.marks, this.across, 1);
    const accent = packed(channels(this.palette.accent));
    for (let line = top; line < top + Math.max(2, 3 * this.ratio); line++)
      for (let x = 0; x < this.across; x++) if (this.marks[x] > 0) this.pixels[line * this.across + x] = accent;
  }

  // What shows up close: where spans begin, and the names of instructions that have room.
  close(row, view, y) {
    const { spans, track } = row;
    const scale = this.across / this.ratio / view.width;
    if (track < 0 || spans.within(track, view.from, view.to) > MOST_TEXTS) return;
    this.context.font = "10px ui-monospace, 'DejaVu Sans Mono', monospace";
    this.context.textBaseline = "middle";
    row.series.forEach((series, kind) => {
      for (let i = Math.max(series.a, seek(series, series.a - 1, view.from)); i < series.b && series.starts[i] < view.to; i++) this.name(spans, i, kind, view, scale, y);
    });
  }

  // A line between the loading and the run, and one below what is pinned.
  edge(view, band) {
    const x = (-view.from / view.width) * (this.across / this.ratio);
    this.context.fillStyle = this.palette.muted;
    if (x > 0) this.context.fillRect(Math.round(x), 0, 1, this.down / this.ratio);
    if (band) this.context.fillRect(0, band - 1, this.across / this.ratio, 1);
  }

  name(spans, i, kind, view, scale, y) {
    const left = Math.max(0, (spans.starts[i] - view.from) * scale);
    const right = Math.min(this.across / this.ratio, (spans.endOf(i) - view.from) * scale);
    if (right - left < 5) return;
    this.context.fillStyle = this.palette.paper;
    if (spans.starts[i] > view.from) this.context.fillRect(Math.round(left * this.ratio) / this.ratio, y + 1, 1 / this.ratio, BAR);
    if (right - left < LEAST_TEXT) return;
    this.context.fillStyle = spans.starts[i] < 0 ? this.palette.fg : this.palette.ink[kind];
    this.context.fillText(fitting(this.context, spans.whats[spans.what[i]], right - left - 6), left + 3, y + 1.5 + BAR / 2);
  }
}

// As much of a text as there is room for.
function fitting(context, text, width) {
  const most = Math.floor(width / context.measureText("m").width); // of a monospaced font
  if (text.length <= most) return text;
  return most > 2 ? `${text.slice(0, most - 1)}\u2026` : "";
}
