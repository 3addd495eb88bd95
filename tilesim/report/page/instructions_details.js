// All of one instruction: what it does, what it waits for and who ends that, and what it did in this run.

const cyclesWords = (cycles) => `${tilesim.number(cycles)} ${cycles === 1 ? "cycle" : "cycles"}`;
const MOST_NAMED = 12; // others that are listed at once

class Details {
  constructor(program, ran, choose, open) {
    Object.assign(this, { program, ran, choose, open });
    this.root = tilesim.element("div", { class: "ins-details", "aria-live": "polite" }, tilesim.element("p", { class: "muted" }, "Choose an instruction to see what it does, what it waits for, and who lets it go on."));
  }

  show(k) {
    const { element } = tilesim;
    const { program } = this;
    this.known = this.ran && this.ran.details(k);
    const facts = [
      ["does", program.of("operands", k)],
      ["kind", [program.of("kinds", k), program.of("units", k) && `carried out by ${program.of("units", k).replace(/_/g, " ")}`].filter(Boolean).join(", ")],
      ["layer", program.layerOf(k)],
      ["tiles", tilesWords(program.of("tiles", k) || [])],
      ["raises", program.of("raises", k)],
      ["as written", program.of("assembly", k) && element("code", {}, program.of("assembly", k))],
    ];
    const longest = this.known && this.known.longest;
    const parts = [
      element("h3", {}, program.labels[k]),
      longest && element("button", { type: "button", class: "ins-open", click: () => this.open(k) }, "Show in the timeline"),
      element("dl", { class: "ins-facts" }, ...facts.filter(([, value]) => value).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
      this.waits(k),
      this.known && this.released(),
      this.known && this.releases(),
      this.known && this.tracks(k),
    ];
    this.root.replaceChildren(...parts.filter(Boolean));
    this.root.scrollTop = 0;
  }

  link(k) {
    return tilesim.element("button", { type: "button", class: "ins-link", click: () => this.choose(k) }, this.program.labels[k]);
  }

  linkTo(label) {
    const k = this.program.places.get(label);
    return k === undefined ? label || "no instruction" : this.link(k);
  }

  links(places) {
    const named = places.slice(0, MOST_NAMED).flatMap((k, at) => [at ? ", " : "", this.link(k)]);
    return places.length > MOST_NAMED ? [...named, ` and ${tilesim.number(places.length - MOST_NAMED)} more`] : named;
  }

  list(title, items) {
    return items.length ? tilesim.element("div", {}, tilesim.element("h4", {}, title), tilesim.element("ul", {}, ...items.map((item) => tilesim.element("li", {}, item)))) : null;
  }

  waits(k) {
    const items = this.program.waits(k).map(({ words, by }) => [words, by.length ? [", by ", this.links(by)] : ""].flat(3));
    const awaiting = this.program.awaitedBy(k);
    return tilesim.element("div", {}, this.list("Waits for, as the program says", items), this.list("Awaited by", awaiting.length ? [this.links(awaiting)] : []));
  }

  counted(sums, words) {
    const sorted = [...sums].sort((a, b) => b[1] - a[1]);
    const items = sorted.slice(0, MOST_NAMED).map(words);
    return sorted.length > MOST_NAMED ? [...items, [`and ${tilesim.number(sorted.length - MOST_NAMED)} more`]] : items;
  }

  released() {
    const words = ([key, cycles]) => {
      const [label, kind] = key.split("\n");
      return [`${cyclesWords(cycles)}, ${this.ran.wordsOf(kind)}: released by `, this.linkTo(label)];
    };
    return this.list("In this run, its units together waited", this.counted(this.known.released, words));
  }

  releases() {
    return this.list("In this run, it ended waits of", this.counted(this.known.releases, ([label, cycles]) => [this.linkTo(label), `: ${cyclesWords(cycles)}`]));
  }

  tracks(k) {
    const { element, number } = tilesim;
    const kinds = this.ran.kinds.filter(({ kind }) => [...this.known.tracks.values()].some((of) => of.kinds.has(kind)));
    if (!kinds.length) return element("p", { class: "muted" }, "Nothing was recorded of it.");
    const own = this.program.columns.units[k];
    const rank = (track) => (this.ran.unitOf(track) === own ? 0 : 1);
    const sorted = [...this.known.tracks].sort((a, b) => rank(a[0]) - rank(b[0]) || a[1].start - b[1].start || a[0] - b[0]);
    const head = element("tr", {}, element("th", {}, "unit"), ...["first", "end", ...kinds.map(({ words }) => words)].map((words) => element("th", { class: "number" }, words)));
    const row = ([track, of]) => {
      const name = this.ran.tracks[track];
      const go = () => tilesim.emit("span", { track: name, cycle: of.start });
      return element("tr", {}, element("td", {}, element("button", { type: "button", class: "ins-link", click: go }, name.split(".").slice(1).join(" ").replace(/_/g, " ") || name)),
        ...[of.start, of.end, ...kinds.map(({ kind }) => of.kinds.get(kind) || 0)].map((cycles, at) => element("td", { class: "number" }, at > 1 && !cycles ? "-" : number(cycles))));
    };
    return element("div", {}, element("h4", {}, `In this run, on ${number(sorted.length)} ${sorted.length === 1 ? "unit" : "units"}, in cycles`), element("div", { class: "ins-tracks", tabindex: "0", role: "region", "aria-label": "cycles by unit" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...sorted.map(row)))));
  }
}
