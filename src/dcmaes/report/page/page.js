// The page: sections in the order in which questions come up.

const DATA = JSON.parse(document.getElementById("data").textContent);

function pairs(rows) {
  return html("table", { class: "pairs" }, html("tbody", {}, rows.map((row) => html("tr", {}, row.map((text) => html("td", {}, text))))));
}

function section(id, title, ...children) {
  document.getElementById("nav").append(html("a", { href: `#${id}` }, title));
  return html("section", { id, "aria-labelledby": `${id}-title` }, html("h2", { id: `${id}-title` }, title), ...children);
}

function overview({ summary }) {
  const fact = (label, text, isBad) => html("div", {}, html("dt", { class: "label" }, label), html("dd", { class: isBad ? "warn" : null }, text));
  const own = summary.optimizer_time, all = own + summary.objective_time;
  return section("overview", "Overview", html("div", { class: "card" },
    html("div", { class: "lead" },
      summary.objectives ? html("div", {}, html("span", { class: "label" }, "Points on the front"), html("span", { class: "value", id: "best-value" }, String(summary.objectives.n_front)))
        : html("div", {}, html("span", { class: "label" }, summary.direction === "minimize" ? "Smallest value" : "Largest value"), html("span", { class: "value", id: "best-value" }, number(summary.value, 7))),
      html("div", { class: "why" }, html("span", { class: "label" }, summary.stop_reason ? "Why it stopped" : summary.is_running ? "Still running" : "Broken off"), html("span", { id: "message" }, summary.message))),
    summary.violation > 0 && summary.violation !== null ? html("p", { class: "warn" }, `No feasible point: the best one violates the constraints by ${number(summary.violation)}.`) : null,
    html("dl", { class: "facts" },
      fact("Evaluations", summary.n_evaluations.toLocaleString("en")),
      fact("Failed", String(summary.n_failures), summary.n_failures > 0),
      fact("Infeasible", String(summary.n_infeasible)),
      summary.n_pending ? fact("Out for evaluation", String(summary.n_pending)) : null,
      fact("Restarts", String(summary.n_restarts)),
      summary.objectives ? fact("Hypervolume", number(summary.objectives.hypervolume, 6)) : null,
      fact(summary.objectives ? "Knee found at" : "Best found at", summary.best === null ? "none" : (summary.best + 1).toLocaleString("en")),
      fact("Time in the objective", duration(summary.objective_time)),
      fact("Time in the optimizer", duration(own) + (all > 0 ? ` (${percent(own / all)})` : "")),
      fact("Strategy", summary.strategy))));
}

function bestPoint(summary) {
  if (!summary.point) return html("div", { class: "card" }, html("h3", {}, "Best point"), html("p", {}, "No evaluation gave a value."));
  const title = summary.objectives ? "Knee of the front" : "Best point", values = summary.objectives && pairs(summary.objectives.names.map((name, k) => [name, number(summary.objectives.knee[k], 7), summary.objectives.directions[k]]));
  return html("div", { class: "card" },
    html("div", { class: "bar between" }, html("h3", {}, title), html("button", { type: "button", onclick: (e) => copy(summary.copy, e.currentTarget) }, "Copy")),
    values || null, html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, pairs(summary.point)));
}

function statusLegend(statuses) {
  const found = STATUSES.filter((status) => statuses.includes(status));
  return found.length < 2 ? null : html("div", { class: "legend" }, found.map((status) =>
    legendMark(svg("rect", { class: `busy-${status}`, x: 1, y: 1, width: 14, height: status === "ok" ? 10 : 7, rx: 1 }), status)));
}

function openDetails(i) {
  const { table } = DATA, dialog = document.getElementById("details");
  const status = STATUSES[table.status[i]];
  const facts = [...(table.values || [{ name: "value", number: table.value }]).map((v) => [v.name, number(v.number[i], 15)]), ["status", status]];
  if (status === "infeasible") facts.push(["violation", number(table.violation[i], 7)]);
  facts.push(["restart", String(table.restart[i])], ["trial", String(table.id[i])]);
  if (table.seconds[i] !== null) facts.push(["time", duration(table.seconds[i])]);
  if (table.worker) facts.push(["worker", table.worker.labels[table.worker.which[i]]]);
  // Inactive variables have no value.
  const point = table.variables.map((v) => [v.name, v.labels ? v.labels[v.which[i]] : String(v.number[i] ?? "")]).filter(([, text]) => text !== "");
  dialog.replaceChildren(
    html("div", { class: "bar between" }, html("h2", { id: "details-title" }, `Evaluation ${i + 1}`), html("button", { type: "button", onclick: () => dialog.close() }, "Close")),
    pairs(facts), html("h3", {}, "Point"), html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Point" }, pairs(point)),
    table.reasons[i] ? html("div", {}, html("h3", {}, "Why it failed"), html("pre", {}, table.reasons[i])) : "",
    table.outputs[i] ? html("div", {}, html("h3", {}, "Output"), html("pre", {}, table.outputs[i])) : "");
  dialog.showModal();
}

function failures({ failures: groups, table }) {
  const most = 40;
  return groups.map(({ reason, evaluations }) => {
    const details = html("details", {}, html("summary", {}, html("span", { class: "count" }, `${evaluations.length}×`), shortened(reason, 300)));
    details.addEventListener("toggle", () => {
      if (details.childElementCount > 1) return;
      const first = evaluations[0];
      const links = evaluations.slice(0, most).map((i) => html("button", { type: "button", onclick: () => openDetails(i) }, String(i + 1)));
      details.append(html("pre", {}, [table.reasons[first], table.outputs[first]].filter(Boolean).join("\n\n") || "no reason given"),
        html("div", { class: "links" }, html("span", { class: "note" }, "Evaluations"), links, evaluations.length > most ? html("span", { class: "note" }, `and ${evaluations.length - most} more`) : null));
    });
    return details;
  });
}

