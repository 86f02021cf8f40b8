/* A suite: models with the average and the average rank over its benchmarks. */

/** The members of a suite that a board has columns for: {name, title, runsOf(row)}, from the cells of
    the matrix. */
const boardMembers = (suite, columns, alike) => {
  const inSetting = (run, column) => column && run.value !== null && ENDED.has(run.status) && comparedKey(run.setting, alike) === column.setting.key;
  if (!suite) {
    return [...columns.values()].map((column) => ({
      name: column.label, title: column.title,
      value: (row) => { const run = row.cells.get(column.id)?.[0]; return run && inSetting(run, column) ? { value: 100 * run.value / run.top, runs: [run] } : null; },
      others: (row) => row.cells.get(column.id) ?? [],
    })).sort((one, other) => byText(one.name, other.name));
  }
  return suite.members.map((member) => {
    /* a benchmark may be in a suite several times, with other options: each has a setting of its own */
    const parts = member.benchmarks.map((benchmark) => {
      const counts = (run) => countsFor(run, { benchmarks: [benchmark] }) !== undefined;
      const runs = (columns.get(benchmark[0])?.runs ?? []).filter(counts);
      return { name: benchmark[0], counts, key: columnSettings(runs, alike)[0]?.key };
    });
    return {
      name: member.name,
      title: member.benchmarks.map(([name, parameters]) => [name, ...parameters].join(" ")).join("; "),
      /* of several benchmarks the mean, if there is a run of each */
      value: (row) => {
        const runs = parts.map(({ name, counts, key }) => (row.cells.get(name) ?? []).find((run) => run.value !== null && ENDED.has(run.status) && counts(run) && comparedKey(run.setting, alike) === key));
        if (!runs.length || runs.includes(undefined)) return null;
        const values = runs.map((run) => (member.metric ? run.metrics.get(member.metric) : 100 * run.value / run.top));
        return values.includes(undefined) ? null : { value: values.reduce((sum, value) => sum + value, 0) / values.length, runs };
      },
      others: (row) => parts.flatMap(({ name, counts }) => (row.cells.get(name) ?? []).filter(counts)),
    };
  });
};

/** Ranks of numbers, the highest first; equal ones share the mean of their ranks. */
const midRanks = (values) => {
  const order = values.map((_, at) => at).sort((one, other) => values[other] - values[one]);
  const ranks = new Array(values.length);
  for (let at = 0; at < order.length;) {
    let end = at;
    while (end < order.length && values[order[end]] === values[order[at]]) end++;
    for (let nth = at; nth < end; nth++) ranks[order[nth]] = (at + 1 + end) / 2;
    at = end;
  }
  return ranks;
};

/** The rows of a board: each model with its values, average, average rank and missing members. Models
    that have every member come first, and their ranks are among each other; the others follow by
    what they miss. */
const boardRows = (rows, members) => {
  const lines = rows.map((row) => {
    const values = members.map((member) => member.value(row));
    const present = values.filter(Boolean).map(({ value }) => value);
    return { row, values, missing: values.length - present.length, average: present.length ? present.reduce((sum, value) => sum + value, 0) / present.length : null, averageRank: null };
  }).filter((line) => line.missing < members.length);
  const complete = lines.filter((line) => line.missing === 0);
  const ranks = members.map((_, at) => midRanks(complete.map((line) => line.values[at].value)));
  complete.forEach((line, nth) => { line.averageRank = ranks.reduce((sum, each) => sum + each[nth], 0) / members.length; });
  return lines;
};

class BoardView {
  constructor(home) {
    this.home = home;
    this.table = new VirtualTable({ label: "Board", kind: "board-table", height: ROW, row: (item) => this.row(item) });
    this.element = this.table.element;
  }

  show({ found, state, columns }) {
    this.state = state;
    const suite = this.home.suites.find(({ name }) => name === state.suite);
    this.suite = suite;
    this.members = boardMembers(suite, columns, state.alike);
    const lines = boardRows(matrixRows(found, columns, this.home.catalog, state.alike), this.members);
    this.complete = lines.filter((line) => !line.missing).length;
    this.lines = lines.length;
    const items = this.sorted(lines);
    this.table.head.replaceChildren(make("tr", {},
      this.home.sortHead("model", "model", "name"), this.home.sortHead("rank", "average rank", "n", { title: "mean of the ranks in every column, among the models that have all of them" }),
      this.home.sortHead("average", "average", "n", { falls: true, title: "mean of the columns in percent of their maximum" }), this.home.sortHead("missing", "missing", "n", { title: "columns without a comparable, complete number" }),
      ...this.members.map((member, at) => this.home.sortHead(`m.${at}`, member.name, "n member", { falls: true, title: member.title }))));
    this.table.show(state.group ? grouped(items, (line) => groupOf(line.row.newest, state.group, this.home.suites), this.home.folded) : items, this.members.length + 4);
  }

  sorted(lines) {
    const { name, falls } = this.state.order;
    const usual = (one, other) => one.missing - other.missing || (one.averageRank ?? 0) - (other.averageRank ?? 0) || other.average - one.average || byModel(one.row, other.row);
    const values = { rank: (line) => line.averageRank, average: (line) => (line.missing ? null : line.average), missing: (line) => line.missing, date: (line) => line.row.newest.created };
    const at = name.startsWith("m.") ? Number(name.slice(2)) : -1;
    const value = at >= 0 ? (line) => line.values[at]?.value ?? null : values[name];
    if (name === "model") return lines.sort((one, other) => (falls ? -1 : 1) * byModel(one.row, other.row));
    if (!value) return lines.sort(usual);
    return lines.sort((one, other) => {
      const [a, b] = [value(one), value(other)];
      return a === b ? usual(one, other) : a === null ? 1 : b === null ? -1 : (falls ? -1 : 1) * (a < b ? -1 : 1);
    });
  }

  row(line) {
    if (line.group !== undefined) return groupRow(line, this.members.length + 4, (key) => this.home.fold(key));
    const filter = this.state.with({ view: "list", filters: { ...this.state.filters, model: [line.row.model] } });
    const name = make("th", { scope: "row", class: "name", "data-column": "0" }, make("a", { href: filter.address, class: "clip", title: line.row.model }, line.row.model),
      line.row.differs ? make("span", { class: "differs-in clip", title: line.row.differs }, line.row.differs) : null);
    const average = line.average === null ? "–" : line.missing ? `(${points(line.average)})` : points(line.average);
    const cells = line.values.map((cell, at) => {
      if (cell) return make("td", { class: "n", "data-column": String(at + 4) }, runLink(cell.runs[0], points(cell.value), { class: "score" }));
      const others = this.members[at].others(line.row);
      return make("td", { class: "n soft", "data-column": String(at + 4) }, others.length ? runLink(others[0], "≠", { title: `${others.length} run${others.length === 1 ? "" : "s"}, none complete and of the setting of the column`, "aria-label": "no comparable run" }) : make("span", { class: "none", tabindex: "-1", "aria-label": "no run", role: "img" }, "·"));
    });
    return make("tr", {}, name, make("td", { class: "n strong" }, line.averageRank === null ? "–" : line.averageRank.toFixed(2)), make("td", { class: "n" }, average),
      make("td", { class: "n soft" }, line.missing ? String(line.missing) : ""), ...cells);
  }

  summary() {
    return `${this.complete === 1 ? "1 model has" : `${numberText(this.complete)} of ${numberText(this.lines)} models have`} all ${this.members.length} columns`;
  }
}
