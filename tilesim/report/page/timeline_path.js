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

  // All else paler; a line below each step, and a thin one from track to track. Steps of less than a pixel are one with
  // those before.
  paint(context, picture) {
    const { view, painter } = picture;
    const [steps, ways] = [new Path2D(), new Path2D()];
    context.fillStyle = painter.palette.paper;
    context.globalAlpha = 0.55;
    context.fillRect(0, 0, picture.width, picture.height);
    let [x, y] = [-Infinity, null];
    for (let k = this.first(view.from); k < this.start.length && this.start[k] < view.to; k++) {
      const end = Math.min(picture.x(this.start[k] + this.cycles[k]), picture.width + 4);
      if (end - x < 0.7 && y !== null) continue;
      const row = this.track[k] < 0 ? null : picture.y(this.track[k]);
      if (row !== null) {
        const [begin, line] = [Math.max(picture.x(this.start[k]), -4), row + BAR + 0.5];
        if (y !== null) ways.rect(begin, Math.min(y, line), 0.01, Math.abs(line - y));
        steps.rect(begin, line - 1, end - begin, 2);
        if (picture.isDrawn(this.track[k])) context.clearRect(begin, row, Math.max(1, end - begin), BAR);
        x = end;
      }
      y = row === null ? null : row + BAR + 0.5;
    }
    context.fillStyle = context.strokeStyle = painter.palette.fg;
    context.lineWidth = 1;
    context.stroke(ways);
    context.globalAlpha = 1;
    context.fill(steps);
  }
}

// The path, if the page has it.
async function pathOf() {
  if (!document.querySelector("#path script.data")) return null;
  const { columns } = await tilesim.given("path");
  return columns.start?.length ? new Path(columns) : null;
}
