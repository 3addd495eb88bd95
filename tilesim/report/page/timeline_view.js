const NARROWEST = 16; // cycles

// The cycles that are shown; they stay between the first and the last that there are.
class View {
  constructor(cycles, earliest, latest) {
    this.run = { from: 0, to: Math.max(cycles, 1) };
    this.limits = { from: Math.min(earliest, 0), to: Math.max(latest, this.run.to) };
    this.set(this.run.from, this.run.to);
  }

  get width() {
    return this.to - this.from;
  }

  set(from, to) {
    const most = this.limits.to - this.limits.from;
    const width = Math.min(Math.max(to - from, Math.min(NARROWEST, most)), most);
    const middle = (from + to) / 2 - width / 2;
    this.from = Math.min(Math.max(middle, this.limits.from), this.limits.to - width);
    this.to = this.from + width;
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.set(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  pan(cycles) {
    this.set(this.from + cycles, this.to + cycles);
  }

  // The whole run; the loading before it, too, if the run is what is shown.
  home() {
    const { from, to } = this.from === this.run.from && this.to === this.run.to ? this.limits : this.run;
    this.set(from, to);
  }

  get widest() {
    return this.width >= this.limits.to - this.limits.from;
  }
}
