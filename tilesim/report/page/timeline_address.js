// The view in the address of the page: who reloads or shares it gets the same cycles, span, range, folds and pins.

const ADDRESS = "#timeline?";

class Address {
  constructor(picture) {
    this.picture = picture;
    this.plain = this.words(); // of the view that the page opens with
    addEventListener("hashchange", () => this.restore());
  }

  words() {
    const { view, selected, spans, range, rows, path, counters } = this.picture;
    const parts = new URLSearchParams();
    const cycles = ({ from, to }) => `${Number(from.toFixed(3))}~${Number(to.toFixed(3))}`;
    parts.set("view", cycles(view));
    if (selected >= 0) parts.set("span", `${spans.starts[selected]}@${spans.tracks[spans.trackOf(selected)]}`);
    if (range.chosen) parts.set("range", cycles(range.chosen));
    parts.set("open", rows.groups.filter(({ folded }) => !folded).map(({ number }) => number).join("."));
    for (const { track } of rows.pins) parts.append("pin", spans.tracks[track]);
    if (rows.withIdle) parts.set("idle", "1");
    if (!rows.byShare) parts.set("names", "1");
    if (counters.hidden) parts.set("counters", "0");
    if (path?.isShown) parts.set("path", "1");
    return parts.toString();
  }

  write() {
    const words = this.words();
    if (words === this.plain && !location.hash.startsWith(ADDRESS)) return;
    try {
      history.replaceState(null, "", ADDRESS + words);
    } catch {
      // a frame that may not have an address of its own
    }
  }

  // Shows what the address says; whether it says anything.
  restore() {
    if (!location.hash.startsWith(ADDRESS)) return false;
    const parts = new URLSearchParams(location.hash.slice(ADDRESS.length));
    const { picture } = this;
    this.rows(parts, picture.rows);
    picture.counters.hidden = parts.get("counters") === "0";
    if (picture.path) picture.path.isShown = parts.has("path");
    picture.refold();
    const range = cyclesOf(parts.get("range"));
    if (range) picture.range.set(...range);
    else picture.range.chosen = null;
    picture.range.settle();
    picture.select(this.span(parts.get("span")));
    const view = cyclesOf(parts.get("view"));
    if (view) picture.show(...view);
    picture.buttons();
    return true;
  }

  rows(parts, rows) {
    const { tracks } = this.picture.spans;
    const open = new Set((parts.get("open") || "").split(".").filter(Boolean).map(Number));
    for (const group of rows.groups) group.folded = !open.has(group.number);
    rows.pins = parts.getAll("pin").map((name) => tracks.indexOf(name)).filter((track) => track >= 0).map((track) => rows.pinned(track));
    rows.withIdle = parts.has("idle");
    rows.byShare = !parts.has("names");
    rows.list();
  }

  span(words) {
    const [, start, name] = /^(-?[0-9.]+)@([^]*)$/.exec(words || "") || [];
    const track = this.picture.spans.tracks.indexOf(name);
    return track < 0 ? -1 : this.picture.spans.at(track, Number(start));
  }
}

function cyclesOf(words) {
  const found = (words || "").split("~").map(Number);
  return found.length === 2 && found.every(Number.isFinite) ? found : null;
}
