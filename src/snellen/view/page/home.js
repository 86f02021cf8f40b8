/* The first page: all runs as a matrix, a list or a board. */

const TYPING_PAUSE = 900;
const LIVE_POLL = 3000, IDLE_POLL = 10000;

class HomePage {
  constructor(parameters) {
    Object.assign(this, { catalog, suites: [], picked: new Set(), folded: new Set(), stopped: false, state: new HomeState(parameters), lastTyped: -Infinity });
    this.element = make("div", { class: "page fixed home" });
    this.build();
    this.drawState();
  }

  build() {
    this.eyebrow = make("p", { class: "eyebrow" });
    this.tabs = make("nav", { class: "leaves", "aria-label": "Views of the runs" });
    this.views = new SavedViews(this);
    this.search = make("input", { type: "search", "aria-label": "Search in models, benchmarks, flags, folders, labels and notes", placeholder: "Search", value: this.state.text });
    this.search.addEventListener("input", () => this.typed());
    this.menus = make("div", { class: "menus" });
    this.found = make("p", { class: "found", role: "status" });
    this.compareButton = make("button", { type: "button", class: "compare", disabled: "" }, "Compare");
    this.compareButton.addEventListener("click", () => this.compare());
    this.clear = make("button", { type: "button", class: "clear" }, "Clear filters");
    this.clear.addEventListener("click", () => this.clearFilters());
    this.trouble = make("div", { class: "trouble" });
    this.box = make("div", { class: "home-box" });
    this.element.append(
      make("header", { class: "run-head" }, make("div", { class: "names" }, this.eyebrow, make("h1", {}, "Runs")), this.tabs),
      make("div", { class: "toolbar", role: "search" }, this.search, this.menus),
      make("div", { class: "below" }, this.found, this.clear, make("span", { class: "space" }), this.legend(), this.compareButton), this.trouble, this.box);
  }

  async start() {
    title("");
    this.views.load();
    if (this.catalog.revision) this.draw();
    while (!this.stopped) {
      const changed = document.hidden && this.catalog.revision ? false : await this.catalog.pull();
      if (this.stopped) return;
      if (changed || !this.drawn) this.draw();
      if (!store.grows) return;
      if (this.catalog.more) continue;
      await new Promise((resolve) => setTimeout(resolve, this.catalog.runs.some((run) => run.status === "running") ? LIVE_POLL : IDLE_POLL));
    }
  }

  /** The address changed: a link, or back and forward. */
  readAddress(parameters) {
    this.state = new HomeState(parameters);
    if (this.search.value !== this.state.text) this.search.value = this.state.text;
    this.drawState();
    this.draw();
  }

  /** Take on other values. `replace`: without a new entry in the history. */
  change(changes, replace = false) {
    this.state = this.state.with(changes);
    const address = this.state.address;
    if (location.hash !== address) history[replace ? "replaceState" : "pushState"](null, "", address);
    this.drawState();
    this.draw();
  }

  /** A pause in typing makes a new entry of the history, so that back leads to the earlier search. */
  typed() {
    const now = performance.now(), replace = now - this.lastTyped < TYPING_PAUSE;
    this.lastTyped = now;
    this.change({ text: this.search.value }, replace);
  }

  clearFilters() {
    this.search.value = "";
    this.change({ text: "", filters: Object.fromEntries(Object.keys(FILTERS).map((name) => [name, []])) });
  }

  fold(group) {
    if (!this.folded.delete(group)) this.folded.add(group);
    this.draw();
  }

  /** What depends on the address alone: tabs and the order of menus. */
  drawState() {
    this.tabs.replaceChildren(...VIEWS.map((view) => make("a", { href: this.state.with({ view, sort: "" }).address, "aria-current": view === this.state.view ? "page" : null }, view[0].toUpperCase() + view.slice(1))), this.views.element);
    this.views.draw();
    if (this.view?.name !== this.state.view) {
      this.view?.table.stop();
      this.view = new { matrix: MatrixView, list: ListView, board: BoardView }[this.state.view](this);
      this.view.name = this.state.view;
      this.box.replaceChildren(this.view.element);
    }
  }

