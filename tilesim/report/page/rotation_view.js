// The clocks that are shown: from which one on, and how high each is.

const HEIGHTS = [24, 20, 16, 12, 8, 6, 4, 3, 2, 1, 1 / 2, 1 / 4]; // CSS pixels of a clock
const PLOT_HEIGHT = 640;

class View {
  constructor(clocks, units) {
    this.clocks = clocks;
    this.step = HEIGHTS.indexOf(units <= NUMBERED ? 16 : 4);
    this.from = 0;
  }

  get row() {
    return HEIGHTS[this.step];
  }

  // Clocks that have room.
  get span() {
    return Math.floor(PLOT_HEIGHT / this.row);
  }

  get to() {
    return Math.min(this.from + this.span, this.clocks);
  }

  // CSS pixels that the clocks take.
  get height() {
    return (this.to - this.from) * this.row;
  }

  show(from) {
    this.from = Math.max(0, Math.min(Math.round(from), this.clocks - this.span));
  }

  // Closer (1) or wider (-1), about a clock that stays where it is; not wider than the run.
  zoom(steps, at = (this.from + this.to) / 2) {
    const share = (at - this.from) / this.span;
    const all = HEIGHTS.findIndex((height) => PLOT_HEIGHT / height >= this.clocks);
    const widest = all < 0 ? HEIGHTS.length - 1 : all;
    this.step = Math.max(0, Math.min(Math.max(widest, this.step), this.step - steps));
    this.show(at - share * this.span);
  }

  // Moves just so far that a clock is seen.
  reveal(clock) {
    if (clock < this.from) this.show(clock);
    else if (clock >= this.from + this.span) this.show(clock - this.span + 1);
  }
}
