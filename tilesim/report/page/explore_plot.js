// Points on two axes: scales, and pixels on a canvas.
const HEIGHT = 460;
const EDGE = { left: 84, right: 22, top: 14, bottom: 48 };
const NEAR = 16; // CSS pixels

function axis([low, high], from, to, isLogarithmic) {
  const f = isLogarithmic ? Math.log : (value) => value;
  const pad = 0.04 * (f(high) - f(low)) || Math.abs(f(high)) * 0.1 || 1;
  const [first, last] = [f(low) - pad, f(high) + pad];
  const place = (value) => from + ((f(value) - first) / (last - first)) * (to - from);
  const back = isLogarithmic ? Math.exp : (value) => value;
  return { place, ticks: isLogarithmic ? powers(back(first), back(last)) : rounds(first, last), isLogarithmic };
}

// Powers of ten, and where there are few, numbers between them.
function powers(low, high) {
  const between = (steps) => {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
      for (const step of steps) if (step * 10 ** power >= low && step * 10 ** power <= high) found.push(Number((step * 10 ** power).toPrecision(6)));
    return found;
  };
  return [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7]].map(between).find((ticks) => ticks.length >= 4) || rounds(low, high);
}

function rounds(low, high) {
  const raw = (high - low) / 6;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * size).find((each) => each >= raw);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(10)));
}

// What a tick says: sizes in the units of sizes.
const tickText = (measure, value) => (measure.unit === "B" ? tilesim.bytes(Math.round(value)) : number(value));

class Plot {
  constructor(canvas) {
    Object.assign(this, { canvas, context: canvas.getContext("2d") });
  }

  // Where each point is, on the axes of two measures.
  place(points, [across, up], wide) {
    this.width = this.canvas.clientWidth || 800;
    this.across = axis(range(points.map((k) => across.values[k])), EDGE.left, this.width - EDGE.right, wide[0]);
    this.up = axis(range(points.map((k) => up.values[k])), HEIGHT - EDGE.bottom, EDGE.top, wide[1]);
    this.points = points;
    this.places = points.map((k) => [this.across.place(across.values[k]), this.up.place(up.values[k])]);
  }

  // The point at a place, those of the front before others; -1: none.
  at(x, y, front) {
    let [best, nearest] = [-1, NEAR];
    this.places.forEach(([px, py], place) => {
      const away = Math.hypot(px - x, py - y) - (front.has(this.points[place]) ? 5 : 0);
      if (away < nearest) [best, nearest] = [this.points[place], away];
    });
    return best;
  }

  draw({ measures, front, colour, chosen, focused }) {
    const ratio = window.devicePixelRatio || 1;
    Object.assign(this.canvas, { width: Math.round(this.width * ratio), height: Math.round(HEIGHT * ratio) });
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.ink = Object.fromEntries(["fg", "bg", "muted", "line", "accent", "busy"].map((name) => [name, tilesim.colour(name)]));
    this.axes(measures);
    if (measures.length === 2) this.stairs(measures, front);
    this.dots(front, colour);
    for (const k of [chosen, focused]) this.ring(k);
  }

  axes([across, up]) {
    const { context, ink } = this;
    const [bottom, right] = [HEIGHT - EDGE.bottom, this.width - EDGE.right];
    Object.assign(context, { font: "12px system-ui, sans-serif", lineWidth: 1, textAlign: "center", textBaseline: "alphabetic" });
    let end = -Infinity;
    for (const value of this.across.ticks) {
      const [x, words] = [this.across.place(value), tickText(across, value)];
      this.line(ink.line, x, EDGE.top, x, bottom);
      const half = context.measureText(words).width / 2;
      if (x - half < end + 8 || x + half > this.width) continue;
      end = x + half;
      this.text(ink.muted, words, x, bottom + 17);
    }
    context.textAlign = "right";
    for (const value of this.up.ticks) {
      const y = this.up.place(value);
      this.line(ink.line, EDGE.left, y, right, y);
      this.text(ink.muted, tickText(up, value), EDGE.left - 8, y + 4);
    }
    context.textAlign = "center";
    this.text(ink.fg, axisWords(across), (EDGE.left + right) / 2, HEIGHT - 8);
    context.save();
    context.translate(14, (EDGE.top + bottom) / 2);
    context.rotate(-Math.PI / 2);
    this.text(ink.fg, axisWords(up), 0, 0);
    context.restore();
  }

  line(colour, x1, y1, x2, y2) {
    this.context.strokeStyle = colour;
    this.context.beginPath();
    this.context.moveTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
    this.context.lineTo(Math.round(x2) + 0.5, Math.round(y2) + 0.5);
    this.context.stroke();
  }

  text(colour, words, x, y) {
    this.context.fillStyle = colour;
    this.context.fillText(words, x, y);
  }

  // The border of what the front of two measures dominates.
  stairs([across], front) {
    const { context } = this;
    const corners = this.placed(front).sort((a, b) => a[0] - b[0]);
    Object.assign(context, { strokeStyle: this.ink.fg, lineWidth: 1.2 });
    context.beginPath();
    corners.forEach(([x, y], k) => {
      const [x0, y0] = corners[Math.max(0, k - 1)];
      context.lineTo(...(across.more_is_better ? [x0, y] : [x, y0]));
      context.lineTo(x, y);
    });
    context.stroke();
  }

  placed(chosen) {
    return this.places.filter((_, place) => chosen.has(this.points[place]));
  }

  // Dominated points small and faint, those of the front large and outlined over them.
  dots(front, colour) {
    const { context, ink } = this;
    const inFront = this.points.map((k) => front.has(k));
    context.globalAlpha = colour ? 0.85 : this.points.length > 2000 ? 0.3 : 0.55;
    Object.assign(context, { strokeStyle: ink.muted, lineWidth: 0.6 });
    this.places.forEach(([x, y], place) => {
      if (inFront[place]) return;
      this.dot(x, y, 2.6, colour ? colour(this.points[place]) : ink.muted);
      if (colour) context.stroke(); // the ends of the scale are like paper
    });
    context.globalAlpha = 1;
    Object.assign(context, { strokeStyle: ink.fg, lineWidth: 1.4 });
    this.places.forEach(([x, y], place) => {
      if (!inFront[place]) return;
      this.dot(x, y, front.size > 150 ? 3.2 : 4.6, colour ? colour(this.points[place]) : ink.busy);
      context.stroke();
    });
  }

  dot(x, y, radius, fill) {
    this.context.fillStyle = fill;
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
    this.context.fill();
  }

  ring(k) {
    const place = this.points.indexOf(k);
    if (place < 0) return;
    const [x, y] = this.places[place];
    Object.assign(this.context, { strokeStyle: this.ink.accent, lineWidth: 2.6 });
    this.context.beginPath();
    this.context.arc(x, y, 8.5, 0, 2 * Math.PI);
    this.context.stroke();
  }
}

const axisWords = (measure) => (measure.more_is_better ? `${titled(measure)}   better →` : `← better   ${titled(measure)}`);