  /** The suites, when they are needed for the first time. */
  needSuites() {
    if (this.state.view !== "board" && this.state.group !== "suite") return;
    this.asked ||= store.suites().then((suites) => {
      this.suites = suites;
      if (!this.stopped) this.draw();
    }).catch(complain);
  }

  draw() {
    const { runs } = this.catalog, { state } = this;
    this.needSuites();
    this.drawn = true;
    const found = filteredRuns(runs, state);
    const columns = benchmarkColumns(found, state);
    this.drawMenus(columns);
    const models = new Set(runs.map((run) => run.model)).size, benchmarks = new Set(runs.map((run) => run.column)).size;
    this.eyebrow.textContent = this.catalog.more ? `reading ${numberText(runs.length)} of ${numberText(this.catalog.total)} runs …`
      : `${counted(runs.length, "run")}, ${counted(models, "model")}, ${counted(benchmarks, "benchmark")}`;
    this.drawTrouble(runs, found);
    this.view.element.hidden = !found.length;
    this.view.show({ found, state, columns });
    const parts = [state.isFiltered ? `${numberText(found.length)} of ${counted(runs.length, "run")}` : counted(runs.length, "run"), found.length ? this.view.summary() : ""].filter(Boolean);
    this.tell(parts.join("; "));
    this.clear.hidden = !state.isFiltered;
    this.drawPicked();
  }

  /** How much was found; said once a reader stops typing. */
  tell(text) {
    clearTimeout(this.telling);
    if (!this.found.textContent) this.found.textContent = text;
    this.telling = setTimeout(() => { if (this.found.textContent !== text) this.found.textContent = text; }, 250);
  }

  drawTrouble(runs, found) {
    const damaged = runs.filter((run) => run.status === "damaged").length;
    const items = [];
    if (!runs.length && !this.catalog.more) {
      items.push(make("div", { class: "nothing" }, make("p", {}, "There are no runs yet. Runs appear on this page as soon as they start:"), make("pre", { class: "command" }, "snellen run -m random -b eyechart --limit 100")));
    } else if (!found.length && !this.catalog.more) items.push(make("p", { class: "nothing" }, "No run fits the search and the filters."));
    if (damaged && this.state.view !== "list") {
      const filters = { ...this.state.filters, status: ["damaged"] };
      items.push(make("ul", { class: "notices" }, make("li", {}, make("a", { href: this.state.with({ view: "list", text: "", filters }).address }, `${counted(damaged, "folder")} cannot be read`))));
    }
    this.trouble.replaceChildren(...items);
  }

