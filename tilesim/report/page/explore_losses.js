// What was lost from one number of tiles to another, as a waterfall; and what the cycles of all tiles went into.
const WIDTH = 620;
const ROW = 27;
const NAMES = 150;
const FIGURES = 112;
const HEIGHT = 380;
const EDGE = { left: 62, right: 10, top: 14, bottom: 48 };
const MOST_WORDS = 16; // beneath bars
const THIN = 5e-4; // shares below which nobody sees a part
const BLAMED = 4; // layers that are named
const LEAST = 0.5; // cycles below which a part is not shown
const IDEAL = { name: "ideal", words: "as with the fewest tiles", meaning: "what all tiles together would take if nothing were lost: this share is the efficiency" };
const hue = (name) => `var(--lost-${name})`;

tilesim.section("explore_losses", async (root, losses, columns) => {
  const all = await allSeries();
  const layers = await tilesim.given("explore_layers");
  const part = (chip, name) => columns[name][chip.at];
  let shown = null;
  const from = choose("lost-from", "from", [], () => draw());
  const to = choose("lost-to", "to", [], () => draw());
  const title = element("h3", { id: "lost-title" });
  const legend = element("p", { class: "legend" });
  const falls = element("div", { id: "waterfall" });
  const stacks = element("div", { id: "stacks" });

  function draw() {
    const { chips } = shown;
    if (to.list.selectedIndex <= from.list.selectedIndex) to.list.selectedIndex = Math.min(from.list.selectedIndex + 1, chips.length - 1);
    if (from.list.selectedIndex === chips.length - 1) from.list.selectedIndex -= 1;
    const [one, other] = [chips[from.list.selectedIndex], chips[to.list.selectedIndex]];
    title.textContent = `Cycles lost from ${tilesWords(one.tiles)} to ${other.tiles}`;
    legend.replaceChildren(...[IDEAL, ...losses.filter(({ name }) => chips.some((chip) => Math.abs(shareOf(chip, chips[0], part, name)) > THIN))].map(lossKey));
    const blamed = (name) => blame(name, layersOf(shown, layers), layers.columns, chips.indexOf(one), chips.indexOf(other));
    falls.replaceChildren(waterfall(shown, one, other, losses, part, blamed));
    stacks.replaceChildren(stacked(shown, losses, part, (k) => {
      to.list.selectedIndex = k;
      from.list.selectedIndex = Math.min(from.list.selectedIndex, k - 1);
      draw();
    }));
  }

  const lists = chooser(all, (series) => {
    shown = series;
    for (const { list } of [from, to]) list.replaceChildren(...series.chips.map((chip) => element("option", {}, tilesWords(chip.tiles))));
    const knee = Math.min(series.knee, series.chips.length - 2);
    [from.list.selectedIndex, to.list.selectedIndex] = [knee, knee + 1];
    draw();
  });
  lists.append(from.label, to.label);
  root.append(lists, element("div", { class: "charts" }, element("div", {}, title, falls), element("div", {}, element("h3", {}, "What the cycles of all tiles went into"), stacks)), legend,
    element("p", { class: "muted definition" }, "The waterfall begins with the cycles that the run would take were it as many times as fast as it has more tiles, and ends with those that it takes. Each part is what all tiles together spend more on something, by the number of tiles: computing, waiting, or without work. So the parts add up, and percentages are shares of the whole loss; a part below 0 is spent less on than ideal. ",
      "The bars are the same against the fewest tiles, as shares of the cycles of all tiles: what is as with the fewest is the efficiency, the rest is lost. Tiles without work behind the last layers wait for them as long as the layers take on the tiles that they are on; what then remains is idle."));
});

function lossKey({ name, words, meaning }) {
  const key = element("span", { tabindex: "0" }, element("span", { class: "swatch", style: `background: ${hue(name)}` }), words);
  tilesim.tip(key, () => meaning);
  return key;
}

// ---- the waterfall, a row a part

