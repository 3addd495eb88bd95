// All points as a table that sorts and filters; of its rows only those are there that show.
const ROW = 25; // CSS pixels
const TALLEST = 20; // rows that show at once
const BEYOND = 6; // rows above and below that are ready

tilesim.section("explore_table", async (root) => {
  const space = await theSpace();
  const columns = columnsOf(space);
  const parts = {
    table: element("table", { class: "points", role: "grid", tabindex: "0", "aria-label": "all points" }),
    said: element("span", { role: "status" }), chosen: element("div", { class: "chosen-point" }), copied: element("span", { class: "muted", role: "status" }),
  };
  parts.scroller = element("div", { class: "points-scroller" }, parts.table);
  const view = { space, columns, parts, by: columns[0], isDown: false, filters: new Map(), search: "", active: -1, order: [] };
  const find = element("input", { type: "search", placeholder: "words in any column", input: () => { view.search = find.value; renew(view); } });
  root.append(
    element("div", { class: "explore-key" }, element("label", {}, "Find: ", find), chooser(view), element("button", { type: "button", click: () => copyAll(view) }, "Copy table"), parts.copied, parts.said),
    parts.scroller, parts.chosen,
    element("p", { class: "muted definition" }, "Conditions under the titles: a part of the text, or for numbers 64, <= 1000, > 2 MiB, != 8, 10..20. Arrow keys go from row to row; Enter or a click shows the point; c copies its command. Copied tables have exact numbers and all commands."));
  hands(view);
  compose(view);
});

const shownOf = ({ columns }) => columns.filter(({ isShown }) => isShown);

// ---- the frame: titles, conditions, which columns

function compose(view) {
  const { space, parts } = view;
  const shown = shownOf(view);
  const widths = shown.map((column) => (column.width ||= widthOf(column, space.count)));
  view.body = element("tbody", {});
  const conditions = element("tr", { class: "conditions" }, ...shown.map((column) => element("td", {}, conditionInput(view, column))));
  parts.table.replaceChildren(
    element("colgroup", {}, ...widths.map((letters) => element("col", { style: `width: ${letters * 7.6 + 14}px` }))),
    element("thead", {}, element("tr", { "aria-rowindex": "1" }, ...shown.map((column) => heading(view, column))), conditions), view.body);
  parts.table.style.minWidth = `${widths.reduce((sum, letters) => sum + letters * 7.6 + 14, 0)}px`;
  renew(view);
}

function heading(view, column) {
  const choose = () => {
    view.isDown = view.by === column && !view.isDown;
    view.by = column;
    for (const [k, other] of shownOf(view).entries()) view.parts.table.querySelectorAll("thead th")[k].setAttribute("aria-sort", sortWord(view, other));
    renew(view);
  };
  return element("th", { scope: "col", class: column.isNumber ? "number" : null, "aria-sort": sortWord(view, column), title: column.about || column.title }, element("button", { type: "button", class: "plain", click: choose }, ...breakable(column.title)));
}

const sortWord = (view, column) => (view.by !== column ? "none" : view.isDown ? "descending" : "ascending");

function conditionInput(view, column) {
  const input = element("input", {
    type: "text", value: view.filters.get(column) || "", "aria-label": `condition on ${column.title}`, placeholder: column.number ? "<= …" : "…",
    input: () => {
      view.filters.set(column, input.value);
      const isBad = condition(column, input.value) === null;
      input.setAttribute("aria-invalid", String(isBad));
      input.title = isBad ? "must be a number, or one behind <, <=, >, >=, = or !=, or two with .. between" : "";
      renew(view);
    },
  });
  return input;
}

function chooser(view) {
  const box = (column) => tick(column.title, column.isShown, (on) => { column.isShown = on; compose(view); });
  return element("details", { class: "columns" }, element("summary", {}, "Columns"), element("div", { class: "boxes" }, ...view.columns.map(box)));
}

// ---- which points, in which order

function renew(view) {
  const { space, parts, columns } = view;
  const tests = [...view.filters].filter(([{ isShown }]) => isShown).map(([column, text]) => condition(column, text)).filter(Boolean);
  const found = search([...columns.filter(({ isMeasure }) => !isMeasure), { text: (k) => (space.ran(k) ? space.bound(k) : space.reason(k)) }], view.search);
  const points = [];
  for (let k = 0; k < space.count; k++) if (tests.every((holds) => holds(k)) && found(k)) points.push(k);
  view.order = sorted(points, view.by, view.isDown);
  parts.said.textContent = points.length === space.count ? counted(space.count, "point") : `${number(points.length)} of ${counted(space.count, "point")}`;
  parts.table.setAttribute("aria-rowcount", points.length + 1);
  parts.scroller.style.height = `${parts.table.tHead.offsetHeight + ROW * Math.max(2, Math.min(TALLEST, points.length)) + 16}px`;
  parts.scroller.scrollTop = 0;
  paint(view);
}

