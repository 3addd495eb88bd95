// What the run noticed: one finding after the other, in words and as marks.

class Findings {
  constructor(picture, all) {
    Object.assign(this, { picture, all, picked: -1 });
    this.bar = this.made();
  }

  made() {
    const { element } = tilesim;
    if (!this.all.length) return null;
    const button = (words, act, label) => element("button", { type: "button", click: act, "aria-label": label }, words);
    this.place = element("span", { class: "muted" });
    this.words = element("span", { class: "words", "aria-live": "polite" });
    const bar = element("div", { class: "findings" }, button("\u2039", () => this.step(false), "previous finding"), button("\u203a", () => this.step(true), "next finding"), this.place, this.words);
    return bar;
  }

  // What the bar says before any is picked: how many there are, and the first.
  begin() {
    if (this.all.length) this.tell(this.all[0], `${counted(this.all.length, "finding")}; the first`);
  }

  tell(finding, place) {
    this.place.textContent = `${place}, ${finding.kind}:`;
    this.words.replaceChildren(...this.swatches(finding), finding.words);
  }

  swatches({ hues, masters }) {
    return hues.map((hue, k) => tilesim.element("span", { class: "swatch", title: masters[k], style: `background: var(--master-${hue < 0 ? "other" : hue})` }));
  }

  step(forward) {
    if (!this.all.length) return;
    const { length } = this.all;
    this.show(this.picked < 0 ? (forward ? 0 : length - 1) : (this.picked + (forward ? 1 : length - 1)) % length);
  }

  // Shows a finding's cycle and its tracks, and says it.
  show(k) {
    const { picture } = this;
    const { cycle, tracks } = this.all[k];
    this.picked = k;
    this.tell(this.all[k], `finding ${k + 1} of ${this.all.length}`);
    for (const [track] of [...tracks].reverse()) picture.scrollTo(track);
    const { from, to, width } = picture.view;
    const near = Math.min(width, CLOSE);
    if (cycle < from || cycle >= to || near < width) picture.show(cycle + 0.5 - near / 2, cycle + 0.5 + near / 2);
    picture.redraw();
  }

  tipOf(k) {
    const { element } = tilesim;
    const { kind, words } = this.all[k];
    return [element("div", { class: "track" }, kind), element("div", {}, ...this.swatches(this.all[k]), words)];
  }
}

const CLOSE = 400; // cycles around a finding, close enough to see single ones
