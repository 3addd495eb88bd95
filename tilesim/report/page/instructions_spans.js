// When instructions ran, and who let them go on: from the spans of the timeline, which are read here and not copied.

class Ran {
  constructor(program, { data, columns }) {
    Object.assign(this, { program, columns, origin: data.origin, tracks: data.tracks, kinds: data.kinds, whats: data.whats });
    this.of = Int32Array.from(data.whats, (label) => program.places.get(label) ?? -1);
    this.isWait = data.kinds.map(({ kind }) => kind !== "busy" && kind !== "stall:work");
    this.sum();
  }

  // The units of a track: it without the number at its end.
  unitOf(track) {
    const name = this.tracks[track].replace(/\d+$/, "");
    return this.program.texts.units.findIndex((unit) => unit && name.endsWith(`.${unit}`));
  }

  // Tells visit of all spans: (span, start, track, kind).
  each(visit) {
    const { first, gap, cycles } = this.columns;
    const kinds = this.kinds.length;
    for (let series = 0; series + 1 < first.length; series++) {
      const [track, kind] = [Math.floor(series / kinds), series % kinds];
      let end = this.origin;
      for (let i = first[series]; i < first[series + 1]; i++) {
        const start = end + gap[i];
        end = start + cycles[i];
        visit(i, start, track, kind);
      }
    }
  }

  // Of what each instruction's own units did for it: the first cycle, the end, and the cycles that they were busy or waited,
  // of the average one of them.
  sum() {
    const { count, columns } = this.program;
    const { what, cycles } = this.columns;
    const tracks = this.tracks.map((_, track) => this.unitOf(track));
    const [last, units] = [new Int32Array(count).fill(-1), new Int32Array(count)];
    this.start = new Float64Array(count).fill(Infinity);
    this.end = new Float64Array(count).fill(-Infinity);
    this.busy = new Float64Array(count);
    this.waiting = new Float64Array(count);
    this.each((i, start, track, kind) => {
      const k = this.of[what[i]];
      if (k < 0 || tracks[track] !== columns.units[k]) return;
      if (start < this.start[k]) this.start[k] = start;
      if (start + cycles[i] > this.end[k]) this.end[k] = start + cycles[i];
      if (this.isWait[kind]) this.waiting[k] += cycles[i];
      else if (this.kinds[kind].kind === "busy") this.busy[k] += cycles[i];
      if (last[k] === track) return;
      last[k] = track;
      units[k]++;
    });
    for (let k = 0; k < count; k++) {
      this.busy[k] /= units[k] || 1;
      this.waiting[k] /= units[k] || 1;
    }
  }

  // All that is recorded of one instruction: its cycles by track and kind, its longest span, who let it go on after which
  // waits, and whom it let go on.
  details(k) {
    const what = this.whats.indexOf(this.program.labels[k]);
    const found = { tracks: new Map(), longest: null, released: new Map(), releases: new Map() };
    if (what < 0) return found;
    this.each((i, start, track, kind) => this.note(found, what, i, start, track, kind));
    return found;
  }

  note(found, wanted, i, start, track, kind) {
    const { what, cycles, released_by } = this.columns;
    const by = released_by[i];
    if (by >= 0 && what[by] === wanted && what[i] !== wanted) add(found.releases, this.whats[what[i]], cycles[i]);
    if (what[i] !== wanted) return;
    if (by >= 0 && what[by] !== wanted) add(found.released, `${this.whats[what[by]]}\n${this.kinds[kind].kind}`, cycles[i]);
    const of = found.tracks.get(track) || { start, end: 0, kinds: new Map() };
    found.tracks.set(track, of);
    of.start = Math.min(of.start, start);
    of.end = Math.max(of.end, start + cycles[i]);
    add(of.kinds, this.kinds[kind].kind, cycles[i]);
    const own = this.unitOf(track) === this.program.columns.units[this.program.places.get(this.whats[wanted])];
    const span = { track, cycle: start, cycles: cycles[i], rank: (own ? 2 : 0) + (this.kinds[kind].kind === "busy" ? 1 : 0) };
    const longest = found.longest;
    if (!longest || span.rank > longest.rank || (span.rank === longest.rank && span.cycles > longest.cycles)) found.longest = span;
  }

  wordsOf(kind) {
    return this.kinds.find((each) => each.kind === kind).words;
  }
}

function add(sums, key, value) {
  sums.set(key, (sums.get(key) || 0) + value);
}
