// The program's instructions, by their place in it, and which of them a user has asked for, in which order.

class Program {
  constructor(data, columns) {
    const texts = JSON.parse(new TextDecoder().decode(columns.texts));
    Object.assign(this, { texts, columns, layers: data.layers, count: columns.kinds.length });
    this.labels = texts.labels;
    this.places = new Map(this.labels.map((label, k) => [label, k]));
    this.low = this.labels.map((label) => label.toLowerCase());
    this.found = { operands: texts.operands, raises: texts.raises, waits: texts.waits, assembly: texts.assembly };
  }

  // What an instruction has of one of the tables; empty where the table was left out.
  of(table, k) {
    return this.texts[table][this.columns[table][k]] ?? "";
  }

  layerOf(k) {
    const layer = this.columns.layer[k];
    return layer >= 0 ? `${layer} ${this.layers[layer] ?? ""}` : "";
  }

  // Its waits: words, and the places of those who end each.
  waits(k) {
    const { wait, wait_end, by, by_end } = this.columns;
    const found = [];
    for (let w = k ? wait_end[k - 1] : 0; w < wait_end[k]; w++)
      found.push({ words: this.texts.waits[wait[w]], by: [...by.subarray(w ? by_end[w - 1] : 0, by_end[w])].map((step) => k + step) });
    return found;
  }

  // Those that wait for what an instruction raises.
  awaitedBy(k) {
    if (!this.awaited) {
      this.awaited = new Map();
      for (let waiting = 0; waiting < this.count; waiting++)
        for (const place of new Set(this.waits(waiting).flatMap(({ by }) => by))) this.awaited.set(place, [...(this.awaited.get(place) || []), waiting]);
    }
    return this.awaited.get(k) || [];
  }

  // Whether each instruction has the text in its label, or in the words of any table that it points at.
  matching(query) {
    const wanted = query.trim().toLowerCase();
    if (!wanted) return () => true;
    const hits = Object.fromEntries(Object.entries(this.found).map(([name, words]) => [name, words.map((each) => each.toLowerCase().includes(wanted))]));
    const { operands, raises, assembly, wait, wait_end } = this.columns;
    return (k) => {
      if (this.low[k].includes(wanted) || hits.operands[operands[k]] || hits.raises[raises[k]] || hits.assembly[assembly[k]]) return true;
      for (let w = k ? wait_end[k - 1] : 0; w < wait_end[k]; w++) if (hits.waits[wait[w]]) return true;
      return false;
    };
  }

  // The places of those that a user has asked for.
  chosen({ query, layer, tile, kind }) {
    const { layer: layers, tiles, kinds } = this.columns;
    const has = this.matching(query);
    const onTile = tile === null ? null : this.texts.tiles.map((each) => each.includes(tile));
    const wanted = [];
    for (let k = 0; k < this.count; k++) {
      if (layer !== null && layers[k] !== layer) continue;
      if (onTile && !onTile[tiles[k]]) continue;
      if (kind !== null && kinds[k] !== kind) continue;
      if (has(k)) wanted.push(k);
    }
    return wanted;
  }
}

// Numbers of tiles, those in a row as a stretch: 0-3, 5.
function tilesWords(tiles) {
  const stretches = [];
  for (const tile of tiles) {
    const last = stretches[stretches.length - 1];
    if (last && last[1] === tile - 1) last[1] = tile;
    else stretches.push([tile, tile]);
  }
  return stretches.map(([a, b]) => (b > a ? `${a}\u2013${b}` : `${a}`)).join(", ");
}