  drawMenus(columns) {
    /* an open menu stays as it is while the reader uses it */
    const open = this.menus.querySelector("details[open]");
    if (open && open.contains(document.activeElement)) return;
    const { state } = this;
    const text = { benchmark: (value) => value, model: (value) => value, status: (value) => value, flag: (value) => (value === "none" ? "without any flag" : known.settings[value] ?? value) };
    const filters = Object.entries(FILTERS).map(([name, label]) => {
      const chosen = state.filters[name];
      const choices = () => {
        const counts = filterCounts(this.catalog.runs, this.state, name);
        const values = [...new Set([...counts.keys(), ...chosen])].sort((one, other) => byText(text[name](one), text[name](other)));
        return values.map((value) => [value, text[name](value), counts.get(value) ?? 0]);
      };
      const what = chosen.length === 1 ? text[name](chosen[0]) : chosen.length ? `${chosen.length} chosen` : "any";
      return menu([`${label} `, make("b", {}, what)], `${label}: ${what}`, () => checkList(label, choices(), chosen,
        (now) => this.change({ filters: { ...this.state.filters, [name]: now } })), { class: chosen.length ? "menu on" : "menu" });
    });
    const select = (label, choices, value, change) => {
      const element = make("select", { "aria-label": label }, choices.map(([name, shown]) => { const option = make("option", {}, shown); option.value = name; return option; }));
      element.value = value;
      element.className = element.selectedIndex > 0 ? "on" : "";
      element.addEventListener("change", () => change(element.value));
      return make("label", {}, make("span", { class: "unseen" }, label), element);
    };
    const groups = select("Group by", Object.entries(GROUPS).map(([name, text_]) => [name, name ? `Group by ${text_}` : "No groups"]), state.group, (group) => this.change({ group }));
    const suites = state.view === "board" ? select("Suite", [["", "Every benchmark"], ...this.suites.map(({ name, title: text_ }) => [name, text_])], state.suite, (suite) => this.change({ suite, sort: "" })) : null;
    const sorts = state.view === "matrix" ? select("Sort models by", [["", "Newest first"], ["model", "By name"], ["-cells", "Most benchmarks first"]], ["", "model", "-cells"].includes(state.sort) ? state.sort : "", (sort) => this.change({ sort })) : null;
    const shown = state.view === "list"
      ? menu("Columns", "Columns of the list", () => checkList("Columns", Object.entries(LIST_COLUMNS).map(([name, [label]]) => [name, label]), state.columns, (now) => this.change({ columns: Object.keys(LIST_COLUMNS).filter((name) => now.includes(name)) })))
      : state.view === "matrix" ? menu("Cells", "What cells show", () => checkList("Cells show", Object.entries(CELL_PARTS).map(([name, [label]]) => [name, label]), state.parts, (now) => this.change({ parts: Object.keys(CELL_PARTS).filter((name) => now.includes(name)) }))) : null;
    const codes = new Set([...columns.values()].flatMap(({ settings }) => settings.flatMap(({ facts }) => [...facts.keys()])));
    const differing = [...new Set([...codes, ...state.alike])].filter((code) => code !== "metric");
    const alike = state.view === "list" ? null : menu(["Comparable ", make("b", {}, state.alike.length ? `despite ${state.alike.length}` : "if equal")], "What may differ between comparable cells",
      () => checkList("Cells count as comparable although they differ in", differing.map((code) => [code, known.settings[code] ?? code]), state.alike, (now) => this.change({ alike: now })), { class: state.alike.length ? "menu on" : "menu" });
    this.menus.replaceChildren(...[...filters, groups, suites, sorts, alike, shown].filter(Boolean));
  }

  legend() {
    return menu("Legend", "Legend", () => make("div", { class: "legend" }, make("dl", { class: "facts" },
      ...[
        ["77.5", "The score of the newest complete run of the model with the setting of the column. Click: the run."],
        ["(77.5) ≠ limit 100", "The run is not comparable with the column: it differs in what follows ≠."],
        ["1 of 3", "There are three runs of this model and benchmark. Click: all of them."],
        ["12 of 900", "The run is in progress, was interrupted or was killed: finished samples of all."],
        ["n 900", "Samples that have a score."],
        ["baseline", "The score of guessing on the questions of the column, which is not a model."],
      ].flatMap(([sign, meaning]) => [make("dt", {}, sign), make("dd", {}, meaning)]),
      ...Object.entries(known.meanings).flatMap(([code, meaning]) => [make("dt", {}, flagChip([code, known.settings[code], meaning])), make("dd", {}, meaning)]))));
  }

  /** A heading that sorts. `options`: `falls`, whether the first click sorts downwards, and attributes;
      what follows stands under it. */
  sortHead(name, text, classes, options = {}, ...below) {
    const { falls = false, ...attributes } = options;
    const { order } = this.state, usual = !this.state.sort && this.state.view === "list" && name === "date";
    const here = order.name === name || usual, down = usual || order.falls;
    const button = make("button", { type: "button", class: "sort" }, make("span", {}, text), make("span", { class: "arrow", "aria-hidden": "true" }, here ? (down ? "↓" : "↑") : ""));
    button.addEventListener("click", () => this.change({ sort: `${(here ? !down : falls) ? "-" : ""}${name}` }));
    return make("th", { scope: "col", class: classes.trim(), "aria-sort": here ? (down ? "descending" : "ascending") : null, ...attributes }, button, ...below);
  }

  pick(key, on) {
    if (on) this.picked.add(key); else this.picked.delete(key);
    this.drawPicked();
  }

  drawPicked() {
    for (const key of this.picked) if (!this.catalog.byKey.has(key)) this.picked.delete(key);
    const runs = [...this.picked].map((key) => this.catalog.byKey.get(key));
    const columns = new Set(runs.map((run) => run.benchmark)).size;
    const ready = runs.length >= 2 && runs.length <= MOST_RUNS && columns === 1;
    this.compareButton.hidden = this.state.view !== "list";
    this.compareButton.disabled = !ready;
    this.compareButton.textContent = runs.length < 2 ? "Compare runs" : columns > 1 ? "Choose runs of one benchmark" : runs.length > MOST_RUNS ? `Compare at most ${MOST_RUNS} runs` : `Compare ${runs.length} runs`;
  }

