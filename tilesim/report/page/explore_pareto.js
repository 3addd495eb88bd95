// The Pareto front of two or three measures: the third is a colour.
const MOST_LISTED = 200; // points of the front in the table under it

tilesim.section("explore_pareto", async (root, data) => {
  const space = await theSpace();
  const measures = space.measures.filter(({ share, values }) => !share && values.some((value) => !Number.isNaN(value)));
  if (!measures.length) {
    root.append(element("p", { class: "note" }, "There is no front: no point ran."));
    return;
  }
  const [across, up] = firstAxes(measures);
  const state = { network: 0, across, up, third: null, wide: [null, null], chosen: -1, focused: -1 };
  const parts = { canvas: canvasOf(state), colours: element("div"), said: element("p", { class: "muted", role: "status" }), list: element("div", { class: "front-list" }), chosen: element("div", { class: "chosen-point" }) };
  const plot = new Plot(parts.canvas);
  const view = { space, state, parts, plot, definition: data.definition };
  const boxes = [0, 1].map((side) => tick(`logarithmic ${["across", "up"][side]}`, false, (on) => { state.wide[side] = on; renew(view); }));
  const set = (name, values, side) => (place) => {
    state[name] = values[place];
    if (side !== undefined) state.wide[side] = null;
    renew(view);
  };
  view.boxes = boxes.map((label) => label.querySelector("input"));
  const words = measures.map((measure) => measure.words);
  root.append(
    element("div", { class: "explore-key" },
      ...networkChoice(space, (place) => { state.network = place; renew(view); }),
      choice("across", words, measures.indexOf(state.across), set("across", measures, 0)), boxes[0],
      choice("up", words, measures.indexOf(state.up), set("up", measures, 1)), boxes[1],
      choice("third, as a colour", ["none", ...words], 0, set("third", [null, ...measures]))),
    parts.colours, parts.canvas, legend(), parts.said, parts.chosen, parts.list,
    element("p", { class: "muted definition" }, data.definition, " Arrow keys on the picture go along the front; Enter or a click shows a point here and in the table."));
  hands(view);
  renew(view);
});

// Area or, of one chip, energy, against latency.
function firstAxes(measures) {
  const differing = (name) => measures.find((measure) => measure.name === name && new Set(measure.values.filter((value) => !Number.isNaN(value))).size > 1);
  const latency = measures.find(({ name }) => name === "latency_us") || measures[0];
  return [["area_mm2", "inference_energy_pj", "energy_pj"].map(differing).find(Boolean) || latency, latency];
}

function canvasOf({ across, up }) {
  return element("canvas", { class: "pareto", tabindex: "0", role: "application", "aria-roledescription": "scatter plot", "aria-label": `${titled(up)} against ${titled(across)}` });
}

function legend() {
  const entry = (look, words) => element("span", {}, element("i", { class: `dot-key ${look}` }), words);
  return element("div", { class: "explore-key dots" }, entry("on-front", "on the front"), entry("dominated", "dominated"), entry("is-chosen", "chosen"));
}

// ---- what shows

function renew(view) {
  const { space, state, parts, plot, boxes } = view;
  view.measures = [...new Set([state.across, state.up, state.third].filter(Boolean))];
  const all = pointsOf(space, state.network);
  view.points = all.filter((k) => view.measures.every(({ values }) => !Number.isNaN(values[k])));
  view.order = view.points.length ? frontOf(view) : [];
  view.front = new Set(view.order);
  state.focused = -1;
  const ends = [state.across, state.up].map(({ values }) => range(view.points.map((k) => values[k])));
  view.wide = ends.map((each, side) => (state.wide[side] ?? isWide(each)) && each[0] > 0);
  boxes.forEach((box, side) => Object.assign(box, { checked: view.wide[side], disabled: !(ends[side][0] > 0) }));
  parts.canvas.setAttribute("aria-label", `${titled(state.up)} against ${titled(state.across)}: ${counted(view.points.length, "point")}, ${number(view.order.length)} on the front`);
  parts.said.textContent = summary(space, view, all.length);
  plot.canvas.parentNode.classList.toggle("coloured", Boolean(state.third));
  view.colour = colouring(view, parts.colours);
  plot.canvas.hidden = !view.points.length;
  parts.list.replaceChildren(...listed(view));
  redraw(view, true);
}

// With one measure twice, the front is its best points.
function frontOf({ points, measures: [across, up, third] }) {
  const found = front(points, [across, up || across, ...(third ? [third] : [])]);
  return found.sort((a, b) => across.values[a] - across.values[b]);
}

