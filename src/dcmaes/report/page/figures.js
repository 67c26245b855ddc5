// The charts of the report: each takes its numbers and returns an element.

function convergence(data, open) {
  const note = [
    data.n_beyond ? `${plural(data.n_beyond, "value")} outside the axis.` : "",
    data.n_left_out ? `${plural(data.n_left_out, "evaluation")} between those shown not drawn.` : "",
  ].filter(Boolean).join(" ");
  return chart("Values and the best so far", (root, width) => {
    const height = Math.max(240, Math.min(340, width * 0.4)), left = 58, right = width - 8, top = 14, bottom = height - 36;
    const x = linear(1, Math.max(data.n, 2), left, right);
    const pad = data.is_log ? 0 : 0.05 * (data.high - data.low || 1);
    const known = data.low !== null;
    const y = !known ? () => bottom : (data.is_log ? logarithmic : linear)(data.low - pad, data.high + pad, bottom, top + 8);
    const clip = `clip-${Math.random().toString(36).slice(2)}`;
    root.append(svg("clipPath", { id: clip }, svg("rect", { x: left - 4, y: top, width: right - left + 8, height: bottom - top + 4 })));
    for (const tick of known ? y.ticks(5) : []) {
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
      const cy = status === 2 || value === null ? top + 2 : y(value);
      if (status === 2) root.append(svg("path", { class: "cross", d: `M${cx - 3} ${cy - 3}l6 6m0-6l-6 6` }));
      else if (value === null || cy < top + 4 || cy > bottom + 2) return;
      else if (status === 1) inside.append(svg("path", { class: "diamond", d: `M${cx} ${cy - 4}l4 4l-4 4l-4-4z` }));
      else inside.append(svg("circle", { class: "dot", cx, cy, r: data.n > 500 ? 2 : 3 }));
      targets.push({ x: cx, y: cy, open: () => open(i), text: () => `evaluation ${i + 1}: ${status === 2 ? "failed" : number(value, 7)}${status === 1 ? ", infeasible" : ""}` });
    });
    if (data.steps.length) {
      const path = data.steps.map((i, k) => (k ? `H${x(i + 1)}V${y(data.best[k])}` : `M${x(i + 1)} ${y(data.best[k])}`)).join("");
      inside.append(svg("path", { class: "bestline", d: `${path}H${x(data.n)}` }));
    }
    return { height, targets };
  }, note);
}

function importance(data) {
  return chart("Importance of the variables", (root, width) => {
    const longest = Math.max(...data.names.map((name) => name.length));
    const row = 21, left = Math.min(14 + 6.5 * longest, 170, width * 0.4), most = Math.max(...data.share, 1e-9);
    const targets = data.names.map((name, i) => {
      const y = i * row, w = Math.max(1, ((width - left - 56) * data.share[i]) / most);
      root.append(svg("text", { class: "name", x: left - 8, y: y + 15, "text-anchor": "end" }, shortened(name, Math.floor(left / 7))),
        svg("rect", { class: "share", x: left, y: y + 4, width: w, height: row - 8, rx: 2 }),
        svg("text", { x: left + w + 6, y: y + 15 }, percent(data.share[i])));
      return { x: left + w / 2, y: y + row / 2, w, h: row - 8, text: () => `${name}: ${percent(data.share[i])} of the total effect` };
    });
    return { height: data.names.length * row + 4, targets };
  }, `${data.remark}${data.n_left_out ? ` ${plural(data.n_left_out, "less important variable")} not shown.` : ""}`);
}

