// The elements around the picture: tools, legend, places, and what explains them.

const HINT = "Point at a span to read about it; click it to keep it here.";
const KEYS = [
  ["W S", "zoom in and out at the pointer, as + and \u2212"],
  ["A D", "move, as the arrows"],
  ["Home", "the whole run, then its loading too"],
  ["N P", "the next and the previous span of the track, as . and ,"],
  ["F", "fill the picture with the selected span, as Z"],
  ["Enter", "what released the selected stall, what that waited for, and so on to the end"],
  ["R", "choose the selected span, or the cycles shown, as range"],
  ["M", "pin the track under the pointer, of the selected span or just found, or unpin it"],
  ["J K", "the next and the previous finding"],
  ["C", "the critical path"],
  ["U", "the counters"],
  ["I", "tracks that are idle throughout"],
  ["/", "search"],
  ["Esc", "let go of all"],
];
const READING =
  "A row is a unit or a link of a bus. A folded group shows the one of its tracks that is busiest in the cycles shown, and names it. " +
  "Each column of pixels is coloured with the exact share of its cycles that each kind takes, busy at the bottom; what is left is idle. " +
  "The share beside a name is that of busy cycles among those shown. MAC arrays stand first; then groups, and their tracks, in the order of their cycles on the critical path, and of those in which they wait.";
const COUNTING =
  " Cycles count from the beginning of the run, and \u201cto\u201d is the one after the last; the loading of parameters before it has negative ones, and is paler. " +
  "The dashed arrow leads from a stall to what released it.";
const POINTER =
  "Ctrl and the wheel zoom at the pointer, Shift and the wheel move; the wheel alone scrolls. Dragging moves; dragging on the ruler, or with Shift, chooses a range and adds up what everybody did in it. A click on a track\u2019s name pins it.";

function button(words, act, label) {
  return tilesim.element("button", { type: "button", click: act, "aria-label": label || words }, words);
}

function toggle(words, act, key) {
  return tilesim.element("button", { type: "button", click: act, "aria-pressed": "false", title: `key ${key}` }, words);
}

// What can be asked of the picture.
function toolbar(picture) {
  const { element } = tilesim;
  picture.query = element("input", { type: "search", placeholder: "unit, instruction, layer", "aria-label": "search the timeline for a unit, an instruction or a layer", size: 20 });
  picture.found = element("span", { class: "muted found-count", role: "status" });
  picture.idleButton = toggle(counted(picture.rows.idleCount, "idle track"), () => picture.toggleIdle(), "I");
  picture.idleButton.hidden = !picture.rows.idleCount;
  picture.counterButton = toggle("Counters", () => picture.toggleCounters(), "U");
  picture.counterButton.hidden = !picture.data.counters.length;
  picture.pathButton = toggle("Critical path", () => picture.togglePath(), "C");
  picture.pathButton.hidden = !picture.path;
  picture.order = element("select", { "aria-label": "order of the tracks", change: () => picture.sort(picture.order.value === "share") },
    element("option", { value: "share" }, "by critical path"), element("option", { value: "name" }, "by name"));
  return element("div", { class: "tools" }, picture.query, picture.found, element("span", { class: "gap" }), picture.pathButton, picture.counterButton, picture.idleButton, picture.order,
    button("Fold all", () => picture.foldAll(true)), button("Unfold all", () => picture.foldAll(false)),
    element("span", { class: "zoom" }, button("Whole run", () => picture.home()), button("+", () => picture.zoom(0.5), "zoom in"), button("\u2212", () => picture.zoom(2), "zoom out")));
}

function everyKind(data) {
  return [...data.kinds, { kind: "idle", ...data.idle }];
}

function legend(data) {
  const { element } = tilesim;
  const entries = everyKind(data).map(({ kind, words, sentence }) => {
    const entry = element("span", { tabindex: "0" }, swatch(kind), words);
    tilesim.tip(entry, () => [sentence]);
    return entry;
  });
  return element("div", { class: "legend", "aria-label": "legend" }, ...entries);
}

function definitions(data) {
  const { element } = tilesim;
  const keys = KEYS.map(([key, words]) => element("div", {}, element("kbd", {}, key), ` ${words}`));
  const terms = everyKind(data).map(({ kind, words, sentence }) => element("div", {}, element("dt", {}, swatch(kind), words), element("dd", {}, sentence)));
  return element("details", {}, element("summary", {}, "How to read it, and the keys"),
    element("p", {}, READING + COUNTING), element("p", {}, POINTER), element("div", { class: "keys" }, ...keys), element("dl", {}, ...terms));
}

// All of it, in its order; the picture keeps what it has to reach.
function framed(picture) {
  const { element } = tilesim;
  const { data } = picture;
  picture.top = element("canvas", { class: "top", "aria-hidden": "true" });
  picture.head = new Header(picture.top, data.lanes, data.findings);
  const unit = axis.ticks_hz ? "time" : `cycles of ${tilesim.number(Number((1e9 / data.clock_hz).toPrecision(4)))} ns`;
  const titles = element("div", { class: "titles", style: `height: ${picture.head.height}px` }, element("span", {}, picture.head.depth ? data.lanes_words || "layers" : ""), element("span", {}, unit, element("span", { class: "busy" }, "busy")));
  const [counterLabels, counterCanvas] = [element("div", { class: "labels" }), element("canvas", { class: "curves", "aria-hidden": "true" })];
  picture.counters = new Counters(picture.spans, data.counters, counterCanvas, counterLabels);
  picture.counterRow = element("div", { class: "lanes counters" }, counterLabels, counterCanvas);
  const labels = element("div", { class: "labels" });
  picture.labels = new Labels(picture, labels);
  picture.canvas = element("canvas", {});
  const over = element("canvas", { class: "over" });
  picture.plot = element("div", { class: "plot" }, picture.canvas, over);
  picture.marks = new Marks(picture, over);
  const name = `timeline of ${picture.spans.tracks.length} units and links`;
  picture.scroller = element("div", { class: "scroller", tabindex: "0", role: "application", "aria-label": `${name}; ${KEYS.map(([key, words]) => `${key}: ${words}`).join("; ")}`, "aria-describedby": "timeline-details" }, labels, picture.plot);
  picture.line = element("output", { id: "timeline-details", "aria-live": "polite" }, HINT);
  picture.copy = button("Copy", () => picture.copied());
  picture.copy.hidden = true;
  const [chain, range] = [element("div", { class: "chain" }), element("div", { class: "range" })];
  picture.chain = new Chain(picture, chain);
  picture.range = new Range(picture, range);
  const note = data.note && element("p", { class: "note" }, data.note);
  picture.root.append(...[note, picture.findings.bar].filter(Boolean), toolbar(picture), legend(data), element("div", { class: "lanes" }, titles, picture.top), picture.counterRow, picture.scroller,
    element("div", { class: "details" }, picture.line, picture.copy), chain, range, definitions(data));
}
