// The batches of a run: what lies in the unified buffer over time, and below it which layer runs when.
const WIDTH = 1180;
const TOP = 14;
const AREA = 220;
const LANE = 15;
const EDGE = { left: 190, right: 16, bottom: 44 };

tilesim.section("batching", async (root, data, table) => {
  root.append(
    element("dl", { class: "figures" }, ...data.figures.map(({ name, value }) => element("div", {}, element("dt", {}, name), element("dd", {}, value)))),
    picture(data, table),
    element("p", { class: "definition" }, data.definition),
  );
});

function picture(data, table) {
  const points = Array.from(table.cycle, (cycle, k) => [cycle, table.bytes[k]]);
  const bottom = TOP + AREA + 10 + LANE * data.lanes.length;
  const x = linear(data.cycles, EDGE.left, WIDTH - EDGE.right);
  const y = linear(points.reduce((most, [, size]) => Math.max(most, size), 1), TOP + AREA, TOP);
  const line = stepped(points, x, y);
  const drawn = svg("svg", { class: "batches", viewBox: `0 0 ${WIDTH} ${bottom + EDGE.bottom}`, role: "img", tabindex: "0", "aria-label": "Bytes in the unified buffer over time, and the batches of each layer" },
    ...columns(x, TOP, bottom, 8, number),
    ...rows(y, EDGE.left, WIDTH - EDGE.right, 4),
    svg("path", { class: "area", d: line }), svg("path", { class: "line", d: line }),
    svg("text", { transform: `translate(16 ${TOP + AREA / 2}) rotate(-90)`, "text-anchor": "middle" }, "in the unified buffer"),
    ...data.lanes.flatMap((lane, k) => laneOf(lane, k, table, x)),
    svg("text", { x: (EDGE.left + WIDTH - EDGE.right) / 2, y: bottom + 38, "text-anchor": "middle" }, "cycle of the run"));
  drawn.addEventListener("pointermove", (event) => told(event, drawn, data, table, x));
  drawn.addEventListener("pointerleave", tilesim.hideTip);
  return drawn;
}

// A layer's name, and one path of all of its batches: each at least a hair wide, a line between those that touch.
function laneOf(lane, k, table, x) {
  const top = TOP + AREA + 12 + LANE * k;
  const parts = [];
  for (let i = 0; i < table.layer.length; i++) {
    if (table.layer[i] !== lane.number) continue;
    const from = x.place(table.start_cycle[i]);
    const width = Math.max(0.4, x.place(table.end_cycle[i]) - from - 0.4);
    parts.push(`M${from.toFixed(2)},${top}h${width.toFixed(2)}v${LANE - 4}h${(-width).toFixed(2)}z`);
  }
  return [
    svg("text", { class: "name", x: EDGE.left - 8, y: top + LANE - 5, "text-anchor": "end" }, svg("title", {}, lane.name), `${lane.number} ${shortened(lane.short)}`),
    svg("path", { class: "batch", d: parts.join(""), "data-layer": lane.number }),
  ];
}

const shortened = (name) => (name.length > 24 ? `\u2026${name.slice(-23)}` : name);

function told(event, drawn, data, table, x) {
  const { left, top, width } = drawn.getBoundingClientRect();
  const scale = WIDTH / width;
  const cycle = ((event.clientX - left) * scale - EDGE.left) / (WIDTH - EDGE.left - EDGE.right) * x.high;
  const lane = data.lanes[Math.floor(((event.clientY - top) * scale - TOP - AREA - 10) / LANE)];
  const k = found(table, cycle, lane);
  if (k < 0) return tilesim.hideTip();
  const of = data.lanes.find(({ number: each }) => each === table.layer[k]);
  const last = table.first[k] + table.count[k] - 1;
  const which = table.count[k] > 1 ? `inferences ${table.first[k]} to ${last}` : `inference ${table.first[k]}`;
  tilesim.tipAt(event.clientX, event.clientY, [
    element("strong", {}, `layer ${of.number}, ${of.short}`), element("div", {}, which),
    element("div", {}, `cycles ${number(table.start_cycle[k])} to ${number(table.end_cycle[k])}`), element("div", {}, `${bytes(table.buffer_bytes[k])} in the buffer`)]);
}

// The last batch, of a layer if one is pointed at, that has begun by a cycle and in a lane has not ended.
function found(table, cycle, lane) {
  let best = -1;
  for (let k = 0; k < table.layer.length; k++) {
    if (table.start_cycle[k] > cycle || (lane && (table.layer[k] !== lane.number || table.end_cycle[k] < cycle))) continue;
    if (best < 0 || table.start_cycle[k] >= table.start_cycle[best]) best = k;
  }
  return best;
}
