// The roofline: what units and buses allow, and what the layers make of it.
const { element, svg, number } = tilesim;
const WIDTH = 980;
const HEIGHT = 520;
const EDGE = { left: 70, right: 16, top: 18, bottom: 46 };
const STRIP = 90; // for layers that moved no byte
const MARKS = { convolution: "circle", depthwise: "triangle", "fully connected": "square" };
const SHAPES = {
  circle: "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0Z",
  triangle: "M0,-6L5.5,4.5L-5.5,4.5Z",
  square: "M-4.6,-4.6H4.6V4.6H-4.6Z",
  diamond: "M0,-6L6,0L0,6L-6,0Z",
};

tilesim.section("roofline", async (root, data) => {
  if (data.note) {
    root.append(element("p", { class: "note" }, data.note));
    return;
  }
  const picture = element("div");
  const show = (k) => picture.replaceChildren(draw(data.rooflines[k]));
  const choose = element("select", { change: () => show(choose.selectedIndex) }, ...data.rooflines.map(({ words }) => element("option", {}, `MACs per ${words}`)));
  root.append(
    element("div", { class: "key" }, element("label", {}, "intensity: ", choose), ...data.causes.map(causeKey)),
    element("div", { class: "key" }, ...[...new Set(data.rooflines[0].dots.map(({ kind }) => MARKS[kind] ? kind : "other kinds"))].map(markKey)),
    picture,
    element("p", { class: "definition" }, data.definition),
  );
  show(0);
});

const hue = (cause) => `var(--cause-${cause.replace(/[ _]/g, "-")}, var(--stall-other))`;
const shape = (kind) => SHAPES[MARKS[kind] || "diamond"];
const giga = (rate) => `${Number((rate / 1e9).toPrecision(4)).toLocaleString("en")} \u00d7 10\u2079`;

function causeKey({ name, words, sentence }) {
  const key = element("span", { tabindex: "0" }, element("i", { class: "swatch", style: `background: ${hue(name)}` }), `bound by ${words}`);
  tilesim.tip(key, () => sentence);
  return key;
}

function markKey(kind) {
  return element("span", {}, svg("svg", { width: 14, height: 14, viewBox: "-7 -7 14 14", style: "vertical-align: -2px" }, svg("path", { d: shape(kind), fill: "none", stroke: "var(--fg)" })), ` ${kind}`);
}

// ---- scales: both axes are logarithmic

function scales(found) {
  const known = found.dots.map(({ intensity }) => intensity).filter((x) => x !== null);
  const highest = Math.max(...found.peaks.map(({ per_second: rate }) => rate));
  const ridge = highest / found.roof.per_second;
  const strip = known.length < found.dots.length ? STRIP : 0;
  const right = WIDTH - EDGE.right - strip;
  const x = logarithmic(Math.min(...known, ridge) / 8, Math.max(...known, ridge) * 2, EDGE.left, right);
  const lowest = Math.min(...found.dots.map(({ achieved }) => achieved), ...found.peaks.map(({ per_second: rate }) => rate)) / 2;
  const y = logarithmic(lowest, highest * 2, HEIGHT - EDGE.bottom, EDGE.top);
  return { x, y, right, highest, strip, beyond: right + strip / 2 };
}

function logarithmic(low, high, from, to) {
  const place = (value) => from + ((Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low))) * (to - from);
  const powers = [];
  for (let power = Math.ceil(Math.log10(low)); 10 ** power <= high; power++) powers.push(10 ** power);
  return { low, high, place, powers };
}

// ---- the picture