  compare() { location.hash = `#/compare/${[...this.picked].map(encodeURIComponent).join("/")}`; }

  /** All runs of a cell, in a dialog. */
  showCell(row, column, runs) {
    const table = make("table", { class: "cell-runs" }, make("thead", {}, make("tr", {}, ["score", "interval", "n", "started", "differs from the column in", "flags"].map((text, at) => make("th", { scope: "col", class: at < 3 ? "n" : null }, text)))),
      make("tbody", {}, runs.slice(0, 200).map((run) => make("tr", {},
        make("th", { scope: "row", class: "n" }, runLink(run, run.score)), make("td", { class: "n soft" }, run.interval || "–"), make("td", { class: "n soft" }, numberText(run.n)), make("td", { class: "soft" }, dateCell(run)),
        make("td", {}, make("span", { class: "flags" }, differencesFrom(run, column, this.state.alike).map((flag) => flagChip(flag, true)))),
        make("td", {}, make("span", { class: "flags" }, UNFINISHED.has(run.status) ? progressText(run) : null, run.flags.map((flag) => flagChip(flag))))))));
    const filters = { benchmark: [column.id], model: [row.model], status: [], flag: [] };
    this.dialog(`${row.model} on ${column.label}`, make("p", { class: "soft" }, `${counted(runs.length, "run")}. The first is in the cell: the newest complete one with the setting of the column. `, make("a", { href: this.state.with({ view: "list", text: "", filters }).address }, "As a list")), make("div", { class: "scroll" }, table));
  }

  /** The settings of a benchmark, in a dialog: one is chosen for the column. */
  showSettings(column) {
    const first = column.settings[0].facts;
    const items = column.settings.map((setting) => {
      const facts = [...setting.facts].filter(([code, text]) => setting === column.settings[0] ? code !== "metric" : first.get(code) !== text).map(([, text]) => text);
      const gone = [...first.keys()].filter((code) => !setting.facts.has(code)).map((code) => `no ${known.settings[code]}`);
      const radio = make("input", { type: "radio", name: "setting" });
      radio.checked = setting === column.setting;
      radio.addEventListener("change", () => {
        const chosen = { ...this.state.chosen, [column.id]: setting.id };
        if (setting === column.settings[0]) delete chosen[column.id];
        this.change({ chosen });
      });
      return make("li", {}, make("label", {}, radio, make("span", {}, [...facts, ...gone].join(", ") || "as above", make("span", { class: "soft" }, ` – ${counted(setting.count, "run")}, ${counted(setting.models.size, "model")}`))));
    });
    this.dialog(`Settings of ${column.label}`, make("p", { class: "soft" }, "Numbers are comparable where all of these are equal. The cells of the column are compared with one of them; the first is that of most models, and of the others only what differs from it is named."), make("ul", { class: "settings-list" }, items));
  }

  dialog(heading, ...content) {
    const close = make("form", { method: "dialog" }, make("button", {}, "Close"));
    const element = make("dialog", { class: "wide", "aria-labelledby": "dialog-title" }, make("h2", { id: "dialog-title" }, heading), ...content, close);
    element.addEventListener("close", () => element.remove());
    element.addEventListener("click", (event) => { if (event.target === element || event.target.closest("a")) element.close(); });
    document.body.append(element);
    element.showModal();
  }

  press(event) {
    if (document.querySelector("dialog[open]")) return false;
    if (event.key === "/") { this.search.focus(); this.search.select(); return true; }
    if (event.key === "x") { this.clearFilters(); return true; }
    const view = { m: "matrix", l: "list", b: "board" }[event.key];
    if (view) { this.change({ view, sort: "" }); return true; }
    return this.view.table.key(event);
  }

  stop() {
    this.stopped = true;
    clearTimeout(this.telling);
    this.view.table.stop();
  }
}

const counted = (number, one) => `${numberText(number)} ${one}${number === 1 ? "" : "s"}`;