function waterfall(series, one, other, losses, part, blamed) {
  const ratio = one.tiles / other.tiles;
  const ideal = one.cycles * ratio;
  const parts = losses.map((loss) => ({ ...loss, lost: part(other, loss.name) - part(one, loss.name) * ratio, before: part(one, loss.name), after: part(other, loss.name), blamed })).filter(({ lost }) => Math.abs(lost) >= LEAST);
  const levels = parts.reduce((found, { lost }) => [...found, found[found.length - 1] + lost], [ideal]);
  const bottom = EDGE.top + ROW * (parts.length + 2);
  const x = linear(Math.min(0, ...levels), Math.max(...levels, other.cycles), NAMES, WIDTH - FIGURES);
  const all = other.cycles - ideal;
  const rows = parts.map((each, k) => lostRow(each, levels[k], k + 1, x, all));
  return svg("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${bottom + 48}`, role: "group", "aria-label": `What ${series.network} loses from ${tilesWords(one.tiles)} to ${other.tiles}` },
    ...xAxis(x, rounds(x.low, x.high, 5), { top: EDGE.top, bottom, title: `cycles with ${tilesWords(other.tiles)}` }),
    endRow(`ideal: ${significant(1 / ratio)} \u00d7 as fast`, ideal, 0, x, "first", `${number(one.cycles)} cycles with ${tilesWords(one.tiles)}, by ${significant(1 / ratio)}`),
    ...rows,
    ...levels.map((level, k) => svg("line", { class: "level", x1: x.place(level), x2: x.place(level), y1: EDGE.top + ROW * k + 4, y2: EDGE.top + ROW * (k + 2) - 4 })),
    endRow("taken", other.cycles, parts.length + 1, x, "taken", `${significant(one.cycles / other.cycles)} \u00d7 as fast as with ${tilesWords(one.tiles)}`));
}

const top = (row) => EDGE.top + ROW * row + 4;

function endRow(words, cycles, row, x, kind, meaning) {
  const node = svg("g", { class: `step ${kind}`, tabindex: "0", role: "img", "aria-label": `${words}: ${whole(cycles)} cycles` },
    svg("rect", { class: "hit", x: 0, y: EDGE.top + ROW * row, width: WIDTH, height: ROW }),
    svg("text", { x: NAMES - 10, y: top(row) + 14, "text-anchor": "end" }, words),
    svg("rect", { class: "part", x: x.place(0), y: top(row), width: Math.max(0, x.place(cycles) - x.place(0)), height: ROW - 8 }),
    svg("text", { class: "strong", x: x.place(cycles) + 6, y: top(row) + 14 }, whole(cycles)));
  tilesim.tip(node, () => told(words, [["cycles", whole(cycles)]], meaning));
  return node;
}

function lostRow({ name, words, meaning, lost, before, after, blamed }, level, row, x, all) {
  const [low, high] = [Math.min(level, level + lost), Math.max(level, level + lost)];
  const node = svg("g", { class: "step", tabindex: "0", role: "img", "data-lost": name, "aria-label": `${words}: ${signed(lost)} cycles` },
    svg("rect", { class: "hit", x: 0, y: EDGE.top + ROW * row, width: WIDTH, height: ROW }),
    svg("text", { x: NAMES - 10, y: top(row) + 14, "text-anchor": "end" }, words),
    svg("rect", { class: lost < 0 ? "part less" : "part", x: x.place(low), y: top(row), width: Math.max(1, x.place(high) - x.place(low)), height: ROW - 8, style: `--hue: ${hue(name)}` }),
    svg("text", { x: x.place(high) + 6, y: top(row) + 14 }, signed(lost), ...(all > 0 ? [svg("tspan", { class: "muted" }, `  ${share(lost / all).replace("-", "\u2212")}`)] : [])));
  tilesim.tip(node, () => told(words, [["more than ideal", `${signed(lost)} cycles`], ["of an average tile, before", `${whole(before)} cycles`], ["and then", `${whole(after)} cycles`],
    ...blamed(name).map(({ short, more }, k) => [`${k ? "" : "most "}${name === "serial" ? "behind" : "in"} ${short}`, `${name === "serial" ? "some " : ""}${signed(more)}`])], meaning));
  return node;
}

