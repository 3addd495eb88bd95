// The columns of the table: what a cell says, what it is sorted and filtered by.

const ENERGIES = ["inference_energy_pj", "energy_pj"]; // the first where runs are of several inferences

// Columns have `text(k)`; those of numbers `number(k)`, not a number where there is none; `order(k)` sorts.
function columnsOf(space) {
  const point = { title: "point", isNumber: true, text: (k) => number(k + 1), number: (k) => k + 1, order: (k) => k };
  const status = { title: "status", text: space.status, order: (k) => space.status(k) };
  const bound = { title: "bound by", isMeasure: true, text: space.bound, order: (k) => space.bound(k) || null };
  const keys = space.keys.map(keyColumn);
  const told = new Set(space.keys.filter(({ telling, key }) => telling || key === "network").map(({ key }) => key));
  const measures = space.measures.map(measureColumn);
  const shown = new Set(["latency_us", space.measures.some(({ name }) => name === ENERGIES[0]) ? ENERGIES[0] : ENERGIES[1], "area_mm2", "mac_utilisation"]);
  return [
    { ...point, isShown: true }, ...keys.map((column) => ({ ...column, isShown: told.has(column.title) })), { ...status, isShown: true },
    ...measures.map((column, k) => ({ ...column, isShown: shown.has(space.measures[k].name) })), { ...bound, isShown: true }];
}

// A key is sorted by its codes, which are in order; where all values are numbers, conditions take them.
function keyColumn(key) {
  const value = (k) => (key.codes[k] < 0 ? NaN : key.numbers[key.codes[k]]);
  return { title: key.key, isNumber: Boolean(key.numbers), text: (k) => keyText(key, k), order: (k) => (key.codes[k] < 0 ? null : key.codes[k]), ...(key.numbers ? { number: value } : {}) };
}

function measureColumn(measure) {
  const value = (k) => measure.values[k];
  return { title: titled(measure), about: measure.definition, isMeasure: true, isNumber: true, text: (k) => figure(measure, measure.values[k]), number: value, order: (k) => (Number.isNaN(measure.values[k]) ? null : measure.values[k]) };
}

// Letters that a column needs, told by some of its points.
function widthOf(column, count) {
  const step = Math.max(1, Math.floor(count / 300));
  let most = 0;
  for (let k = 0; k < count; k += step) most = Math.max(most, column.text(k).length);
  const head = Math.max(...column.title.split(/[ .]/).map((word) => word.length)) + 2;
  return Math.min(26, Math.max(most, head, Math.min(14, column.title.length / 2 + 2)));
}

// The points in the order of a column, those without a value last, whichever way.
function sorted(points, { order }, isDown) {
  const sign = isDown ? -1 : 1;
  const values = new Map(points.map((k) => [k, order(k)]));
  return [...points].sort((p, q) => {
    const [a, b] = [values.get(p), values.get(q)];
    if (a === null || b === null) return (a === null) - (b === null) || p - q;
    const by = typeof a === "string" ? (a < b ? -1 : a > b ? 1 : 0) : a - b;
    return sign * by || p - q;
  });
}
