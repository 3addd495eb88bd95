// The ring as it stands at a clock: units around it in the order in which words go on, which is clockwise; words by their
// channels, pale where they are not used.

const DIAL = 300; // CSS pixels
const SECTORS = 1500; // that can be told apart

class Dial {
  constructor(words, cells) {
    Object.assign(this, { words, cells });
    this.canvas = tilesim.element("canvas", { class: "rot-dial", role: "img", "aria-label": "the ring of units at the clock of the cursor" });
  }

  paint(palette, ratio, { clock, unit, picked }) {
    const { canvas } = this;
    canvas.width = canvas.height = Math.round(DIAL * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.translate(DIAL / 2, DIAL / 2);
    const state = this.words.at(clock);
    const count = this.words.units / this.words.length;
    const thick = count > 1 ? 22 : 44;
    for (let ring = 0; ring < count; ring++) this.ring(context, palette, state, { ring, outer: DIAL / 2 - (this.words.length > NUMBERED ? 38 : 22) - ring * (thick + 26), thick, unit, picked });
    this.middle(context, palette, state);
  }

  shade(state, unit) {
    const { way, hue } = this.cells.shade(state, unit);
    return { way: way === "bright" ? way : "pale", hue };
  }

  angle(place) {
    return (place / this.words.length) * 2 * Math.PI - Math.PI / 2;
  }

  ring(context, palette, state, { ring, outer, thick, unit, picked }) {
    const { words } = this;
    const { length } = words;
    const gap = length <= NUMBERED ? 0.012 : 0;
    const overlap = gap ? 0 : 0.3 / outer;
    const step = Math.ceil(length / SECTORS);
    for (let place = 0; place < length; place += step) {
      const here = words.rings[ring * length + place];
      const { way, hue } = this.shade(state, here);
      const [from, to] = [this.angle(place) + gap, this.angle(place + step) - gap + overlap];
      this.sector(context, from, to, outer, thick, css(palette.colours[way][hue]));
      if (words.named(state, here)) this.sector(context, from, to, outer - thick - 3, 4, palette.fg);
      if (length <= NUMBERED) this.number(context, palette, state, { here, place, outer, thick, way, hue });
    }
    this.marks(context, palette, state, { ring, outer, thick, unit, picked });
  }

  sector(context, from, to, outer, thick, colour) {
    context.beginPath();
    context.arc(0, 0, outer, from, to);
    context.arc(0, 0, outer - thick, to, from, true);
    context.closePath();
    context.fillStyle = colour;
    context.fill();
  }

  number(context, palette, state, { here, place, outer, thick, way, hue }) {
    const at = this.angle(place + 0.5);
    const size = Math.min(12, (outer * 2 * Math.PI) / this.words.length / 2.4);
    context.textAlign = "center";
    context.textBaseline = "middle";
    if (size >= 7 && state.row >= 0) {
      context.font = `${size}px system-ui, "DejaVu Sans", sans-serif`;
      context.fillStyle = palette.inks[way][hue];
      context.fillText(cellText(this.words.word(state, here)), Math.cos(at) * (outer - thick / 2), Math.sin(at) * (outer - thick / 2));
    }
    context.font = `${Math.max(8, Math.min(11, size))}px system-ui, "DejaVu Sans", sans-serif`;
    context.fillStyle = palette.muted;
    context.fillText(here, Math.cos(at) * (outer + 10), Math.sin(at) * (outer + 10));
  }

  // The unit of the cursor and the word that was picked, outside; quarters where units have no numbers.
  marks(context, palette, state, { ring, outer, thick, unit, picked }) {
    const { words } = this;
    if (words.length > NUMBERED)
      for (let quarter = 0; quarter < 4; quarter++) {
        const place = Math.floor((quarter * words.length) / 4);
        this.label(context, palette, words.rings[ring * words.length + place], this.angle(place), outer + 12);
      }
    if (words.ringOf[unit] === ring) this.outline(context, palette.fg, words.placeOf[unit], outer, thick);
    const at = picked && state.row >= 0 ? words.unitOf(state, picked) : -1;
    if (at >= 0 && words.ringOf[at] === ring) this.outline(context, palette.accent, words.placeOf[at], outer, thick);
  }

  label(context, palette, unit, at, radius) {
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    context.textAlign = Math.abs(Math.cos(at)) < 0.1 ? "center" : Math.cos(at) > 0 ? "left" : "right";
    context.textBaseline = "middle";
    context.fillStyle = palette.muted;
    const inset = Math.abs(Math.cos(at)) < 0.1 ? 0 : Math.sign(Math.cos(at)) * -7;
    context.fillText(unit, Math.cos(at) * radius + inset, Math.sin(at) * radius);
  }

  outline(context, colour, place, outer, thick) {
    const least = 5 / outer;
    const middle = this.angle(place + 0.5);
    const half = Math.max(least, Math.PI / this.words.length) / (this.words.length > NUMBERED ? 2 : 1);
    context.beginPath();
    context.arc(0, 0, outer + 1, middle - half, middle + half);
    context.arc(0, 0, outer - thick - 1, middle + half, middle - half, true);
    context.closePath();
    context.strokeStyle = colour;
    context.lineWidth = 2.5;
    context.stroke();
  }

  middle(context, palette, state) {
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = palette.fg;
    context.font = '600 15px system-ui, "DejaVu Sans", sans-serif';
    context.fillText(`clock ${tilesim.number(state.clock)}`, 0, -9);
    context.font = '13px system-ui, "DejaVu Sans", sans-serif';
    context.fillStyle = palette.muted;
    context.fillText(slotText(state), 0, 11);
  }
}