function marginal(edges, panel) {
  const n = edges[edges.length - 1];
  const period = (k) => (edges[k + 1] === edges[k] + 1 ? `evaluation ${edges[k + 1]}` : `evaluations ${edges[k] + 1}–${edges[k + 1]}`);
  const draw = panel.rows ? drawHeat : drawBand;
  const ticks = (width) => niceTicks(0, n, Math.max(2, Math.floor(width / 90))).filter(Number.isInteger);

  function drawHeat(root, width) {
    const longest = Math.max(...panel.rows.map((row) => row.length));
    const left = Math.min(8 + 6.5 * Math.min(longest, 14), 110), right = width - 14;
    const row = Math.max(9, Math.min(22, 120 / panel.rows.length)), bottom = panel.rows.length * row + 2;
    const x = linear(0, n, left, right), targets = [];
    const step = Math.ceil(12 / row);
    panel.rows.forEach((name, r) => {
      if (r % step === 0) root.append(svg("text", { x: left - 6, y: (r + 0.5) * row + 4, "text-anchor": "end" }, shortened(name, 14)));
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
    const steps = (row) => row.map((v, k) => `L${x(edges[k])} ${y(v)}L${x(edges[k + 1])} ${y(v)}`).join("");
    const back = (row) => row.map((v, k) => `L${x(edges[k + 1])} ${y(v)}L${x(edges[k])} ${y(v)}`).reverse().join("");
    root.append(svg("path", { class: "band", d: `M${steps(q[0]).slice(1)}${back(q[4])}z` }),
      svg("path", { class: "inner", d: `M${steps(q[1]).slice(1)}${back(q[3])}z` }),
      svg("path", { class: "middle", d: `M${steps(q[2]).slice(1)}` }));
    if (panel.best !== null) root.append(svg("line", { class: "mark", x1: left, x2: right, y1: y(panel.best), y2: y(panel.best) }));
    root.append(bottomAxis(x, bottom, ticks(right - left), "", right));
    const targets = q[2].map((middle, k) => ({
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
    const height = 300, top = 30, bottom = height - 12, k = data.names.length;
    const x = linear(0, Math.max(k - 1, 1), 30, width - (k > 1 ? 60 : 30)), y = linear(0, 1, bottom, top);
    const targets = data.index.map((i, m) => {
      const points = data.position[m].map((p, a) => [x(a), y(p)]);
      if (k === 1) points.push([x(1), points[0][1]]);
      const quality = data.quality[m];
      const path = svg("path", { class: "path", d: "M" + points.map((p) => p.map((v) => v.toFixed(1))).join("L") });
      path.style.stroke = heat(0.15 + 0.85 * quality ** 2);
      path.style.strokeWidth = m === data.index.length - 1 ? 2.6 : 0.8 + 0.6 * quality;
      path.style.opacity = 0.35 + 0.65 * quality;
      root.append(path);
      return {
        points, x: points[0][0], y: points[0][1], open: () => open(i), text: () => `evaluation ${i + 1}: ${number(data.value[m], 7)}`,
        focus: () => { path.style.stroke = "var(--red)"; path.style.strokeWidth = 3; path.style.opacity = 1; root.append(path); },
        blur: () => { path.style.stroke = heat(0.15 + 0.85 * quality ** 2); path.style.strokeWidth = 0.8 + 0.6 * quality; path.style.opacity = 0.35 + 0.65 * quality; },
      };
    });
    const isTight = (width - 90) / Math.max(k - 1, 1) < 7 * Math.min(12, Math.max(...data.names.map((name) => name.length)));
    data.names.forEach((name, a) => {
      root.append(svg("line", { class: "axis", x1: x(a), x2: x(a), y1: top, y2: bottom }),
        svg("text", { class: "name", x: x(a), y: top - 12 - (isTight && a % 2 ? 11 : 0), "text-anchor": a ? "middle" : "start", dx: a ? 0 : -20 }, shortened(name, 12)));
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

function matrix(title, data) {
  if (!data.names.length) return html("div", {}, html("h3", {}, title), html("p", { class: "note" }, data.remark));
  const k = data.names.length;
  return html("div", {}, html("h3", {}, title), chart(title, (root, width) => {
    const left = Math.min(110, 12 + 6.5 * Math.min(16, Math.max(...data.names.map((n) => n.length))));
    const size = Math.max(4, Math.min(44, (width - left) / k)), step = Math.ceil(12 / size), targets = [];
    data.names.forEach((first, i) => {
      if (i % step === 0) root.append(svg("text", { x: left - 6, y: (i + 0.5) * size + 4, "text-anchor": "end" }, shortened(first, 15)));
      if (size > 14) root.append(svg("text", { x: left + i * size + 4, y: (i + 0.5) * size + 4 }, shortened(first, Math.floor((width - left - i * size) / 6.5))));
      data.names.slice(0, i).forEach((second, j) => {
        const strength = data.strength[i][j];
        root.append(cell(left + j * size, i * size, size - (size > 8 ? 1 : 0), size - (size > 8 ? 1 : 0), strength / data.scale));
        targets.push({ x: left + (j + 0.5) * size, y: (i + 0.5) * size, w: size, h: size, text: () => `${first}, ${second}: ${number(strength, 3)}` });
      });
    });
    return { height: k * size + 4, targets };
  }, data.n_left_out ? `${plural(data.n_left_out, "variable")} with weaker ones not shown.` : ""));
}

function graph(data) {
  if (!data.names.length) return html("div", {}, html("h3", {}, "Graph"), html("p", { class: "note" }, data.remark));
  return html("div", {}, html("h3", {}, "Strongest interactions"), chart("Strongest interactions", (root, width) => {
    const height = Math.min(width, 420), radius = height / 2 - 58;
    const at = data.position.map(([x, y]) => [width / 2 + radius * x, height / 2 + radius * y]);
    const targets = data.first.map((i, e) => {
      const j = data.second[e], strength = data.strength[e];
      const line = svg("line", { class: "edge", x1: at[i][0], y1: at[i][1], x2: at[j][0], y2: at[j][1], "stroke-width": 0.6 + 5 * strength, opacity: 0.15 + 0.8 * strength });
      root.prepend(line);
      return {
        ends: [at[i], at[j]], x: (at[i][0] + at[j][0]) / 2, y: (at[i][1] + at[j][1]) / 2,
        text: () => `${data.names[i]}, ${data.names[j]}: ${percent(strength)} of the strongest`,
        focus: () => line.style.setProperty("stroke", "var(--red)"), blur: () => line.style.removeProperty("stroke"),
      };
    });
    data.names.forEach((name, i) => {
      const [x, y] = data.position[i], isLeft = x < -1e-9;
      const turn = (Math.atan2(y, x) * 180) / Math.PI + (isLeft ? 180 : 0);
      const tx = width / 2 + (radius + 9) * x, ty = height / 2 + (radius + 9) * y;
      root.append(svg("circle", { class: "node", cx: at[i][0], cy: at[i][1], r: 4 }),
        svg("text", { class: "name", transform: `translate(${tx} ${ty}) rotate(${turn})`, "text-anchor": isLeft ? "end" : "start", dy: 4 }, shortened(name, 9)));
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
  }, data.n_left_out ? `${plural(data.n_left_out, "weaker interaction")} not shown.` : ""));
}

function timeline(data, open) {
  return chart("What each worker was doing", (root, width) => {
    const row = data.lanes.length > 16 ? 14 : 24, left = Math.min(150, width * 0.3), right = width - 8, bottom = data.lanes.length * row + 4;
    const first = Math.min(...data.start), last = Math.max(...data.end);
    const x = linear(first, last, left, right);
    data.lanes.forEach((lane, i) => root.append(
      svg("text", { class: "name", x: 0, y: (i + 0.5) * row + 4 }, shortened(lane, 14)),
      svg("text", { x: left - 8, y: (i + 0.5) * row + 4, "text-anchor": "end" }, percent(data.busy[i]))));
    const targets = data.start.map((start, b) => {
      const w = Math.max(x(data.end[b]) - x(start), 0.8), y = data.lane[b] * row, status = data.status[b];
      root.append(svg("rect", { class: `busy-${status}`, x: x(start), y: y + 3, width: Math.max(w - 0.5, 0.6), height: row - (status === "ok" ? 6 : 10), rx: 1 }));
      const what = data.count[b] === 1 ? `evaluation ${data.index[b] + 1}` : plural(data.count[b], "evaluation");
      return {
        x: x(start) + w / 2, y: y + row / 2, w, h: row - 6, open: () => open(data.index[b]),
        text: () => `${what}, ${status}\n${duration(data.end[b] - start)} from ${duration(start)}`,
      };
    });
    root.append(bottomAxis(x, bottom, x.ticks(Math.max(2, Math.floor(width / 120))), "seconds", right));
    return { height: bottom + 36, targets };
  }, data.n_untimed ? `${plural(data.n_untimed, "evaluation")} without times not shown.` : "The percentages say how much of the time each was evaluating.");
}
