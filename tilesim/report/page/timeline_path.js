// The critical path over the rows: what the run's end waited for, from cycle 0 on, span by span.

class Path {
  constructor({ track, start, cycles }) {
    Object.assign(this, { track, start, cycles, isShown: false });
  }

  // The first step that ends after a cycle.
  first(cycle) {
    let [low, high] = [0, this.start.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[middle] + this.cycles[middle] <= cycle) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // A line below each step, and one from track to track. Steps of less than a pixel are one with the steps before.
  paint(context, picture) {
    const { view, painter } = picture;
    context.strokeStyle = painter.palette.fg;
    context.lineWidth = 2;
    context.beginPath();
    let [x, y] = [-Infinity, null];
    for (let k = this.first(view.from); k < this.start.length && this.start[k] < view.to; k++) {
      const end = Math.min(picture.x(this.start[k] + this.cycles[k]), picture.width + 4);
      if (end - x < 0.7 && y !== null) continue;
      const row = this.track[k] < 0 ? null : picture.y(this.track[k]);
      const begin = Math.max(picture.x(this.start[k]), -4);
      if (row === null) {
        y = null;
        continue;
      }
      const line = row + BAR + 0.5;
      if (y === null) context.moveTo(begin, line);
      else context.lineTo(begin, line);
      context.lineTo(end, line);
      [x, y] = [end, line];
    }
    context.stroke();
  }
}

// The path, if the page has it.
async function pathOf() {
  if (!document.querySelector("#path script.data")) return null;
  const { columns } = await tilesim.given("path");
  return columns.start?.length ? new Path(columns) : null;
}
