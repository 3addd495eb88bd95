// A map of two keys: each cell the best of its points, or the one in the middle, whatever their other keys are.
const LETTER = 6.7; // CSS pixels of a digit in a cell

tilesim.section("explore_heat", async (root, data) => {
  const space = await theSpace();
  const keys = space.keys.filter(({ key }) => space.networks.length < 2 || key !== "network");
  const measures = space.measures.filter(({ share, values }) => !share && values.some((value) => !Number.isNaN(value)));
  if (!keys.length || !measures.length) {
    root.append(element("p", { class: "note" }, measures.length ? "There is no map: no two points of a network differ in a key." : "There is no map: no point ran."));
    return;
  }
  const first = (data.axes || []).map((place) => keys.indexOf(space.keys[place]));
  const state = { network: 0, across: keys[first[0] ?? 0], up: first.length ? keys[first[1]] : null, measure: measures[0], how: "best", most: data };
  const picture = element("div");
  const draw = () => picture.replaceChildren(...drawn(space, state));
  const set = (name, values) => (place) => { state[name] = values[place]; draw(); };
  const ups = [null, ...keys];
  root.append(
    element("div", { class: "explore-key" },
      ...networkChoice(space, (place) => { state.network = place; draw(); }),
      choice("across", keys.map(({ key }) => key), keys.indexOf(state.across), set("across", keys)),
      choice("up", ups.map((key) => (key ? key.key : "nothing")), ups.indexOf(state.up), set("up", ups)),
      choice("measure", measures.map(({ words }) => words), 0, set("measure", measures)),
      choice("a cell shows", ["the best", "the median"], 0, set("how", ["best", "median"]))),
    picture);
  draw();
  tilesim.on("point", ({ k }) => mark(picture, k));
});

function drawn(space, state) {
  const { across, up, measure, how, most } = state;
  const map = cellsOf(pointsOf(space, state.network), across, up, measure, how, most);
  const known = map.cells.flat().filter(({ best }) => best >= 0);
  const ends = range(known.map(({ value }) => value));
  const wide = isWide(ends);
  const look = { share: shading(measure, ends, wide), best: known.length ? summed(known.map(({ best }) => best), measure, "best").best : -1 };
  return [
    ...(known.length ? [shadeKey(measure, ends, wide)] : []), marksKey(map), grid(space, state, map, look),
    element("p", { class: "muted definition" }, sentence(space, state, map))];
}

// What the marks mean that the map has.
function marksKey({ cells }) {
  const all = cells.flat();
  const entry = (look, words) => element("span", {}, element("i", { class: `swatch ${look}` }), words);
  return element("div", { class: "explore-key" },
    entry("foremost", "the best of all"),
    ...(all.some((cell) => cell.points.length && cell.best < 0) ? [entry("refused", "none of its points ran: point at it for why")] : []),
    ...(all.some((cell) => cell.best >= 0 && cell.ran.length < cell.points.length) ? [entry("partly", "some of its points did not run")] : []),
    ...(all.some((cell) => !cell.points.length) ? [entry("empty", "no such point")] : []));
}

function sentence(space, { across, up, measure, how }, { lacking, columns, rows }) {
  const others = space.keys.filter((key) => key.telling && key !== across && key !== up && !(isGrid(across) && isGrid(key)) && !(isGrid(up) && isGrid(key)));
  const names = others.map(({ key }) => key).join(", ");
  const what = how === "best" ? `the ${lowest(measure)} ${measure.words}` : `the median ${measure.words}`;
  const whatever = others.length ? `, whatever they have for ${names}` : "";
  const grouped = [[across, columns], [up, rows]].filter(([key, codes]) => key && codes.length < key.values.length).map(([key]) => ` Values of ${key.key} that lie side by side share a cell.`);
  return `Each cell shows ${what} of the points that ran with its ${up ? "two keys" : "key"}${whatever}.${grouped.join("")}${lacking ? ` ${counted(lacking, "point")} without these keys left out.` : ""} Arrows move from cell to cell; Enter or a click shows the point that stands for it in the table.`;
}

const isGrid = (key) => Boolean(key) && /^grid/.test(key.key);

// ---- the table

