// The cells of a map: the points that share a value of each of two keys, and what they gave together.

const SUMMARIES = {
  lowest: (points, values) => points.reduce((best, k) => (values[k] < values[best] ? k : best)),
  highest: (points, values) => points.reduce((best, k) => (values[k] > values[best] ? k : best)),
};

// Values that share a column or row, as [first, last], where a key has more than `most` of them.
function shared(key, most) {
  const count = key ? Math.min(most, key.values.length) : 1;
  const parts = Array.from({ length: count }, () => []);
  const all = key ? key.values.length : 1;
  for (let code = 0; code < all; code++) parts[Math.floor((code * count) / all)].push(code);
  return parts.map((codes) => [codes[0], codes[codes.length - 1]]);
}

function labelled(key, [first, last]) {
  if (!key) return "all";
  return first === last ? key.values[first] : `${key.values[first]} … ${key.values[last]}`;
}

// Rows of cells from below: { points, ran, value, best }; how many points have not both keys.
function cellsOf(points, across, up, measure, how, most) {
  const [columns, rows] = [shared(across, most.across), shared(up, most.up)];
  const place = (key, codes, k) => (key ? Math.floor((key.codes[k] * codes.length) / key.values.length) : 0);
  const cells = rows.map(() => columns.map(() => ({ points: [], ran: [] })));
  let lacking = 0;
  for (const k of points) {
    const [row, column] = [place(up, rows, k), place(across, columns, k)];
    if (row < 0 || column < 0) {
      lacking++;
      continue;
    }
    cells[row][column].points.push(k);
    if (!Number.isNaN(measure.values[k])) cells[row][column].ran.push(k);
  }
  for (const cell of cells.flat()) Object.assign(cell, summed(cell.ran, measure, how));
  return { columns, rows, cells, lacking };
}

// The number of a cell, and the point that stands for it: the best one, or one in the middle.
function summed(ran, { values, more_is_better: more }, how) {
  if (!ran.length) return { value: NaN, best: -1 };
  if (how === "best") {
    const best = SUMMARIES[more ? "highest" : "lowest"](ran, values);
    return { value: values[best], best };
  }
  const order = [...ran].sort((a, b) => values[a] - values[b]);
  const [below, above] = [order[(order.length - 1) >> 1], order[order.length >> 1]];
  return { value: (values[below] + values[above]) / 2, best: below };
}
