// The state log: what every signal held in each cycle of its window, and what changed when.

class StateLog {
  constructor({ names, kinds, texts, window, nodes }, { signal, cycle, value }) {
    Object.assign(this, { names, kinds, texts, nodes, from: window[0], to: window[1], signal, cycle, value });
    this.places = new Map(names.map((name, k) => [name, k]));
    const counts = new Uint32Array(names.length + 1);
    for (const place of signal) counts[place + 1]++;
    for (let k = 0; k < names.length; k++) counts[k + 1] += counts[k];
    this.first = counts.slice();
    this.changes = new Uint32Array(signal.length); // by signal, then cycle
    signal.forEach((place, k) => (this.changes[counts[place]++] = k));
  }

  // The last place of a list, from low on, whose cycle is not after the one asked for; low - 1: none.
  last(low, high, cycle, cycleOf) {
    low--;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (cycleOf(middle) <= cycle) low = middle;
      else high = middle;
    }
    return low;
  }

  // What a signal holds in a cycle; undefined: it is not in the log.
  at(name, cycle) {
    const place = this.places.get(name);
    if (place === undefined) return undefined;
    const found = this.last(this.first[place], this.first[place + 1], cycle, (k) => this.cycle[this.changes[k]]);
    return found < this.first[place] ? undefined : this.value[this.changes[found]];
  }

  count(name, cycle) {
    return this.at(name, cycle) || 0;
  }

  text(name, cycle) {
    const value = this.at(name, cycle);
    return value === undefined || value < 0 ? "" : this.texts[value];
  }

  // A packet on a link or at a stop: {label, row, master}, the master by its node's name.
  packet(name, cycle) {
    const text = this.text(name, cycle);
    const found = /^(.*) ([0-9]+) ([0-9]+)$/.exec(text);
    return found ? { label: found[1], row: Number(found[2]), master: this.nodes[Number(found[3])] } : null;
  }

  // The flags of a tile that have been raised: [name, count].
  flags(path, cycle) {
    const prefix = `${path}.flags.`;
    return this.names.filter((name) => name.startsWith(prefix)).map((name) => [name.slice(prefix.length), this.count(name, cycle)]);
  }

  // The signals that change in a cycle.
  changed(cycle) {
    const end = this.last(0, this.cycle.length, cycle, (k) => this.cycle[k]) + 1;
    const begin = this.last(0, this.cycle.length, cycle - 1, (k) => this.cycle[k]) + 1;
    return cycle > this.from ? [...this.signal.slice(begin, end)].map((place) => this.names[place]) : [];
  }
}