function grid(space, state, map, look) {
  const { across, up } = state;
  const heads = map.columns.map((codes) => element("th", { scope: "col", title: labelled(across, codes) }, element("span", {}, labelled(across, codes))));
  const top = map.rows.length - 1;
  const rows = map.cells.map((cells, row) =>
    element("tr", {},
      ...(row === top ? [element("th", { class: "up", rowspan: map.rows.length, scope: "rowgroup" }, element("span", {}, up ? up.key : ""))] : []),
      element("th", { scope: "row", title: labelled(up, map.rows[row]) }, labelled(up, map.rows[row])),
      ...cells.map((cell, column) => cellOf(space, state, map, look, row, column))));
  const table = element("table", { class: "heat", role: "grid", "aria-label": `${titled(state.measure)} by ${across.key}${up ? ` and ${up.key}` : ""}`, keydown: (event) => move(event, table) },
    element("tbody", {}, ...rows.reverse()),
    element("tfoot", {}, element("tr", {}, element("td", {}), element("td", {}), ...heads), element("tr", {}, element("td", {}), element("td", {}), element("th", { class: "across", colspan: map.columns.length }, across.key))));
  table.style.maxWidth = `${150 + 96 * map.columns.length}px`;
  const start = table.querySelector("td.cell.foremost") || table.querySelector("td.cell");
  start.tabIndex = 0;
  fit(table, map, state);
  return table;
}

function cellOf(space, state, map, look, row, column) {
  const cell = map.cells[row][column];
  const { measure } = state;
  const words = where(state, map, row, column);
  const kind = ["cell", cell.best >= 0 ? "" : cell.points.length ? "refused" : "empty", cell.best >= 0 && cell.ran.length < cell.points.length ? "partly" : "", cell.best >= 0 && cell.best === look.best ? "foremost" : ""].filter(Boolean).join(" ");
  const value = cell.best >= 0 ? withUnit(measure, cell.value) : cell.points.length ? "did not run" : "no such point";
  const colour = cell.best >= 0 ? shade(look.share(cell.value)) : null;
  const node = element("td", {
    class: kind, role: "gridcell", tabindex: "-1", "aria-label": `${words}: ${value}`, "data-row": row, "data-column": column, "data-points": cell.points.join(" "),
    style: colour ? `background-color: ${rgb(colour)}; color: ${inkOn(colour)}` : null, click: () => choose(cell),
  }, cell.best >= 0 ? element("span", {}, figure(measure, cell.value)) : null);
  tilesim.tip(node, () => told(space, state, cell, words));
  return node;
}

function where({ across, up }, map, row, column) {
  const part = (key, codes) => (key ? [`${key.key} ${labelled(key, codes)}`] : []);
  return [...part(across, map.columns[column]), ...part(up, map.rows[row])].join(" · ");
}

function told(space, { measure, how }, cell, words) {
  const line = (...parts) => element("div", {}, ...parts);
  const notRun = cell.points.filter((k) => !space.ran(k));
  const sentences = [...new Set(notRun.map((k) => `${space.status(k)}: ${space.reason(k)}`))];
  const gave = cell.best < 0 ? [] : [
    line(`${how === "best" ? lowest(measure) : "median"} ${measure.words}: ${withUnit(measure, cell.value)}`),
    line(`of ${counted(cell.ran.length, "point")} that ran; ${how === "best" ? "it is" : "in the middle is"} ${nameOf(space, cell.best)}:`), line(keysLine(space, cell.best))];
  const not = notRun.length ? [line(`${counted(notRun.length, "point")} did not run:`), ...sentences.slice(0, 3).map((each) => line(each.split("\n")[0])), ...(sentences.length > 3 ? [line(`and ${number(sentences.length - 3)} other reasons`)] : [])] : [];
  return [line(element("b", {}, words)), ...gave, ...not, ...(cell.points.length ? [] : [line("no such point")])];
}

function choose(cell) {
  const k = cell.best >= 0 ? cell.best : cell.points[0];
  if (k !== undefined) tilesim.emit("point", { k, jump: true });
}

// Numbers where they have room, names of columns upright where they have not.
function fit(table, map, { across, measure }) {
  const figures = map.cells.flat().filter(({ best }) => best >= 0).map(({ value }) => figure(measure, value).length);
  const names = map.columns.map((codes) => labelled(across, codes).length);
  new ResizeObserver(([{ contentRect }]) => {
    const width = contentRect.width && table.querySelector("td.cell").clientWidth;
    table.classList.toggle("bare", LETTER * Math.max(0, ...figures) > width - 4);
    table.classList.toggle("steep", LETTER * Math.max(...names) > width - 4);
  }).observe(table);
}

// ---- hands

const STEPS = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function move(event, table) {
  const cell = event.target.closest("td.cell");
  if (!cell) return;
  if (event.key === "Enter") cell.click();
  const step = STEPS[event.key];
  if (!step) return;
  event.preventDefault();
  const next = table.querySelector(`td[data-row="${Number(cell.dataset.row) + step[0]}"][data-column="${Number(cell.dataset.column) + step[1]}"]`);
  if (!next) return;
  cell.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

// The cell of the point that is chosen.
function mark(picture, k) {
  for (const cell of picture.querySelectorAll("td.cell")) cell.classList.toggle("chosen", cell.dataset.points.split(" ").includes(String(k)));
}
