// What the run noticed, and why it ended early: above all else, each with a button that shows it.
const { element, number } = tilesim;
const SHOWN = 4; // findings, or lines of a report; the others are folded
const AROUND = 16; // cycles before and behind a finding that are shown with it

tilesim.section("findings", async (root, data) => {
  if (data.end) root.append(...ended(data.end));
  if (data.findings.length) root.append(element("p", {}, `The run noticed ${data.counts}.`), ...folded("findings-list", data.findings.map(line)));
});

function ended({ heading, cycle, lines }) {
  const show = () => look({ from: cycle - 4 * AROUND, to: cycle + AROUND }, []);
  return [element("p", {}, element("strong", {}, `${heading}. `), element("button", { type: "button", click: show }, "Show its last cycles")), ...folded("findings-lines", lines.map((words) => element("li", {}, words)))];
}

// The first few of a list, and the rest behind a button.
function folded(kind, items) {
  const list = element("ul", { class: kind }, ...items);
  items.slice(SHOWN).forEach((item) => (item.hidden = true));
  if (items.length <= SHOWN) return [list];
  const more = element("button", { type: "button", click: () => { items.forEach((item) => (item.hidden = false)); more.remove(); } }, `${items.length - SHOWN} more`);
  return [list, more];
}

function line({ words, masters, cycle, tracks, instruction }) {
  const swatches = masters.map((master) => element("i", { class: "swatch", title: master.words, style: `background: var(--${master.hue.replace(":", "-")})` }));
  const where = cycle === null ? `Show ${instruction}` : `Show cycle ${number(cycle)}`;
  const show = () => (cycle === null ? label(instruction) : look({ from: cycle - AROUND, to: cycle + AROUND }, tracks, cycle));
  const jump = cycle !== null || instruction ? element("button", { type: "button", click: show }, where) : null;
  return element("li", {}, jump, element("span", {}, ...swatches, words));
}

function look(window, tracks, cycle) {
  tilesim.emit("window", window);
  if (tracks.length) tilesim.emit("track", { name: tracks[tracks.length - 1] });
  if (cycle !== undefined) tilesim.emit("cursor", { cycle });
  scroll();
}

function label(instruction) {
  tilesim.emit("instruction", { label: instruction });
  scroll();
}

function scroll() {
  const timeline = document.getElementById("timeline");
  if (timeline) timeline.scrollIntoView();
}
