// Pointer and keys.

const NEAR = 3; // CSS pixels that a pointer may miss a span by, or move in a click
const LETTERS = /^[a-z.,]$/;

class Hands {
  constructor(picture) {
    this.picture = picture;
    this.over = null; // the row under the pointer
    this.listen();
  }

  // The row, the cycle and the span at a place in the picture.
  under(x, y) {
    const { picture } = this;
    if (y < 0 || y >= picture.height || x < 0 || x >= picture.width) return null;
    const { pins, shown } = picture.rows;
    const k = Math.floor(y / ROW);
    const row = pins[k] || shown[Math.floor((y - pins.length * ROW + picture.scroller.scrollTop) / ROW)];
    if (!row) return null;
    const cycle = picture.cycleAt(x);
    return { row, cycle, span: row.track < 0 ? -1 : this.nearest(row.track, cycle) };
  }

  nearest(track, cycle) {
    const miss = (NEAR / this.picture.width) * this.picture.view.width;
    for (const t of [cycle, cycle - miss, cycle + miss]) {
      const span = this.picture.spans.at(track, t);
      if (span >= 0) return span;
    }
    return -1;
  }

  place(event, node) {
    const { left, top } = node.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  hover(event) {
    const { picture } = this;
    const dragged = picture.plot.classList.contains("dragged");
    const found = dragged ? null : this.under(...this.place(event, picture.plot));
    picture.cursor = found && found.cycle;
    this.over = found && found.row;
    if (found && found.row.track >= 0) tilesim.tipAt(event.clientX, event.clientY, this.tipOf(found));
    else tilesim.hideTip();
    picture.drawAround();
  }

  // Cycles of the pixel around a cycle.
  pixel(cycle) {
    const per = this.picture.view.width / this.picture.width;
    return per > 1 ? [cycle - per / 2, cycle + per / 2] : [Math.floor(cycle), Math.floor(cycle) + 1];
  }

  // About the span; about the mixture where a pixel holds several, or the row is idle there.
  tipOf({ row, cycle, span }) {
    const per = this.picture.view.width / this.picture.width;
    const several = per > 1 && this.picture.spans.within(row.track, cycle - per, cycle + per) > 2;
    if (span < 0 || several) return mixTip(row, ...this.pixel(cycle));
    return [...spanTip(this.picture.spans, span), busiestLine(row)].filter(Boolean);
  }

  click(event) {
    const { picture } = this;
    const found = this.under(...this.place(event, picture.plot));
    if (!found) return;
    if (found.row.track < 0) picture.fold(found.row.group);
    else if (found.span >= 0 && found.span === picture.selected) picture.follow();
    else picture.select(found.span);
  }

  // Follows the pointer until it lets go: move is told where it is, drop whether it ever moved.
  follow(event, node, move, drop) {
    node.setPointerCapture(event.pointerId);
    let moved = false;
    const onMove = (now) => {
      moved ||= Math.hypot(now.clientX - event.clientX, now.clientY - event.clientY) > NEAR;
      if (moved) move(now);
    };
    const onDrop = (last) => {
      node.removeEventListener("pointermove", onMove);
      node.removeEventListener("pointerup", onDrop);
      node.removeEventListener("pointercancel", onDrop);
      drop(moved, last);
    };
    node.addEventListener("pointermove", onMove);
    node.addEventListener("pointerup", onDrop);
    node.addEventListener("pointercancel", onDrop);
  }

  drag(event) {
    if (event.shiftKey) return this.choose(event, this.picture.plot);
    const { picture } = this;
    const begun = { from: picture.view.from, to: picture.view.to, scroll: picture.scroller.scrollTop };
    picture.plot.classList.add("dragged");
    const move = ({ clientX, clientY }) => {
      const cycles = ((clientX - event.clientX) / picture.width) * (begun.to - begun.from);
      picture.show(begun.from - cycles, begun.to - cycles);
      picture.scroller.scrollTop = begun.scroll - (clientY - event.clientY);
    };
    this.follow(event, picture.plot, move, (moved, last) => {
      picture.plot.classList.remove("dragged");
      if (!moved && last.type === "pointerup") this.click(last);
    });
  }

  // A range, dragged on the ruler or with Shift.
  choose(event, node) {
    const { picture } = this;
    const at = (each) => picture.cycleAt(this.place(each, node)[0]);
    const begun = at(event);
    this.follow(event, node, (now) => picture.range.set(begun, at(now)), (moved) => moved && picture.range.settle());
  }

  // The wheel alone scrolls the rows and then the page.
  wheel(event, target) {
    const { picture } = this;
    const cycles = (pixels) => (pixels / picture.width) * picture.view.width;
    if (event.ctrlKey || event.metaKey) picture.zoom(1.0016 ** (event.deltaY * (Math.abs(event.deltaY) < 30 ? 6 : 1)), picture.cycleAt(this.place(event, target)[0]));
    else if (event.shiftKey) picture.pan(cycles(event.deltaY || event.deltaX));
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) picture.pan(cycles(event.deltaX));
    else return;
    event.preventDefault();
  }

