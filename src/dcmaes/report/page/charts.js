// What all charts share: scales, axes, drawing when seen, hover by mouse and by arrow keys.

function niceTicks(low, high, count) {
  if (!(high > low)) return [low];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9; k++) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

function linear(low, high, from, to) {
  const span = high - low || 1;
  const scale = (value) => from + ((value - low) / span) * (to - from);
  scale.ticks = (count) => niceTicks(low, high, count);
  return scale;
}

function logarithmic(low, high, from, to) {
  const inner = linear(Math.log10(low), Math.log10(high), from, to);
  const scale = (value) => inner(Math.log10(value));
  scale.ticks = (count) => {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    if (last - first < 1) return niceTicks(low, high, count);
    const step = Math.max(1, Math.ceil((last - first) / count));
    return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, i) => 10 ** (first + i * step));
  };
  return scale;
}

function bottomAxis(scale, y, ticks, label, right) {
  const marks = ticks.map((tick) => [
    svg("line", { class: "axis", x1: scale(tick), x2: scale(tick), y1: y, y2: y + 4 }),
    svg("text", { x: scale(tick), y: y + 16, "text-anchor": "middle" }, number(tick)),
  ]);
  const name = label ? [svg("text", { x: right, y: y + 31, "text-anchor": "end" }, label)] : [];
  return svg("g", {}, ...marks, ...name);
}

// Calls `act` once when the element comes near the screen, or everything is wanted: a page opens with what is seen.
const waiting = new Set();
function whenNear(element, act) {
  const once = () => { observer.disconnect(); waiting.delete(once); act(); };
  const observer = new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting)) once(); }, { rootMargin: "400px" });
  observer.observe(element);
  waiting.add(once);
}
const drawEverything = () => [...waiting].forEach((once) => once());

// What is drawn moves what is below it: a jump to a heading draws everything first.
function jump() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target) { drawEverything(); target.scrollIntoView(); }
}

// Paper is narrower than most windows.
const PAPER = 680;
const drawn = new Set();
addEventListener("beforeprint", () => { drawEverything(); drawn.forEach((resize) => resize(PAPER)); });
addEventListener("afterprint", () => drawn.forEach((resize) => resize()));

// Draws `draw(root, width)` into a figure once it is near the screen, and again when its width changes. `draw`
// returns its height and its targets: boxes {x, y, w, h} around centres, with the text to show and, where there
// is one, the evaluation to open. Arrow keys go through the targets, Enter opens.
function chart(label, draw, note) {
  const plot = html("div", { class: "plot", tabindex: 0, role: "img", "aria-label": `${label}. Arrow keys go through the marks.` });
  let targets = [], pick = null, current = -1, outline = null, width = 0;

  function render() {
    const root = svg("svg", { width, "aria-hidden": "true" });
    const drawn = draw(root, width);
    root.setAttribute("height", drawn.height);
    root.setAttribute("viewBox", `0 0 ${width} ${drawn.height}`);
    targets = drawn.targets;
    pick = drawn.pick || nearest;
    outline = svg("rect", { class: "hover", rx: 2, visibility: "hidden" });
    root.append(outline);
    current = -1;
    plot.replaceChildren(root);
  }
  function nearest(x, y) {
    let best = -1, least = 30 * 30;
    targets.forEach((t, i) => {
      const dx = Math.max(Math.abs(x - t.x) - (t.w || 0) / 2, 0), dy = Math.max(Math.abs(y - t.y) - (t.h || 0) / 2, 0);
      const distance = dx * dx + dy * dy;
      if (distance < least) { least = distance; best = i; }
    });
    return best;
  }
  function point(index, x, y) {
    if (index < 0) return leave();
    const t = targets[index];
    if (t.focus) t.focus();
    current = index;
    const w = Math.max(t.w || 0, 8) + 2, h = Math.max(t.h || 0, 8) + 2;
    for (const [name, value] of Object.entries({ x: t.x - w / 2, y: t.y - h / 2, width: w, height: h })) outline.setAttribute(name, value);
    outline.setAttribute("visibility", t.focus ? "hidden" : "visible");
    const box = plot.getBoundingClientRect();
    tip.show(t.text(), x === undefined ? box.left + t.x : x, y === undefined ? box.top + t.y : y);
  }
  function leave() {
    if (current >= 0 && targets[current].blur) targets[current].blur();
    current = -1;
    if (outline) outline.setAttribute("visibility", "hidden");
    tip.hide();
  }
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    const index = pick(event.clientX - box.left, event.clientY - box.top);
    if (index !== current && current >= 0) leave();
    point(index, event.clientX, event.clientY);
  });
  plot.addEventListener("pointerleave", leave);
  plot.addEventListener("blur", leave);
  plot.addEventListener("click", () => { if (current >= 0 && targets[current].open) targets[current].open(); });
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step && targets.length) {
      event.preventDefault();
      const next = current < 0 ? (step > 0 ? 0 : targets.length - 1) : (current + step + targets.length) % targets.length;
      leave();
      point(next);
    } else if (event.key === "Enter" && current >= 0 && targets[current].open) targets[current].open();
    else if (event.key === "Escape") leave();
  });
  function resize(most = Infinity) {
    const now = Math.min(Math.floor(plot.clientWidth), most);
    if (now > 0 && now !== width) { width = now; render(); }
  }
  whenNear(plot, () => { resize(); drawn.add(resize); new ResizeObserver(() => resize()).observe(plot); });
  const figure = html("figure", {}, plot, note ? html("figcaption", { class: "note" }, note) : null);
  figure.redraw = () => { if (width) render(); };
  return figure;
}

// A colour between that of an empty cell and full heat; strength from -1 to 1.
const heat = (strength) => `color-mix(in oklab, var(${strength < 0 ? "--negative" : "--heat"}) ${Math.round(100 * Math.min(Math.abs(strength), 1))}%, var(--cell))`;

// What colours or widths stand for: marks with numbers beside them.
const legend = (...marks) => html("div", { class: "legend" }, ...marks);
const legendMark = (mark, text) => html("span", {}, svg("svg", { width: 16, height: 12, "aria-hidden": "true" }, mark), text);

function cell(x, y, w, h, strength) {
  const rect = svg("rect", { class: "heat", x, y, width: w, height: h });
  rect.style.fill = heat(strength);
  return rect;
}
