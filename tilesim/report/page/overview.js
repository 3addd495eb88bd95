// What the run is bound by, where and when; then the run in a few figures.
tilesim.section("overview", async (root, { verdict, figures }) => {
  const { element, number } = tilesim;
  const rows = figures.map(({ name, value, meaning }) => element("div", {}, element("dt", {}, name), element("dd", { class: "value" }, value), element("dd", { class: "muted" }, meaning)));
  if (verdict) {
    const { sentences, from, to, track } = verdict;
    const show = () => {
      tilesim.emit("window", { from, to });
      if (track) tilesim.emit("track", { name: track });
      const timeline = document.getElementById("timeline");
      if (timeline) timeline.scrollIntoView();
    };
    const [first, ...more] = sentences;
    root.append(element("div", { class: "verdict" }, element("p", {}, element("strong", {}, first), " ", ...more.map((words) => element("span", {}, `${words} `))), element("button", { type: "button", click: show }, `Show cycles ${number(from)} to ${number(to)}`)));
  }
  root.append(element("dl", { class: "figures" }, ...rows));
});