  key(event) {
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const act = this.acts()[name];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
    const inside = this.picture.scroller.contains(event.target);
    if (!inside && !(LETTERS.test(name) && (this.isOver || this.picture.root.contains(event.target)))) return;
    if (event.key === "Enter" && event.target.closest("button")) return;
    event.preventDefault();
    act();
  }

  acts() {
    const { picture } = this;
    const step = picture.view.width / 8;
    const [closer, wider] = [() => picture.zoom(0.5, picture.cursor ?? undefined), () => picture.zoom(2, picture.cursor ?? undefined)];
    const [left, right] = [() => picture.pan(-step), () => picture.pan(step)];
    const [next, previous, fill] = [() => picture.beside(true), () => picture.beside(false), () => picture.fill()];
    return {
      ArrowLeft: left, a: left, ArrowRight: right, d: right, w: closer, s: wider,
      ArrowUp: () => (picture.scroller.scrollTop -= 3 * ROW),
      ArrowDown: () => (picture.scroller.scrollTop += 3 * ROW),
      "+": () => picture.zoom(0.5), "=": () => picture.zoom(0.5), "-": () => picture.zoom(2),
      Home: () => picture.home(),
      n: next, ".": next, p: previous, ",": previous, z: fill, f: fill,
      j: () => picture.findings.step(true), k: () => picture.findings.step(false),
      m: () => picture.pinHere(this.over), r: () => picture.rangeHere(),
      c: () => picture.togglePath(), u: () => picture.toggleCounters(), i: () => picture.toggleIdle(),
      Enter: () => (picture.selected >= 0 ? picture.follow() : picture.nextHit()),
      Escape: () => this.letGo(),
    };
  }

  letGo() {
    this.picture.query.value = "";
    this.picture.find("");
    this.picture.select(-1);
    this.picture.range.clear();
    this.picture.followed = null;
    tilesim.hideTip();
  }

  listen() {
    const { picture } = this;
    const { plot, top, scroller, counters } = picture;
    for (const place of [plot, top, counters.canvas]) place.addEventListener("wheel", (event) => this.wheel(event, place), { passive: false });
    plot.addEventListener("pointermove", (event) => this.hover(event));
    plot.addEventListener("pointerleave", () => this.hover({ clientX: -1, clientY: -1 }));
    plot.addEventListener("pointerdown", (event) => event.button === 0 && this.drag(event));
    scroller.addEventListener("scroll", () => picture.redraw());
    document.addEventListener("keydown", (event) => this.key(event));
    picture.root.addEventListener("pointerenter", () => (this.isOver = true));
    picture.root.addEventListener("pointerleave", () => (this.isOver = false));
    this.listenTop();
    this.listenCounters();
    this.listenSearch();
  }

  listenTop() {
    const { picture } = this;
    const { top, head } = picture;
    top.addEventListener("pointermove", (event) => {
      const [x, y] = this.place(event, top);
      const [finding, lane] = [head.findingAt(picture.view, x, y, picture.width), head.laneAt(picture.view, x, y, picture.width)];
      top.style.cursor = head.isRuler(y) ? "col-resize" : finding >= 0 || lane ? "pointer" : "default";
      if (finding >= 0) return tilesim.tipAt(event.clientX, event.clientY, picture.findings.tipOf(finding));
      if (!lane) return tilesim.hideTip();
      const words = `${window_(lane.start, lane.start + lane.cycles)} (${moment(lane.cycles)})`;
      tilesim.tipAt(event.clientX, event.clientY, [tilesim.element("div", {}, lane.words), tilesim.element("div", {}, words)]);
    });
    top.addEventListener("pointerleave", tilesim.hideTip);
    top.addEventListener("pointerdown", (event) => event.button === 0 && head.isRuler(this.place(event, top)[1]) && this.choose(event, top));
    top.addEventListener("click", (event) => {
      const [x, y] = this.place(event, top);
      const [finding, lane] = [head.findingAt(picture.view, x, y, picture.width), head.laneAt(picture.view, x, y, picture.width)];
      if (finding >= 0) picture.findings.show(finding);
      else if (lane) picture.show(lane.start - lane.cycles * 0.03, lane.start + lane.cycles * 1.03);
    });
  }

  listenCounters() {
    const { picture } = this;
    const { canvas } = picture.counters;
    const leave = () => {
      picture.cursor = null;
      tilesim.hideTip();
      picture.drawAround();
    };
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = this.place(event, canvas);
      picture.cursor = picture.cycleAt(x);
      const tip = picture.counters.tipAt(y, ...this.pixel(picture.cursor));
      if (tip) tilesim.tipAt(event.clientX, event.clientY, tip);
      picture.drawAround();
    });
    canvas.addEventListener("pointerleave", leave);
  }

  listenSearch() {
    this.picture.query.addEventListener("input", () => this.picture.find(this.picture.query.value));
    this.picture.query.addEventListener("keydown", ({ key }) => {
      if (key === "Enter") this.picture.nextHit();
      if (key === "Escape") this.letGo();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target.matches("input, textarea, select")) return;
      event.preventDefault();
      this.picture.query.focus();
    });
  }
}
