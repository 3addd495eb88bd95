// What stands around and over the cells: units and their blocks, clocks and slots, the cursor, a word's way.

const TOP = 38; // of the axis of units
const LEFT = { plain: 74, told: 128 };

// The ends of stretches of clocks, in a view, with the same blocks, and these.
function frames(words, view) {
  const found = [];
  for (let clock = view.from; clock < view.to; ) {
    const k = words.recordAt(clock);
    const frame = words.frame(k < 0 ? NO_WORK : words.state(k, clock));
    const end = Math.min(view.to, k + 1 < words.count ? words.start[k + 1] : view.to);
    const last = found[found.length - 1];
    if (last && same(last.frame, frame)) last.to = end;
    else found.push({ from: clock, to: end, frame });
    clock = Math.max(clock + 1, end);
  }
  return found;
}

const same = (one, other) => one === other || (one && other && one.offset === other.offset && one.block === other.block && one.blocks === other.blocks);

class Axes {
  constructor(words) {
    this.words = words;
  }

  paint(context, view, box, palette, clock) {
    this.rule(context, view, box, palette);
    this.units(context, box, palette, this.words.at(clock));
    this.clocks(context, view, box, palette);
  }

  // Lines between blocks.
  rule(context, view, box, palette) {
    const wide = box.width / this.words.units;
    context.fillStyle = palette.bg;
    for (const { from, to, frame } of frames(this.words, view)) {
      if (!frame || frame.block * wide < 7 || frame.block < 2) continue;
      const [y, height] = [box.y + (from - view.from) * view.row, (to - from) * view.row];
      const ruled = wide >= 12 ? 2 : 1;
      for (let k = 0; k * frame.block < this.words.units; k++) context.fillRect(box.x + ((frame.offset + k * frame.block) % this.words.units) * wide - ruled / 2, y, ruled, height);
    }
  }

  // Numbers of units, above them the blocks of the mask at a clock and the words of these that are written.
  units(context, box, palette, state) {
    const { words } = this;
    const wide = box.width / words.units;
    const base = box.y - 4;
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    context.textBaseline = "alphabetic";
    context.textAlign = "center";
    context.fillStyle = palette.muted;
    const step = wide >= 20 ? 1 : 2 ** Math.ceil(Math.log2(44 / wide));
    for (let unit = 0; unit < words.units; unit += step) context.fillText(unit, box.x + (unit + 0.5) * wide, base - 7);
    context.textAlign = "right";
    context.fillText("unit", box.x - 8, base - 7);
    context.fillStyle = palette.fg;
    for (let unit = 0; unit < words.units; unit++) if (words.named(state, unit)) context.fillRect(box.x + unit * wide, base - 4, Math.max(wide - (wide > 3 ? 1 : 0), 1), 4);
    const frame = words.frame(state);
    if (frame?.marked) this.mark(context, box, palette, box.x + frame.offset * wide, frame);
  }

  mark(context, box, palette, x, { offset, block, blocks }) {
    const y = box.y - 24;
    context.fillStyle = palette.accent;
    context.beginPath();
    context.moveTo(x, y + 4);
    context.lineTo(x - 4, y - 3);
    context.lineTo(x + 4, y - 3);
    context.fill();
    const text = `offset ${tilesim.number(offset)}: ${blocks === 1 ? "1 block" : `${tilesim.number(blocks)} blocks`} of ${tilesim.number(block)}`;
    const fits = x + 8 + context.measureText(text).width < box.x + box.width;
    context.textAlign = fits ? "left" : "right";
    context.fillText(text, fits ? x + 8 : x - 8, y + 3);
  }

  // The clocks, and where there is room what each is used for.
  clocks(context, view, box, palette) {
    const told = view.row >= 12;
    const step = told ? 1 : niceStep(26 / view.row);
    context.font = `${told ? Math.min(12, view.row - 2) : 11}px system-ui, "DejaVu Sans", sans-serif`;
    context.textBaseline = "middle";
    for (let clock = Math.ceil(view.from / step) * step; clock < view.to; clock += step) {
      const y = box.y + (clock - view.from + 0.5) * view.row + 0.5;
      context.textAlign = "right";
      context.fillStyle = palette.muted;
      context.fillText(tilesim.number(clock), box.x - (told ? 74 : 10), y);
      if (!told) context.fillRect(box.x - 6, Math.round(y), 5, 1);
      if (!told) continue;
      context.textAlign = "left";
      context.fillStyle = palette.fg;
      context.fillText(slotText(this.words.at(clock)), box.x - 66, y);
    }
    context.textAlign = "right";
    context.textBaseline = "alphabetic";
    context.fillStyle = palette.muted;
    context.fillText("clock", box.x - (told ? 74 : 10), box.y - (told ? 11 : 25));
  }
}

// 1, 2 or 5 times a power of ten, at least so much.
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * 0.999);
}

// ---- over the cells

class Marks {
  constructor(words) {
    this.words = words;
  }

  paint(context, view, box, palette, { clock, unit, picked }) {
    const wide = box.width / this.words.units;
    if (picked) this.way(context, view, box, palette, picked);
    if (clock < view.from || clock >= view.to) return;
    const [y, height] = [box.y + (clock - view.from) * view.row, Math.max(view.row, 1)];
    context.strokeStyle = palette.accent;
    context.lineWidth = 1.5;
    if (view.row >= 6) context.strokeRect(box.x - 1, y, box.width + 2, height);
    else context.strokeRect(box.x - 1, y + height / 2 - 0.5, box.width + 2, 1);
    context.fillStyle = palette.fg;
    context.strokeStyle = palette.fg;
    if (wide >= 6 && view.row >= 6) context.strokeRect(box.x + unit * wide, y, wide, height);
    else context.fillRect(box.x + (unit + 0.5) * wide - 2.5, y + height / 2 - 2.5, 5, 5);
  }

  // Where the picked word is in each clock: lines, new ones where it is loaded anew or goes round.
  way(context, view, box, palette, picked) {
    const wide = box.width / this.words.units;
    const boxed = wide >= 22 && view.row >= 12; // where words stand in cells, no line is drawn across them
    context.beginPath();
    let last = null;
    let k = this.words.recordAt(view.from);
    for (let clock = view.from; clock < view.to; clock++) {
      while (k + 1 < this.words.count && this.words.start[k + 1] <= clock) k++;
      const state = k < 0 ? NO_WORK : this.words.state(k, clock);
      const unit = state.row < 0 ? -1 : this.words.unitOf(state, picked);
      const fresh = state.active && state.op.loads;
      if (unit < 0) last = null;
      else if (boxed) context.rect(box.x + unit * wide + 1, box.y + (clock - view.from) * view.row + 1, wide - 2, view.row - 2);
      else last = this.segment(context, view, box, { unit, clock, wide }, fresh ? null : last);
    }
    context.lineJoin = "round";
    context.lineCap = "round";
    for (const [width, colour] of [[boxed ? 4 : 5, palette.bg], [2.2, palette.accent]]) {
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    }
  }

  segment(context, view, box, { unit, clock, wide }, last) {
    const x = box.x + (unit + 0.5) * wide;
    const y = box.y + (clock - view.from) * view.row;
    const next = last !== null && Math.abs(unit - last) < this.words.length / 2;
    if (next) context.lineTo(x, y + view.row * 0.2);
    else context.moveTo(x, y + view.row * 0.2);
    context.lineTo(x, y + view.row * 0.8);
    return unit;
  }
}
