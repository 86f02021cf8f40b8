/* Models by benchmarks. */

const CELL_WIDTH = 148;
const SPARE_COLUMNS = 2;
const LINE = 19;

/** The rows of the matrix: one for each model, and for each identity where several have one name. */
const matrixRows = (runs, columns, catalog, alike) => {
  const rows = [], byModel = new Map();
  for (const run of runs) {
    if (run.status === "damaged") continue;
    const { model, identity } = run;
    let identities = byModel.get(model);
    if (!identities) byModel.set(model, identities = new Map());
    let row = identities.get(identity);
    if (!row) {
      row = { model, differs: catalog.identityOf(run), newest: run, count: 0, cells: new Map() };
      identities.set(identity, row);
      rows.push(row);
    }
    row.count++;
    if (run.created > row.newest.created) row.newest = run;
    const cell = row.cells.get(run.column);
    if (cell) cell.push(run);
    else row.cells.set(run.column, [run]);
  }
  const orders = new Map([...columns].map(([id, column]) => [id, cellOrder(column, alike)]));
  for (const row of rows) {
    for (const [id, cell] of row.cells) if (cell.length > 1) cell.sort(orders.get(id));
  }
  return rows;
};

/** The number by which a row is sorted in a column: those of the column's setting come first. */
const cellValue = (row, column, alike) => {
  const run = row.cells.get(column.id)?.[0];
  if (!run || run.value === null) return -Infinity;
  return comparedKey(run.setting, alike) === column.setting.key ? run.value : run.value - 1e6;
};

const byModel = (one, other) => byText(one.model, other.model) || byText(one.differs, other.differs);

const sortedRows = (rows, columns, state) => {
  const { name, falls } = state.order;
  const sign = falls ? -1 : 1;
  const newest = (one, other) => (other.newest.created > one.newest.created ? 1 : other.newest.created < one.newest.created ? -1 : 0);
  const orders = {
    "": (one, other) => newest(one, other) || byModel(one, other),
    date: (one, other) => -sign * newest(one, other) || byModel(one, other),
    model: (one, other) => sign * byModel(one, other),
    cells: (one, other) => sign * (one.cells.size - other.cells.size) || byModel(one, other),
  };
  const column = name.startsWith("b.") ? columns.get(name.slice(2)) : null;
  if (!column) return rows.sort(orders[name] ?? orders[""]);
  return rows.sort((one, other) => {
    const [a, b] = [cellValue(one, column, state.alike), cellValue(other, column, state.alike)];
    return a === b ? byModel(one, other) : a === -Infinity ? 1 : b === -Infinity ? -1 : sign * (a - b);
  });
};

/** Rows in groups, each with a row of its own above; the groups in the order of their first row. */
const grouped = (items, keyOf, folded) => {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (groups.has(key)) groups.get(key).push(item);
    else groups.set(key, [item]);
  }
  return [...groups].flatMap(([key, members]) => [{ group: key, count: members.length, open: !folded.has(key) }, ...(folded.has(key) ? [] : members)]);
};

const groupRow = (item, span, toggle) => {
  const button = make("button", { type: "button", class: "group-button", "aria-expanded": String(item.open) }, `${item.group} `, make("span", { class: "soft" }, numberText(item.count)));
  button.addEventListener("click", () => toggle(item.group));
  return make("tr", { class: "group" }, make("th", { scope: "rowgroup", colspan: String(span), "data-column": "0" }, button));
};

class MatrixView {
  constructor(home) {
    Object.assign(this, { home, columns: [] });
    this.table = new VirtualTable({ label: "Models by benchmarks", kind: "matrix", height: 64, row: (item, at) => this.row(item, at) });
    this.table.columnRange = () => this.range().join();
    this.table.reveal = (column) => this.reveal(column);
    this.element = this.table.element;
  }

  show({ found, state, columns }) {
    Object.assign(this, { state, columns: [...columns.values()].sort((one, other) => byText(one.label, other.label)) });
    const rows = sortedRows(matrixRows(found, columns, this.home.catalog, state.alike), columns, state);
    this.models = rows.length;
    const items = state.group ? grouped(rows, (row) => groupOf(row.newest, state.group, this.home.suites), this.home.folded) : rows;
    const lines = 1 + state.parts.includes("interval") + (state.parts.includes("n") || state.parts.includes("date")) + 1;
    this.table.height = lines * LINE + (state.parts.includes("bar") ? 12 : 0) + 12;
    this.drawn = "";
    this.head();
    this.table.show(items, this.columns.length + 1);
  }

  /** The first visible column, the one behind the last, and how many there are. */
  range() {
    const { scrollLeft, clientWidth } = this.table.element;
    const from = Math.max(0, Math.floor(scrollLeft / CELL_WIDTH) - SPARE_COLUMNS);
    const to = Math.min(this.columns.length, Math.ceil((scrollLeft + clientWidth) / CELL_WIDTH) + SPARE_COLUMNS);
    return [from, to];
  }

  reveal(column) {
    if (column === 0) return;
    const box = this.table.element, names = this.table.head.querySelector("th").offsetWidth;
    const left = (column - 1) * CELL_WIDTH, right = left + CELL_WIDTH;
    if (left < box.scrollLeft) box.scrollLeft = left;
    else if (right > box.scrollLeft + box.clientWidth - names) box.scrollLeft = right - box.clientWidth + names;
  }

