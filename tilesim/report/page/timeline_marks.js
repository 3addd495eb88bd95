// What lies over the rows: the chosen range, the critical path, findings, the hairline under the pointer, the selected
// span, and arrows to what released it.

class Marks {
  constructor(picture, canvas) {
    Object.assign(this, { picture, canvas });
  }

  // A canvas without anything on it would be laid over the other in every frame all the same.
  paint() {
    const { picture } = this;
    const { cursor, selected, range, findings, path } = picture;
    this.canvas.hidden = cursor === null && picture.followed === null && selected < 0 && !range.chosen && !findings.all.length && !path?.isShown;
    if (this.canvas.hidden) return;
    const context = (this.context = this.canvas.getContext("2d"));
    context.setTransform(picture.ratio, 0, 0, picture.ratio, 0, 0);
    context.clearRect(0, 0, picture.width, picture.height);
    this.palette = picture.painter.palette;
    if (path?.isShown) path.paint(context, picture);
    if (range.chosen) this.shade(range.chosen);
    this.findings(findings);
    context.strokeStyle = context.fillStyle = this.palette.accent;
    for (const cycle of [cursor, picture.followed]) if (cycle !== null) this.hairline(cycle);
    if (selected >= 0) this.selected(selected);
  }

  shade({ from, to }) {
    const { context, picture } = this;
    const [left, right] = [picture.x(from), picture.x(to)];
    context.fillStyle = context.strokeStyle = this.palette.accent;
    context.globalAlpha = 0.14;
    context.fillRect(left, 0, Math.max(1, right - left), picture.height);
    context.globalAlpha = 1;
    context.fillRect(left, 0, 1, picture.height);
    context.fillRect(right, 0, 1, picture.height);
  }

  hairline(cycle) {
    this.context.globalAlpha = 0.5;
    this.context.fillRect(this.picture.x(cycle), 0, 1 / this.picture.ratio, this.picture.height);
    this.context.globalAlpha = 1;
  }

  // Of each that shows a diamond on every track concerned; of the picked one a line through all.
  findings({ all, picked }) {
    const { context, picture } = this;
    const { view } = picture;
    let last = -Infinity;
    all.forEach((finding, k) => {
      const x = picture.x(finding.cycle + 0.5);
      if (finding.cycle < view.from - 1 || finding.cycle > view.to || (x - last < 4 && k !== picked)) return;
      last = x;
      if (k === picked) this.dashed(x);
      for (const [track, hue] of finding.tracks) {
        const y = picture.y(track);
        if (y === null) continue;
        const colours = hue >= 0 ? [this.palette.masters[hue]] : coloursOf(finding, this.palette);
        diamond(context, x, y + BAR / 2, 5.5, colours, this.palette);
      }
    });
  }

  dashed(x) {
    const { context } = this;
    context.strokeStyle = this.palette.fg;
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, this.picture.height);
    context.stroke();
    context.setLineDash([]);
  }

  selected(span) {
    const releasing = this.picture.spans.released_by[span];
    this.outline(span);
    if (releasing < 0) return;
    this.outline(releasing);
    this.arrow(span, releasing);
  }

  outline(span) {
    const { picture } = this;
    const y = picture.y(picture.spans.trackOf(span));
    if (y === null) return;
    const left = picture.x(picture.spans.starts[span]);
    const width = Math.max(2, picture.x(picture.spans.endOf(span)) - left);
    this.context.lineWidth = 2;
    this.context.strokeRect(left, y - 1, width, BAR + 2);
  }

  // From the end of a stall to the end of the span that released it.
  arrow(stall, releasing) {
    const { context, picture } = this;
    const ends = [stall, releasing].map((span) => [picture.x(picture.spans.endOf(span)), picture.y(picture.spans.trackOf(span), true)]);
    if (ends.some(([, y]) => y === null)) return;
    const [[x0, y0], [x1, y1]] = ends.map(([x, y]) => [x, y + BAR / 2]);
    const bend = Math.max(24, Math.min(90, Math.abs(y1 - y0) / 3));
    context.lineWidth = 1.5;
    context.setLineDash([5, 3]);
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 + bend, y1, x1 + 3, y1);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(x1 + 1, y1);
    context.lineTo(x1 + 10, y1 - 5);
    context.lineTo(x1 + 10, y1 + 5);
    context.fill();
  }
}
