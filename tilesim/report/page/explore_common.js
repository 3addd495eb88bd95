// What the sections of a sweep share: how keys and measures are put, and what there is to say of a point.
const { element, svg, number } = tilesim;
const NONE = "–";

// ---- words

// A value of a key, as people read it; those of names that end in _bytes are sizes.
function spelt(key, value) {
  if (typeof value !== "number") return String(value);
  return key.name.endsWith("_bytes") && value >= 1024 ? tilesim.bytes(value) : number(value);
}

function keyText(key, k) {
  return key.places[k] < 0 ? NONE : spelt(key, key.values[key.places[k]]);
}

// A number of a measure without its unit, as precise as a table needs it.
function figure(measure, value) {
  if (Number.isNaN(value)) return NONE;
  if (measure.unit === "B") return tilesim.bytes(Math.round(value));
  if (measure.unit === "%") return value.toFixed(1);
  return Number.isInteger(value) || Math.abs(value) >= 1000 ? number(Math.round(value)) : number(Number(value.toPrecision(4)));
}

const behind = ({ unit }) => (unit && unit !== "B" ? ` ${unit}` : "");
const withUnit = (measure, value) => figure(measure, value) + behind(measure);
const titled = ({ words, unit }) => (unit && unit !== "B" ? `${words}, ${unit}` : words);
const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);
const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

// Text with all that nobody sees, or that turns the line round, spelt out.
function visible(text) {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}

// ---- a point

// The keys that tell points of one network apart; a grid tells its rows and columns.
function telling(space) {
  const grid = space.keys.some(({ name }) => name === "grid");
  return space.keys.filter(({ name, role }) => role !== "network" && !(grid && /^grid\./.test(name)));
}

// The keys of a point on one line.
function keysLine(space, k) {
  const words = telling(space).filter((key) => key.places[k] >= 0).map((key) => `${key.name} ${keyText(key, k)}`);
  return words.join(" · ") || "the only point";
}

function lines(space, k, chosen) {
  const line = (...words) => element("div", {}, ...words);
  return [
    line(element("b", {}, `point ${number(k + 1)}: ${space.networks[space.network[k]]}`)), line(keysLine(space, k)),
    ...chosen.filter(Boolean).map((measure) => line(`${measure.words}: ${withUnit(measure, measure.values[k])}`))];
}

// All of a point: its keys, its measures or why it has none, and its command.
function details(space, k) {
  const said = element("span", { class: "muted", role: "status" });
  const command = space.command(k);
  const copy = async () => { said.textContent = (await copied(command)) ? "copied" : "the browser does not let this page copy: select the command"; };
  const pair = (name, value) => [element("dt", {}, name), element("dd", {}, value)];
  const keys = space.keys.filter((key) => key.places[k] >= 0).flatMap((key) => pair(key.name, keyText(key, k)));
  const measured = space.measures.filter(({ values }) => !Number.isNaN(values[k]));
  const gave = measured.flatMap((measure) => pair(measure.words, withUnit(measure, measure.values[k])));
  const title = `Point ${number(k + 1)} of ${space.networks[space.network[k]]}, ${space.status(k)}${space.bound(k) ? `, bound by ${space.bound(k)}` : ""}`;
  return [
    element("h3", {}, title),
    ...(space.ran(k) ? [] : [element("p", { class: "note reason" }, space.reason(k))]),
    element("div", { class: "command" }, element("code", {}, visible(command)), element("button", { type: "button", click: copy }, "Copy command"), said),
    element("div", { class: "facts" }, element("dl", {}, ...keys), element("dl", {}, ...gave))];
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.body.appendChild(element("textarea", {}, text));
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

// ---- what is chosen

function choice(words, options, chosen, change) {
  const select = element("select", { change: () => change(select.selectedIndex) }, ...options.map((option, k) => element("option", { selected: k === chosen }, option)));
  return element("label", {}, `${words}: `, select);
}

function tick(words, checked, change) {
  const box = element("input", { type: "checkbox", checked, change: () => change(box.checked) });
  return element("label", { class: "tick" }, box, ` ${words}`);
}

// The points of a network.
function pointsOf(space, network) {
  const found = [];
  for (let k = 0; k < space.count; k++) if (space.network[k] === network) found.push(k);
  return found;
}

// Whether numbers are so far apart that only powers of ten show them all.
function isWide(values) {
  const [low, high] = span(values);
  return low > 0 && high > 20 * low;
}

function span(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
