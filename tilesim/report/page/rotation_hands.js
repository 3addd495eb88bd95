// Pointer, keys, and the clock that plays.

const SPEEDS = [1, 2, 5, 10, 30]; // clocks a second
const NEAR = 3; // CSS pixels that a pointer may move in a click

class Hands {
  constructor(picture) {
    Object.assign(this, { picture, timer: null, speed: matchMedia("(prefers-reduced-motion: reduce)").matches ? 1 : 5 });
    const { over, frame } = picture;
    over.addEventListener("pointermove", (event) => this.hover(event));
    over.addEventListener("pointerleave", tilesim.hideTip);
    over.addEventListener("pointerdown", (event) => event.button === 0 && this.drag(event));
    over.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    frame.addEventListener("keydown", (event) => this.key(event));
  }

  // The clock and the unit under the pointer.
  under(event) {
    const { left, top } = this.picture.over.getBoundingClientRect();
    return this.picture.cellAt(event.clientX - left, event.clientY - top);
  }

  hover(event) {
    const cell = this.dragged ? null : this.under(event);
    if (!cell) return tilesim.hideTip();
    if (!this.timer) this.picture.go(cell.clock, cell.unit, false);
    tilesim.tipAt(event.clientX, event.clientY, this.picture.tipOf(cell));
  }

  drag(event) {
    const { picture } = this;
    const { over, view } = picture;
    const from = view.from;
    over.setPointerCapture(event.pointerId);
    const move = (now) => {
      this.dragged ||= Math.abs(now.clientY - event.clientY) > NEAR;
      if (this.dragged) picture.pan(from + (event.clientY - now.clientY) / view.row);
    };
    const drop = (last) => {
      over.removeEventListener("pointermove", move);
      over.removeEventListener("pointerup", drop);
      over.removeEventListener("pointercancel", drop);
      if (!this.dragged && last.type === "pointerup") this.click(last);
      this.dragged = false;
    };
    over.addEventListener("pointermove", move);
    over.addEventListener("pointerup", drop);
    over.addEventListener("pointercancel", drop);
  }

  click(event) {
    const cell = this.under(event);
    if (!cell) return;
    this.picture.frame.focus({ preventScroll: true });
    this.picture.go(cell.clock, cell.unit);
    this.picture.pick();
  }

  // The wheel alone scrolls the page.
  wheel(event) {
    const { picture } = this;
    if (event.ctrlKey || event.metaKey) picture.zoom(event.deltaY < 0 ? 1 : -1, this.under(event)?.clock);
    else if (event.shiftKey) picture.pan(picture.view.from + (event.deltaY || event.deltaX) / picture.view.row);
    else return;
    event.preventDefault();
  }

  // ---- keys

  key(event) {
    const act = this.acts()[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }

  acts() {
    const { picture } = this;
    const { view } = picture;
    const move = (clocks, units = 0) => this.step(clocks, units);
    return {
      ArrowUp: () => move(-1), ArrowDown: () => move(1), ArrowLeft: () => move(0, -1), ArrowRight: () => move(0, 1),
      PageUp: () => move(-view.span), PageDown: () => move(view.span),
      Home: () => move(-picture.words.data.clocks), End: () => move(picture.words.data.clocks),
      "+": () => picture.zoom(1, picture.clock), "=": () => picture.zoom(1, picture.clock), "-": () => picture.zoom(-1, picture.clock),
      Enter: () => this.toggle(), " ": () => this.toggle(),
      d: () => picture.pick(), Escape: () => picture.drop(),
    };
  }

  step(clocks, units) {
    this.pause();
    const { picture } = this;
    const count = picture.words.units;
    picture.go(picture.clock + clocks, (picture.unit + units + count) % count);
  }

  // ---- playing

  toggle() {
    if (this.timer) return this.pause();
    if (this.picture.clock >= this.picture.words.data.clocks - 1) this.picture.go(0, this.picture.unit);
    this.timer = setInterval(() => this.tick(), 1000 / this.speed);
    this.picture.playing(true);
  }

  tick() {
    const { picture } = this;
    if (picture.clock >= picture.words.data.clocks - 1) this.pause();
    else picture.go(picture.clock + 1, picture.unit);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.picture.playing(false);
  }

  quicken(speed) {
    this.speed = speed;
    if (!this.timer) return;
    this.pause();
    this.toggle();
  }
}
