// The rows of the picture, a group's sum above its tracks; and the window of cycles that it shows.

const UNFOLDED = 54; // rows that are shown at first, if there are more
const NARROWEST = 16; // cycles

class Row {
  constructor(spans, group, tracks, name) {
    Object.assign(this, { spans, group, tracks, name, made: null, marks: null });
    this.path = tracks.length === 1 ? spans.tracks[tracks[0]] : name;
  }

  get isGroup() {
    return this.name === this.group.title;
  }

  // A series a kind, made when first looked at.
  get series() {
    this.made ||= this.spans.kinds.map((_, kind) => (this.isGroup ? this.spans.merged(this.ranges(kind)) : this.spans.series(this.tracks[0], kind)));
    return this.made;
  }

  ranges(kind) {
    return this.tracks.map((track) => this.spans.series(track, kind)).map(({ a, b }) => [a, b]);
  }

  // The series of what a search has found in this row.
  found(search) {
    if (this.marks?.search !== search) {
      const ranges = this.spans.kinds.flatMap((_, kind) => this.ranges(kind));
      this.marks = { search, series: this.spans.merged(ranges, search.hits) };
    }
    return this.marks.series;
  }

  // The share of each kind in a window.
  mix(from, to) {
    return this.series.map((series) => total(series, from, to) / (to - from) / this.tracks.length);
  }
}

class Rows {
  constructor(spans, groups) {
    this.spans = spans;
    this.groups = groups.map((group) => ({ ...group, folded: true }));
    this.heads = this.groups.map((group) => new Row(spans, group, group.tracks, group.title));
    this.parts = this.groups.map((group) => group.tracks.map((track, k) => new Row(spans, group, [track], group.names[k])));
    this.unfoldSome();
  }

  // Groups from the first on, as far as they all fit.
  unfoldSome() {
    let room = UNFOLDED - this.groups.length;
    for (const group of this.groups) {
      if (group.tracks.length > room) continue;
      group.folded = false;
      room -= group.tracks.length;
    }
    this.list();
  }

  list() {
    this.shown = this.groups.flatMap((group, k) => [this.heads[k], ...(group.folded ? [] : this.parts[k])]);
  }

  fold(group, folded) {
    group.folded = folded;
    this.list();
  }

  foldAll(folded) {
    for (const group of this.groups) group.folded = folded;
    this.list();
  }

  // Where a track shows: at its own row, or at its folded group's.
  indexOf(track) {
    const own = this.shown.findIndex((row) => !row.isGroup && row.tracks[0] === track);
    return own >= 0 ? own : this.shown.findIndex((row) => row.isGroup && row.tracks.includes(track));
  }

  // Shows the row of a track, and says which one it is.
  reveal(track) {
    const group = this.groups.find((each) => each.tracks.includes(track));
    if (group.folded) this.fold(group, false);
    return this.indexOf(track);
  }
}

// The cycles that are shown; they stay between the first and the last that there are.
class View {
  constructor(cycles, earliest, latest) {
    this.run = { from: 0, to: Math.max(cycles, 1) };
    this.limits = { from: Math.min(earliest, 0), to: Math.max(latest, this.run.to) };
    this.set(this.run.from, this.run.to);
  }

  get width() {
    return this.to - this.from;
  }

  set(from, to) {
    const most = this.limits.to - this.limits.from;
    const width = Math.min(Math.max(to - from, Math.min(NARROWEST, most)), most);
    const middle = (from + to) / 2 - width / 2;
    this.from = Math.min(Math.max(middle, this.limits.from), this.limits.to - width);
    this.to = this.from + width;
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.set(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  pan(cycles) {
    this.set(this.from + cycles, this.to + cycles);
  }

  // The whole run; the loading before it, too, if the run is what is shown.
  home() {
    const { from, to } = this.from === this.run.from && this.to === this.run.to ? this.limits : this.run;
    this.set(from, to);
  }

  get widest() {
    return this.width >= this.limits.to - this.limits.from;
  }
}