function reproduction(data) {
  const copied = (title, text) => html("div", { class: "card wide" }, html("div", { class: "bar between" }, html("h3", {}, title), html("button", { type: "button", "aria-label": `Copy: ${title}`, onclick: (e) => copy(text, e.currentTarget) }, "Copy")), html("pre", {}, text));
  return html("div", { class: "columns" },
    copied("The command", data.command),
    html("div", { class: "card" }, html("h3", {}, "Settings"), pairs(Object.entries(data.settings))),
    html("div", { class: "card" }, html("h3", {}, "Versions"), pairs(Object.entries(data.versions))),
    copied("Space", data.space));
}

// What the evaluations do not show beyond doubt is not drawn; nor are correlations that a strategy does not have.
function interactions({ interactions: pairs, graph: edges, correlations }) {
  const card = (child) => html("div", { class: "card" }, child);
  return html("div", { class: correlations.names.length ? "columns three" : "columns" },
    pairs.names.length
      ? [card(matrix("Strength of pairs", pairs, "Pairs that interact beyond doubt. Strengths are in the unit of the strategy: compare them with each other.")), card(graph(edges))]
      : card(html("p", { class: "note" }, pairs.remark)),
    correlations.names.length ? card(matrix("Correlations", correlations, "How variables go together in the last search distribution.")) : null);
}

function build() {
  const { summary, charts, table } = DATA, card = (...children) => html("div", { class: "card" }, ...children);
  const main = document.getElementById("main");
  main.append(overview(DATA));
  // With several objectives, what is of one is there for each, under its name.
  const each = charts.each || [charts], of = (one) => (one.name ? `: ${one.name}` : "");
  const bars = (one) => card(html("h3", {}, `Importance of the variables${of(one)}`), one.importance.share.some((s) => s > 0) ? importance(one.importance) : html("p", { class: "note" }, one.importance.remark));
  main.append(html("section", { "aria-label": "Best point and importance" }, html("div", { class: "columns" }, bestPoint(summary), each.map(bars))));
  if (charts.front) frontSections(main, charts, card, openDetails);
  main.append(section("convergence", "Convergence", each.map((one) => card(one.name ? html("h3", {}, one.name) : null, convergence(one.convergence, openDetails), legend(
    legendMark(svg("circle", { class: "dot", cx: 8, cy: 6, r: 3 }), "feasible"),
    legendMark(svg("path", { class: "bestline", d: "M0 6H16" }), "best so far"),
    summary.n_infeasible ? legendMark(svg("path", { class: "diamond", d: "M8 2l4 4l-4 4l-4-4z" }), "infeasible") : null,
    summary.n_failures ? legendMark(svg("path", { class: "cross", d: "M5 3l6 6m0-6l-6 6" }), "failed") : null,
    one.convergence.restarts.length ? legendMark(svg("line", { class: "restart", x1: 8, x2: 8, y1: 0, y2: 12 }), "restart") : null)))));
  const { edges, panels, n_left_out: hidden } = charts.marginals;
  main.append(section("marginals", "Where it looked", card(html("div", { class: "panels" }, panels.map((panel) => marginal(edges, panel))),
    html("p", { class: "note" }, `What was asked for, evaluation by evaluation. The stronger the colour, the more often; bands hold the middle half and the middle four in five of the points. Red marks the best point.${hidden ? ` ${plural(hidden, "less important variable")} not shown.` : ""}`))));
  if (each[0].coordinates.index.length) main.append(section("points", "Points", each.map((one) => card(one.name ? html("h3", {}, one.name) : null, coordinates(one.coordinates, openDetails)))));
  main.append(section("interactions", "Interactions", each.map((one) => html("div", {}, one.name ? html("h3", {}, one.name) : null, interactions(one)))));
  if (charts.timeline.start.length) main.append(section("timeline", "Timeline", card(timeline(charts.timeline, openDetails), statusLegend(charts.timeline.status))));
  main.append(section("evaluations", "Evaluations", evaluationTable(table, summary.best, openDetails)));
  if (DATA.failures.length) main.append(section("failures", "Failures", card(failures(DATA))));
  main.append(section("reproduction", "Repeat it", reproduction(DATA.reproduction)));
}

function themes() {
  const button = document.getElementById("theme"), root = document.documentElement, names = ["auto", "light", "dark"];
  // A page opened from a file may have no storage.
  const stored = { get: () => { try { return localStorage.getItem("theme"); } catch { return null; } }, set: (v) => { try { localStorage.setItem("theme", v); } catch { /* not kept */ } } };
  function show(name) {
    root.dataset.theme = name;
    button.textContent = `Theme: ${name}`;
  }
  button.addEventListener("click", () => { const next = names[(names.indexOf(root.dataset.theme) + 1) % 3]; show(next); stored.set(next); });
  show(names.includes(stored.get()) ? stored.get() : "auto");
}

// The bar at the top covers what is behind it, where it stays in place.
function headings() {
  const header = document.querySelector("header");
  const measure = () => document.documentElement.style.setProperty("--header", `${getComputedStyle(header).position === "sticky" ? header.offsetHeight : 0}px`);
  new ResizeObserver(measure).observe(header);
  measure();
  document.getElementById("nav").addEventListener("click", drawEverything);
  addEventListener("hashchange", jump);
  jump();
}

themes();
build();
headings();
