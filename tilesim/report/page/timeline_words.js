// What tooltips and the line of details say.

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
    cycles: `${window_(from, to)} (${axis.ticks_hz ? counted(spans.cyclesOf(span), "cycle") : tilesim.number(to - from)})`,
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

// For a pixel that holds several spans, or a track that is idle there.
function mixTip(row, from, to) {
  const { kinds } = row.spans;
  const mix = row.mix(from, to);
  const idle = Math.max(0, 1 - mix.reduce((sum, share) => sum + share, 0));
  const shown = kinds.map(({ kind, words }, k) => ({ kind, words, share: mix[k] })).filter(({ share }) => share > 0);
  const parts = [...shown, ...(idle > 1e-9 ? [{ kind: "idle", words: "idle", share: idle }] : [])];
  return [
    tilesim.element("div", { class: "track" }, row.spans.tracks[row.track]),
    tilesim.element("div", {}, window_(Math.floor(from), Math.ceil(to))),
    ...parts.map(({ kind, words, share }) => tilesim.element("div", {}, swatch(kind), `${tilesim.percent(share)} ${words}`)),
    busiestLine(row),
  ].filter(Boolean);
}

// Of a folded group, whose track it is that one sees.
function busiestLine(row) {
  return row.isGroup ? tilesim.element("div", { class: "muted" }, `the busiest of ${counted(row.tracks.length, "track")} of ${row.name} here`) : null;
}

function details(spans, span) {
  const words = ofSpan(spans, span);
  const parts = [words.track, words.kind, words.instruction, words.layer && `layer ${words.layer.short}`, words.cycles, words.bytes && tilesim.bytes(words.bytes)];
  if (words.isStall) parts.push(words.releasing >= 0 ? `released by ${releaser(spans, words.releasing)}` : "what released it was not recorded");
  return parts.filter(Boolean).join(" \u00b7 ");
}
