// The spans, and how many cycles of a window a kind of them takes: exactly, from sums of cycles, at any zoom.

// A series: disjoint segments for a <= i < b, each of which begins at starts[i] and counts weights[i] (1 if there are
// none) in every cycle until it has come to sums[i + 1] - sums[i].

// What a series comes to before cycle t, where i is its last segment that starts at t or before (a - 1: none).
function before(series, i, t) {
  if (i < series.a) return series.sums[series.a];
  const weight = series.weights ? series.weights[i] : 1;
  return Math.min(series.sums[i] + weight * (t - series.starts[i]), series.sums[i + 1]);
}

// The last segment that starts at t or before, looked for from segment i on, in steps that double.
function seek(series, i, t) {
  const { starts, b } = series;
  let step = 1;
  while (i + step < b && starts[i + step] <= t) {
    i += step;
    step *= 2;
  }
  for (; step >= 1; step >>= 1) if (i + step < b && starts[i + step] <= t) i += step;
  return i;
}

function total(series, from, to) {
  const i = seek(series, series.a - 1, from);
  return before(series, seek(series, i, to), to) - before(series, i, from);
}

const WALK = 16; // segments that are passed one by one, which is faster than in steps as long as they are few

// The share of each pixel that a series takes, times scale: pixel x is [from + x * per, from + (x + 1) * per). Called for
// every row and kind of a frame: what belongs to the present segment is kept at hand.
function shares(series, from, per, out, width, scale) {
  const { starts, sums, weights, a, b } = series;
  const factor = scale / per;
  let i = seek(series, a - 1, from);
  let past = before(series, i, from);
  let start = i < a ? from : starts[i];
  let sum = sums[Math.max(i, a)];
  let most = i < a ? sum : sums[i + 1];
  let weight = weights && i >= a ? weights[i] : 1;
  let next = i + 1 < b ? starts[i + 1] : Infinity;
  for (let x = 0; x < width; x++) {
    const t = from + (x + 1) * per;
    if (next <= t) {
      const near = Math.min(i + WALK, b - 1);
      for (i++; i < near && starts[i + 1] <= t; i++);
      if (i === near) i = seek(series, i, t);
      start = starts[i];
      sum = sums[i];
      most = sums[i + 1];
      if (weights) weight = weights[i];
      next = i + 1 < b ? starts[i + 1] : Infinity;
    }
    const grown = sum + weight * (t - start);
    const now = grown < most ? grown : most;
    out[x] = (now - past) * factor;
    past = now;
  }
}

class Spans {
  constructor(data, columns) {
    const { tracks, kinds, whats, layers, factors, started_by } = data;
    Object.assign(this, columns, { tracks, kinds, whats, layers, factors, started_by });
    this.busy = kinds.findIndex(({ kind }) => kind === "busy");
    this.work = kinds.findIndex(({ kind }) => kind === "stall:work");
    this.count = columns.gap.length;
    this.starts = new Float64Array(this.count);
    this.sums = new Float64Array(this.count + 1);
    this.extend(data.origin);
    this.earliest = this.count ? Math.min(data.origin, 0) : 0;
    this.latest = this.count ? this.last() : 0;
  }

  // Starts and sums out of gaps and cycles.
  extend(origin) {
    const { first, gap, cycles, starts, sums } = this;
    for (let series = 0; series + 1 < first.length; series++) {
      let end = origin;
      for (let i = first[series]; i < first[series + 1]; i++) {
        starts[i] = end + gap[i];
        end = starts[i] + cycles[i];
        sums[i + 1] = sums[i] + cycles[i];
      }
    }
  }

  last() {
    let end = -Infinity;
    for (let series = 0; series + 1 < this.first.length; series++) {
      const i = this.first[series + 1] - 1;
      if (i >= this.first[series]) end = Math.max(end, this.starts[i] + this.cycles[i]);
    }
    return end;
  }

  series(track, kind) {
    const place = track * this.kinds.length + kind;
    return { starts: this.starts, sums: this.sums, weights: null, a: this.first[place], b: this.first[place + 1] };
  }

