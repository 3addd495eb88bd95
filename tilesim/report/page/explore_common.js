// What the sections of a sweep share: its points, how keys and measures are put, and what there is to say of a point.
const { element, svg, number } = tilesim;
const NONE = "–";

// ---- the points: each a number `k`; keys are codes of values, measures are in the units that show

async function theSpace() {
  const { data, columns } = await tilesim.given("explore");
  const ran = (k) => columns.status[k] === 0;
  return {
    count: data.count, networks: data.networks, network: columns.network, ran,
    keys: data.keys.map((key, place) => ({ ...key, codes: columns[`key.${place}`] })),
    measures: data.measures.map((measure) => ({ ...measure, values: scaled(columns[measure.name], measure.factor) })),
    status: (k) => data.statuses[columns.status[k]],
    bound: (k) => (ran(k) ? data.bounds[columns.bound[k]] : ""),
    command: texts(data.texts.command, columns["command words"], columns["command ends"]),
    reason: texts(data.texts.reason, columns["reason words"], columns["reason ends"]),
  };
}

function scaled(column, factor) {
  return factor === 1 ? column : Float64Array.from(column, (value) => value * factor);
}

function texts(words, places, ends) {
  return (k) => Array.from(places.subarray(k ? ends[k - 1] : 0, ends[k]), (place) => words[place]).join(" ");
}

function pointsOf(space, network) {
  const found = [];
  for (let k = 0; k < space.count; k++) if (space.network[k] === network) found.push(k);
  return found;
}

// ---- words

const keyText = (key, k) => (key.codes[k] < 0 ? NONE : key.values[key.codes[k]]);
const behind = ({ unit }) => (unit && unit !== "B" ? ` ${unit}` : "");
const titled = ({ words, unit }) => (unit && unit !== "B" ? `${words}, ${unit}` : words);
const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
const lowest = ({ more_is_better: more }) => (more ? "highest" : "lowest");

// A number of a measure without its unit, as precise as a table needs it.
function figure(measure, value) {
  if (Number.isNaN(value)) return NONE;
  if (measure.unit === "B") return tilesim.bytes(Math.round(value));
  if (measure.unit === "%") return value.toFixed(1);
  return Number.isInteger(value) || Math.abs(value) >= 1000 ? number(Math.round(value)) : number(Number(value.toPrecision(4)));
}

const withUnit = (measure, value) => figure(measure, value) + (Number.isNaN(value) ? "" : behind(measure));

// Text with all that nobody sees, or that turns a line round, spelt out.
function visible(text) {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}

// ---- a point

const nameOf = (space, k) => `point ${number(k + 1)}${space.networks.length > 1 ? ` of ${space.networks[space.network[k]]}` : ""}`;

// The keys that tell a point from others of its network, on one line.
function keysLine(space, k) {
  const words = telling(space).filter((key) => key.codes[k] >= 0).map((key) => `${key.key} ${keyText(key, k)}`);
  return words.join(" · ") || "the only point";
}

// The telling keys as columns of a table: titles, and the cells of a point.
const telling = (space) => space.keys.filter((key) => key.telling);
const keyTitles = (space) => telling(space).map(({ key }) => element("th", { scope: "col", class: "of-key" }, ...breakable(key)));
const keyCells = (space, k) => telling(space).map((key) => element("td", { class: "of-key", title: keyText(key, k) }, keyText(key, k)));

// A title that may break behind the dots and underscores of a key.
const breakable = (title) => title.split(/(?<=[._])/).flatMap((part) => [part, element("wbr")]);

// A point as a button that shows it; how many others are as good.
function pointButton(k, equals, jump) {
  const button = element("button", { type: "button", class: "plain", click: () => tilesim.emit("point", { k, jump }) }, `point ${number(k + 1)}`);
  return [button, equals ? element("span", { class: "muted", title: `${number(equals)} others are as good` }, ` (+${number(equals)})`) : null];
}

function shortly(space, k, measures) {
  const line = (...words) => element("div", {}, ...words);
  return [line(element("b", {}, nameOf(space, k))), line(keysLine(space, k)), ...measures.map((measure) => line(`${measure.words}: ${withUnit(measure, measure.values[k])}`))];
}

// All of a point: its keys, its measures or why it has none, and its command.
function details(space, k) {
  const said = element("span", { class: "muted", role: "status" });
  const command = space.command(k);
  const copy = async () => { said.textContent = (await tilesim.copied(command)) ? "copied" : "the browser does not let this page copy: select the command"; };
  const pair = (name, value) => [element("dt", {}, name), element("dd", {}, value)];
  const keys = space.keys.filter((key) => key.codes[k] >= 0).flatMap((key) => pair(key.key, keyText(key, k)));
  const known = space.measures.filter(({ values }) => !Number.isNaN(values[k]));
  const gave = [known.filter(({ share }) => !share), known.filter(({ share }) => share)]
    .map((part) => part.flatMap((measure) => pair(measure.words, withUnit(measure, measure.values[k])))).filter((part) => part.length);
  return [
    element("h3", {}, `${nameOf(space, k).replace("p", "P")}: ${space.status(k)}${space.bound(k) ? `, bound by ${space.bound(k)}` : ""}`),
    ...(space.ran(k) ? [] : [element("p", { class: "note" }, space.reason(k))]),
    element("div", { class: "command" }, element("code", {}, visible(command)), element("button", { type: "button", click: copy }, "Copy command"), said),
    element("div", { class: "facts" }, element("dl", {}, ...keys), ...gave.map((part) => element("dl", {}, ...part)))];
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

// A choice of the network, where there are several.
function networkChoice(space, change) {
  return space.networks.length > 1 ? [choice("network", space.networks, 0, change)] : [];
}

// ---- numbers

function range(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

// Whether numbers are so far apart that a logarithm shows them better.
const isWide = ([low, high]) => low > 0 && high > 20 * low;
