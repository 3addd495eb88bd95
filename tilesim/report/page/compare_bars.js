// What the sections of a comparison share: bars of cycles by cause, and how numbers are put.
const { element, number, tip } = tilesim;

const colourOf = (cause) => `var(--cause-${cause.replaceAll(" ", "-")}, var(--stall-other))`;
const whole = (cycles) => number(Math.round(cycles));
const times = (factor) => `${factor.toFixed(2)} ×`;

// A difference with its sign; the signs are those of typography.
function signed(cycles) {
  const rounded = Math.round(cycles);
  return rounded > 0 ? `+${number(rounded)}` : rounded < 0 ? number(rounded) : "0";
}

const total = (byCause) => Object.values(byCause).reduce((sum, cycles) => sum + cycles, 0);

// The causes that there are, in the order of the legend.
const listed = (byCause, causes) => Object.keys(causes).filter((cause) => byCause[cause]);

// What a bar says: each cause with its cycles and its share.
function told(title, byCause, causes) {
  const all = total(byCause);
  const rows = listed(byCause, causes).map((cause) =>
    element("tr", {},
      element("td", {}, element("span", { class: "swatch", style: `background: ${colourOf(cause)}` }), causes[cause].words),
      element("td", { class: "number" }, whole(byCause[cause])),
      element("td", { class: "number" }, tilesim.percent(byCause[cause] / all))));
  return [element("strong", {}, title), element("table", { class: "told" }, ...rows)];
}

// One stacked bar, `longest` cycles being the full width.
function stacked(title, byCause, causes, longest) {
  const parts = listed(byCause, causes).map((cause) =>
    element("span", { class: "part", "data-cause": cause, style: `width: ${(100 * byCause[cause]) / longest}%; background: ${colourOf(cause)}` }));
  const bar = element("div", { class: "stacked", role: "img", tabindex: "0", "aria-label": `${title}: ${whole(total(byCause))} cycles` }, ...parts);
  tip(bar, () => told(title, byCause, causes));
  return bar;
}

function legend(causes) {
  return element("p", { class: "legend" }, ...Object.entries(causes).map(([cause, { words, meaning }]) => {
    const entry = element("span", { tabindex: "0" }, element("span", { class: "swatch", style: `background: ${colourOf(cause)}` }), words);
    tip(entry, () => [meaning]);
    return entry;
  }));
}

// Round numbers from 0 to `longest`, five at most.
function ticks(longest) {
  const raw = longest / 4;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = Math.max(1, [1, 2, 5, 10].map((k) => k * size).find((each) => each >= raw));
  return Array.from({ length: Math.floor(longest / step) + 1 }, (_, k) => k * step);
}

const head = (...titles) => element("thead", {}, element("tr", {}, ...titles.map((title) => (title instanceof Node ? title : element("th", {}, title)))));
const right = (title) => element("th", { class: "number" }, title);
