// The table of all evaluations: columns, filter, order, and one page of rows in the document at a time.

// A column knows how its cells look, compare and match.
function numberColumn(name, values, show = number) {
  return {
    name, isNumber: true, values,
    text: (i) => (values[i] === null ? "" : show(values[i])),
    key: (i) => values[i],
    compare: (i, j) => (values[i] === null) - (values[j] === null) || values[i] - values[j],
    matches: (word) => { const wanted = Number(word); return Number.isNaN(wanted) ? null : (i) => values[i] === wanted; },
  };
}

function labelColumn(name, labels, which) {
  const numbers = labels.map((label) => (label.trim() === "" ? NaN : Number(label)));
  return {
    name, isNumber: false,
    text: (i) => labels[which[i]],
    key: (i) => (Number.isNaN(numbers[which[i]]) ? labels[which[i]] : numbers[which[i]]),
    compare: (i, j) => which[i] - which[j],
    matches: (word) => {
      const found = labels.map((label) => label.toLowerCase().includes(word));
      return found.some(Boolean) ? (i) => found[which[i]] : null;
    },
  };
}

function tableColumns(data) {
  const n = data.id.length;
  const several = data.values || [{ name: "value", number: data.value }];
  const columns = [numberColumn("evaluation", Array.from({ length: n }, (_, i) => i + 1)), ...several.map((v) => numberColumn(v.name, v.number, (one) => number(one, 7)))];
  if (data.status.includes(1)) columns.push(numberColumn("violation", data.violation));
  columns.push(labelColumn("status", STATUSES, data.status));
  if (data.restart.some((r) => r > 0)) columns.push(numberColumn("restart", data.restart));
  if (data.seconds.some((s) => s !== null)) columns.push(numberColumn("seconds", data.seconds, (v) => number(v, 3)));
  if (data.worker) columns.push(labelColumn("worker", data.worker.labels, data.worker.which));
  const taken = new Set(columns.map((column) => column.name));
  for (const v of data.variables) {
    const name = taken.has(v.name) ? `point.${v.name}` : v.name;
    columns.push(v.labels ? labelColumn(name, v.labels, v.which) : numberColumn(name, v.number));
  }
  return columns;
}

// A filter is words separated by spaces: `name=value`, `name<3` (also != <= > >=; quotes around spaces), or any
// word, which is looked for in labels, failure reasons and, if it is a number, in numbers. All must hold.
function parseFilter(text, columns, reasons) {
  const words = text.match(/(?:"[^"]*"|[^\s"])+/g) || [];
  return words.map((word) => {
    const parts = word.match(/^("[^"]*"|[^<>=!"]+)(<=|>=|!=|=|<|>)(.+)$/);
    const bare = (s) => s.replace(/^"(.*)"$/, "$1").toLowerCase();
    const column = parts && columns.find((c) => c.name.toLowerCase() === bare(parts[1]));
    return column ? comparison(column, parts[2], bare(parts[3])) : anywhere(bare(word), columns, reasons);
  });
}

function comparison(column, sign, text) {
  const wanted = text.trim() !== "" && !Number.isNaN(Number(text)) ? Number(text) : text;
  const test = {
    "=": (a, b) => a === b, "!=": (a, b) => a !== b,
    "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
  }[sign];
  return (i) => {
    const key = column.key(i);
    if (key === null) return sign === "!=";
    return typeof wanted === "number" && typeof key === "number" ? test(key, wanted) : test(String(key).toLowerCase(), String(wanted));
  };
}

function anywhere(word, columns, reasons) {
  const tests = columns.map((column) => column.matches(word)).filter(Boolean);
  return (i) => tests.some((test) => test(i)) || (reasons[i] || "").toLowerCase().includes(word);
}

