// The whole run above the picture: its layers, how many of the clocks multiply, and the window, which can be dragged.

const STRIP = { height: 46, bar: 20 };

class Strip {
  constructor(words, view, go) {
    Object.assign(this, { words, view, go });
    this.canvas = tilesim.element("canvas", { class: "rot-strip", "aria-hidden": "true", height: STRIP.height });
    this.canvas.addEventListener("pointerdown", (event) => this.drag(event));
  }

  clockAt(event) {
    const { left, width } = this.canvas.getBoundingClientRect();
    return ((event.clientX - left) / width) * this.words.data.clocks;
  }

  drag(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    const move = (now) => this.go(this.clockAt(now) - this.view.span / 2);
    const drop = () => {
      this.canvas.removeEventListener("pointermove", move);
      this.canvas.removeEventListener("pointerup", drop);
      this.canvas.removeEventListener("pointercancel", drop);
    };
    move(event);
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", drop);
    this.canvas.addEventListener("pointercancel", drop);
  }

  // Of each pixel, the share of its clocks in which units work.
  shares(pixels) {
    if (this.known?.length === pixels) return this.known;
    const { words } = this;
    const scale = pixels / words.data.clocks;
    const sums = new Float64Array(pixels + 1);
    for (let k = 0; k < words.count; k++) {
      if (!words.ops[words.op[k]].work) continue;
      let [from, to] = [words.start[k] * scale, (words.start[k] + words.slots[k]) * scale];
      to = Math.min(to, pixels);
      for (let pixel = Math.floor(from); pixel < to; pixel++) sums[pixel] += Math.min(to, pixel + 1) - Math.max(from, pixel);
    }
    this.known = sums.subarray(0, pixels);
    return this.known;
  }

  layers() {
    if (this.lanes) return this.lanes;
    const starts = [...this.words.layerClocks()].sort((one, other) => one[1] - other[1]);
    this.lanes = starts.map(([layer, from], k) => ({ layer, from, to: starts[k + 1]?.[1] ?? this.words.data.clocks }));
    return this.lanes;
  }

  paint(palette, ratio) {
    const width = this.canvas.clientWidth;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(STRIP.height * ratio);
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    this.lanesOf(context, palette, width);
    this.worked(context, width);
    const { from, to } = this.view;
    const [x, wide] = [(from / this.words.data.clocks) * width, Math.max(2, ((to - from) / this.words.data.clocks) * width)];
    context.strokeStyle = palette.accent;
    context.lineWidth = 2;
    context.strokeRect(Math.min(x, width - wide) + 1, 1, Math.max(1, wide - 2), STRIP.height - 2);
  }

  lanesOf(context, palette, width) {
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    context.textBaseline = "middle";
    const scale = width / this.words.data.clocks;
    context.fillStyle = tilesim.colour("raised");
    context.fillRect(0, 3, width, STRIP.height - 6);
    this.layers().forEach(({ layer, from, to }, k) => {
      const [x, wide] = [from * scale, (to - from) * scale];
      context.fillStyle = tilesim.colour(k % 2 ? "raised" : "idle");
      context.fillRect(x, 3, wide, STRIP.height - 6);
      context.fillStyle = palette.muted;
      const name = `${layer} ${this.words.data.layers[layer] ?? ""}`;
      const text = [name, String(layer)].find((words) => context.measureText(words).width + 8 < wide);
      if (text) context.fillText(text, x + 4, 13);
    });
  }

  worked(context, width) {
    const shares = this.shares(Math.max(1, Math.round(width)));
    context.fillStyle = tilesim.colour("busy");
    shares.forEach((share, x) => share > 0 && context.fillRect(x, STRIP.height - 4 - share * STRIP.bar, 1, share * STRIP.bar));
  }
}