// The rows that show, between two that take the room of all others.
function paint(view) {
  const { parts, order, body } = view;
  const showing = Math.ceil(parts.scroller.clientHeight / ROW);
  const first = Math.max(0, Math.min(Math.floor(parts.scroller.scrollTop / ROW) - BEYOND, order.length - showing));
  const last = Math.min(order.length, first + showing + 2 * BEYOND);
  const shown = shownOf(view);
  const gap = (rows) => element("tr", { "aria-hidden": "true", class: "gap" }, element("td", { colspan: shown.length, style: `height: ${rows * ROW}px` }));
  const rows = order.slice(first, last).map((k, place) => rowOf(view, shown, k, first + place));
  body.replaceChildren(...(first ? [gap(first)] : []), ...rows, ...(last < order.length ? [gap(order.length - last)] : []));
  if (!order.length) body.append(element("tr", {}, element("td", { colspan: shown.length, class: "muted" }, "no such point")));
  const active = body.querySelector("tr.active");
  if (active) parts.table.setAttribute("aria-activedescendant", active.id);
  else parts.table.removeAttribute("aria-activedescendant");
}

function rowOf(view, shown, k, place) {
  const { space, active } = view;
  const isWhole = space.ran(k);
  const first = isWhole ? -1 : shown.findIndex(({ isMeasure }) => isMeasure);
  const cells = shown.flatMap((column, at) => {
    if (first >= 0 && at > first) return [];
    if (at === first) return [element("td", { colspan: shown.length - first, class: "reason", title: space.reason(k) }, space.reason(k).replaceAll("\n", " · "))];
    const words = column.text(k);
    return [element("td", { class: column.isNumber ? "number" : null, title: words.length > 24 ? words : null }, words)];
  });
  return element("tr", { id: `point-${k}`, "data-point": k, "aria-rowindex": place + 2, "aria-selected": String(k === active), class: k === active ? "active" : null }, ...cells);
}

// ---- hands

function hands(view) {
  const { parts } = view;
  parts.scroller.addEventListener("scroll", () => paint(view), { passive: true });
  parts.table.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-point]");
    if (row) tilesim.emit("point", { k: Number(row.dataset.point) });
  });
  parts.table.addEventListener("keydown", (event) => event.target === parts.table && pressed(view, event));
  tilesim.on("point", ({ k, jump }) => {
    show(view, k);
    parts.chosen.replaceChildren(...details(view.space, k));
    if (jump) document.getElementById("explore_table").scrollIntoView();
  });
}

function pressed(view, event) {
  const { order, active, parts } = view;
  const place = order.indexOf(active);
  const page = TALLEST - 1;
  const steps = { ArrowDown: place + 1, ArrowUp: place < 0 ? 0 : place - 1, PageDown: place + page, PageUp: place - page, Home: 0, End: order.length - 1 };
  if (event.key === "Enter" && place >= 0) tilesim.emit("point", { k: active });
  if (event.key === "c" && !event.ctrlKey && !event.metaKey && place >= 0) copyOne(view, active);
  if (!(event.key in steps) || !order.length) return;
  event.preventDefault();
  show(view, order[Math.max(0, Math.min(order.length - 1, steps[event.key]))]);
  parts.table.focus({ preventScroll: true });
}

// Make a point the active one, and its row show, where no filter hides it.
function show(view, k) {
  const { parts, order } = view;
  view.active = k;
  const [top, height] = [order.indexOf(k) * ROW, parts.scroller.clientHeight - parts.table.tHead.offsetHeight - ROW];
  if (top >= 0) {
    const { scrollTop } = parts.scroller;
    if (top < scrollTop) parts.scroller.scrollTop = top;
    else if (top > scrollTop + height - ROW) parts.scroller.scrollTop = top - height + ROW;
  }
  parts.copied.textContent = top < 0 ? "the filters hide the chosen point" : "";
  paint(view);
}

async function copyOne({ space, parts }, k) {
  parts.copied.textContent = (await tilesim.copied(space.command(k))) ? `copied the command of point ${number(k + 1)}` : "the browser does not let this page copy";
}

// Tabs between columns and exact numbers, as spreadsheets take them.
async function copyAll(view) {
  const { space, order, parts } = view;
  const shown = shownOf(view);
  const cell = (column, k) => (column.number ? (Number.isNaN(column.number(k)) ? "" : column.number(k)) : column.text(k));
  const line = (words) => words.map((word) => visible(String(word)).replace(/[\t\n\r]/g, " ")).join("\t");
  const rows = order.map((k) => line([...shown.map((column) => cell(column, k)), space.reason(k), space.command(k)]));
  const text = [line([...shown.map(({ title }) => title), "reason", "command"]), ...rows].join("\n");
  parts.copied.textContent = (await tilesim.copied(text)) ? `copied ${counted(order.length, "row")}` : "the browser does not let this page copy: select the table";
}
