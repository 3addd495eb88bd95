// The names beside the rows: a group's folds it, a track's pins it.

class Labels {
  constructor(picture, place) {
    Object.assign(this, { picture, place });
  }

  fill() {
    const { rows } = this.picture;
    const pinned = rows.pins.length ? [tilesim.element("div", { class: "pinned" }, ...rows.pins.map((row) => this.track(row)))] : [];
    this.place.replaceChildren(...pinned, ...rows.shown.map((row) => (row.isGroup ? this.group(row) : this.track(row))));
    this.place.style.height = `${this.picture.rowCount * ROW}px`;
    this.shares();
  }

  found(row) {
    return row.tracks.some((track) => this.picture.search?.tracks.has(track)) ? " found" : "";
  }

  track(row) {
    const { element } = tilesim;
    const isPinned = this.picture.rows.isPinned(row.track);
    const words = `${row.path}: ${isPinned ? "click to unpin it" : "click to keep it on top"}`;
    row.busy = element("span", { class: "busy" });
    const alone = !row.isPinned && row.group.tracks.length === 1 ? " alone" : "";
    return (row.label = element("button", { type: "button", class: `label track${alone}${this.found(row)}`, title: words, "data-track": row.path, "aria-pressed": String(isPinned), tabindex: "-1", click: () => this.picture.pin(row.track) },
      element("span", { class: "name" }, row.name, isPinned ? " \u2022" : ""), row.busy));
  }

  group(row) {
    const { element } = tilesim;
    const { folded } = row.group;
    row.busy = element("span", { class: "busy" });
    row.leading = element("span", { class: "leading" });
    const name = element("span", { class: "name" }, `${folded ? "\u25b8" : "\u25be"} ${row.name} `, row.leading);
    return (row.label = element("button", { type: "button", class: `label group${this.found(row)}`, title: row.name, "aria-expanded": String(!folded), click: () => this.picture.fold(row.group) }, name, row.busy));
  }

  // The share of busy cycles beside each name, and of folded groups whose it is.
  shares() {
    const { rows, view, spans } = this.picture;
    for (const row of [...rows.pins, ...rows.shown]) {
      if (row.track < 0) continue;
      const share = spans.busy < 0 ? 0 : row.mix(view.from, view.to)[spans.busy];
      row.busy.textContent = share ? tilesim.percent(share) : "\u2013";
      if (row.isGroup) row.leading.textContent = rows.names.get(row.track).name;
    }
  }

  flash(index) {
    const label = this.picture.rows.shown[index]?.label;
    if (!label) return;
    label.classList.add("flash");
    setTimeout(() => label.classList.remove("flash"), 1200);
  }
}
