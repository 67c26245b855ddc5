// The charts of the report: each takes its numbers and returns an element.

// The axes on which values can be seen: as they are, and by their logarithm; where some are not positive, by the
// logarithm of their distance from the best.
function valueAxes(data) {
  const same = (value) => value, { linear: plain, log } = data;
  if (!plain) return [];
  const pad = 0.05 * (plain.high - plain.low || 1);
  const axes = [{ name: "linear", label: "value", of: same, scale: linear, low: plain.low - pad, high: plain.high + pad, n_beyond: plain.n_beyond }];
  if (log) return [...axes, { name: "logarithmic", label: "value (logarithmic)", of: same, scale: logarithmic, low: log.low, high: log.high * (log.high > log.low ? 1 : 10), n_beyond: log.n_beyond }];
  const best = data.best[data.best.length - 1], of = (value) => Math.abs(value - best);
  const distances = data.value.filter((v, k) => v !== null && data.status[k] === 0).map(of).filter((v) => v > 0);
  if (best === undefined || !distances.length) return axes;
  const low = Math.min(...distances) / 2, high = Math.max(...distances);
  return [...axes, { name: "logarithmic", label: "distance from the best value (logarithmic)", of: (value) => Math.max(of(value), low), scale: logarithmic, low, high, n_beyond: 0 }];
}

function convergence(data, open) {
  const axes = valueAxes(data);
  let axis = axes[data.is_log ? 1 : 0];
  const note = html("span", {}), left_out = data.n_left_out ? `${plural(data.n_left_out, "evaluation")} between those shown not drawn.` : "";
  const remark = () => { note.textContent = [axis && axis.n_beyond ? `${plural(axis.n_beyond, "value")} outside the axis.` : "", left_out].filter(Boolean).join(" "); };
  const figure = chart("Values and the best so far", (root, width) => {
    const height = Math.max(240, Math.min(340, width * 0.4)), right = width - 8, top = 26, bottom = height - 36;
    const y = axis ? axis.scale(axis.low, axis.high, bottom, top + 8) : () => bottom, at = (value) => y(axis.of(value));
    const ticks = axis ? y.ticks(5) : [], left = Math.max(30, widest(ticks.map((tick) => number(tick))) + 10);
    const x = linear(1, Math.max(data.n, 2), left, right);
    const clip = `clip-${Math.random().toString(36).slice(2)}`;
    root.append(svg("clipPath", { id: clip }, svg("rect", { x: left - 4, y: top, width: right - left + 8, height: bottom - top + 4 })));
    if (axis) root.append(svg("text", { class: "label", x: 0, y: 12 }, axis.label));
    for (const tick of ticks) {
      root.append(svg("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }),
        svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
    }
    const xs = niceTicks(1, Math.max(data.n, 2), Math.max(2, Math.floor(width / 110))).filter(Number.isInteger);
    root.append(bottomAxis(x, bottom, xs, "evaluation", right));
    for (const e of data.restarts) root.append(svg("line", { class: "restart", x1: x(e - 0.5), x2: x(e - 0.5), y1: top, y2: bottom }));
    const inside = svg("g", { "clip-path": `url(#${clip})` });
    root.append(inside);
    const targets = [];
    data.index.forEach((i, k) => {
      const status = data.status[k], value = data.value[k], cx = x(i + 1);
      const cy = status === 2 || value === null ? top + 2 : at(value);
      if (status === 2) root.append(svg("path", { class: "cross", d: `M${cx - 3} ${cy - 3}l6 6m0-6l-6 6` }));
      else if (value === null || !(cy >= top + 4 && cy <= bottom + 2)) return;
      else if (status === 1) inside.append(svg("path", { class: "diamond", d: `M${cx} ${cy - 4}l4 4l-4 4l-4-4z` }));
      else inside.append(svg("circle", { class: "dot", cx, cy, r: data.n > 500 ? 2 : 3 }));
      targets.push({ x: cx, y: cy, open: () => open(i), text: () => `evaluation ${i + 1}: ${status === 2 ? "failed" : number(value, 7)}${status === 1 ? ", infeasible" : ""}` });
    });
    if (data.steps.length) {
      const path = data.steps.map((i, k) => (k ? `H${x(i + 1)}V${at(data.best[k])}` : `M${x(i + 1)} ${at(data.best[k])}`)).join("");
      inside.append(svg("path", { class: "bestline", d: `${path}H${x(data.n)}` }));
    }
    return { height, targets };
  }, note);
  remark();
  if (axes.length < 2) return figure;
  const buttons = axes.map((one) => html("button", { type: "button", "aria-pressed": String(one === axis), onclick: () => {
    axis = one;
    buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(axes[k] === axis)));
    remark();
    figure.redraw();
  } }, one.name));
  return html("div", {}, html("div", { class: "bar" }, html("span", { role: "group", "aria-label": "Value axis" }, html("span", { class: "note" }, "Value axis "), buttons)), figure);
}

