// The layers of a series, and what each spent on each chip.
function layersOf({ chips, k }, { data, columns }) {
  const first = columns.layer[k];
  return Array.from({ length: columns.layer[k + 1] - first }, (_, place) => {
    const at = columns.on_chip[k] + place * chips.length;
    const cells = chips.map((chip, c) => cellOf(chip, at + c, data, columns));
    const there = cells.filter((cell) => cell !== null);
    for (const [c, cell] of there.entries()) {
      const [least, before] = [there[0], there[c - 1]];
      cell.efficiency = (least.cycles * least.all) / (cell.cycles * cell.all);
      cell.elasticity = before ? Math.log(before.cycles / cell.cycles) / Math.log(cell.all / before.all) : null;
    }
    const name = columns.name[first + place];
    return {
      place, cells, name: data.names[name], short: data.short[name], kind: data.kinds[columns.kind[first + place]], knee: columns.knee[first + place],
      held: data.losses[columns.held_by[first + place]], most: Math.max(...there.map(({ cycles }) => cycles)), last: there[there.length - 1].cycles,
    };
  });
}

// `at` is its place in the columns; null where the run lacks the layer.
function cellOf(chip, at, data, columns) {
  const cycles = columns.cycles[at];
  return Number.isNaN(cycles) ? null : { at, cycles, all: chip.tiles, tiles: columns.tiles[at], bound_by: data.causes[columns.bound_by[at]] };
}
