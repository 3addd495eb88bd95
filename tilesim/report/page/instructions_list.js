// The list: only the rows that are in sight are there, so that any number of them scrolls.

const ROW_PX = 24;
const SPARE = 8; // rows above and below those in sight

class List {
  constructor(head, columns, choose, open) {
    Object.assign(this, { columns, choose, open, rows: [], places: new Map(), lines: new Map(), selected: -1 });
    const { element } = tilesim;
    this.body = element("div", { class: "ins-body", role: "rowgroup" });
    this.scroller = element("div", { class: "ins-list", role: "grid", tabindex: "0", "aria-label": "instructions", "aria-colcount": columns.length, keydown: (event) => this.key(event), scroll: () => this.draw() }, head, this.body);
    this.body.addEventListener("click", (event) => this.clicked(event, choose));
    this.body.addEventListener("dblclick", (event) => this.clicked(event, open));
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  show(rows) {
    this.rows = rows;
    this.places = new Map(rows.map((k, at) => [k, at]));
    this.lines = new Map();
    this.body.replaceChildren();
    this.body.style.height = `${rows.length * ROW_PX}px`;
    this.scroller.setAttribute("aria-rowcount", rows.length + 1);
    this.draw();
  }

  // Where an instruction stands in the list, -1 if it is not there.
  at(k) {
    return this.places.get(k) ?? -1;
  }

  clicked(event, act) {
    const row = event.target.closest("[data-place]");
    if (row) act(Number(row.dataset.place));
  }

  // Lines that stay in sight stay as they are.
  draw() {
    const { scrollTop, clientHeight } = this.scroller;
    const from = Math.max(0, Math.floor(scrollTop / ROW_PX) - SPARE);
    const to = Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / ROW_PX) + SPARE);
    for (const [at, line] of this.lines) if (at < from || at >= to) this.drop(at, line);
    for (let at = from; at < to; at++) if (!this.lines.has(at)) this.lines.set(at, this.body.appendChild(this.line(at)));
    const here = this.at(this.selected);
    if (here >= from && here < to) this.scroller.setAttribute("aria-activedescendant", `ins-${this.selected}`);
    else this.scroller.removeAttribute("aria-activedescendant");
  }

  drop(at, line) {
    line.remove();
    this.lines.delete(at);
  }

  line(at) {
    const k = this.rows[at];
    const cells = this.columns.map(({ name, show }) => tilesim.element("span", { class: `ins-${name}`, role: "gridcell" }, show(k)));
    return tilesim.element("div", { id: `ins-${k}`, class: "ins-row", role: "row", "data-place": k, "aria-rowindex": at + 2, "aria-selected": k === this.selected ? "true" : "false", style: `top: ${at * ROW_PX}px` }, ...cells);
  }

  // Marks an instruction, and brings it into sight if the list has it.
  select(k) {
    this.mark(this.selected, "false");
    this.selected = k;
    const [at, { scroller }] = [this.at(k), this];
    const room = scroller.clientHeight - 2 * ROW_PX; // the head stays
    if (at >= 0 && (at * ROW_PX < scroller.scrollTop || at * ROW_PX > scroller.scrollTop + room)) scroller.scrollTop = at * ROW_PX - room / 2;
    this.draw();
    this.mark(k, "true");
    return at >= 0;
  }

  mark(k, selected) {
    const line = this.lines.get(this.at(k));
    if (line) line.setAttribute("aria-selected", selected);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.scroller) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW_PX) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.rows.length, End: this.rows.length };
    if (event.key in steps && this.rows.length) {
      const at = this.at(this.selected);
      const to = at < 0 ? (steps[event.key] > 0 && event.key !== "End" ? 0 : at + 1 + steps[event.key]) : at + steps[event.key];
      this.choose(this.rows[Math.max(0, Math.min(this.rows.length - 1, to))], true);
    } else if (event.key === "Enter" && this.selected >= 0) this.open(this.selected);
    else return;
    event.preventDefault();
  }
}
