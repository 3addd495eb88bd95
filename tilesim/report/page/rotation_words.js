// Which word is in which unit at a clock, and what is done with it there: from a record an instruction.

const NO_WORK = { active: false, k: -1, row: -1, moved: 0, mask: -1, stored: -1, weight: -1, op: null };

class Words {
  constructor(data, columns) {
    const { ops, names } = JSON.parse(new TextDecoder().decode(columns.texts));
    Object.assign(this, columns, { data, ops, names, units: data.units, length: data.ring_words, count: columns.gap.length });
    this.cuts = new Set(data.cuts);
    this.place();
    this.start = new Float64Array(this.count); // the first clock in which units see what a record does
    for (let k = 0, end = 1; k < this.count; k++) {
      this.start[k] = end + this.gap[k];
      end = this.start[k] + this.slots[k];
    }
  }

  place() {
    this.ringOf = new Int32Array(this.units);
    this.placeOf = new Int32Array(this.units);
    this.rings.forEach((unit, k) => {
      this.ringOf[unit] = Math.floor(k / this.length);
      this.placeOf[unit] = k % this.length;
    });
  }

  // The last record that has begun by a clock; -1 before the first.
  recordAt(clock) {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[middle] <= clock) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  // What is in the units at a clock, and what they do.
  at(clock) {
    const k = this.recordAt(clock);
    return k < 0 ? { ...NO_WORK, clock } : this.state(k, clock);
  }

  state(k, clock) {
    const op = this.ops[this.op[k]];
    const after = clock - this.start[k];
    const active = after < this.slots[k];
    if (!active && this.cuts.has(k)) return { ...NO_WORK, clock, cut: true };
    const done = active ? after : this.slots[k] - 1;
    const weight = this.weight[k] < 0 ? -1 : this.weight[k] + done * op.weight_step;
    const stored = weight < 0 || !this.weights.length ? -1 : weight + this.weight_shift[k];
    return { clock, k, op, active, over: !active && k === this.count - 1, row: this.row[k], moved: (this.moved[k] + done * op.rotate) % this.length, mask: this.mask[k], weight, stored };
  }

  // The unit from which the word of a unit has come since it was loaded.
  sourceOf({ moved }, unit) {
    const base = this.ringOf[unit] * this.length;
    return this.rings[base + ((this.placeOf[unit] - moved + this.length) % this.length)];
  }

  // Where a word of a row is; -1 if it is in no unit.
  unitOf({ row, moved }, word) {
    if (row !== word.row) return -1;
    return this.rings[this.ringOf[word.source] * this.length + ((this.placeOf[word.source] + moved) % this.length)];
  }

  word(state, unit) {
    const { row } = state;
    if (row < 0) return null;
    const source = this.sourceOf(state, unit);
    const [map, stored] = [this.row_map[row], this.row_value[row]];
    const place = map < 0 ? -1 : map * this.units + source;
    return {
      row, source, name: this.names[this.row_name[row]], line: this.row_line[row], mapped: map >= 0,
      channel: place < 0 ? -1 : this.channel[place], column: place < 0 ? -1 : this.column[place],
      value: stored < 0 ? null : this.values[stored * this.units + source],
    };
  }

  weightOf({ stored }, unit) {
    return stored < 0 ? null : this.weights[stored * this.units + unit];
  }

  named({ mask }, unit) {
    return mask >= 0 && this.masks[mask * this.units + unit] > 0;
  }

  // Whether units work with their words for a row that is written.
  works({ active, op }) {
    return active && op.work !== "";
  }

  // Offset, words and number of the blocks that stand out at a clock: those of the mask, else those of the row.
  frame({ mask, row }) {
    const [offset, block, blocks] = mask < 0 ? [0, 0, 0] : this.mask_frames.subarray(3 * mask, 3 * mask + 3);
    if (block) return { offset, block, blocks, marked: true };
    const map = row < 0 ? -1 : this.row_map[row];
    if (map < 0) return null;
    return { offset: this.offset[map], block: this.block[map], blocks: Math.floor(this.units / this.block[map]), marked: false };
  }

  // Why nothing was issued in the cycle before a clock; empty if that is not known.
  waitAt(clock) {
    const { stall_cycle: starts, stall_cycles: cycles } = this;
    let [low, high] = [0, starts ? starts.length : 0];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (starts[middle] < clock) low = middle + 1;
      else high = middle;
    }
    return low && clock - 1 < starts[low - 1] + cycles[low - 1] ? this.data.waits[this.stall_kind[low - 1]] : "";
  }

  // The first clock of each layer that has any, by its number.
  layerClocks() {
    const clocks = new Map();
    for (let k = 0; k < this.count; k++) {
      const { layer } = this.ops[this.op[k]];
      if (layer >= 0 && !clocks.has(layer)) clocks.set(layer, this.start[k]);
    }
    return clocks;
  }
}

// ---- in words

const WORKS = { multiply_add: "\u00d7", add: "+", max: "max", copy: "copy", plane: "byte" };
const KINDS = { set: "set", mask: "mask", parameters: "fetch" };

// What the array did in the slot before a clock, in a few letters.
function slotText(state) {
  if (state.cut) return "left out";
  if (!state.op) return "";
  if (!state.active) return state.over ? "over" : "waits";
  const { kind, loads, rotate, work } = state.op;
  if (KINDS[kind]) return KINDS[kind];
  const moved = loads ? "load" : rotate ? `\u2192${rotate}` : "hold";
  const out = kind === "out" ? ["out"] : [];
  return [...(kind === "out" && !loads ? [] : [moved]), ...out, ...(work ? [WORKS[work]] : [])].join(" ");
}

function slotWords(state, why = "") {
  if (state.cut) return "what happens here is left out of this page";
  if (!state.op) return `nothing has been issued yet${why && `: the array ${why}`}`;
  if (state.over) return "the array is done: all words stay";
  if (!state.active) return `words stay: the array ${why || "issues nothing"}`;
  const { kind, loads, rotate, work } = state.op;
  if (KINDS[kind]) return { set: "control registers are set", mask: "the words that are written are named", parameters: "parameters are fetched" }[kind];
  const moved = loads ? "a row is loaded" : rotate ? `words go on by ${rotate}` : "words stay";
  const worked = { multiply_add: ", units multiply and add", add: ", units add", max: ", units keep the larger", copy: ", units copy", plane: ", units add a byte of sums" }[work] || "";
  return kind === "out" ? `${loads ? `${moved}, ` : ""}sums are captured` : moved + worked;
}

const sign = (value) => (value < 0 ? `\u2212${-value}` : `${value}`);

// A word in a cell: its value if that is known, else channel and column.
function cellText({ value, channel, column }) {
  if (value !== null) return sign(value);
  return channel < 0 ? "" : `${channel}.${column}`;
}

function wordWords(word) {
  if (!word) return "no word yet";
  const where = word.channel < 0 ? `word ${word.source}, no element` : `channel ${word.channel}, x ${word.column}`;
  const value = word.value === null ? "" : ` = ${sign(word.value)}`;
  return `${word.name || "data RAM"}, ${word.mapped ? "line" : "row"} ${word.line}, ${where}${value}`;
}
