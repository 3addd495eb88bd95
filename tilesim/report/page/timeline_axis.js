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

// 1, 2 or 5 times a power of ten, at least so much; of a time in its own unit, of cycles one of them at least.
function niceStep(least) {
  const scale = axis.ticks_hz ? axis.ticks_hz / 1e6 : 1;
  const power = 10 ** Math.floor(Math.log10(least / scale));
  const step = [1, 2, 5, 10].map((factor) => factor * power * scale).find((each) => each >= least * 0.999);
  return axis.ticks_hz ? step : Math.max(1, step);
}
