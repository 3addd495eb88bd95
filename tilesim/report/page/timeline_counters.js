// Counters above the rows: the share of MAC arrays in use, and what each bus carries a cycle. Every column of pixels has
// the exact mean of its cycles.

const COUNTER = 26; // CSS pixels from counter to counter
const CURVE = 21; // of them drawn

class Counters {
  constructor(spans, counters, canvas, labels) {
    Object.assign(this, { spans, counters, canvas, labels, context: canvas.getContext("2d"), hidden: false });
    for (const counter of counters) counter.series = seriesOf(spans, counter);
    const { element } = tilesim;
    labels.replaceChildren(...counters.map((counter) => {
      counter.most = element("span", { class: "busy" });
      return element("div", { class: "label", title: titleOf(counter) }, element("span", { class: "name" }, counter.title), counter.most);
    }));
  }

  get height() {
    return this.hidden ? 0 : this.counters.length * COUNTER;
  }

  paint(view, palette, width, ratio, cursor) {
    if (!this.height) return;
    const [across, down] = [Math.round(width * ratio), Math.round(this.height * ratio)];
    Object.assign(this.canvas, { width: across, height: down });
    if (this.values?.length !== across) this.values = new Float32Array(across);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.counters.forEach((counter, k) => this.curve(counter, view, palette, width, k * COUNTER + 2));
    if (cursor === null) return;
    this.context.fillStyle = palette.accent;
    this.context.fillRect(((cursor - view.from) / view.width) * width, 0, 1 / ratio, this.height);
  }

  curve(counter, view, palette, width, top) {
    const { context, values } = this;
    const per = view.width / values.length;
    shares(counter.series, view.from, per, values, values.length, counter.scale);
    const most = counter.unit ? values.reduce((a, b) => Math.max(a, b), 0) : 1;
    counter.shown = most;
    context.fillStyle = palette.empty;
    context.fillRect(0, top, width, CURVE);
    if (most === 0) return;
    const [step, up] = [width / values.length, CURVE / most];
    context.fillStyle = counter.unit ? palette.muted : palette.used;
    context.beginPath();
    context.moveTo(0, top + CURVE);
    for (let x = 0; x < values.length; x++) {
      const y = top + CURVE - values[x] * up;
      context.lineTo(x * step, y);
      context.lineTo((x + 1) * step, y);
    }
    context.lineTo(width, top + CURVE);
    context.fill();
  }

  // What the curves' tops stand for.
  label() {
    for (const counter of this.counters) counter.most.textContent = `\u2264 ${valueOf(counter, counter.shown ?? 0)}`;
  }

  // The mean of a counter in a window.
  mean(counter, from, to) {
    return (total(counter.series, from, to) / (to - from)) * counter.scale;
  }

  tipAt(y, from, to) {
    const counter = this.counters[Math.floor(y / COUNTER)];
    if (!counter) return null;
    const { element } = tilesim;
    const words = valueOf(counter, this.mean(counter, from, to));
    return [element("div", { class: "track" }, counter.title), element("div", {}, `${words}, ${window_(from, to)}`), element("div", { class: "muted" }, titleOf(counter))];
  }
}

// What each span weighs: the share of an array, or its bytes a cycle of its own clock.
function seriesOf(spans, counter) {
  const ranges = spans.busy < 0 ? [] : counter.tracks.map((track) => spans.series(track, spans.busy)).map(({ a, b }) => [a, b]);
  const factor = spans.factors ? spans.factors[counter.tracks[0]] : 1;
  counter.scale = counter.unit ? factor : 1 / counter.tracks.length;
  return spans.added(ranges, counter.unit ? (i) => spans.bytes[i] / spans.cycles[i] : () => 1);
}

function valueOf({ unit }, value) {
  return unit ? `${tilesim.number(Number(value.toPrecision(3)))} ${unit}` : tilesim.percent(value);
}

function titleOf({ unit, tracks }) {
  const links = counted(tracks.length, "link");
  return unit ? `bytes that its ${links} ${tracks.length === 1 ? "carries" : "carry"} a cycle, together; the highest mean of a pixel is the top` : `the share of the ${counted(tracks.length, "MAC array")} that is busy; the top is 100 %`;
}