  /** Cells of the visible columns between two that fill the place of the others. */
  across(make_) {
    const [from, to] = this.range();
    const gap = (count) => { const cell = make("td", { class: "gap", "aria-hidden": "true" }); cell.style.width = cell.style.minWidth = count * CELL_WIDTH + "px"; return count ? cell : null; };
    return [gap(from), ...this.columns.slice(from, to).map((column, nth) => make_(column, from + nth + 1)), gap(this.columns.length - to)].filter(Boolean);
  }

  head() {
    const drawn = this.range().join();
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.table.head.replaceChildren(make("tr", {}, this.home.sortHead("model", "model", "corner", { "data-column": 0 }), ...this.across((column, at) => this.headCell(column, at))));
    const names = known.baselines.filter(([name]) => this.columns.some((column) => this.baseline(column, name) !== undefined));
    this.table.first.replaceChildren(...names.map(([name, label]) => make("tr", { class: `baseline ${name}` },
      make("th", { scope: "row" }, make("span", { class: "clip", title: `${label}: a baseline, not a model` }, make("span", { class: `mark ${name}`, "aria-hidden": "true" }), label, make("span", { class: "soft" }, " baseline"))),
      ...this.across((column) => { const value = this.baseline(column, name); return make("td", { class: "n" }, value === undefined ? "" : points(value)); }))));
  }

  /** What guessing scores on the questions of a column's setting: that of its newest run. */
  baseline(column, name) {
    column.baselines ||= column.runs.filter((run) => run.baselines.size && ENDED.has(run.status) && comparedKey(run.setting, this.state.alike) === column.setting.key)
      .reduce((newest, run) => (newest && newest.created > run.created ? newest : run), null)?.baselines ?? new Map();
    return column.baselines.get(name);
  }

  headCell(column, at) {
    const flags = column.setting.flags.map((flag) => flagChip(flag));
    const settings = column.settings.length > 1 ? make("button", { type: "button", class: "settings", title: "settings of this benchmark that are not comparable", "aria-label": `${column.settings.length} settings of ${column.label}` }, `${column.settings.length} settings`) : null;
    settings?.addEventListener("click", () => this.home.showSettings(column));
    const metric = column.setting.facts.get("metric") ?? "";
    return this.home.sortHead(`b.${column.id}`, column.label.replace("/", "/\u200b"), "benchmark", { title: column.title, "aria-colindex": at + 1, falls: true },
      make("span", { class: "soft metric" }, metric), settings, make("span", { class: "flags" }, flags));
  }

  row(item) {
    if (item.group !== undefined) return groupRow(item, this.columns.length + 1, (key) => this.home.fold(key));
    this.head();
    const filter = this.state.with({ view: "list", filters: { ...this.state.filters, model: [item.model] } });
    const name = make("th", { scope: "row", "data-column": "0" },
      make("a", { href: filter.address, class: "model", title: `${item.model}: its ${item.count} runs` }, item.model),
      item.differs ? make("span", { class: "differs-in", title: item.differs }, item.differs) : null,
      make("span", { class: "soft small" }, `${numberText(item.count)} run${item.count === 1 ? "" : "s"}`));
    return make("tr", {}, name, ...this.across((column, at) => this.cell(item, column, at)));
  }

  cell(row, column, at) {
    const runs = row.cells.get(column.id);
    if (!runs) return make("td", { class: "empty", "data-column": String(at) }, make("span", { class: "none", "aria-label": "no run", role: "img" }, "·"));
    const run = runs[0], { parts, alike } = this.state;
    const differences = differencesFrom(run, column, alike);
    const other = differences.length > 0;
    const text = run.value === null ? "–" : other ? `(${run.score})` : run.score;
    const link = runLink(run, text, { class: "score", title: run.value === null ? noScore(run) : null, "aria-label": run.value === null ? noScore(run) : null });
    const more = runs.length > 1 ? make("button", { type: "button", class: "more", "aria-label": `all ${runs.length} runs of ${row.model} on ${column.label}`, title: `all ${runs.length} runs` }, `1 of ${runs.length}`) : null;
    more?.addEventListener("click", () => this.home.showCell(row, column, runs));
    const shownFlags = [
      ...differences.map((flag) => flagChip(flag, true)),
      ...run.flags.filter(([code]) => code === "replies" || code === "withheld").map(([code, , sentence]) => flagChip([code, known.settings[code], sentence])),
    ];
    const meta = [parts.includes("n") && run.value !== null ? `n ${numberText(run.n)}` : null, parts.includes("date") ? dateCell(run) : null].filter(Boolean);
    return make("td", { class: other ? "cell other" : "cell", "data-column": String(at) },
      make("span", { class: "line" }, link, more),
      parts.includes("interval") ? make("span", { class: "line soft" }, run.interval || "") : null,
      meta.length ? make("span", { class: "line soft small" }, meta.length === 2 ? [meta[0], " · ", meta[1]] : meta) : null,
      make("span", { class: "line flags" }, UNFINISHED.has(run.status) ? progressText(run) : null, run.status === "incomplete" ? flagChip(["extent", "incomplete", "samples failed or are missing"]) : null, run.problem ? flagChip(["withheld", "no number", run.problem]) : null, shownFlags),
      parts.includes("bar") ? scoreBar(run, this.baseline(column, "chance")) : null);
  }

  summary() { return `${counted(this.models, "row")} by ${counted(this.columns.length, "benchmark")}`; }
}
