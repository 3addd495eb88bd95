"use strict";
// What all sections share. Names come from model files: they become text nodes, never markup.
const tilesim = (() => {
  const listeners = new Map();
  const themes = [];
  const tooltip = () => document.getElementById("tip") || document.body.appendChild(element("div", { id: "tip", role: "tooltip", hidden: "" }));

  // ---- elements

  function filled(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === "function") node.addEventListener(name, value);
      else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined).map((child) => (child instanceof Node ? child : String(child))));
    return node;
  }

  function element(tag, attributes, ...children) {
    return filled(document.createElement(tag), attributes, children);
  }

  function svg(tag, attributes, ...children) {
    return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  }

  // ---- words and numbers

  function number(value) {
    const [whole, decimals] = String(Math.abs(value)).split(".");
    const grouped = whole.includes("e") ? whole : whole.replace(/\B(?=(\d{3})+$)/g, ",");
    return (value < 0 ? "\u2212" : "") + grouped + (decimals ? `.${decimals}` : "");
  }

  function bytes(count) {
    for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]])
      if (count >= size) return `${Number((count / size).toFixed(2))} ${unit}`;
    return `${count} B`;
  }

  function percent(share) {
    const hundredths = share * 100;
    return `${hundredths > 0 && hundredths < 0.05 ? "<0.1" : hundredths.toFixed(1)} %`;
  }

  // ---- colours

  function colour(kind) {
    const style = getComputedStyle(document.documentElement);
    const found = style.getPropertyValue(`--${kind.replace(":", "-")}`).trim();
    return found || style.getPropertyValue("--stall-other").trim();
  }

  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) button.textContent = theme === "dark" ? "Light" : "Dark";
    for (const callback of themes) callback(theme);
  }

  // ---- tooltips

  function tipAt(x, y, nodes) {
    const tip = tooltip();
    tip.replaceChildren(...[nodes].flat());
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const room = document.documentElement.clientWidth;
    tip.style.left = `${Math.max(4, x + 14 + width < room ? x + 14 : x - width - 14)}px`;
    tip.style.top = `${y + 18 + height < innerHeight ? y + 18 : Math.max(4, y - height - 12)}px`;
  }

  function hideTip() {
    tooltip().hidden = true;
  }

  function tip(target, nodes) {
    const beside = () => target.getBoundingClientRect();
    target.addEventListener("pointermove", (event) => tipAt(event.clientX, event.clientY, nodes()));
    target.addEventListener("pointerleave", hideTip);
    target.addEventListener("focus", () => tipAt(beside().left, beside().bottom, nodes()));
    target.addEventListener("blur", hideTip);
  }

  // ---- the clipboard

  // Whether the browser let the text be copied.
  async function copied(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.body.appendChild(element("textarea", {}, text));
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }

  // ---- events between sections

  function on(name, callback) {
    listeners.set(name, [...(listeners.get(name) || []), callback]);
  }

  function emit(name, detail) {
    for (const callback of listeners.get(name) || []) callback(detail);
  }

  // ---- sections

  const TYPES = { Uint8Array, Int8Array, Uint16Array, Int16Array, Uint32Array, Int32Array, Float32Array, Float64Array };

  async function inflated(text) {
    const binary = atob(text);
    const packed = new Uint8Array(binary.length);
    for (let k = 0; k < binary.length; k++) packed[k] = binary.charCodeAt(k);
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
  }

  async function columnsOf(place, say) {
    const columns = {};
    const nodes = [...place.querySelectorAll("script.column")];
    const total = nodes.reduce((sum, node) => sum + node.textContent.length, 1);
    let done = 0;
    for (const node of nodes) {
      if (total > 1e6) await say(`loading: ${Math.floor((100 * done) / total)} %`);
      done += node.textContent.length;
      columns[node.dataset.name] = new TYPES[node.dataset.array](await inflated(node.textContent));
      node.remove();
    }
    return columns;
  }

  // Shows a line in a section, and lets the browser paint it.
  function sayIn(root) {
    return (words) => {
      root.replaceChildren(element("p", { class: "loading", role: "status" }, words));
      return new Promise((resolve) => setTimeout(resolve, 0));
    };
  }

  async function read(place, say) {
    const data = JSON.parse(place.querySelector("script.data").textContent);
    return { data, columns: await columnsOf(place, say) };
  }

  const known = new Map();

  // The data and the columns of a section, for any other, too: they are read once.
  function given(name) {
    const place = document.getElementById(name);
    if (!known.has(name)) known.set(name, read(place, sayIn(place.querySelector(".drawn"))));
    return known.get(name);
  }

  async function section(name, draw) {
    const place = document.getElementById(name);
    const root = place.querySelector(".drawn");
    try {
      const { data, columns } = await given(name);
      root.replaceChildren();
      await draw(root, data, columns);
    } catch (error) {
      root.replaceChildren(element("p", { class: "fault" }, `This part of the page can't be drawn: ${error.message}`));
      console.error(error);
    }
    place.dataset.ready = "";
  }

  const dark = matchMedia("(prefers-color-scheme: dark)");
  setTheme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
  document.addEventListener("DOMContentLoaded", () => {
    setTheme(document.documentElement.dataset.theme);
    document.getElementById("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  });

  return {
    element, svg, number, bytes, percent, colour, copied, tip, tipAt, hideTip, sayIn, on, emit, section, given,
    onTheme: (callback) => themes.push(callback),
    state: { on, emit },
  };
})();
