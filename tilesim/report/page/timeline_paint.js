// Pixels: rows of shares, and over them what only shows when one looks closely.

const ROW = 15; // CSS pixels from row to row
const BAR = 12; // of them coloured
const LANE = 15;
const RULER = 24;
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
    const named = (name) => channels(tilesim.colour(name));
    this.background = named("bg");
    this.idle = named("idle");
    this.kinds = kinds.map(({ kind }) => named(kind));
    this.dim = this.kinds.map((colour) => mixed(colour, this.background, 0.5));
    this.ink = this.kinds.map(inkOn);
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

  // Draw the rows that show at a scroll position.
  paint(rows, view, scroll, search) {
    this.pixels.fill(packed(this.palette.background));
    const first = Math.max(0, Math.floor(scroll / ROW));
    const last = Math.min(rows.length, Math.ceil((scroll + this.down / this.ratio) / ROW));
    for (let k = first; k < last; k++) this.row(rows[k], view, k * ROW - scroll, search);
    this.context.putImageData(this.image, 0, -this.margin);
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    for (let k = first; k < last; k++) if (!rows[k].isGroup) this.close(rows[k], view, k * ROW - scroll);
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    return last - first;
  }

  row(row, view, y, search) {
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
      shares(series, view.from, per, this.shares[kind], this.across, 1 / row.tracks.length);
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
    const { spans } = row;
    const [track] = row.tracks;
    const scale = this.across / this.ratio / view.width;
    if (spans.within(track, view.from, view.to) > MOST_TEXTS) return;
    this.context.font = "10px ui-monospace, 'DejaVu Sans Mono', monospace";
    this.context.textBaseline = "middle";
    row.series.forEach((series, kind) => {
      for (let i = Math.max(series.a, seek(series, series.a - 1, view.from)); i < series.b && series.starts[i] < view.to; i++) this.name(spans, i, kind, view, scale, y);
    });
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

// Lanes of layers, and the ruler of cycles below them.
class Header {
  constructor(canvas, lanes) {
    Object.assign(this, { canvas, context: canvas.getContext("2d"), lanes: stackedLanes(lanes) });
    this.depth = Math.max(0, ...this.lanes.map(({ lane }) => lane + 1));
    this.height = this.depth * LANE + RULER;
  }

  paint(view, palette, width, ratio, cursor) {
    const context = this.context;
    Object.assign(this.canvas, { width: Math.round(width * ratio), height: Math.round(this.height * ratio) });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.textBaseline = "middle";
    const scale = width / view.width;
    for (const lane of this.lanes) this.lane(lane, view, palette, scale, width);
    this.ruler(view, palette, scale, width);
    if (cursor !== null) this.cursor(cursor, view, palette, scale, width);
  }

  lane({ number, name, start, cycles, lane }, view, palette, scale, width) {
    const [left, right] = [Math.max(-2, (start - view.from) * scale), Math.min(width + 2, (start + cycles - view.from) * scale)];
    if (right < 0 || left > width) return;
    const y = lane * LANE + 1;
    this.context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    this.context.fillStyle = palette.raised;
    this.context.strokeStyle = palette.line;
    this.context.fillRect(left, y, Math.max(1, right - left), LANE - 3);
    this.context.strokeRect(left + 0.5, y + 0.5, Math.max(1, right - left - 1), LANE - 4);
    this.context.fillStyle = palette.fg;
    const shown = shortened(this.context, number, name, right - Math.max(left, 0) - 6);
    if (shown) this.context.fillText(shown, Math.max(left, 0) + 3, y + (LANE - 2) / 2);
  }

  ruler(view, palette, scale, width) {
    const context = this.context;
    const y = this.depth * LANE + RULER;
    const step = Math.max(1, niceStep(view.width / (width / 110)));
    context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    context.textAlign = "center";
    context.fillStyle = palette.muted;
    for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
      const [x, words] = [(t - view.from) * scale, tilesim.number(t)];
      const half = context.measureText(words).width / 2;
      context.fillRect(Math.round(x), y - 5, 1, 5);
      context.fillText(words, Math.min(Math.max(x, half), width - half), y - 13);
    }
    context.fillRect(0, y - 1, width, 1);
    context.textAlign = "left";
  }

  cursor(cycle, view, palette, scale, width) {
    const context = this.context;
    const [x, words] = [(cycle - view.from) * scale, tilesim.number(Math.floor(cycle))];
    const half = context.measureText(words).width / 2 + 4;
    const left = Math.min(Math.max(x - half, 0), width - 2 * half);
    const y = this.depth * LANE + 2;
    context.fillStyle = palette.accent;
    context.fillRect(left, y, 2 * half, 17);
    context.fillStyle = palette.paper;
    context.fillText(words, left + 4, y + 9);
  }

  at(view, x, y, width) {
    const t = view.from + (x / width) * view.width;
    return this.lanes.find((lane) => lane.lane === Math.floor(y / LANE) && lane.start <= t && t < lane.start + lane.cycles);
  }
}

// Each in the first lane that is free again.
function stackedLanes(items) {
  const ends = [];
  return [...items].sort((a, b) => a.start - b.start).map((item) => {
    const free = ends.findIndex((end) => end <= item.start);
    const lane = free >= 0 ? free : ends.length;
    ends[lane] = item.start + item.cycles;
    return { ...item, lane };
  });
}

// A number and a name, or as much of the name's end as there is room for: its beginning it shares with others.
function shortened(context, number, name, width) {
  const fits = (text) => context.measureText(text).width <= width;
  if (fits(`${number} ${name}`)) return `${number} ${name}`;
  const most = Math.floor((name.length * width) / context.measureText(`${number} \u2026${name}`).width);
  for (let length = Math.min(most + 2, name.length - 1); length > 3; length--) {
    const text = `${number} \u2026${name.slice(-length)}`;
    if (fits(text)) return text;
  }
  return fits(number) ? number : "";
}

// 1, 2 or 5 times a power of ten, at least so much.
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * 0.999);
}
