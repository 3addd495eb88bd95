// Series: the chips of a network that differ only in their tiles. One is chosen, for all sections together.
const tilesWords = (count) => `${number(count)} tile${count === 1 ? "" : "s"}`;

async function allSeries() {
  const { data, columns } = await tilesim.given("explore_scaling");
  if (data.note) return null;
  const count = columns.knee.length;
  const axes = data.axes.map((axis, k) => ({ ...axis, codes: columns[`axis.${k}`] }));

  function chip(at) {
    return {
      at, tiles: columns.tiles[at], shape: data.shapes[columns.shape[at]], cycles: columns.cycles[at], time_us: columns.time_us[at],
      speed_up: columns.speed_up[at], efficiency: columns.efficiency[at], elasticity: columns.elasticity[at], bound_by: data.causes[columns.bound_by[at]],
    };
  }

  function of(k) {
    const chips = Array.from({ length: columns.first[k + 1] - columns.first[k] }, (_, place) => chip(columns.first[k] + place));
    return { k, network: data.networks[k], chips, knee: columns.knee[k], words: wordsOf(k, axes), verdict: data.verdicts[k] };
  }

  const wordsOf = (k, some) => some.map(({ name, values, codes }) => (name === "network" ? values[codes[k]] : `${name} ${values[codes[k]] ?? "–"}`)).join(", ");

  // Of the series that have a code on an axis, the one that is otherwise most like another.
  function nearest(k, changed, code) {
    const alike = (other) => axes.reduce((sum, each) => sum + (each.codes[other] === each.codes[k]), 0);
    let best = -1;
    for (let other = 0; other < count; other++)
      if (changed.codes[other] === code && (best < 0 || alike(other) > alike(best))) best = other;
    return best;
  }

  // Those that differ from one on one axis only, itself left out.
  function besides(k, on) {
    const others = axes.filter((each) => each !== on);
    const isBeside = (other) => other !== k && others.every(({ codes }) => codes[other] === codes[k]);
    return Array.from({ length: count }, (_, other) => other).filter(isBeside);
  }

  return { count, axes, of, nearest, besides, wordsOf, definition: data.definition };
}

// Lists to choose the series by, one an axis; `show` is called now and whenever any section's are changed.
function chooser(all, show) {
  const lists = all.axes.map((axis) => {
    const codes = [...new Set(axis.codes)].sort((a, b) => a - b);
    const list = element("select", { change: () => pick(all.nearest(current(), axis, codes[list.selectedIndex])) }, ...codes.map((code) => element("option", {}, axis.values[code] ?? "–")));
    return { axis, codes, list };
  });
  const current = () => tilesim.state.series || 0;

  function pick(k) {
    tilesim.state.series = k;
    tilesim.emit("series", k);
  }

  function changed(k) {
    for (const { axis, codes, list } of lists) list.selectedIndex = codes.indexOf(axis.codes[k]);
    show(all.of(k));
  }

  tilesim.on("series", changed);
  changed(current());
  return element("p", { class: "series" }, ...lists.map(({ axis, list }) => element("label", {}, `${axis.name} `, list)));
}
