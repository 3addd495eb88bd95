// What the charts of a sweep share: scales, axes, and how numbers are put.
const { element, svg, number } = tilesim;

const linear = (low, high, from, to) => ({ low, high, from, to, place: (value) => from + ((value - low) / (high - low || 1)) * (to - from) });

function logarithmic(low, high, from, to) {
  const span = Math.log(high / low) || 1;
  return { low, high, from, to, place: (value) => from + (Math.log(value / low) / span) * (to - from) };
}

// Round numbers from `low` to `high`, some `most` of them.
function rounds(low, high, most) {
  const raw = (high - low) / most || 1;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * size).find((each) => each >= raw * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-9); k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

// Powers of two between two numbers, every second or third of them where they are many.
function powers(low, high, most = 8) {
  const [first, last] = [Math.ceil(Math.log2(low) - 1e-9), Math.floor(Math.log2(high) + 1e-9)];
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  return Array.from({ length: Math.max(0, Math.floor((last - first) / step) + 1) }, (_, k) => 2 ** (first + k * step));
}

// Numbers on a logarithmic scale: 1, 2, 5 of each power of ten where that is not too many.
function decades(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++)
    for (const k of [1, 2, 5]) if (k * 10 ** power >= low * 0.999 && k * 10 ** power <= high * 1.001) found.push(Number((k * 10 ** power).toPrecision(12)));
  return found;
}

function xAxis(scale, values, { top, bottom, title, words = number }) {
  const marks = values.map((value) => svg("g", {},
    svg("line", { class: "grid", x1: scale.place(value), x2: scale.place(value), y1: top, y2: bottom }),
    svg("text", { class: "muted", x: scale.place(value), y: bottom + 17, "text-anchor": "middle" }, words(value))));
  return [...marks, svg("text", { x: (scale.from + scale.to) / 2, y: bottom + 38, "text-anchor": "middle" }, title)];
}

function yAxis(scale, values, { left, right, title, words = number, at = 16 }) {
  const marks = values.map((value) => svg("g", {},
    svg("line", { class: "grid", x1: left, x2: right, y1: scale.place(value), y2: scale.place(value) }),
    svg("text", { class: "muted", x: left - 8, y: scale.place(value) + 4, "text-anchor": "end" }, words(value))));
  const middle = (scale.from + scale.to) / 2;
  return [...marks, svg("text", { transform: `translate(${at} ${middle}) rotate(-90)`, "text-anchor": "middle" }, title)];
}

const path = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(2)},${y.toFixed(2)}`).join("");
const whole = (cycles) => number(Math.round(cycles));
const share = (part) => `${Math.round(part * 100)} %`;
const hundredths = (value) => value.toFixed(2).replace("-", "\u2212");
const significant = (value, digits = 3) => number(Number(value.toPrecision(digits)));

// A difference with its sign; the signs are those of typography.
const signed = (value) => (Math.round(value) > 0 ? `+${whole(value)}` : whole(value));

// In the unit that fits: three digits, or for an axis as many as a round number has.
function scaled(value, units, round) {
  const [size, unit] = units.find(([each]) => Math.abs(value) >= each) || units[units.length - 1];
  const found = value / size;
  return `${round ? significant(found) : Math.abs(found) >= 100 ? whole(found) : found.toPrecision(3)} ${unit}`;
}
const duration = (us, round = false) => scaled(us, [[1e6, "s"], [1e3, "ms"], [1, "\u00b5s"], [1e-3, "ns"]], round);
const energy = (pj, round = false) => (pj || !round ? scaled(pj, [[1e9, "mJ"], [1e6, "\u00b5J"], [1e3, "nJ"], [1, "pJ"]], round) : "0");

// Rows of a name and a value, for a tooltip; above them a meaning, if there is one.
const told = (title, rows, meaning) => [element("strong", {}, title), meaning ? element("div", { class: "muted" }, meaning) : null,
  element("table", { class: "told" }, ...rows.map(([name, value]) => element("tr", {}, element("td", {}, name), element("td", { class: "number" }, value))))].filter(Boolean);

const head = (...titles) => element("thead", {}, element("tr", {}, ...titles.map((title) => (title instanceof Node ? title : element("th", { scope: "col" }, title)))));
const right = (title) => element("th", { class: "number", scope: "col" }, title);
const cell = (value) => element("td", { class: "number" }, value);
const choose = (name, words, values, change) => {
  const list = element("select", { id: name, change: () => change(list.selectedIndex) }, ...values.map((value) => element("option", {}, value)));
  return { list, label: element("label", {}, `${words} `, list) };
};
