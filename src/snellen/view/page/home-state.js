/* What the first page shows, and its address: a link or a bookmark is a saved view. */

const VIEWS = ["matrix", "list", "board"];
const GROUPS = { "": "none", family: "model family", provider: "provider", suite: "suite", folder: "folder", month: "month", day: "day" };
/* what may be chosen to be shown; `true`: shown unless chosen otherwise */
const LIST_COLUMNS = {
  benchmark: ["benchmark", true], score: ["score", true], interval: ["interval", true], n: ["n", true], flags: ["flags", true],
  status: ["status", true], date: ["started", true], time: ["time", false], tokens: ["tokens", false], cost: ["cost", false],
  provider: ["provider", false], family: ["family", false], folder: ["folder", false], metric: ["metric", false], notes: ["notes", false], run: ["name of the run", false],
};
const CELL_PARTS = { interval: ["interval", true], n: ["n", true], date: ["date", true], bar: ["bar", true] };
const FILTERS = { benchmark: "Benchmark", model: "Model", status: "Status", flag: "Flag" };

const shownByDefault = (choices) => Object.keys(choices).filter((name) => choices[name][1]);

class HomeState {
  constructor(parameters) {
    const many = (name) => parameters.getAll(name);
    const one = (name, allowed) => (allowed.includes(parameters.get(name)) ? parameters.get(name) : allowed[0]);
    this.view = one("view", VIEWS);
    this.text = parameters.get("text") ?? "";
    this.sort = parameters.get("sort") ?? "";
    this.group = one("group", Object.keys(GROUPS));
    this.suite = parameters.get("suite") ?? "";
    this.filters = Object.fromEntries(Object.keys(FILTERS).map((name) => [name, many(name)]));
    this.alike = many("alike").filter((code) => code in known.settings);
    this.chosen = Object.fromEntries(many("setting").map((pair) => { const cut = pair.lastIndexOf("~"); return [pair.slice(0, cut), pair.slice(cut + 1)]; }));
    this.columns = this.choice(parameters.get("columns"), LIST_COLUMNS);
    this.parts = this.choice(parameters.get("cell"), CELL_PARTS);
  }

  choice(text, choices) {
    return text === null ? shownByDefault(choices) : text.split(",").filter((name) => name in choices);
  }

  get parameters() {
    const parameters = new URLSearchParams();
    const put = (name, value, usual = "") => { if (value !== usual) parameters.set(name, value); };
    put("view", this.view, VIEWS[0]);
    put("text", this.text);
    put("sort", this.sort);
    put("group", this.group);
    put("suite", this.suite);
    for (const name in this.filters) this.filters[name].forEach((value) => parameters.append(name, value));
    this.alike.forEach((code) => parameters.append("alike", code));
    for (const id in this.chosen) parameters.append("setting", `${id}~${this.chosen[id]}`);
    put("columns", this.columns.join(), shownByDefault(LIST_COLUMNS).join());
    put("cell", this.parts.join(), shownByDefault(CELL_PARTS).join());
    return parameters;
  }

  get address() {
    const text = this.parameters.toString();
    return text ? `#/?${text}` : "#/";
  }

  get isFiltered() { return this.text !== "" || Object.values(this.filters).some((values) => values.length > 0); }

  /** The same view with other values. */
  with(changes) {
    const other = new HomeState(this.parameters);
    Object.assign(other, changes);
    return other;
  }

  /** The direction of a sort: name and whether it falls. */
  get order() { return this.sort.startsWith("-") ? { name: this.sort.slice(1), falls: true } : { name: this.sort, falls: false }; }
}

/** Which value of a filter a run has; a flag filter looks at all its flags. */
const FILTER_VALUES = {
  benchmark: (run) => [run.column],
  model: (run) => [run.model],
  status: (run) => [run.status],
  flag: (run) => (run.flags.length ? run.flags.map(([code]) => code) : ["none"]),
};

/** Tests of runs for each part of a state: the words of the search, all of which must occur, and the
    filters. */
const stateTests = (state) => {
  const needles = state.text.toLowerCase().split(/\s+/).filter(Boolean);
  const tests = Object.keys(FILTERS).filter((name) => state.filters[name].length).map((name) => {
    const wanted = new Set(state.filters[name]);
    return [name, (run) => FILTER_VALUES[name](run).some((value) => wanted.has(value))];
  });
  if (needles.length) tests.push(["text", (run) => { const text = searchedText(run); return needles.every((needle) => text.includes(needle)); }]);
  return tests;
};

/** The runs that fit the search and the filters. */
const filteredRuns = (runs, state) => {
  const tests = stateTests(state).map(([, test]) => test);
  return tests.length ? runs.filter((run) => tests.every((test) => test(run))) : runs;
};

/** How many runs there would be for each value of a filter, were it chosen instead of what is. */
const filterCounts = (runs, state, name) => {
  const tests = stateTests(state).filter(([each]) => each !== name).map(([, test]) => test);
  const counts = new Map();
  for (const run of runs) {
    if (tests.every((test) => test(run))) FILTER_VALUES[name](run).forEach((value) => counts.set(value, (counts.get(value) ?? 0) + 1));
  }
  return counts;
};

/** The group of a run, for readers. */
const groupOf = (run, group, suites) => {
  if (group === "month") return run.created.slice(0, 7) || "no date";
  if (group === "day") return run.created.slice(0, 10) || "no date";
  if (group === "suite") return suites.find((suite) => suite.members.some((member) => countsFor(run, member)))?.title ?? "in no suite";
  return run[group] || `no ${GROUPS[group]}`;
};

/** Which benchmark of a member of a suite a run counts for; undefined if for none. */
const countsFor = (run, member) => member.benchmarks.find(([name, parameters]) => {
  if (run.benchmark !== name || run.source) return false;
  const options = ["options", "prompt", "rule", "circular"].flatMap((code) => run.setting?.facts.get(code)?.split(", ") ?? []);
  return parameters.every((parameter) => options.includes(parameter));
});