// The layers in which most is lost; of serial layers, those that others wait for, by about as much as they do.
function blame(name, layers, columns, from, to) {
  const widest = (c) => Math.max(...layers.map(({ cells }) => (cells[c] ? cells[c].tiles : 0)));
  const wait = (cell, c) => (cell.cycles * (widest(c) - cell.tiles)) / cell.all;
  const spent = columns[`lost.${name}`];
  const of = (cell, c) => (!cell ? 0 : name === "serial" ? wait(cell, c) : spent ? spent[cell.at] : 0);
  const ratio = (cells) => (cells[from] && cells[to] ? cells[from].all / cells[to].all : 0);
  const more = layers.map(({ short, cells }) => ({ short, more: of(cells[to], to) - of(cells[from], from) * ratio(cells) }));
  return more.filter((each) => each.more >= LEAST).sort((a, b) => b.more - a.more).slice(0, BLAMED);
}

// ---- shares of the cycles of all tiles, a bar a chip

const shareOf = (chip, first, part, name) => (part(chip, name) - (part(first, name) * first.tiles) / chip.tiles) / chip.cycles;

function stacked(series, losses, part, pick) {
  const { chips } = series;
  const first = chips[0];
  const bars = chips.map((chip) => [{ ...IDEAL, share: chip.efficiency }, ...losses.map((loss) => ({ ...loss, share: shareOf(chip, first, part, loss.name) }))]);
  const sums = (sign) => bars.map((bar) => bar.reduce((sum, each) => sum + Math.max(0, sign * each.share), 0));
  const [below, above] = [Math.max(...sums(-1)), Math.max(...sums(1))];
  const bottom = HEIGHT - EDGE.bottom;
  const y = linear(below < 0.005 ? 0 : -below, above < 1.005 ? 1 : above, bottom, EDGE.top);
  const pitch = (WIDTH - EDGE.left - EDGE.right) / chips.length;
  const width = Math.min(64, pitch * 0.72);
  const middle = (k) => EDGE.left + pitch * (k + 0.5);
  return svg("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": `Shares of the cycles of all tiles of ${series.network}` },
    ...yAxis(y, rounds(y.low, y.high, 5), { left: EDGE.left, right: WIDTH - EDGE.right, title: "share of the cycles of all tiles", words: share }),
    ...chips.map((chip, k) => stack(chip, k, bars[k], { x: middle(k) - width / 2, width, y, pick })),
    ...chips.map((chip, k) => svg("text", { class: k === series.knee ? "knee-words" : "muted", x: middle(k), y: bottom + 17, "text-anchor": "middle" }, k % Math.ceil(chips.length / MOST_WORDS) ? "" : number(chip.tiles))),
    svg("text", { x: (EDGE.left + WIDTH - EDGE.right) / 2, y: bottom + 38, "text-anchor": "middle" }, "tiles"));
}

function stack(chip, k, bar, { x, width, y, pick }) {
  let [up, down] = [0, 0];
  const parts = bar.filter((each) => Math.abs(each.share) > THIN).map((each) => {
    const [low, high] = each.share > 0 ? [up, up + each.share] : [down + each.share, down];
    if (each.share > 0) up = high;
    else down = low;
    return svg("rect", { class: each.share < 0 ? "part less" : "part", "data-lost": each.name, x, width, y: y.place(high), height: Math.max(0.5, y.place(low) - y.place(high)), style: `--hue: ${hue(each.name)}` });
  });
  const go = () => k && pick(k);
  const node = svg("g", { class: "stack-of", tabindex: "0", role: k ? "button" : "img", "aria-label": `${tilesWords(chip.tiles)}: efficiency ${tilesim.percent(chip.efficiency)}`, click: go, keydown: (event) => event.key === "Enter" && go() }, ...parts);
  tilesim.tip(node, () => told(tilesWords(chip.tiles), bar.filter((each) => Math.abs(each.share) > THIN).map((each) => [
    element("span", {}, element("span", { class: "swatch", style: `background: ${hue(each.name)}` }), each.words), `${each.share < 0 ? "\u2212" : ""}${tilesim.percent(Math.abs(each.share))}`])));
  return node;
}
