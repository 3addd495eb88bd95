// How many cycles each unit was busy or waited, and how many bytes it moved, in any window: exactly, from the spans of the
// timeline; where there are none, of the whole run, from its accounts.

class Recorded {
  constructor(data, { first, gap, cycles, what, bytes, layer_of }) {
    const count = gap.length;
    Object.assign(this, { first, cycles, what, bytes, layer_of });
    this.kinds = data.kinds.map(({ kind }) => kind);
    this.places = new Map(data.tracks.map((name, k) => [name, k]));
    this.whats = data.whats;
    this.layers = data.layers.map(({ short }) => short);
    this.starts = new Float64Array(count);
    this.sums = new Float64Array(count + 1); // cycles of all spans before
    this.moved = new Float64Array(count + 1); // bytes of all spans before
    for (let series = 0; series + 1 < first.length; series++) {
      let end = data.origin;
      for (let i = first[series]; i < first[series + 1]; i++) {
        this.starts[i] = end + gap[i];
        end = this.starts[i] + cycles[i];
        this.sums[i + 1] = this.sums[i] + cycles[i];
        this.moved[i + 1] = this.moved[i] + bytes[i];
      }
    }
  }

  // The spans of a track and kind: from the first to before the last number; none of what was not recorded.
  series(track, kind) {
    const [place, at] = [this.places.get(track), this.kinds.indexOf(kind)];
    if (place === undefined || at < 0) return [0, 0];
    const series = place * this.kinds.length + at;
    return [this.first[series], this.first[series + 1]];
  }

  // What sums come to before cycle t; the bytes of a span are spread evenly over its cycles.
  before(sums, [a, b], t) {
    let [low, high] = [a - 1, b];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= t) low = middle;
      else high = middle;
    }
    if (low < a) return sums[a];
    const share = Math.min(1, (t - this.starts[low]) / this.cycles[low]);
    return sums[low] + (sums[low + 1] - sums[low]) * share;
  }

  cyclesOf(track, kind, { from, to }) {
    const series = this.series(track, kind);
    return Math.round(this.before(this.sums, series, to) - this.before(this.sums, series, from));
  }

  bytesOf(track, { from, to }) {
    const known = this.places.has(track) && this.kinds.includes("busy");
    if (!known) return 0;
    const series = this.series(track, "busy");
    return this.before(this.moved, series, to) - this.before(this.moved, series, from);
  }

  // What a track is doing in a cycle: a kind, or nothing.
  kindAt(track, cycle) {
    return this.kinds.find((kind) => this.before(this.sums, this.series(track, kind), cycle + 1) > this.before(this.sums, this.series(track, kind), cycle));
  }

  // The tracks that have spans of an instruction.
  tracksOf(label) {
    const [what, found] = [this.whats.indexOf(label), new Set()];
    if (what < 0) return found;
    for (const [name, place] of this.places) {
      const [a, b] = [this.first[place * this.kinds.length], this.first[(place + 1) * this.kinds.length]];
      if (this.what.subarray(a, b).includes(what)) found.add(name);
    }
    return found;
  }

  // The bytes that each of some links carried for each layer: {track: {layer: bytes}}.
  bytesByLayer(tracks) {
    const found = new Map();
    for (const track of tracks) {
      const [a, b] = this.series(track, "busy");
      const sums = new Map();
      for (let i = a; i < b; i++) {
        const layer = this.layer_of[this.what[i]];
        sums.set(layer, (sums.get(layer) || 0) + this.bytes[i]);
      }
      found.set(track, sums);
    }
    return found;
  }
}

// The accounts of run.json: of the whole run and no other window.
class Accounts {
  constructor(data, { account_cycles, account_bytes }) {
    Object.assign(this, { kinds: data.accounts, cycles: account_cycles, bytes: account_bytes });
    this.places = new Map(data.tracks.map((name, k) => [name, k]));
  }

  cyclesOf(track, kind) {
    const [place, at] = [this.places.get(track), this.kinds.indexOf(kind)];
    return place === undefined || at < 0 ? 0 : this.cycles[at * this.places.size + place];
  }

  bytesOf(track) {
    const place = this.places.get(track);
    return place === undefined ? 0 : Math.max(0, this.bytes[place]);
  }

  tracksOf() {
    return new Set();
  }
}

// The right numbers for a window: those of the whole run are the accounts' where they are there.
class Numbers {
  constructor(data, columns, recorded) {
    this.data = data;
    this.recorded = recorded;
    this.accounts = data.accounts ? new Accounts(data, columns) : null;
    this.accesses = columns.accesses || null;
    this.reasons = data.kinds.map(({ name }) => name).filter((name) => name !== "busy");
  }

  source(window) {
    return this.accounts && window.whole ? this.accounts : this.recorded || this.accounts;
  }

  cyclesOf(track, metric, window) {
    const source = this.source(window);
    if (metric !== "waiting") return source.cyclesOf(track, metric, window);
    return this.reasons.filter((kind) => kind !== "stall:work").reduce((sum, kind) => sum + source.cyclesOf(track, kind, window), 0);
  }

  bytesOf(track, window) {
    return this.source(window).bytesOf(track, window);
  }

  // How often ports of a tile's memories were used in the whole run.
  accessesOf(part, action) {
    const ports = this.data.memory_ports;
    return this.accesses ? this.accesses[part.tile * ports.length + ports.indexOf(action)] : 0;
  }

  // How much of what a part could do it did in a window, 0 to 1; null: it has no such number.
  share(part, metric, window, most) {
    const cycles = window.to - window.from;
    if (part.kind === "memory") return this.memoryShare(part, metric);
    if (metric === "bytes") return most ? this.bytesOf(part.track, window) / most : 0;
    return cycles ? this.cyclesOf(part.track, metric, window) / cycles : 0;
  }

  memoryShare(part, metric) {
    if (metric !== "busy" || !this.accesses) return null;
    const ports = part.actions.length > 1 ? this.data.wide_ports : 1;
    return part.actions.reduce((sum, action) => sum + this.accessesOf(part, action), 0) / (ports * Math.max(1, this.data.cycles));
  }
}
