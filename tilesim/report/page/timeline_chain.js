// Walking from a stall to what released it, and on to what that had waited for, to the end: a list of where one was.

const MOST_STEPS = 2000; // that one press of the button walks
const ENDS = {
  unknown: "the end: what released it was not recorded",
  begin: "the end: nothing was recorded before it",
  again: "the end: from here it goes in a circle",
};

class Chain {
  constructor(picture, place) {
    Object.assign(this, { picture, place, steps: [], said: "" });
    place.hidden = true;
  }

  // Where the chain goes on from a span: to what released it; from one that nothing released, to the stall before the
  // work that it ends, on the same track; if the track was idle before that work, to who set it to work.
  // Else how it ends.
  after(span) {
    const { spans } = this.picture;
    if (spans.released_by[span] >= 0) return { span: spans.released_by[span], why: "released by" };
    if (spans.isStall(span)) return { end: ENDS.unknown };
    let at = span;
    for (;;) {
      const before = spans.beside(at, false);
      if (before < 0 || spans.endOf(before) < spans.starts[at]) break;
      if (spans.isStall(before)) return { span: before, why: "which had waited" };
      at = before;
    }
    const source = spans.source(at);
    return source < 0 ? { end: ENDS.begin } : { span: source, why: at === span ? "set to work by" : `at work since ${moment(spans.starts[at])}, set to work by` };
  }

  // A step from the selected span; whether there was one to take.
  step() {
    const { picture } = this;
    if (picture.selected < 0) return false;
    if (this.last !== picture.selected) this.steps = [{ span: picture.selected, why: "" }];
    const goesOn = this.advance();
    if (goesOn) picture.goTo(this.last);
    this.tell();
    return goesOn;
  }

  // To the end, or as far as a person may want.
  toEnd() {
    for (let count = 0; count < MOST_STEPS && this.advance(); count++);
    this.picture.goTo(this.last);
    this.tell();
  }

  get last() {
    return this.steps[this.steps.length - 1]?.span;
  }

  advance() {
    const next = this.after(this.last);
    this.said = next.end || (this.steps.some(({ span }) => span === next.span) ? ENDS.again : "");
    if (!this.said) this.steps.push(next);
    return !this.said;
  }

  // What is selected otherwise begins a chain of its own.
  selected(span) {
    if (span < 0 || !this.steps.some((step) => step.span === span)) this.clear();
  }

  back(k) {
    this.steps.length = k + 1;
    this.said = "";
    this.picture.goTo(this.steps[k].span);
    this.tell();
  }

  clear() {
    this.steps = [];
    this.place.hidden = true;
    this.place.replaceChildren();
  }

  tell() {
    const { element } = tilesim;
    const { spans } = this.picture;
    const items = this.steps.map(({ span, why }, k) => {
      const kind = spans.kinds[spans.kindOf(span)];
      const words = `${spans.tracks[spans.trackOf(span)]}: ${[kind.words, spans.whats[spans.what[span]]].filter(Boolean).join(", ")}`;
      const where = element("span", { class: "muted" }, ` ${window_(spans.starts[span], spans.endOf(span))} (${tilesim.number(spans.cyclesOf(span))})`);
      return element("li", {}, why ? element("span", { class: "muted" }, `${why} `) : null, element("button", { type: "button", click: () => this.back(k), "aria-current": k === this.steps.length - 1 ? "step" : null }, swatch(kind.kind), words), where);
    });
    this.place.hidden = false;
    this.place.replaceChildren(
      element("div", { class: "details" }, element("strong", {}, "What released what"), element("button", { type: "button", click: () => this.toEnd(), disabled: this.said !== "" }, "To the end"),
        element("button", { type: "button", click: () => this.clear() }, "Close"), element("span", { role: "status" }, this.said || `${counted(this.steps.length - 1, "step")}; Enter: the next`)),
      element("ol", {}, ...items));
    const list = this.place.querySelector("ol");
    list.scrollTop = list.scrollHeight;
  }
}