function importance(data) {
  return chart("Importance of the variables", (root, width) => {
    const names = shortNames(data.names, Math.max(8, Math.floor((width * 0.4) / 6.5)));
    const row = 21, left = Math.min(widest(names) + 12, width * 0.5), most = Math.max(...data.share, 1e-9);
    const targets = data.names.map((name, i) => {
      const y = i * row, w = Math.max(1, ((width - left - 48) * data.share[i]) / most);
      root.append(svg("text", { class: "name", x: left - 8, y: y + 15, "text-anchor": "end" }, names[i]),
        svg("rect", { class: "share", x: left, y: y + 4, width: w, height: row - 8, rx: 2 }),
        svg("text", { x: left + w + 6, y: y + 15 }, percent(data.share[i])));
      return { x: left + w / 2, y: y + row / 2, w, h: row - 8, text: () => `${name}: ${percent(data.share[i])} of the total effect` };
    });
    return { height: data.names.length * row + 4, targets };
  }, `How much the value changes if this variable alone is drawn anew from its range, interactions included: its share in the sum over all variables, in a model of the evaluations. ${data.remark}${data.n_left_out ? ` ${plural(data.n_left_out, "less important variable")} not shown.` : ""}`);
}

function marginal(edges, panel) {
  const n = edges[edges.length - 1];
  const period = (k) => (edges[k + 1] === edges[k] + 1 ? `evaluation ${edges[k + 1]}` : `evaluations ${edges[k] + 1}–${edges[k + 1]}`);
  const draw = panel.rows ? drawHeat : drawBand;
  const ticks = (width) => niceTicks(0, n, Math.max(2, Math.floor(width / 90))).filter(Number.isInteger);

  function drawHeat(root, width) {
    const rows = shortNames(panel.rows, 14), left = Math.min(widest(rows) + 10, 130), right = width - 14;
    const row = Math.max(9, Math.min(22, 120 / panel.rows.length)), bottom = panel.rows.length * row + 2;
    const x = linear(0, n, left, right), targets = [];
    const step = Math.ceil(12 / row);
    panel.rows.forEach((name, r) => {
      if (r % step === 0) root.append(svg("text", { x: left - 6, y: (r + 0.5) * row + 4, "text-anchor": "end" }, rows[r]));
      panel.share[r].forEach((share, k) => {
        const w = x(edges[k + 1]) - x(edges[k]);
        root.append(cell(x(edges[k]), r * row, w + 0.3, row - (row > 12 ? 1 : 0), share));
        targets.push({ x: x(edges[k]) + w / 2, y: (r + 0.5) * row, w, h: row - 1, text: () => `${name}: ${percent(share)}\n${period(k)}` });
      });
    });
    const marked = panel.best === null ? [] : panel.is_binary ? panel.rows.map((_, r) => r).filter((r) => panel.best[r]) : panel.best;
    for (const r of marked) root.append(svg("path", { class: "pointer", d: `M${right + 4} ${(r + 0.5) * row}l6-4v8z` }));
    root.append(bottomAxis(x, bottom, ticks(right - left), "", right));
    return { height: bottom + 22, targets };
  }
  function drawBand(root, width) {
    const left = 52, right = width - 14, top = 4, bottom = 124;
    const x = linear(0, n, left, right), y = linear(0, 1, bottom, top), q = panel.quantile;
    for (const [position, label] of panel.ticks) {
      root.append(svg("line", { class: "grid", x1: left, x2: right, y1: y(position), y2: y(position) }),
        svg("text", { x: left - 6, y: y(position) + 4, "text-anchor": "end" }, shortened(label, 8)));
    }
    // Periods in which the variable is active, in runs without a gap.
    const there = q[2].map((_, k) => k).filter((k) => q[2][k] !== null), runs = [];
    for (const k of there) if (runs.length && runs[runs.length - 1].at(-1) === k - 1) runs[runs.length - 1].push(k); else runs.push([k]);
    for (const run of runs) {
      const steps = (row) => run.map((k) => `L${x(edges[k])} ${y(row[k])}L${x(edges[k + 1])} ${y(row[k])}`).join("");
      const back = (row) => run.map((k) => `L${x(edges[k + 1])} ${y(row[k])}L${x(edges[k])} ${y(row[k])}`).reverse().join("");
      root.append(svg("path", { class: "band", d: `M${steps(q[0]).slice(1)}${back(q[4])}z` }),
        svg("path", { class: "inner", d: `M${steps(q[1]).slice(1)}${back(q[3])}z` }),
        svg("path", { class: "middle", d: `M${steps(q[2]).slice(1)}` }));
    }
    if (panel.best !== null) root.append(svg("line", { class: "mark", x1: left, x2: right, y1: y(panel.best), y2: y(panel.best) }));
    root.append(bottomAxis(x, bottom, ticks(right - left), "", right));
    const targets = there.map((k) => ({
      x: (x(edges[k]) + x(edges[k + 1])) / 2, y: (y(q[0][k]) + y(q[4][k])) / 2,
      w: x(edges[k + 1]) - x(edges[k]), h: y(q[0][k]) - y(q[4][k]),
      text: () => `median ${panel.texts[2][k]}\nfour in five: ${panel.texts[0][k]} to ${panel.texts[4][k]}\n${period(k)}`,
    }));
    return { height: bottom + 22, targets };
  }
  return html("div", { class: panel.rows && panel.rows.length > 12 ? "wide" : null }, html("h3", {}, panel.title), chart(`${panel.title} over time`, draw, panel.n_left_out ? `${plural(panel.n_left_out, "more row")} not shown.` : ""));
}

