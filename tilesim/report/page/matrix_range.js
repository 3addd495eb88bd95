// The rows of the matrix for a part of the run, counted anew from the spans that the timeline has.

const NOT_KNOWN = -2;
const ITSELF = -1;

async function spansOfTimeline() {
  if (!document.getElementById("timeline")) return null;
  const { data, columns } = await tilesim.given("timeline");
  return columns.first ? { data, columns } : null;
}

// Who let each span's stall end, as the whole run's rows have it: `rows.culprit` by victim, kind and releasing track.
class Recount {
  constructor({ data, rows, senders }, timeline) {
    const { first, gap, cycles } = timeline.columns;
    Object.assign(this, { timeline: timeline.columns, kinds: timeline.data.kinds.map(({ kind }) => kind) });
    const known = new Map(data.tracks.map((track, place) => [track, place]));
    this.sender = timeline.data.tracks.map((track) => senders.get(track)); // of a link: by instruction
    this.unit = timeline.data.tracks.map((track) => known.get(track) ?? -1);
    this.kind = this.kinds.map((kind) => data.kinds.findIndex((each) => each.kind === kind));
    this.series = new Int32Array(cycles.length);
    this.starts = new Float64Array(cycles.length);
    for (let series = 0; series < first.length - 1; series++) {
      let end = timeline.data.origin;
      for (let span = first[series]; span < first[series + 1]; span++) {
        this.series[span] = series;
        this.starts[span] = end + gap[span];
        end = this.starts[span] + cycles[span];
      }
    }
    this.resource = new Map(rows.map((row) => [[row.victim, row.culprit, row.kind].join(), row.resource]));
  }

  culprit(victim, kind, releasing) {
    if (releasing < 0) return this.resource.has([victim, NOT_KNOWN, kind].join()) ? NOT_KNOWN : ITSELF;
    const track = Math.floor(this.series[releasing] / this.kinds.length);
    const sent = this.sender[track]?.[this.timeline.what[releasing]] ?? -1;
    const found = sent >= 0 ? sent : this.unit[track];
    return found === victim ? ITSELF : found >= 0 ? found : NOT_KNOWN;
  }

  between(from, to) {
    const { first, cycles, released_by } = this.timeline;
    const found = new Map();
    for (let series = 0; series < first.length - 1; series++) {
      const [victim, kind] = [this.unit[Math.floor(series / this.kinds.length)], this.kind[series % this.kinds.length]];
      if (kind < 0 || victim < 0) continue;
      for (let span = first[series]; span < first[series + 1]; span++) {
        const start = Math.max(this.starts[span], from);
        const inside = Math.min(this.starts[span] + cycles[span], to) - start;
        if (inside > 0) this.add(found, victim, this.culprit(victim, kind, released_by[span]), kind, start, inside);
      }
    }
    return [...found.values()];
  }

  add(found, victim, culprit, kind, start, cycles) {
    const key = [victim, culprit, kind].join();
    const row = found.get(key) || { victim, culprit, kind, resource: this.resource.get(key) ?? 0, cycles: 0, longest_start: start, longest_cycles: 0 };
    row.cycles += cycles;
    if (cycles > row.longest_cycles) Object.assign(row, { longest_start: start, longest_cycles: cycles });
    found.set(key, row);
  }
}
