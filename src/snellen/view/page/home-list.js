/* Runs one by one. */

const ROW = 46;

/** How the list is sorted by each column; texts ascend, numbers and dates fall first. */
const LIST_ORDERS = {
  model: (run) => run.model.toLowerCase(), benchmark: (run) => run.column, score: (run) => run.value, interval: (run) => (run.low === null ? null : run.high - run.low), n: (run) => run.n,
  flags: (run) => run.flags.length, status: (run) => run.status, date: (run) => run.created, time: (run) => run.seconds, tokens: (run) => run.tokens,
  cost: (run) => parseFloat(run.cost.replaceAll(",", "")) || 0, provider: (run) => run.provider, family: (run) => run.family, folder: (run) => run.folder, metric: (run) => run.metric, notes: (run) => run.flagged + run.labels.length + run.notes.length, run: (run) => run.key,
};
const FALLS_FIRST = new Set(["score", "interval", "n", "flags", "date", "time", "tokens", "cost", "notes"]);

const LIST_CELLS = {
  benchmark: (run) => ["td", {}, make("span", { class: "clip", title: run.title || run.benchmark }, run.column)],
  score: (run) => ["td", { class: "n strong" }, run.value === null ? make("span", { title: noScore(run) }, "–") : run.score],
  interval: (run) => ["td", { class: "n soft" }, run.interval],
  n: (run) => ["td", { class: "n soft" }, run.value === null ? "" : numberText(run.n)],
  flags: (run) => ["td", {}, make("span", { class: "flags" }, run.problem ? make("span", { class: "problem", title: run.problem }, run.problem) : run.flags.filter(([code]) => code !== "extent" || !UNFINISHED.has(run.status)).map((flag) => flagChip(flag)))],
  status: (run) => ["td", {}, UNFINISHED.has(run.status) ? [make("span", { class: "unseen" }, `${run.status}: `), progressText(run)] : make("span", { class: run.status === "complete" ? "soft" : "state" }, run.status)],
  date: (run) => ["td", { class: "n soft" }, dateCell(run)],
  time: (run) => ["td", { class: "n soft" }, durationText(run.seconds)],
  tokens: (run) => ["td", { class: "n soft" }, run.tokens ? numberText(run.tokens) : ""],
  cost: (run) => ["td", { class: "n soft" }, run.cost],
  provider: (run) => ["td", { class: "soft" }, run.provider],
  family: (run) => ["td", { class: "soft" }, run.family],
  folder: (run) => ["td", { class: "soft" }, make("span", { class: "clip", title: run.folder }, run.folder)],
  metric: (run) => ["td", { class: "soft" }, run.metric],
  notes: (run) => ["td", {}, make("span", { class: "flags" }, run.flagged ? flagChip(["flagged", `${run.flagged} flagged`, "samples or replies that a person flagged"]) : null, run.labels.map((label) => flagChip(["label", label, "a label that a person gave"])), run.notes.length ? make("span", { class: "soft clip", title: run.notes.join("\n") }, run.notes.join("; ")) : null)],
  run: (run) => ["td", { class: "soft" }, make("span", { class: "clip", title: run.key }, run.key)],
};

const sortedRuns = (runs, state) => {
  const { name, falls } = state.sort ? state.order : { name: "date", falls: true };
  const value = LIST_ORDERS[name] ?? LIST_ORDERS.date, sign = falls ? -1 : 1;
  const keyed = runs.map((run) => ({ run, by: value(run) }));
  const none = (by) => by === null || by === "" || by === undefined;
  const compare = (a, b) => (a.by === b.by ? 0 : none(a.by) ? 1 : none(b.by) ? -1 : typeof a.by === "number" ? sign * (a.by - b.by) : sign * (a.by < b.by ? -1 : 1));
  const later = (a, b) => (b.run.created > a.run.created ? 1 : b.run.created < a.run.created ? -1 : 0);
  return keyed.sort((a, b) => compare(a, b) || later(a, b)).map(({ run }) => run);
};

class ListView {
  constructor(home) {
    this.home = home;
    this.table = new VirtualTable({ label: "Runs", kind: "list-of-runs", height: ROW, row: (item) => this.row(item) });
    this.element = this.table.element;
  }

  show({ found, state }) {
    this.state = state;
    this.columns = state.columns;
    this.table.head.replaceChildren(make("tr", {},
      make("th", { scope: "col", class: "pick" }, make("span", { class: "unseen" }, "choose to compare")),
      this.home.sortHead("model", "model", "name"),
      ...this.columns.map((name) => this.home.sortHead(name, LIST_COLUMNS[name][0], `${["score", "interval", "n", "date", "time", "tokens", "cost"].includes(name) ? "n" : ""} c-${name}`, { falls: FALLS_FIRST.has(name) }))));
    const runs = sortedRuns(found, state);
    const items = state.group ? grouped(runs, (run) => groupOf(run, state.group, this.home.suites), this.home.folded) : runs;
    this.table.show(items, this.columns.length + 2);
  }

  row(item) {
    if (item.group !== undefined) return groupRow(item, this.columns.length + 2, (key) => this.home.fold(key));
    const damaged = item.status === "damaged";
    const box = make("input", { type: "checkbox", value: item.key, "aria-label": `compare ${item.model} on ${item.benchmark}`, disabled: damaged ? "" : null });
    if (damaged) box.disabled = true;
    box.checked = this.home.picked.has(item.key);
    box.addEventListener("change", () => this.home.pick(item.key, box.checked));
    const differs = this.home.catalog.identityOf(item);
    const name = make("th", { scope: "row", class: "name", "data-column": "1" },
      damaged ? make("span", { class: "clip none", tabindex: "-1", title: item.key }, item.key) : runLink(item, item.model, { class: "clip", title: `${item.model}: ${item.key}` }),
      differs ? make("span", { class: "differs-in clip", title: differs }, differs) : null);
    const cells = this.columns.map((column) => { const [tag, attributes, content] = LIST_CELLS[column](item); attributes.class = `${attributes.class ?? ""} c-${column}`; return make(tag, attributes, content); });
    return make("tr", { class: damaged ? "damaged" : "" }, make("td", { class: "pick", "data-column": "0" }, box), name, ...cells);
  }

  summary() { return ""; }
}
