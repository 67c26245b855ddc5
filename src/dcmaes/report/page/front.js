// Several objectives: the front, its growth, and the path of its points across objectives and variables.

const valuesText = (names, values) => names.map((name, k) => `${name} ${number(values[k], 6)}`).join("\n");

// Two objectives at a time; with more of them, buttons choose which.
function frontChart(data, open) {
  const pairs = data.names.flatMap((_, a) => data.names.slice(a + 1).map((_, b) => [a, a + 1 + b]));
  const onFront = new Set(data.front);
  let [first, second] = pairs[0];
  const figure = chart(`Front of ${data.names.join(" and ")}`, (root, width) => {
    const height = Math.max(280, Math.min(440, width * 0.55)), right = width - 8, top = 26, bottom = height - 36;
    // What is far beyond the front would leave no room for it.
    const range = (k) => {
      const all = data.front_value.map((v) => v[k]), seen = data.value.map((v) => v[k]);
      const low = Math.min(...all), high = Math.max(...all), room = (high - low || Math.abs(high) || 1) * 1.2;
      const most = data.directions[k] === "minimize" ? [low, Math.min(Math.max(...seen), high + room)] : [Math.max(Math.min(...seen), low - room), high];
      const pad = 0.04 * (most[1] - most[0] || 1);
      return [most[0] - pad, most[1] + pad];
    };
    const [low, high] = range(second), y = linear(low, high, bottom, top + 8), ticks = y.ticks(5);
    const left = Math.max(30, widest(ticks.map((tick) => number(tick))) + 10), x = linear(...range(first), left, right);
    const isInside = (v) => x(v[first]) >= left - 1 && x(v[first]) <= right + 1 && y(v[second]) <= bottom + 1 && y(v[second]) >= top;
    root.append(svg("text", { class: "label", x: 0, y: 12 }, `${data.names[second]} (${data.directions[second]})`));
    for (const tick of ticks) root.append(svg("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }), svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
    root.append(bottomAxis(x, bottom, x.ticks(Math.max(2, Math.floor(width / 110))), `${data.names[first]} (${data.directions[first]})`, right));
    const targets = [];
    const mark = (i, v) => targets.push({ x: x(v[first]), y: y(v[second]), open: () => open(i), text: () => `evaluation ${i + 1}${i === data.knee ? ", knee" : ""}\n${valuesText(data.names, v)}` });
    data.index.forEach((i, k) => {
      const v = data.value[k];
      if (onFront.has(i) || !isInside(v)) return;
      root.append(svg("circle", { class: "dominated", cx: x(v[first]), cy: y(v[second]), r: 2.5 }));
      mark(i, v);
    });
    const line = data.front_value.map((v, k) => [v, data.front[k]]).sort((a, b) => a[0][first] - b[0][first]);
    if (data.names.length === 2 && line.length > 1) {
      const isPost = data.directions[first] === "minimize";
      const path = line.map(([v], k) => (k === 0 ? `M${x(v[first])} ${y(v[second])}` : isPost ? `H${x(v[first])}V${y(v[second])}` : `V${y(v[second])}H${x(v[first])}`)).join("");
      root.append(svg("path", { class: "frontline", d: path }));
    }
    for (const [v, i] of line) {
      root.append(svg("circle", { class: "front", cx: x(v[first]), cy: y(v[second]), r: 4 }));
      if (i === data.knee) root.append(svg("circle", { class: "knee", cx: x(v[first]), cy: y(v[second]), r: 8 }));
      mark(i, v);
    }
    return { height, targets };
  }, data.n_left_out ? `${plural(data.n_left_out, "dominated evaluation")} not drawn.` : "");
  if (pairs.length < 2) return figure;
  const buttons = pairs.map((pair, k) => html("button", { type: "button", "aria-pressed": String(k === 0), onclick: () => {
    [first, second] = pair;
    buttons.forEach((button, j) => button.setAttribute("aria-pressed", String(j === k)));
    figure.redraw();
  } }, pair.map((k) => data.names[k]).join(", ")));
  return html("div", {}, html("div", { class: "bar" }, html("span", { role: "group", "aria-label": "Objectives" }, buttons)), figure);
}

function growthChart(data) {
  const limits = data.names.map((name, k) => `${name} ${number(data.reference[k])}`).join(", ");
  return chart("Hypervolume of the front", (root, width) => {
    const height = 240, right = width - 8, top = 26, bottom = height - 36, most = Math.max(0, ...data.growth) || 1;
    const y = linear(0, most * 1.05, bottom, top), ticks = y.ticks(4), left = Math.max(30, widest(ticks.map((tick) => number(tick))) + 10);
    const x = linear(0, Math.max(data.n, 2), left, right);
    root.append(svg("text", { class: "label", x: 0, y: 12 }, "hypervolume"));
    for (const tick of ticks) root.append(svg("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }), svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
    root.append(bottomAxis(x, bottom, niceTicks(0, Math.max(data.n, 2), Math.max(2, Math.floor(width / 110))).filter(Number.isInteger), "evaluation", right));
    const path = data.steps.map((i, k) => `H${x(i + 1)}V${y(data.growth[k])}`).join("");
    root.append(svg("path", { class: "bestline", d: `M${x(0)} ${y(0)}${path}H${x(data.n)}` }));
    const targets = data.steps.map((i, k) => ({ x: x(i + 1), y: y(data.growth[k]), text: () => `evaluation ${i + 1}: hypervolume ${number(data.growth[k], 6)}` }));
    return { height, targets };
  }, `What the front dominates, up to ${limits}.`);
}

// The points of the front as lines: objectives first, then the variables that change most along it.
function pathChart(data, front, open) {
  const lines = {
    ...data, value: [], quality: data.position.map((row) => 1 - 0.75 * row[0]), n_lines_left_out: 0, n_left_out: 0,
    text: (m) => valuesText(front.names, front.front_value[m]),
  };
  const fixed = data.change.filter((c) => c === 0).length;
  return html("div", {}, coordinates(lines, open),
    html("p", { class: "note" }, `Each line is a point of the front: ${plural(data.n_objectives, "objective")} on the left, then the variables, those that change most along the front first.${fixed ? ` ${plural(fixed, "variable")} the same on the whole front.` : ""}${data.n_left_out ? ` ${plural(data.n_left_out, "variable")} not shown.` : ""}`));
}

function frontSections(main, charts, card, open) {
  main.append(section("front", "Front", card(frontChart(charts.front, open), legend(
    legendMark(svg("circle", { class: "front", cx: 8, cy: 6, r: 4 }), "front"),
    legendMark(svg("circle", { class: "knee", cx: 8, cy: 6, r: 5 }), "knee"),
    legendMark(svg("circle", { class: "dominated", cx: 8, cy: 6, r: 3 }), "dominated")))));
  main.append(section("growth", "Growth", card(growthChart(charts.front))));
  if (charts.path.index.length) main.append(section("path", "Along the front", card(pathChart(charts.path, charts.front, open))));
}
