// A tornado: the keys one below the other, the largest effect first, each step a line with a bar a measure.
tilesim.section("sensitivity", async (root, data) => {
  const { element, tip } = tilesim;
  const MEASURES = ["time", "cycles", "energy"];
  const better = { time: "faster", cycles: "fewer cycles", energy: "less energy" };
  const worse = { time: "slower", cycles: "more cycles", energy: "more energy" };
  // Half as much and twice as much are equally far from no change.
  const strength = (ratio) => (ratio ? Math.log2(ratio) : 0);
  const effect = (measure) => (step) => Math.abs(strength(step.ratios[measure]));
  const saving = (measure) => (step) => -strength(step.ratios[measure]);
  // What the keys are sorted by: that of their steps of which there is most.
  const ORDERS = {
    time: ["effect on time", effect("time")], cycles: ["effect on cycles", effect("cycles")], energy: ["effect on energy", effect("energy")],
    "time-saved": ["time saved", saving("time")], "energy-saved": ["energy saved", saving("energy")],
  };
  const strengths = data.keys.flatMap((key) => key.steps.flatMap((step) => MEASURES.map((measure) => strength(step.ratios[measure]))));
  const low = Math.min(-0.01, ...strengths);
  const high = Math.max(0.01, ...strengths);
  const place = (ratio) => (strength(ratio) - low) / (high - low);

  function change(ratio) {
    if (ratio === null) return "–";
    if (ratio === 1) return "0";
    const share = Math.abs(ratio - 1) * 100;
    return `${ratio < 1 ? "\u2212" : "+"}${share < 100 ? share.toFixed(1) : tilesim.number(Math.round(share))} %`;
  }

  // ---- one step

  function bar(step, measure) {
    const ratio = step.ratios[measure];
    const none = place(1);
    if (ratio === null) return element("td", { class: "panel", "data-measure": measure });
    const [from, to] = [Math.min(none, place(ratio)), Math.max(none, place(ratio))];
    const side = ratio < 1 ? "better" : "worse";
    const length = `left: ${100 * from}%; width: ${100 * (to - from)}%`;
    const words = ratio < 1 ? `right: ${100 * (1 - from)}%` : `left: ${100 * to}%`;
    return element("td", { class: "panel", "data-measure": measure },
      element("div", { class: "plot" },
        element("span", { class: "zero", style: `left: ${100 * none}%` }),
        ratio === 1 ? null : element("span", { class: `bar ${side}`, style: length }),
        element("span", { class: `change${ratio === 1 ? " muted" : ""}`, style: words }, change(ratio))));
  }

  function told(key, step) {
    const rows = [...MEASURES, "area"].map((measure) => {
      const word = step.ratios[measure] === null || step.ratios[measure] === 1 ? "" : (step.ratios[measure] < 1 ? better : worse)[measure] || "";
      return element("tr", {}, element("td", {}, measure), element("td", { class: "number" }, step.words[measure]),
        element("td", { class: "number" }, change(step.ratios[measure])), element("td", {}, word));
    });
    const numbers = step.status === "ran" ? element("table", { class: "told" }, ...rows) : element("p", { class: "why" }, `${step.status}: ${step.reason}`);
    return [element("strong", {}, `${key.key}: ${key.value} \u2192 ${step.value}`), element("p", { class: "why muted" }, key.meaning), numbers,
      element("code", { class: "repeat" }, step.command)];
  }

  function line(key, step, first) {
    const name = first ? element("th", { scope: "rowgroup", rowspan: key.steps.length }, key.key, element("span", { class: "own" }, key.value)) : null;
    const what = `${key.key} from ${key.value} to ${step.value}`;
    const cells = step.status === "ran"
      ? [...MEASURES.map((measure) => bar(step, measure)), element("td", { class: "number" }, change(step.ratios.area))]
      : [element("td", { class: "why muted", colspan: MEASURES.length + 1 }, `${step.status}: ${step.reason}`)];
    const row = element("tr", { class: "step", tabindex: "-1", "aria-label": `${what}: ${MEASURES.map((measure) => `${measure} ${change(step.ratios[measure])}`).join(", ")}` },
      name, element("td", { class: "to" }, "\u2192 ", step.value), ...cells);
    tip(row, () => told(key, step));
    return row;
  }

  // ---- all of them

  // Round ratios, far enough apart.
  function ticks() {
    const every = [1 / 64, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 0.9, 1, 1.1, 4 / 3, 2, 4, 8, 16, 64];
    const shown = [1];
    for (const ratio of every.sort((a, b) => Math.abs(strength(b)) - Math.abs(strength(a))))
      if (strength(ratio) >= low && strength(ratio) <= high && shown.every((other) => Math.abs(place(other) - place(ratio)) > 0.3)) shown.push(ratio);
    return shown.map((ratio) => element("span", { style: `left: ${100 * place(ratio)}%` }, ratio === 1 ? "0" : `${ratio < 1 ? "\u2212" : "+"}${Math.round(100 * Math.abs(ratio - 1))} %`));
  }

  const panels = MEASURES.map((measure) => element("th", { scope: "col", class: "panel", "data-measure": measure }, measure, element("div", { class: "plot ticks" }, ...ticks())));
  const table = element("table", { id: "tornado" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "key"), element("th", { scope: "col" }, "to"), ...panels, element("th", { scope: "col", class: "number" }, "area"))));

  function draw(by) {
    const keys = data.keys.map((key, k) => [key, Math.max(...key.steps.map(ORDERS[by][1])), k]).sort((a, b) => b[1] - a[1] || a[2] - b[2]);
    table.dataset.order = by;
    table.querySelectorAll("tbody").forEach((body) => body.remove());
    for (const [key] of keys) table.append(element("tbody", {}, ...key.steps.map((step, k) => line(key, step, k === 0))));
    table.querySelector(".step")?.setAttribute("tabindex", "0");
  }

  // The table is one stop of the Tab key; arrows go on from line to line.
  table.addEventListener("keydown", (event) => {
    const lines = [...table.querySelectorAll(".step")];
    const now = lines.indexOf(document.activeElement);
    const next = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: lines.length - 1 }[event.key];
    if (now < 0 || next === undefined) return;
    event.preventDefault();
    if (!lines[next]) return;
    lines[now].setAttribute("tabindex", "-1");
    lines[next].setAttribute("tabindex", "0");
    lines[next].focus();
  });

  const order = element("select", { id: "order", change: () => draw(order.value) }, ...Object.entries(ORDERS).map(([value, [words]]) => element("option", { value }, words)));
  const swatch = (side, words) => element("span", {}, element("span", { class: "swatch", style: `background: var(--${side})` }), words);
  root.append(
    element("dl", { class: "base" }, ...data.figures.map(({ name, value }) => element("div", {}, element("dt", {}, name), element("dd", {}, value)))),
    element("code", { class: "repeat" }, data.command),
    element("p", { class: "legend" }, element("label", {}, "largest first: ", order), swatch("better", "\u2212 less: faster, less energy"), swatch("worse", "+ more: slower, more energy")));
  if (data.keys.length) root.append(element("div", { class: "wide" }, table));
  else root.append(element("p", {}, "No step changes anything."));
  root.append(element("p", { class: "muted definition" }, "Each line is a run with one key set otherwise, all else as it is. A bar is as long as the logarithm of what it is by the chip as it is: half as much and twice as much are equally long. ",
    "Time is that of all inferences of the run, at the clock of the chip; energy is dynamic only, of counted actions; area is a proxy. Arrow keys go from line to line. On a narrow page time or cycles are shown, as chosen."));
  draw("time");
});