function coordinates(data, open) {
  const notes = [data.n_left_out ? plural(data.n_left_out, "less important variable") : "", data.n_lines_left_out ? plural(data.n_lines_left_out, "point") : ""].filter(Boolean);
  return chart("Feasible points across the variables", (root, width) => {
    const height = 300, top = 30, bottom = height - 12, k = data.names.length, names = shortNames(data.names, 12);
    const x = linear(0, Math.max(k - 1, 1), 30, width - (k > 1 ? 60 : 30)), y = linear(0, 1, bottom, top);
    const targets = data.index.map((i, m) => {
      // A line has gaps at variables that are inactive; what is alone between two of them is a short dash.
      const points = data.position[m].map((p, a) => [x(a), p === null ? NaN : y(p)]);
      if (k === 1) points.push([x(1), points[0][1]]);
      const isThere = (a) => points[a] !== undefined && !Number.isNaN(points[a][1]);
      const shown = points.findIndex((_, a) => isThere(a));
      const d = points.map(([px, py], a) => {
        if (!isThere(a)) return "";
        if (isThere(a - 1)) return `L${px.toFixed(1)} ${py.toFixed(1)}`;
        return isThere(a + 1) ? `M${px.toFixed(1)} ${py.toFixed(1)}` : `M${(px - 4).toFixed(1)} ${py.toFixed(1)}h8`;
      }).join("");
      const quality = data.quality[m];
      const path = svg("path", { class: "path", d });
      path.style.stroke = heat(0.15 + 0.85 * quality ** 2);
      path.style.strokeWidth = m === data.index.length - 1 ? 2.6 : 0.8 + 0.6 * quality;
      path.style.opacity = 0.35 + 0.65 * quality;
      root.append(path);
      return {
        points, x: points[Math.max(shown, 0)][0], y: shown < 0 ? bottom : points[shown][1], open: () => open(i), text: () => (data.text ? `evaluation ${i + 1}\n${data.text(m)}` : `evaluation ${i + 1}: ${number(data.value[m], 7)}`),
        focus: () => { path.style.stroke = "var(--red)"; path.style.strokeWidth = 3; path.style.opacity = 1; root.append(path); },
        blur: () => { path.style.stroke = heat(0.15 + 0.85 * quality ** 2); path.style.strokeWidth = 0.8 + 0.6 * quality; path.style.opacity = 0.35 + 0.65 * quality; },
      };
    });
    const isTight = (width - 90) / Math.max(k - 1, 1) < widest(names) + 8;
    names.forEach((name, a) => {
      root.append(svg("line", { class: "axis", x1: x(a), x2: x(a), y1: top, y2: bottom }),
        svg("text", { class: "name", x: x(a), y: top - 12 - (isTight && a % 2 ? 11 : 0), "text-anchor": a ? "middle" : "start", dx: a ? 0 : -20 }, name));
      for (const [position, label] of data.ticks[a]) root.append(svg("text", { class: "halo", x: x(a) + 4, y: y(position) + 4 }, shortened(label, 8)));
    });
    // The line nearest to the pointer, by its height between the two axes around it.
    function pick(px, py) {
      const gap = x(1) - x(0), a = Math.max(0, Math.min(Math.floor((px - x(0)) / gap), (k > 1 ? k : 2) - 2));
      const share = Math.max(0, Math.min((px - x(a)) / gap, 1));
      let best = -1, least = 14;
      targets.forEach((t, i) => {
        const distance = Math.abs(t.points[a][1] * (1 - share) + t.points[a + 1][1] * share - py);
        if (distance <= least) { least = distance; best = i; }
      });
      return best;
    }
    return { height, targets, pick };
  }, notes.length ? `${notes.join(" and ")} not shown.` : "");
}