  // The number of the series that a span is in: the last that begins at it or before.
  placeOf(span) {
    let [low, high] = [0, this.first.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.first[middle] <= span) low = middle;
      else high = middle;
    }
    return low;
  }

  trackOf(span) {
    return Math.floor(this.placeOf(span) / this.kinds.length);
  }

  kindOf(span) {
    return this.placeOf(span) % this.kinds.length;
  }

  isStall(span) {
    return this.kinds[this.kindOf(span)].kind.startsWith("stall:");
  }

  endOf(span) {
    return this.starts[span] + this.cycles[span];
  }

  // Of its own clock, whatever the axis counts.
  cyclesOf(span) {
    return this.cycles[span] / (this.factors ? this.factors[this.trackOf(span)] : 1);
  }

  // Whether a track never did anything, nor ever had anything to do.
  isIdle(track) {
    const place = track * this.kinds.length;
    const without = this.work < 0 ? 0 : this.first[place + this.work + 1] - this.first[place + this.work];
    return this.first[place + this.kinds.length] - this.first[place] === without;
  }

  // Cycles of a window that each kind takes of a track.
  totals(track, from, to) {
    return this.kinds.map((_, kind) => total(this.series(track, kind), from, to));
  }

  layerOf(span) {
    const layer = this.layer_of[this.what[span]];
    return layer >= 0 ? this.layers[layer] : null;
  }

  // The span of a track in cycle t, -1 if it is idle.
  at(track, t) {
    for (let kind = 0; kind < this.kinds.length; kind++) {
      const series = this.series(track, kind);
      const i = seek(series, series.a - 1, t);
      if (i >= series.a && t < this.endOf(i)) return i;
    }
    return -1;
  }

  // All spans in the order of their instructions: those of number k are order[a] for first[k] <= a < first[k + 1].
  get byWhat() {
    if (this.sorted) return this.sorted;
    const first = new Uint32Array(this.whats.length + 1);
    for (let i = 0; i < this.count; i++) first[this.what[i] + 1]++;
    for (let k = 0; k < this.whats.length; k++) first[k + 1] += first[k];
    const [next, order] = [first.slice(), new Uint32Array(this.count)];
    for (let i = 0; i < this.count; i++) order[next[this.what[i]]++] = i;
    return (this.sorted = { first, order });
  }

  // The last work with the instruction of a span, before it, of those units that may have set its unit to work; -1: none.
  source(span) {
    const [what, now] = [this.what[span], this.starts[span]];
    const starters = new Set(this.started_by[this.trackOf(span)]);
    if (!this.whats[what] || !starters.size) return -1;
    const { first, order } = this.byWhat;
    const come = (i) => Math.min(this.endOf(i), now);
    let found = -1;
    for (let a = first[what]; a < first[what + 1]; a++) {
      const i = order[a];
      if (this.starts[i] >= now || (found >= 0 && (come(i) < come(found) || (come(i) === come(found) && this.starts[i] <= this.starts[found])))) continue;
      const place = this.placeOf(i);
      if (place % this.kinds.length === this.busy && starters.has(Math.floor(place / this.kinds.length))) found = i;
    }
    return found;
  }

  // The first span of a track that starts after a given one (forward), or the last that starts before it; -1: none.
  beside(span, forward) {
    const [track, t] = [this.trackOf(span), this.starts[span]];
    let found = -1;
    for (let kind = 0; kind < this.kinds.length; kind++) {
      const series = this.series(track, kind);
      const i = seek(series, series.a - 1, forward ? t : t - 0.5) + (forward ? 1 : 0);
      if (i < series.a || i >= series.b) continue;
      if (found < 0 || (this.starts[i] < this.starts[found]) === forward) found = i;
    }
    return found;
  }

  // The first span of a track that ends after cycle t; -1: none.
  firstIn(track, t) {
    let found = -1;
    for (let kind = 0; kind < this.kinds.length; kind++) {
      const { a, b } = this.series(track, kind);
      const at = seek(this.series(track, kind), a - 1, t);
      const i = at >= a && this.endOf(at) > t ? at : at + 1;
      if (i < b && (found < 0 || this.starts[i] < this.starts[found])) found = i;
    }
    return found;
  }

  // The number of spans of a track that start in a window.
  within(track, from, to) {
    let count = 0;
    for (let kind = 0; kind < this.kinds.length; kind++) {
      const series = this.series(track, kind);
      const i = seek(series, series.a - 1, from);
      count += seek(series, i, to) - i;
    }
    return count;
  }

  // One series that counts, in every cycle, the spans of all [a, b) in ranges that hits[what] wants.
  merged(ranges, hits) {
    return this.added(ranges, (i) => (hits[this.what[i]] ? 1 : 0));
  }

  // One series that adds, in every cycle, what each span of all [a, b) in ranges weighs.
  added(ranges, weightOf) {
    const wanted = [];
    for (const [a, b] of ranges) for (let i = a; i < b; i++) if (weightOf(i) > 0) wanted.push(i);
    const begins = Uint32Array.from(wanted).sort((a, b) => this.starts[a] - this.starts[b]);
    const ends = Uint32Array.from(wanted).sort((a, b) => this.endOf(a) - this.endOf(b));
    return this.swept(begins, ends, weightOf);
  }

  swept(begins, ends, weightOf) {
    const most = begins.length * 2;
    const [starts, sums, weights] = [new Float64Array(most), new Float64Array(most + 1), new Float64Array(most)];
    let [count, open, weight, t, i, j] = [0, 0, 0, 0, 0, 0];
    while (j < ends.length) {
      const end = this.endOf(ends[j]);
      const to = i < begins.length && this.starts[begins[i]] < end ? this.starts[begins[i]] : end;
      if (open > 0 && to > t) {
        starts[count] = t;
        weights[count] = weight;
        sums[count + 1] = sums[count] + weight * (to - t);
        count++;
      }
      t = to;
      for (; i < begins.length && this.starts[begins[i]] === t; i++, open++) weight += weightOf(begins[i]);
      for (; j < ends.length && this.endOf(ends[j]) === t; j++, open--) weight -= weightOf(ends[j]);
      if (open === 0) weight = 0; // what rounding left
    }
    return { starts: starts.slice(0, count), sums: sums.slice(0, count + 1), weights: weights.slice(0, count), a: 0, b: count };
  }
}
