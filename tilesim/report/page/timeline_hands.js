// Pointer and keys.

const NEAR = 3; // CSS pixels that a pointer may miss a span by, or move in a click

class Hands {
  constructor(picture) {
    this.picture = picture;
    this.listen();
  }

  // The row, the cycle and the span at a place in the picture.
  under(x, y) {
    const row = this.picture.rows.shown[Math.floor((y + this.picture.scroller.scrollTop) / ROW)];
    if (!row || y < 0 || y >= this.picture.height || x < 0 || x >= this.picture.width) return null;
    const cycle = this.picture.cycleAt(x);
    return { row, cycle, span: row.isGroup ? -1 : this.nearest(row.tracks[0], cycle) };
  }

  nearest(track, cycle) {
    const miss = (NEAR / this.picture.width) * this.picture.view.width;
    for (const t of [cycle, cycle - miss, cycle + miss]) {
      const span = this.picture.spans.at(track, t);
      if (span >= 0) return span;
    }
    return -1;
  }

  hover(event) {
    const dragged = this.picture.plot.classList.contains("dragged");
    const { left, top } = this.picture.plot.getBoundingClientRect();
    const found = dragged ? null : this.under(event.clientX - left, event.clientY - top);
    this.picture.cursor = found && found.cycle;
    if (found) tilesim.tipAt(event.clientX, event.clientY, this.tipOf(found));
    else tilesim.hideTip();
    this.picture.drawAround();
  }

  // About the span; about the mixture where a pixel holds several, or the row sums tracks, or is idle there.
  tipOf({ row, cycle, span }) {
    const per = this.picture.view.width / this.picture.width;
    const several = !row.isGroup && per > 1 && this.picture.spans.within(row.tracks[0], cycle - per, cycle + per) > 2;
    if (span < 0 || several) return mixTip(row, ...(per > 1 ? [cycle - per / 2, cycle + per / 2] : [Math.floor(cycle), Math.floor(cycle) + 1]));
    return spanTip(this.picture.spans, span);
  }

  click(event) {
    const { left, top } = this.picture.plot.getBoundingClientRect();
    const found = this.under(event.clientX - left, event.clientY - top);
    if (!found) return;
    if (found.row.isGroup) this.picture.fold(found.row.group);
    else if (found.span >= 0 && found.span === this.picture.selected) this.picture.follow();
    else this.picture.select(found.span);
  }

  drag(event) {
    const begun = { x: event.clientX, y: event.clientY, from: this.picture.view.from, to: this.picture.view.to, scroll: this.picture.scroller.scrollTop };
    this.picture.plot.setPointerCapture(event.pointerId);
    let moved = false;
    const move = ({ clientX, clientY }) => {
      moved ||= Math.hypot(clientX - begun.x, clientY - begun.y) > NEAR;
      if (!moved) return;
      const cycles = ((clientX - begun.x) / this.picture.width) * (begun.to - begun.from);
      this.picture.show(begun.from - cycles, begun.to - cycles);
      this.picture.scroller.scrollTop = begun.scroll - (clientY - begun.y);
    };
    const drop = (last) => {
      this.picture.plot.removeEventListener("pointermove", move);
      this.picture.plot.removeEventListener("pointerup", drop);
      this.picture.plot.removeEventListener("pointercancel", drop);
      this.picture.plot.classList.remove("dragged");
      if (!moved && last.type === "pointerup") this.click(last);
    };
    this.picture.plot.classList.add("dragged");
    this.picture.plot.addEventListener("pointermove", move);
    this.picture.plot.addEventListener("pointerup", drop);
    this.picture.plot.addEventListener("pointercancel", drop);
  }

  wheel(event, target) {
    if (event.deltaX && Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.picture.pan((event.deltaX / this.picture.width) * this.picture.view.width);
    else if (event.shiftKey) this.picture.pan((event.deltaY / this.picture.width) * this.picture.view.width);
    else if (event.deltaY > 0 && this.picture.view.widest) return; // the page may scroll
    else this.picture.zoom(1.0016 ** event.deltaY, this.picture.cycleAt(event.clientX - target.getBoundingClientRect().left));
    event.preventDefault();
  }

  key(event) {
    const step = this.picture.view.width / 8;
    const acts = {
      ArrowLeft: () => this.picture.pan(-step),
      ArrowRight: () => this.picture.pan(step),
      ArrowUp: () => (this.picture.scroller.scrollTop -= 3 * ROW),
      ArrowDown: () => (this.picture.scroller.scrollTop += 3 * ROW),
      "+": () => this.picture.zoom(0.5),
      "=": () => this.picture.zoom(0.5),
      "-": () => this.picture.zoom(2),
      Home: () => this.picture.home(),
      n: () => this.picture.beside(true),
      p: () => this.picture.beside(false),
      z: () => this.picture.fill(),
      Enter: () => this.picture.follow() || this.picture.nextHit(),
      Escape: () => this.letGo(),
    };
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || (event.target.closest("button") && event.key === "Enter")) return;
    event.preventDefault();
    act();
  }

  letGo() {
    this.picture.query.value = "";
    this.picture.find("");
    this.picture.select(-1);
    tilesim.hideTip();
  }

  listen() {
    for (const place of [this.picture.plot, this.picture.top]) place.addEventListener("wheel", (event) => this.wheel(event, place), { passive: false });
    this.picture.plot.addEventListener("pointermove", (event) => this.hover(event));
    this.picture.plot.addEventListener("pointerleave", () => this.hover({ clientX: -1, clientY: -1 }));
    this.picture.plot.addEventListener("pointerdown", (event) => event.button === 0 && this.drag(event));
    this.picture.scroller.addEventListener("scroll", () => this.picture.redraw());
    this.picture.scroller.addEventListener("keydown", (event) => this.key(event));
    this.listenTop();
    this.listenSearch();
  }

  listenTop() {
    const lane = (event) => {
      const { left, top } = this.picture.top.getBoundingClientRect();
      return this.picture.head.at(this.picture.view, event.clientX - left, event.clientY - top, this.picture.width);
    };
    this.picture.top.addEventListener("pointermove", (event) => {
      const found = lane(event);
      if (!found) return tilesim.hideTip();
      const words = `${window_(found.start, found.start + found.cycles)} (${tilesim.number(found.cycles)})`;
      tilesim.tipAt(event.clientX, event.clientY, [tilesim.element("div", {}, found.words), tilesim.element("div", {}, words)]);
    });
    this.picture.top.addEventListener("pointerleave", tilesim.hideTip);
    this.picture.top.addEventListener("click", (event) => {
      const found = lane(event);
      if (found) this.picture.show(found.start - found.cycles * 0.03, found.start + found.cycles * 1.03);
    });
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
