// How the axis is said: in cycles, or in time where two runs have different clocks.

const axis = { ticks_hz: 0 }; // ticks a second, 0 of cycles

function moment(t) {
  return axis.ticks_hz ? `${tilesim.number(Number(((t / axis.ticks_hz) * 1e6).toFixed(4)))} \u00b5s` : tilesim.number(t);
}

function window_(from, to) {
  return axis.ticks_hz ? `${moment(from)} to ${moment(to)}` : `cycles ${moment(from)} to ${moment(to)}`;
}

// "12 cycles", or what so many ticks take.
function duration(ticks) {
  return axis.ticks_hz ? moment(ticks) : `${moment(ticks)} ${ticks === 1 ? "cycle" : "cycles"}`;
}

function counted(count, what) {
  return `${tilesim.number(count)} ${what}${count === 1 ? "" : "s"}`;
}