function draw(found) {
  const scale = scales(found);
  const dots = [...found.dots].sort((a, b) => b.macs - a.macs);
  return svg("svg", { class: "roofline", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": `Roofline: MACs a second against MACs per ${found.words}` },
    ...axes(found, scale),
    ...found.peaks.flatMap((peak) => flat(peak, scale)),
    ...slant(found.roof, scale),
    ...dots.map((dot) => mark(found, dot, scale)));
}

function axes(found, { x, y, right, strip, beyond }) {
  const bottom = HEIGHT - EDGE.bottom;
  const columns = x.powers.map((value) => svg("g", {}, svg("line", { class: "grid", x1: x.place(value), x2: x.place(value), y1: EDGE.top, y2: bottom }), svg("text", { class: "muted", x: x.place(value), y: bottom + 17, "text-anchor": "middle" }, number(value))));
  const rows = y.powers.map((value) => svg("g", {}, svg("line", { class: "grid", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y.place(value), y2: y.place(value) }), svg("text", { class: "muted", x: EDGE.left - 8, y: y.place(value) + 4, "text-anchor": "end" }, number(value / 1e9))));
  const middle = (EDGE.top + bottom) / 2;
  const none = strip ? [svg("line", { class: "beyond", x1: right, x2: right, y1: EDGE.top, y2: bottom }), svg("text", { class: "muted", x: beyond, y: bottom + 17, "text-anchor": "middle" }, "no bytes")] : [];
  return [...columns, ...rows, ...none,
    svg("text", { x: (EDGE.left + right) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, `MACs per ${found.words}`),
    svg("text", { transform: `translate(16 ${middle}) rotate(-90)`, "text-anchor": "middle" }, "10\u2079 MACs a second")];
}

function flat(peak, { y }) {
  const at = y.place(peak.per_second);
  return [svg("line", { class: "peak", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: at, y2: at }), svg("text", { x: WIDTH - EDGE.right - 4, y: at - 5, "text-anchor": "end" }, `${peak.words}: ${giga(peak.per_second)} MACs/s`)];
}

function slant(roof, { x, y, highest }) {
  const rate = roof.per_second;
  const first = Math.max(x.low, y.low / rate);
  const [x1, y1, x2, y2] = [x.place(first), y.place(first * rate), x.place(highest / rate), y.place(highest)];
  const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  return [
    svg("line", { class: "roof", x1, y1, x2, y2 }),
    svg("text", { class: "muted", transform: `translate(${x2 - 30 * Math.cos((angle * Math.PI) / 180)} ${y2 - 30 * Math.sin((angle * Math.PI) / 180)}) rotate(${angle})`, "text-anchor": "end", dy: -4 }, `${roof.words}: ${giga(rate)} B/s`),
  ];
}

function mark(found, dot, { x, y, beyond }) {
  const at = [dot.intensity === null ? beyond : x.place(dot.intensity), y.place(dot.achieved)];
  const go = () => showLayer(dot);
  const node = svg("path", {
    class: "dot", d: shape(dot.kind), transform: `translate(${at[0]} ${at[1]})`, style: `fill: ${hue(dot.bound_by)}`, tabindex: "0", role: "button",
    "aria-label": `layer ${dot.index}, ${dot.name}`, "data-layer": dot.index, click: go, keydown: (event) => event.key === "Enter" && go(),
  });
  tilesim.tip(node, () => words(found, dot));
  return node;
}

function words(found, dot) {
  const line = (text) => element("div", {}, text);
  const ratio = dot.intensity === null ? `no ${found.words}` : `${number(dot.bytes)} bytes: ${Number(dot.intensity.toPrecision(4))} MACs per ${found.words}`;
  const share = dot.attainable === null ? [] : [line(`attainable there: ${giga(dot.attainable)} MACs/s`)];
  return [element("div", {}, element("b", {}, `${dot.index}  ${dot.name}`)), line(`${dot.kind}, bound by ${dot.bound_by ? dot.bound_words : "nothing"}`), line(`${number(dot.macs)} MACs in ${number(dot.cycles)} cycles: ${giga(dot.achieved)} MACs/s`), line(ratio), ...share];
}

function showLayer({ start, cycles }) {
  tilesim.emit("window", { from: start, to: start + cycles });
  const place = document.getElementById("timeline");
  if (place) place.scrollIntoView();
}
