// What a query is found in, and one hit after the other.

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
  const [spans, tracks] = [counted(search.count, "span"), counted(search.tracks.size, "track")];
  if (!search.count && !search.tracks.size) return "nothing found";
  return `${[search.tracks.size && tracks, search.count && spans].filter(Boolean).join(", ")}; Enter: next`;
}