function summary(space, { points, order, measures, state }, all) {
  const left = all - points.length ? `; ${counted(all - points.length, "point")} did not run` : "";
  const what = measures.map(({ words }) => words).join(", ");
  const places = together(order, measures).length;
  const alike = places < order.length ? `, in ${counted(places, "place")}` : "";
  return `${number(order.length)} of ${counted(points.length, "point")} of ${space.networks[state.network]} ${order.length === 1 ? "is" : "are"} on the front of ${what}${alike}${left}.`;
}

function colouring({ state: { third }, points }, place) {
  place.replaceChildren();
  if (!third || !points.length) return null;
  const ends = range(points.map((k) => third.values[k]));
  const share = shading(third, ends, isWide(ends));
  place.append(shadeKey(third, ends, isWide(ends)));
  return (k) => rgb(shade(share(third.values[k])));
}

function redraw(view, isNew) {
  const { state, plot, points, front, wide, colour } = view;
  if (!points.length) return;
  if (isNew) plot.place(points, [state.across, state.up], wide);
  plot.draw({ measures: [state.across, state.up, ...(state.third ? [state.third] : [])], front, colour, chosen: state.chosen, focused: state.focused });
}

// The front as a table: what a picture can't say to everybody. Points that are equal in the measures share a row.
function listed({ space, order, measures }) {
  if (!order.length) return [];
  const places = together(order, measures);
  const titles = ["on the front", ...measures.map(titled)].map((title, k) => element("th", { scope: "col", class: k ? "number" : null }, title));
  const rows = places.slice(0, MOST_LISTED).map(([k, ...equals]) =>
    element("tr", { "data-point": k }, element("th", { scope: "row" }, ...pointButton(k, equals.length, false)), ...measures.map((measure) => element("td", { class: "number" }, figure(measure, measure.values[k]))), ...keyCells(space, k)));
  const more = places.length > MOST_LISTED ? [element("p", { class: "muted" }, `and ${number(places.length - MOST_LISTED)} more`)] : [];
  return [element("table", { id: "front", class: "of-points" }, element("thead", {}, element("tr", {}, ...titles, ...keyTitles(space))), element("tbody", {}, ...rows)), ...more];
}

function together(order, measures) {
  const groups = new Map();
  for (const k of order) {
    const place = measures.map(({ values }) => values[k]).join(" ");
    if (!groups.has(place)) groups.set(place, []);
    groups.get(place).push(k);
  }
  return [...groups.values()];
}

// ---- hands

function hands(view) {
  const { space, state, parts, plot } = view;
  const { canvas } = parts;
  const choose = (k) => k >= 0 && tilesim.emit("point", { k });
  const under = (event) => plot.at(event.offsetX, event.offsetY, view.front);
  canvas.addEventListener("pointermove", (event) => {
    const k = under(event);
    canvas.style.cursor = k < 0 ? "default" : "pointer";
    if (k < 0) tilesim.hideTip();
    else tilesim.tipAt(event.clientX, event.clientY, shortly(space, k, view.measures));
  });
  canvas.addEventListener("pointerleave", tilesim.hideTip);
  canvas.addEventListener("click", (event) => choose(under(event)));
  canvas.addEventListener("blur", () => focusOn(view, -1));
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Enter") choose(state.focused);
    const next = along(view.order, state.focused, event.key);
    if (next === undefined) return;
    event.preventDefault();
    focusOn(view, next);
  });
  tilesim.on("point", ({ k, jump }) => {
    state.chosen = k;
    parts.chosen.replaceChildren(...(jump ? [] : details(space, k)));
    redraw(view, false);
  });
  tilesim.onTheme(() => redraw(view, false));
  new ResizeObserver(() => canvas.clientWidth === plot.width || redraw(view, true)).observe(canvas);
}

// The next point of the front in the direction of a key.
function along(order, focused, key) {
  const place = order.indexOf(focused);
  const last = order.length - 1;
  const next = { ArrowRight: Math.min(last, place + 1), ArrowUp: Math.min(last, place + 1), ArrowLeft: Math.max(0, place - 1), ArrowDown: Math.max(0, place - 1), Home: 0, End: last }[key];
  return next === undefined ? undefined : order[next];
}

function focusOn(view, k) {
  const { space, state, parts, plot, measures } = view;
  state.focused = k;
  redraw(view, false);
  if (k < 0) {
    tilesim.hideTip();
    return;
  }
  const [x, y] = plot.places[plot.points.indexOf(k)];
  const { left, top } = parts.canvas.getBoundingClientRect();
  tilesim.tipAt(left + x, top + y, shortly(space, k, measures));
  parts.said.textContent = `${nameOf(space, k)}: ${measures.map((measure) => `${measure.words} ${withUnit(measure, measure.values[k])}`).join(", ")}; ${keysLine(space, k)}`;
}