// Cells of pairs that do not go together are empty.
function matrix(title, data, explanation) {
  const k = data.names.length, shares = data.is_signed ? [-1, -0.5, 0.5, 1] : [0.25, 0.5, 0.75, 1];
  const figure = chart(title, (root, width) => {
    const names = shortNames(data.names, 15), left = Math.min(widest(names) + 10, width * 0.4);
    const size = Math.max(4, Math.min(44, (width - left) / k)), step = Math.ceil(12 / size), targets = [];
    names.forEach((name, i) => {
      if (i % step === 0) root.append(svg("text", { x: left - 6, y: (i + 0.5) * size + 4, "text-anchor": "end" }, name));
      if (size > 14) root.append(svg("text", { x: left + i * size + 4, y: (i + 0.5) * size + 4 }, shortened(name, Math.floor((width - left - i * size) / 6.5))));
      names.slice(0, i).forEach((_, j) => {
        const strength = data.strength[i][j];
        root.append(cell(left + j * size, i * size, size - (size > 8 ? 1 : 0), size - (size > 8 ? 1 : 0), strength / data.scale));
        if (strength) targets.push({ x: left + (j + 0.5) * size, y: (i + 0.5) * size, w: size, h: size, text: () => `${data.names[i]}, ${data.names[j]}: ${number(strength, 3)}` });
      });
    });
    return { height: k * size + 4, targets };
  }, `${explanation}${data.n_left_out ? ` ${plural(data.n_left_out, "variable")} with weaker ones or none not shown.` : ""}`);
  return html("div", {}, html("h3", {}, title), figure, legend(shares.map((share) => legendMark(cell(1, 1, 14, 10, share), number(share * data.scale, 2)))));
}

