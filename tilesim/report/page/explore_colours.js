// One scale of colours for numbers, dark to light: cividis, even to the eye, and the same to the colour-blind.
const CIVIDIS = ["#00224e", "#002e6a", "#1a386f", "#32436d", "#434e6c", "#535a6d", "#61656f", "#6f7073", "#7d7c78", "#8c8878", "#9b9476", "#aba072", "#bcae6c", "#cdbb63", "#dec958", "#f0d846", "#fee838"]
  .map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));

// The colour at a share from 0 to 1 of the scale.
function shade(share) {
  const at = Math.min(1, Math.max(0, share)) * (CIVIDIS.length - 1);
  const [low, rest] = [Math.floor(at), at % 1];
  return CIVIDIS[low].map((channel, k) => Math.round(channel + rest * (CIVIDIS[Math.min(low + 1, CIVIDIS.length - 1)][k] - channel)));
}

const rgb = (channels) => `rgb(${channels.join(" ")})`;

// Black or white, whichever reads better on a colour.
function inkOn(channels) {
  const [r, g, b] = channels.map((channel) => (channel / 255 <= 0.04045 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

// Where a number is between the ends: light is better.
function shading(measure, [low, high], isLogarithmic) {
  if (low === high) return () => 1;
  const f = isLogarithmic ? Math.log : (value) => value;
  const across = f(high) - f(low);
  return (value) => (measure.more_is_better ? f(value) - f(low) : f(high) - f(value)) / across;
}

// The scale with its ends and some numbers between.
function shadeKey(measure, ends, isLogarithmic) {
  const share = shading(measure, ends, isLogarithmic);
  const colours = Array.from({ length: 17 }, (_, k) => rgb(shade(k / 16))).join(", ");
  const [low, high] = ends;
  const between = [0.25, 0.5, 0.75].map((part) => (isLogarithmic ? low * (high / low) ** part : low + part * (high - low)));
  const numbers = low === high ? [low] : [low, ...between, high];
  const marks = numbers.map((value) => element("span", { style: `left: ${100 * share(value)}%` }, figure(measure, value)));
  const words = `${titled(measure)}${isLogarithmic ? ", logarithmic" : ""}; lighter is better`;
  return element("div", { class: "shade-key", role: "img", "aria-label": `${words}: ${withUnit(measure, low)} to ${withUnit(measure, high)}` },
    element("div", { class: "muted" }, words), element("div", { class: "shades", style: `background: linear-gradient(to right, ${colours})` }), element("div", { class: "shade-marks" }, ...marks));
}
