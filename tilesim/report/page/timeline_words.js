// What tooltips and the line of details say.

function window_(from, to) {
  return `cycles ${tilesim.number(from)} to ${tilesim.number(to)}`;
}

function ofSpan(spans, span) {
  const kind = spans.kinds[spans.kindOf(span)];
  const [from, to, releasing] = [spans.starts[span], spans.endOf(span), spans.released_by[span]];
  return {
    track: spans.tracks[spans.trackOf(span)],
    kind: kind.words,
    sentence: kind.sentence,
    isStall: kind.kind.startsWith("stall:"),
    instruction: spans.whats[spans.what[span]],
    layer: spans.layerOf(span),
    cycles: `${window_(from, to)} (${tilesim.number(to - from)})`,
    bytes: spans.bytes[span],
    releasing,
  };
}

function releaser(spans, span) {
  return `${spans.tracks[spans.trackOf(span)]}, ${spans.whats[spans.what[span]] || "no instruction"}, ${window_(spans.starts[span], spans.endOf(span))}`;
}

function line(name, ...value) {
  return tilesim.element("div", {}, tilesim.element("span", { class: "muted" }, `${name} `), ...value);
}

function swatch(kind) {
  return tilesim.element("span", { class: "swatch", style: `background: var(--${kind.replace(":", "-")}, var(--stall-other))` });
}

function spanTip(spans, span) {
  const words = ofSpan(spans, span);
  const kind = spans.kinds[spans.kindOf(span)].kind;
  return [
    tilesim.element("div", { class: "track" }, words.track),
    tilesim.element("div", { class: "kind" }, swatch(kind), words.kind),
    words.instruction ? line("instruction", words.instruction) : null,
    words.layer ? line("layer", words.layer.short) : null,
    tilesim.element("div", {}, words.cycles),
    words.bytes ? line("moves", tilesim.bytes(words.bytes)) : null,
    words.isStall ? tilesim.element("div", { class: "muted" }, words.sentence) : null,
    words.releasing >= 0 ? line("released by", releaser(spans, words.releasing)) : null,
  ].filter(Boolean);
}

// For a pixel that holds several spans, or a row that sums several tracks.
function mixTip(row, from, to) {
  const { kinds } = row.spans;
  const mix = row.mix(from, to);
  const idle = Math.max(0, 1 - mix.reduce((sum, share) => sum + share, 0));
  const shown = kinds.map(({ kind, words }, k) => ({ kind, words, share: mix[k] })).filter(({ share }) => share > 0);
  const parts = [...shown, ...(idle > 1e-9 ? [{ kind: "idle", words: "idle", share: idle }] : [])];
  return [
    tilesim.element("div", { class: "track" }, row.isGroup ? `${row.name}: the sum of ${row.tracks.length} tracks` : row.path),
    tilesim.element("div", {}, window_(Math.floor(from), Math.ceil(to))),
    ...parts.map(({ kind, words, share }) => tilesim.element("div", {}, swatch(kind), `${tilesim.percent(share)} ${words}`)),
  ];
}

function details(spans, span) {
  const words = ofSpan(spans, span);
  const parts = [words.track, words.kind, words.instruction, words.layer && `layer ${words.layer.short}`, words.cycles, words.bytes && tilesim.bytes(words.bytes)];
  if (words.isStall) parts.push(words.releasing >= 0 ? `released by ${releaser(spans, words.releasing)}` : "what released it was not recorded");
  return parts.filter(Boolean).join(" \u00b7 ");
}

// ---- searching

// The instructions and tracks that a query is found in: in their own names, in those that the rows have, or in the names
// of their layers.
function searched(spans, rows, query) {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return null;
  const has = (name) => name.toLowerCase().includes(wanted);
  const layers = spans.layers.map(({ name, short }) => has(name) || has(short));
  const hits = Uint8Array.from(spans.whats, (name, what) => (has(name) || layers[spans.layer_of[what]] ? 1 : 0));
  const tracks = rows.parts.flat().filter((row) => has(row.path) || has(`${row.group.title} ${row.name}`)).map((row) => row.tracks[0]);
  let count = 0;
  for (let i = 0; i < spans.count; i++) count += hits[spans.what[i]];
  return { query, hits, tracks: new Set(tracks), count, last: null };
}

// The next hit: the tracks first, then the spans as they start.
function* hitsOf(spans, search) {
  for (const track of search.tracks) yield { track };
  let span = -1;
  while ((span = following(spans, search, span)) >= 0) yield { span };
}

// The span found that starts next after one, in the order of starts and, of one cycle, of places.
function following(spans, { hits }, after) {
  const t = after >= 0 ? spans.starts[after] : -Infinity;
  let found = -1;
  for (let i = 0; i < spans.count; i++) {
    if (!hits[spans.what[i]] || spans.starts[i] < t || (spans.starts[i] === t && i <= after)) continue;
    if (found < 0 || spans.starts[i] < spans.starts[found]) found = i;
  }
  return found;
}

function searchWords(search) {
  if (!search) return "";
  const spans = `${tilesim.number(search.count)} ${search.count === 1 ? "span" : "spans"}`;
  const tracks = `${search.tracks.size} ${search.tracks.size === 1 ? "track" : "tracks"}`;
  if (!search.count && !search.tracks.size) return "nothing found";
  return `${[search.tracks.size && tracks, search.count && spans].filter(Boolean).join(", ")}; Enter: next`;
}
