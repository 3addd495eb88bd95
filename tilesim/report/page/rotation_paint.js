// The cells: a pixel a word and clock, drawn as large as there is room; words in them where that can be read.

const HUES = 8;
const BLANK = HUES; // of a word that is no element
const NUMBERED = 32; // units, of which the words stand in the cells
const PALE = 0.3;
const INKS = ["#ffffff", "#000000"];

// Red, green and blue of a colour of the page.
function rgb(name) {
  const text = tilesim.colour(name);
  return [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16));
}

const mixed = (one, other, share) => one.map((value, k) => Math.round(value * share + other[k] * (1 - share)));
const css = (colour) => `rgb(${colour.join(" ")})`;
const packed = ([red, green, blue]) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;

function luminance(colour) {
  const [red, green, blue] = colour.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

// Of white and black, what is read better on a colour.
function inkOn(colour) {
  return luminance(colour) > 0.179 ? INKS[1] : INKS[0];
}

// The colours of a theme: of each way in which a word is shown, one a hue, the last one for no element.
class Palette {
  constructor() {
    const [paper, muted] = [rgb("bg"), rgb("muted")];
    const hues = [...Array(HUES).keys()].map((k) => rgb(`series-${k}`));
    const none = mixed(muted, paper, 0.06);
    this.colours = {
      bright: [...hues, mixed(muted, paper, 0.14)],
      pale: [...hues.map((hue) => mixed(hue, paper, PALE)), none],
      moving: [...hues.map(() => mixed(muted, paper, 0.34)), none],
      held: [...hues.map(() => mixed(muted, paper, 0.16)), none],
    };
    this.tables = Object.fromEntries(Object.entries(this.colours).map(([name, colours]) => [name, Uint32Array.from(colours, packed)]));
    this.inks = Object.fromEntries(Object.entries(this.colours).map(([name, colours]) => [name, colours.map(inkOn)]));
    this.paper = packed(paper);
    for (const name of ["bg", "fg", "muted", "line", "accent"]) this[name] = tilesim.colour(name);
  }
}

class Cells {
  constructor(words) {
    this.words = words;
    this.hues = new Map();
    this.image = document.createElement("canvas");
  }

  // The hue of each word of a row as it was loaded.
  huesOf(row) {
    const { words } = this;
    const map = words.row_map[row];
    if (!this.hues.has(map)) {
      const of = map < 0 ? null : words.channel.subarray(map * words.units, (map + 1) * words.units);
      this.hues.set(map, Uint8Array.from({ length: words.units }, (_, k) => (of && of[k] >= 0 ? of[k] % HUES : BLANK)));
    }
    return this.hues.get(map);
  }

  // How a unit's word is shown: in which way, in which hue.
  shade(state, unit) {
    if (state.row < 0) return { way: "held", hue: BLANK };
    const { words } = this;
    const way = words.works(state) ? (words.named(state, unit) ? "bright" : "pale") : this.idleWay(state);
    return { way, hue: this.huesOf(state.row)[words.sourceOf(state, unit)] };
  }

  idleWay({ active, op }) {
    return active && (op.rotate || op.loads) ? "moving" : "held";
  }

  // A clock's words into pixels, from a place on.
  row(state, pixels, at, palette) {
    const { words } = this;
    if (state.row < 0) return pixels.fill(palette.paper, at, at + words.units);
    const hues = this.huesOf(state.row);
    const { rings, length, masks, units } = words;
    const works = words.works(state);
    const idle = palette.tables[works ? "pale" : this.idleWay(state)];
    const base = works && state.mask >= 0 ? state.mask * units : -1;
    for (let first = 0; first < units; first += length) {
      let from = first + ((length - state.moved) % length);
      for (let k = first; k < first + length; k++) {
        const unit = rings[k];
        const table = base >= 0 && masks[base + unit] ? palette.tables.bright : idle;
        pixels[at + unit] = table[hues[rings[from]]];
        if (++from === first + length) from = first;
      }
    }
    return pixels;
  }

  // All clocks of the view, a pixel each.
  draw(view, palette) {
    const { words, image } = this;
    image.width = words.units;
    image.height = Math.max(1, view.to - view.from);
    const context = image.getContext("2d");
    const made = context.createImageData(image.width, image.height);
    const pixels = new Uint32Array(made.data.buffer);
    let k = words.recordAt(view.from);
    for (let clock = view.from; clock < view.to; clock++) {
      while (k + 1 < words.count && words.start[k + 1] <= clock) k++;
      this.row(k < 0 ? NO_WORK : words.state(k, clock), pixels, (clock - view.from) * words.units, palette);
    }
    context.putImageData(made, 0, 0);
  }

  // As large as there is room: sharp where a word has pixels of its own, smooth where several share one.
  paint(context, view, box, ratio, palette) {
    this.draw(view, palette);
    const [wide, high] = [(box.width * ratio) / this.words.units, view.row * ratio];
    const times = wide > 1 && wide < 12 ? Math.ceil(wide) : 1;
    context.imageSmoothingEnabled = times > 1 || wide < 1 || high < 1;
    context.imageSmoothingQuality = "high";
    context.drawImage(times > 1 ? this.enlarged(times, Math.max(1, Math.ceil(high))) : this.image, box.x, box.y, box.width, view.height);
    if (this.words.units <= NUMBERED && view.row >= 12) this.write(context, view, box, palette);
  }

  // So many times as large, sharply: what is made smaller of that has edges as even as there can be.
  enlarged(across, down) {
    const { image } = this;
    this.large ||= document.createElement("canvas");
    this.large.width = image.width * across;
    this.large.height = image.height * down;
    const context = this.large.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(image, 0, 0, this.large.width, this.large.height);
    return this.large;
  }

  write(context, view, box, palette) {
    const { words } = this;
    const wide = box.width / words.units;
    if (wide < 22) return;
    context.font = `${Math.min(12, view.row - 3)}px system-ui, "DejaVu Sans", sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let clock = view.from; clock < view.to; clock++) {
      const state = words.at(clock);
      for (let unit = 0; unit < words.units && state.row >= 0; unit++) {
        const { way, hue } = this.shade(state, unit);
        context.fillStyle = palette.inks[way][hue];
        context.fillText(this.textOf(context, state, unit, way, wide), box.x + (unit + 0.5) * wide, box.y + (clock - view.from + 0.5) * view.row + 0.5);
      }
    }
  }

  // A word, and where that fits the weight that it is multiplied by for an output.
  textOf(context, state, unit, way, wide) {
    const text = cellText(this.words.word(state, unit));
    const weight = way === "bright" && state.op.work === "multiply_add" ? this.words.weightOf(state, unit) : null;
    if (weight === null || !text) return text;
    const both = [" ", "\u200a"].map((space) => `${text}${space}\u00d7${space}${sign(weight)}`);
    return both.find((words) => context.measureText(words).width < wide - 6) ?? text;
  }
}
