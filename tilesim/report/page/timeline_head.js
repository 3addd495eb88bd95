// What stands above the rows: lanes of layers, marks of findings, and the ruler of cycles.

const LANE = 15;
const STRIP = 13; // of findings
const RULER = 24;
const SANS = "11px system-ui, 'DejaVu Sans', sans-serif";

class Header {
  constructor(canvas, lanes, findings) {
    Object.assign(this, { canvas, context: canvas.getContext("2d"), findings });
    this.lanes = stackedRuns(lanes);
    this.depth = Math.max(0, ...this.lanes.map(({ lane }) => lane + 1));
    this.strip = findings.length ? STRIP : 0;
    this.height = this.depth * LANE + this.strip + RULER;
  }

  // The cursor is a cycle or null, the range two of them or null; picked is the number of a finding, or -1.
  paint(view, palette, width, ratio, { cursor, range, picked }) {
    const context = this.context;
    Object.assign(this.canvas, { width: Math.round(width * ratio), height: Math.round(this.height * ratio) });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.textBaseline = "middle";
    const x = (cycle) => ((cycle - view.from) / view.width) * width;
    if (range) this.range(range, palette, x);
    for (const lane of this.lanes) this.lane(lane, palette, x, width);
    this.marks(view, palette, x, picked);
    this.ruler(view, palette, x, width);
    if (range) this.flag(duration(range.to - range.from), (x(range.from) + x(range.to)) / 2, palette.fg, palette, width);
    if (cursor !== null) this.flag(moment(Math.floor(cursor)), x(cursor), palette.accent, palette, width);
  }

  range({ from, to }, palette, x) {
    const [context, y] = [this.context, this.height - RULER];
    context.globalAlpha = 0.22;
    context.fillStyle = palette.accent;
    context.fillRect(x(from), y, Math.max(1, x(to) - x(from)), RULER);
    context.globalAlpha = 1;
  }

  lane({ number, name, kind, start, cycles, lane }, palette, x, width) {
    const [left, right] = [Math.max(-2, x(start)), Math.min(width + 2, x(start + cycles))];
    if (right < 0 || left > width) return;
    const y = lane * LANE + 1;
    this.context.font = SANS;
    this.context.fillStyle = palette.raised;
    this.context.strokeStyle = palette.line;
    this.context.fillRect(left, y, Math.max(1, right - left), LANE - 3);
    this.context.strokeRect(left + 0.5, y + 0.5, Math.max(1, right - left - 1), LANE - 4);
    this.context.fillStyle = palette.fg;
    const shown = shortened(this.context, number, name, kind, right - Math.max(left, 0) - 6);
    if (shown) this.context.fillText(shown, Math.max(left, 0) + 3, y + (LANE - 2) / 2);
  }

  // A diamond a finding, in its masters' colours; those that would cover another are left out, but not the picked one.
  marks(view, palette, x, picked) {
    const y = this.depth * LANE + STRIP / 2;
    let last = -Infinity;
    this.findings.forEach((finding, k) => {
      const at = x(finding.cycle + 0.5);
      if (finding.cycle < view.from - 1 || finding.cycle > view.to || (at - last < 4 && k !== picked)) return;
      last = at;
      diamond(this.context, at, y, k === picked ? 6.5 : 5, coloursOf(finding, palette), palette);
    });
  }

  ruler(view, palette, x, width) {
    const [context, y] = [this.context, this.height];
    const step = niceStep(view.width / (width / 110));
    context.font = SANS;
    context.textAlign = "center";
    context.fillStyle = palette.muted;
    for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
      const words = moment(t);
      const half = context.measureText(words).width / 2;
      context.fillRect(Math.round(x(t)), y - 5, 1, 5);
      context.fillText(words, Math.min(Math.max(x(t), half), width - half), y - 13);
    }
    context.fillRect(0, y - 1, width, 1);
    context.textAlign = "left";
  }

  // Words on the ruler, around x.
  flag(words, x, colour, palette, width) {
    const context = this.context;
    const half = context.measureText(words).width / 2 + 4;
    const left = Math.min(Math.max(x - half, 0), width - 2 * half);
    context.fillStyle = colour;
    context.fillRect(left, this.height - RULER + 2, 2 * half, 17);
    context.fillStyle = palette.paper;
    context.fillText(words, left + 4, this.height - RULER + 11);
  }

  isRuler(y) {
    return y >= this.height - RULER;
  }

  laneAt(view, x, y, width) {
    const t = view.from + (x / width) * view.width;
    return this.lanes.find((lane) => lane.lane === Math.floor(y / LANE) && lane.start <= t && t < lane.start + lane.cycles);
  }

  // The number of the finding nearest to a place, -1 if none is near.
  findingAt(view, x, y, width) {
    if (!this.strip || y < this.depth * LANE || y >= this.depth * LANE + STRIP) return -1;
    const miss = this.findings.map(({ cycle }) => Math.abs(((cycle + 0.5 - view.from) / view.width) * width - x));
    const nearest = miss.indexOf(Math.min(...miss));
    return miss[nearest] < 7 ? nearest : -1;
  }
}

function coloursOf({ hues }, palette) {
  const known = hues.filter((hue) => hue >= 0).map((hue) => palette.masters[hue]);
  return known.length ? known : [palette.accent];
}

// Its left half in the first colour, its right half in the last; an edge, and a rim that sets it off from what it is on.
function diamond(context, x, y, size, colours, palette) {
  const half = (side, colour) => {
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(x, y - size);
    context.lineTo(x + side * size, y);
    context.lineTo(x, y + size);
    context.fill();
  };
  const around = (colour, width) => {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    for (const [right, down] of [[0, -size], [size, 0], [0, size], [-size, 0]]) context.lineTo(x + right, y + down);
    context.closePath();
    context.stroke();
  };
  around(palette.paper, 4);
  half(-1, colours[0]);
  half(1, colours[colours.length - 1]);
  around(palette.fg, 1);
}

// The lanes of each run below those of the run before.
function stackedRuns(items) {
  let depth = 0;
  return [...new Set(items.map(({ run }) => run))].flatMap((run) => {
    const lanes = stackedLanes(items.filter((item) => item.run === run)).map((item) => ({ ...item, lane: item.lane + depth }));
    depth = Math.max(depth, ...lanes.map(({ lane }) => lane + 1));
    return lanes;
  });
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

const LEAST_NAME = 6; // letters of a name's end, for it to say anything

// What there is room for: a number and a name; or the name's end, as its beginning it shares with others, from a new word
// on if one begins there; or the kind of layer; or the number.
function shortened(context, number, name, kind, width) {
  const fits = (text) => context.measureText(text).width <= width;
  if (fits(`${number} ${name}`)) return `${number} ${name}`;
  const most = Math.floor((name.length * width) / context.measureText(`${number} \u2026${name}`).width);
  for (let length = Math.min(most + 2, name.length - 1); length >= LEAST_NAME; length--) {
    const end = name.slice(-length);
    const word = end.slice(end.search(/[/_.:-]/) + 1);
    const shown = `${number} \u2026${word.length >= Math.max(LEAST_NAME, length - 4) ? word : end}`;
    if (fits(shown)) return shown;
  }
  return [`${number} ${kind}`, number].find((text) => text.trim() === text && fits(text)) || "";
}
