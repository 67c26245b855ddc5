"use strict";
// Elements, numbers and the tip. Text of the user becomes text nodes and nothing else.

const SVG = "http://www.w3.org/2000/svg";
const STATUSES = ["ok", "infeasible", "failed"];

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

function number(value, digits = 5) {
  if (value === null || value === undefined) return "none";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(Math.min(digits - 1, 3)).replace(/\.?0+e/, "e");
  return String(Number(value.toPrecision(digits)));
}

const percent = (share) => `${share > 0 && share < 0.0995 ? (100 * share).toFixed(1) : Math.round(100 * share)} %`;
const plural = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many || one + "s"}`;

function duration(seconds) {
  if (seconds === null) return "unknown";
  if (seconds < 1e-3) return `${number(seconds * 1e6, 3)} µs`;
  if (seconds < 1) return `${number(seconds * 1e3, 3)} ms`;
  if (seconds < 120) return `${number(seconds, 3)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

const shortened = (text, most) => (text.length <= most ? text : text.slice(0, most - 1) + "…");

// Names of at most `most` characters that can still be told apart: of long ones, what all of them begin and end
// with is left out first, then the middle.
function shortNames(names, most) {
  const long = [...new Set(names)].filter((name) => name.length > most);
  if (!long.length) return names;
  const least = Math.min(...long.map((name) => name.length));
  const common = (at) => { let k = 0; while (k < least && long.every((name) => at(name, k) === at(long[0], k))) k++; return long.length > 1 ? k : 0; };
  const head = common((name, k) => name[k]), tail = Math.min(common((name, k) => name[name.length - 1 - k]), least - head);
  return names.map((name) => {
    if (name.length <= most) return name;
    const middle = (head > 2 ? "…" + name.slice(head) : name), text = tail > 2 ? middle.slice(0, middle.length - tail) + "…" : middle;
    if (text.length <= most) return text;
    const kept = most - 1, first = Math.ceil(kept / 2);
    return text.slice(0, first) + "…" + text.slice(text.length - (kept - first));
  });
}

// The width in pixels of text in a chart.
const pen = document.createElement("canvas").getContext("2d");
function textWidth(text) {
  pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}
const widest = (texts) => Math.max(0, ...texts.map(textWidth));

const tip = {
  element: document.getElementById("tip"),
  show(text, x, y) {
    this.element.textContent = text;
    this.element.hidden = false;
    const box = this.element.getBoundingClientRect();
    const left = x + 14 + box.width > innerWidth ? x - 14 - box.width : x + 14;
    this.element.style.left = `${Math.max(4, left)}px`;
    this.element.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - box.height - 4))}px`;
  },
  hide() { this.element.hidden = true; },
};

async function copy(text, button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select the text to copy it";
  }
  setTimeout(() => { button.textContent = label; }, 1500);
}
