// The Pareto front: of costs [a, b] or [a, b, c] by point, the points that no other dominates, in the order of a.

// A number for which less is better.
const cost = (measure, k) => (measure.more_is_better ? -measure.values[k] : measure.values[k]);

function front(points, measures) {
  const costs = points.map((k) => ({ k, by: measures.map((measure) => cost(measure, k)) }));
  costs.sort((p, q) => compared(p.by, q.by));
  const isKept = measures.length === 2 ? keptOfTwo() : keptOfThree();
  let [before, kept] = [null, false];
  return costs.filter((point) => {
    if (!before || compared(before.by, point.by) !== 0) kept = isKept(point.by);
    before = point;
    return kept;
  }).map(({ k }) => k);
}

function compared(a, b) {
  for (let k = 0; k < a.length; k++) if (a[k] !== b[k]) return a[k] - b[k];
  return 0;
}

// In their order, no two of them equal, a point is kept if its second cost is less than all before: O(1) a point.
function keptOfTwo() {
  let least = Infinity;
  return ([, b]) => {
    if (b >= least) return false;
    least = b;
    return true;
  };
}

// Stairs of the second and third costs so far, b up and c down: a point is kept if it is below them. A binary search a
// point; the steps that it makes needless are taken out, each once, and the array moves up behind them.
function keptOfThree() {
  const stairs = [];
  return ([, b, c]) => {
    let [low, high] = [0, stairs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (stairs[middle][0] <= b) low = middle + 1;
      else high = middle;
    }
    if (low && stairs[low - 1][1] <= c) return false;
    const from = low && stairs[low - 1][0] === b ? low - 1 : low;
    let to = from;
    while (to < stairs.length && stairs[to][1] >= c) to++;
    stairs.splice(from, to - from, [b, c]);
    return true;
  };
}
