// Conditions on a column: `<= 1000`, `!= 64`, `10..20`, or a part of its text.

const SIZES = { "": 1, k: 1e3, m: 1e6, g: 1e9, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, b: 1 };
const HOLDS = {
  "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b, "=": (a, b) => a === b, "!=": (a, b) => a !== b,
};

// `1,000`, `64 KiB`; not a number where it is none.
function amount(text) {
  const found = /^([-+]?[\d,_]*\.?\d+(?:e[-+]?\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  const size = found && SIZES[found[2].toLowerCase()];
  return size ? Number(found[1].replace(/[,_]/g, "")) * size : NaN;
}

// What a condition says of a number; null: it is no condition.
function ofNumber(text) {
  const between = /^(.+?)\.\.(.+)$/.exec(text);
  if (between) {
    const [low, high] = between.slice(1).map(amount);
    return Number.isNaN(low + high) ? null : (value) => low <= value && value <= high;
  }
  const [, sign, rest] = /^(<=|>=|!=|==?|<|>)?(.*)$/.exec(text);
  const wanted = amount(rest);
  const holds = HOLDS[sign === "==" ? "=" : sign || "="];
  // A number that shows with four digits is equal to those.
  return Number.isNaN(wanted) ? null : (value) => holds(/^(=|!)/.test(sign || "=") ? alike(value, wanted) : value, wanted);
}

const alike = (value, wanted) => (Math.abs(value - wanted) <= 5e-4 * Math.abs(wanted) ? wanted : value);

function ofText(text) {
  const [, sign, rest] = /^(!=|==?)?\s*(.*)$/s.exec(text.toLowerCase());
  if (!sign) return (value) => value.toLowerCase().includes(rest);
  return (value) => (value.toLowerCase() === rest) === (sign !== "!=");
}

// A test of a point; null where the text is no condition for the column.
function condition(column, text) {
  const words = text.trim();
  if (!words) return () => true;
  if (!column.number) {
    const holds = ofText(words);
    return (k) => holds(column.text(k));
  }
  const holds = ofNumber(words);
  return holds && ((k) => !Number.isNaN(column.number(k)) && holds(column.number(k)));
}

// Whether all words of a search stand somewhere in a point's columns.
function search(columns, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (k) => {
    if (!words.length) return true;
    const all = columns.map((column) => column.text(k).toLowerCase()).join("\n");
    return words.every((word) => all.includes(word));
  };
}