function graph(data) {
  const style = (strength) => ({ class: "edge", "stroke-width": 0.6 + 5 * strength, opacity: 0.15 + 0.8 * strength });
  const shares = [...new Set([1, 0.5, data.strength[data.strength.length - 1]])].sort((a, b) => b - a);
  const figure = chart("Strongest interactions", (root, width) => {
    const names = shortNames(data.names, 9), margin = widest(names) + 14, radius = Math.min(width, 420) / 2 - margin;
    const height = 2 * (margin + radius * Math.max(...data.position.map(([, y]) => Math.abs(y))));
    const at = data.position.map(([x, y]) => [width / 2 + radius * x, height / 2 + radius * y]);
    const targets = data.first.map((i, e) => {
      const j = data.second[e], strength = data.strength[e];
      const line = svg("line", { ...style(strength), x1: at[i][0], y1: at[i][1], x2: at[j][0], y2: at[j][1] });
      root.prepend(line);
      return {
        ends: [at[i], at[j]], x: (at[i][0] + at[j][0]) / 2, y: (at[i][1] + at[j][1]) / 2,
        text: () => `${data.names[i]}, ${data.names[j]}: ${number(strength * data.scale, 3)}, ${percent(strength)} of the strongest`,
        focus: () => line.style.setProperty("stroke", "var(--red)"), blur: () => line.style.removeProperty("stroke"),
      };
    });
    data.names.forEach((name, i) => {
      const [x, y] = data.position[i], isLeft = x < -1e-9;
      const turn = (Math.atan2(y, x) * 180) / Math.PI + (isLeft ? 180 : 0);
      const tx = width / 2 + (radius + 9) * x, ty = height / 2 + (radius + 9) * y;
      root.append(svg("circle", { class: "node", cx: at[i][0], cy: at[i][1], r: 4 }),
        svg("text", { class: "name", transform: `translate(${tx} ${ty}) rotate(${turn})`, "text-anchor": isLeft ? "end" : "start", dy: 4 }, names[i]));
      const edges = data.first.filter((first, e) => first === i || data.second[e] === i).length;
      targets.push({ ends: [at[i], at[i]], x: at[i][0], y: at[i][1], text: () => `${name}: ${plural(edges, "interaction")} shown` });
    });
    // The nearest node or line: nodes come last, and win where a line ends in them.
    function pick(px, py) {
      let best = -1, least = 10;
      targets.forEach(({ ends: [[ax, ay], [bx, by]] }, i) => {
        const dx = bx - ax, dy = by - ay, length = dx * dx + dy * dy;
        const share = length ? Math.max(0, Math.min(((px - ax) * dx + (py - ay) * dy) / length, 1)) : 0;
        const distance = Math.hypot(ax + share * dx - px, ay + share * dy - py) - (length ? 0 : 5);
        if (distance <= least) { least = distance; best = i; }
      });
      return best;
    }
    return { height, targets, pick };
  }, data.n_left_out ? `${plural(data.n_left_out, "weaker interaction")} not shown.` : "");
  return html("div", {}, html("h3", {}, "Strongest interactions"), figure, legend(shares.map((share) => legendMark(svg("line", { ...style(share), x1: 2, x2: 14, y1: 6, y2: 6 }), number(share * data.scale, 2)))));
}

function timeline(data, open) {
  return chart("What each worker was doing", (root, width) => {
    const names = shortNames(data.lanes, Math.max(8, Math.floor((width * 0.3) / 6.5))), shares = data.busy.map(percent);
    const row = data.lanes.length > 16 ? 14 : 24, left = widest(names) + widest(shares) + 18, right = width - 8, bottom = data.lanes.length * row + 4;
    const first = Math.min(...data.start), last = Math.max(...data.end);
    const x = linear(first, last, left, right);
    names.forEach((name, i) => root.append(
      svg("text", { class: "name", x: 0, y: (i + 0.5) * row + 4 }, name),
      svg("text", { class: "busy", x: left - 8, y: (i + 0.5) * row + 4, "text-anchor": "end" }, shares[i])));
    const targets = data.start.map((start, b) => {
      const w = Math.max(x(data.end[b]) - x(start), 0.8), y = data.lane[b] * row, status = data.status[b];
      root.append(svg("rect", { class: `busy-${status}`, x: x(start), y: y + 3, width: Math.max(w - 0.5, 0.6), height: row - (status === "ok" ? 6 : 10), rx: 1 }));
      const what = data.count[b] === 1 ? `evaluation ${data.index[b] + 1}` : plural(data.count[b], "evaluation");
      return {
        x: x(start) + w / 2, y: y + row / 2, w, h: row - 6, open: () => open(data.index[b]),
        text: () => `${what}, ${status}\n${data.lanes[data.lane[b]]}\n${duration(data.end[b] - start)} from ${duration(start)}`,
      };
    });
    root.append(bottomAxis(x, bottom, x.ticks(Math.max(2, Math.floor(width / 120))), "seconds", right));
    return { height: bottom + 36, targets };
  }, data.n_untimed ? `${plural(data.n_untimed, "evaluation")} without times not shown.` : "The percentages say how much of the time each was evaluating.");
}