function evaluationTable(data, best, open) {
  const columns = tableColumns(data), n = data.id.length;
  const state = { order: [], column: 0, isDown: false, page: 0, size: columns.length > 100 ? 25 : 50, status: -1, filter: "" };
  const input = html("input", { type: "search", class: "grow", id: "filter", placeholder: "Filter: relu  lr<0.01  status=failed", "aria-label": "Filter evaluations", autocomplete: "off", spellcheck: "false" });
  const count = html("span", { class: "note", role: "status", id: "count" });
  const rows = html("div", { id: "rows", tabindex: 0, role: "region", "aria-label": "All evaluations" });
  const statuses = ["all", ...STATUSES].map((name, k) => html("button", { type: "button", "aria-pressed": String(k === 0), onclick: () => { state.status = k - 1; select(); } }, name));
  const turn = (label, to) => html("button", { type: "button", onclick: () => { state.page = to(); draw(); } }, label);
  const last = () => Math.max(0, Math.ceil(state.order.length / state.size) - 1);
  const back = [turn("First", () => 0), turn("Previous", () => state.page - 1)];
  const forth = [turn("Next", () => state.page + 1), turn("Last", last)];
  const size = html("select", { "aria-label": "Rows on a page", onchange: (e) => { state.size = Number(e.target.value); state.page = 0; draw(); } },
    ...[25, 50, 200, 1000].map((k) => html("option", { value: k, selected: k === state.size }, `${k} rows`)));

  function select() {
    const tests = parseFilter(state.filter, columns, data.reasons);
    if (state.status >= 0) tests.push((i) => data.status[i] === state.status);
    state.order = [];
    for (let i = 0; i < n; i++) if (tests.every((test) => test(i))) state.order.push(i);
    statuses.forEach((button, k) => button.setAttribute("aria-pressed", String(k - 1 === state.status)));
    sort();
  }
  function sort() {
    const { compare } = columns[state.column], sign = state.isDown ? -1 : 1;
    // What has no value stays at the end in either direction.
    const isEmpty = (i) => columns[state.column].key(i) === null;
    state.order.sort((i, j) => isEmpty(i) - isEmpty(j) || sign * compare(i, j) || i - j);
    state.page = 0;
    draw();
  }
  function sortBy(k) {
    state.isDown = state.column === k && !state.isDown;
    state.column = k;
    sort();
    rows.querySelectorAll("th button")[k].focus();
  }
  function draw() {
    state.page = Math.max(0, Math.min(state.page, last()));
    const from = state.page * state.size, shown = state.order.slice(from, from + state.size);
    const head = columns.map((column, k) => {
      const order = k !== state.column ? "none" : state.isDown ? "descending" : "ascending";
      return html("th", { scope: "col", "aria-sort": order, class: column.isNumber ? "number" : null },
        html("button", { type: "button", onclick: () => sortBy(k) }, shortened(column.name, 30) + { none: "", ascending: " ▲", descending: " ▼" }[order]));
    });
    const body = shown.map((i) => html("tr", { class: i === best ? "best" : null }, columns.map((column, k) => {
      const text = column.text(i);
      if (k === 0) return html("td", { class: "number" }, html("button", { type: "button", onclick: () => open(i), "aria-label": `Details of evaluation ${text}` }, text));
      return html("td", { class: column.name === "status" ? text : column.isNumber ? "number" : null }, text);
    })));
    const keptLeft = rows.scrollLeft;
    rows.replaceChildren(html("table", {}, html("thead", {}, html("tr", {}, head)), html("tbody", {}, body)));
    rows.scrollTop = 0;
    rows.scrollLeft = keptLeft;
    const found = state.order.length;
    count.textContent = found ? `${(from + 1).toLocaleString("en")}–${(from + shown.length).toLocaleString("en")} of ${plural(found, "evaluation")}${found < n ? ` (${n.toLocaleString("en")} in all)` : ""}` : "No evaluation matches.";
    for (const button of back) button.disabled = state.page === 0;
    for (const button of forth) button.disabled = state.page === last();
  }
  let timer = 0;
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => { state.filter = input.value; select(); }, 100); });
  whenNear(rows, select);
  return html("div", { class: "card" },
    html("div", { class: "bar" }, input, html("span", { role: "group", "aria-label": "Status" }, statuses)),
    rows, html("div", { class: "bar between" }, count, html("span", {}, back, " ", size, " ", forth)));
}
