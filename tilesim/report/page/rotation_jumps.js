// What the run would take if the ring could jump by other distances.

class Jumps {
  constructor(data) {
    Object.assign(this, { data, layer: -1, chosen: Math.max(0, data.jumps.findIndex(({ is_own }) => is_own)) });
    const { element } = tilesim;
    this.slider = element("input", { type: "range", id: "rotation-jump", min: 0, max: data.jumps.length - 1, step: 1, value: this.chosen, disabled: data.jumps.length < 2, input: () => this.choose(Number(this.slider.value)) });
    this.said = element("output", { for: "rotation-jump", "aria-live": "polite" });
    this.bars = element("div", { class: "rot-bars" });
    this.root = element("div", { class: "rot-jumps" },
      element("h3", {}, "What if the ring could jump?"),
      element("label", { for: "rotation-jump", class: "muted" }, "Distances that words can go in a cycle"),
      this.slider, this.said, this.bars, element("p", { class: "definition" }, data.jump_definition));
    this.show();
  }

  choose(chosen) {
    this.chosen = chosen;
    this.show();
  }

  // Of one layer, or of the run (-1).
  of(layer) {
    this.layer = layer;
    this.show();
  }

  cyclesOf({ more, of_layers }) {
    return this.layer < 0 ? this.data.cycles + more : (this.data.layer_cycles[this.layer] ?? 0) + (of_layers[this.layer] ?? 0);
  }

  show() {
    const { element, number } = tilesim;
    const { jumps } = this.data;
    const chosen = jumps[this.chosen];
    const own = jumps.find(({ is_own }) => is_own);
    const [cycles, now] = [this.cyclesOf(chosen), this.cyclesOf(own)];
    const what = this.layer < 0 ? "the run" : `layer ${this.layer}`;
    const ratio = (large, small) => (large / Math.max(1, small)).toPrecision(3).replace(/\.?0+$/, "");
    const beside = cycles === now ? "as it is" : cycles < now ? `${ratio(now, cycles)} times as fast` : `${ratio(cycles, now)} times as long`;
    this.said.replaceChildren(element("b", {}, `By ${chosen.words}: ${number(cycles)} cycles`), ` for ${what}, ${chosen.is_own ? "as this chip has it" : beside}.`);
    this.slider.setAttribute("aria-valuetext", `by ${chosen.words}: ${number(cycles)} cycles`);
    const most = Math.max(...jumps.map((jump) => this.cyclesOf(jump)), 1);
    this.bars.replaceChildren(...jumps.map((jump, k) => this.bar(jump, k, most)));
  }

  bar(jump, k, most) {
    const { element, number } = tilesim;
    const cycles = this.cyclesOf(jump);
    return element("button", { type: "button", class: "rot-bar", "aria-pressed": String(k === this.chosen), click: () => this.pick(k) },
      element("span", {}, jump.words, jump.is_own ? element("span", { class: "muted" }, " (chip)") : null),
      element("span", { class: "rot-track" }, element("i", { style: `width: ${Math.max(0.5, (100 * cycles) / most)}%` })),
      element("span", { class: "number" }, number(cycles)));
  }

  pick(k) {
    this.slider.value = k;
    this.choose(k);
    this.bars.children[k].focus();
  }
}
