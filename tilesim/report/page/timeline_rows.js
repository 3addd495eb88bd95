// The rows of the picture: tracks in groups, those that matter most first; and the tracks that are pinned above them.

const ROOM = 44; // rows that are shown at first, if there are more
const NONE = []; // the series of a row that draws nothing

class Row {
  constructor(spans, group, tracks, name, isGroup = false) {
    Object.assign(this, { spans, group, tracks, name, isGroup, marks: null, isPinned: false });
    this.draw(isGroup ? -1 : tracks[0]);
  }

  // The track that is drawn: of a folded group its busiest, of an open one none (-1).
  draw(track) {
    this.track = track;
    this.series = track < 0 ? NONE : this.spans.kinds.map((_, kind) => this.spans.series(track, kind));
  }

  get path() {
    return this.isGroup ? this.name : this.spans.tracks[this.track];
  }

  // Has a folded group draw the track that is busiest in a window; of tracks that are never busy, the one that waits
  // most. Says whether that is another one than before.
  lead(from, to) {
    const { spans, track } = this;
    const sum = (totals) => totals.reduce((all, cycles) => all + cycles, 0);
    const of = (totals, kind) => (kind < 0 ? 0 : totals[kind]);
    let most = [-1, -1];
    let found = this.tracks[0];
    for (const member of this.tracks) {
      const totals = spans.totals(member, from, to);
      const busy = of(totals, spans.busy);
      const rest = sum(totals) - busy - of(totals, spans.work);
      if (busy > most[0] || (busy === most[0] && rest > most[1])) [most, found] = [[busy, rest], member];
    }
    if (found !== track) this.draw(found);
    return found !== track;
  }

  // The series of what a search has found in this row: in any track of a group.
  found(search) {
    if (this.marks?.search !== search) {
      const ranges = this.tracks.flatMap((track) => this.spans.kinds.map((_, kind) => this.spans.series(track, kind)).map(({ a, b }) => [a, b]));
      this.marks = { search, series: this.spans.merged(ranges, search.hits) };
    }
    return this.marks.series;
  }

  // The share of each kind in a window.
  mix(from, to) {
    return this.spans.kinds.map((_, kind) => (this.series === NONE ? 0 : total(this.series[kind], from, to) / (to - from)));
  }
}

class Rows {
  constructor(spans, data) {
    Object.assign(this, { spans, shares: data.shares, waits: data.waits, byShare: true, withIdle: false, pins: [] });
    this.idle = spans.tracks.map((_, track) => spans.isIdle(track));
    this.idleCount = this.idle.filter(Boolean).length;
    this.groups = data.groups.map((group, number) => ({ ...group, number, folded: true }));
    this.heads = this.groups.map((group) => new Row(spans, group, group.tracks, group.title, true));
    this.parts = this.groups.map((group) => group.tracks.map((track, k) => new Row(spans, group, [track], this.nameOf(group, k))));
    this.names = new Map(this.groups.flatMap((group) => group.tracks.map((track, k) => [track, { group, name: group.names[k] }])));
    this.unfoldSome();
  }

  // A track that is alone in its group stands there as the group would.
  nameOf({ arrays, title, tracks, names }, k) {
    if (tracks.length > 1) return names[k];
    return arrays ? title : names[0].charAt(0).toUpperCase() + names[0].slice(1);
  }

  // Groups from the MAC arrays' on, as long as all that shows fits.
  unfoldSome() {
    this.order();
    let room = ROOM - this.sorted.reduce((sum, { rows }) => sum + (rows.length > 0), 0);
    for (const { group, rows } of [...this.sorted].sort((a, b) => b.group.arrays - a.group.arrays)) {
      if (rows.length < 2 || (group.run !== undefined && !group.arrays)) continue;
      room -= rows.length;
      if (room < 0) break;
      group.folded = false;
    }
    this.list();
  }

  // Groups, and their tracks, in the order of their shares of the critical path, then of their waits; or of their names.
  // Those of MAC arrays are first.
  order() {
    this.sorted = this.groups.map((group, k) => ({ group, head: this.heads[k], rows: this.parts[k].filter((row) => this.withIdle || !this.idle[row.track]) }));
    if (!this.byShare) return;
    for (const each of this.sorted) each.worth = [this.sum(this.shares, each.group.tracks), this.sum(this.waits, each.group.tracks)];
    const more = (a, b) => b[0] - a[0] || b[1] - a[1];
    const worth = ({ track }) => [this.shares[track], this.waits[track]];
    this.sorted.sort((a, b) => b.group.arrays - a.group.arrays || (a.group.run ?? 0) - (b.group.run ?? 0) || more(a.worth, b.worth));
    for (const { rows } of this.sorted) rows.sort((a, b) => more(worth(a), worth(b)));
  }

  sum(of, tracks) {
    return tracks.reduce((all, track) => all + of[track], 0);
  }

  list() {
    this.order();
    this.shown = this.sorted.flatMap(({ group, head, rows }) => (rows.length === 0 ? [] : group.tracks.length === 1 ? rows : [head, ...(group.folded ? [] : rows)]));
    for (const { group, head } of this.sorted) if (!group.folded) head.draw(-1);
    this.places = new Int32Array(this.spans.tracks.length).fill(-1);
    this.shown.forEach((row, k) => {
      if (!row.isGroup || row.group.folded) for (const track of row.tracks) this.places[track] = k;
    });
  }

  // Folded groups draw their busiest tracks of a window; whether any changed.
  lead(from, to) {
    return this.shown.filter((row) => row.isGroup && row.group.folded && row.lead(from, to)).length > 0;
  }

  fold(group, folded) {
    group.folded = folded;
    this.list();
  }

  foldAll(folded) {
    for (const group of this.groups) group.folded = folded;
    this.list();
  }

  // Shows a track above all others, too, or no longer.
  pin(track) {
    const at = this.pins.findIndex((row) => row.track === track);
    if (at >= 0) this.pins.splice(at, 1);
    else this.pins.push(this.pinned(track));
  }

  pinned(track) {
    const { group, name } = this.names.get(track);
    return Object.assign(new Row(this.spans, group, [track], group.tracks.length === 1 ? this.nameOf(group, 0) : `${group.title} ${name}`), { isPinned: true });
  }

  isPinned(track) {
    return this.pins.some((row) => row.track === track);
  }

  // Where a track shows: at its own row, or at its folded group's; -1: nowhere.
  indexOf(track) {
    return this.places[track];
  }

  // Shows the row of a track, and says which one it is.
  reveal(track) {
    const { group } = this.names.get(track);
    if (this.idle[track]) this.withIdle = true;
    group.folded = false;
    this.list();
    return this.indexOf(track);
  }
}
