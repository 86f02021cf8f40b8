/* Two to six runs of the same samples: a list with the result of each, counts by pattern, and the
   replies side by side. */

/** p-values adjusted by Holm over those that are not null. */
const holm = (values) => {
  const order = values.map((p, at) => at).filter((at) => values[at] !== null).sort((a, b) => values[a] - values[b]);
  const adjusted = values.map(() => null);
  let most = 0;
  order.forEach((at, rank) => { most = Math.max(most, Math.min(1, (order.length - rank) * values[at])); adjusted[at] = most; });
  return adjusted;
};

/** A p-value as the command line prints it. */
const pText = (p) => (p == null ? null : p < 0.0001 ? "<0.0001" : p >= 0.1 ? p.toFixed(2) : String(Number(p.toPrecision(2))));

class ComparePage {
  constructor(keys, parameters) {
    this.keys = keys;
    this.names = keys;
    this.sides = keys.map((key) => new RunData(key));
    this.stopped = false;
    this.differences = [];
    this.align();
    this.head = make("header", { class: "run-head" });
    this.explorer = new Explorer(this.source(), parameters, (now) => address(this.path(keys), now));
    this.element = make("div", { class: `page fixed comparing of-${keys.length}` }, this.head, this.explorer.element);
  }

  path(keys) { return `#/compare/${keys.map(encodeURIComponent).join("/")}`; }

  source() {
    return {
      label: "Agreement",
      facets: () => this.agreement.facets(this.names),
      orders: AGREEMENT_ORDERS,
      order: (name) => this.agreement.order(name),
      search: (text) => this.search(text),
      id: (at) => this.agreement.ids[at],
      find: (id) => this.agreement.find(id),
      fill: (at, element) => this.fill(at, element),
      say: (at) => `Sample ${this.agreement.ids[at]}, ${this.names.map((name, side) => `${name} ${SIGN_WORDS[signOf(this.agreement.scores[side][at])]}`).join(", ")}`,
      noted: () => this.notedSamples(),
      overview: () => this.overview(),
      listHead: () => make("div", { class: "marks-head", "aria-hidden": "true" }, make("span", {}), make("span", {}, "sample"), make("span", { class: "two" }, this.keys.map((_, side) => make("span", { class: "number" }, String(side + 1))))),
      download: (form) => saveText(`annotations.${form}`, annotationText(this.sides.map((side) => side.annotations), this.names, form)),
      detail: (at) => this.detail(at),
      key: (event, explorer) => this.key(event, explorer) || answerKey(event, explorer.detail),
    };
  }

  key(event, explorer) {
    if (event.key === "d") {
      explorer.choose("scores", explorer.chosen.scores === "other score" ? "" : "other score");
      return true;
    }
    const side = Number(event.key);
    if (side >= 1 && side <= this.keys.length && explorer.opened !== null) {
      const reply = explorer.detail.querySelector(`[data-side="${side}"]`);
      reply?.focus({ preventScroll: true });
      reply?.scrollIntoView({ block: "nearest" });
      return true;
    }
    if (!["f", "n", "l"].includes(event.key) || explorer.opened === null || !store.writes) return false;
    /* Of the reply that has the focus, else of the question. */
    const held = Number(document.activeElement?.closest?.("[data-side]")?.dataset.side);
    const box = held ? this.boxes[held] : this.boxes[0];
    ({ f: () => box?.flag.click(), n: () => box?.note.focus(), l: () => box?.label.focus() })[event.key]();
    return true;
  }

  align() { this.agreement = new Agreement(this.sides.map((side) => side.columns)); }

  notedSamples() {
    const ids = new Set(this.sides.flatMap((side) => side.annotations.ids()));
    return [...ids].map((id) => ({ row: this.agreement.find(id), annotations: this.annotationsOf(id) })).filter(({ row }) => row >= 0);
  }

  annotationsOf(id) {
    const of = this.sides.map((side) => side.annotations.state);
    return [...of.map(({ reply }) => reply[id]), of.map(({ sample }) => sample[id]).find(Boolean)].filter(Boolean);
  }

  /** A sample matches if its text in any run does. */
  async search(text) {
    const { rows, ids } = this.agreement;
    const masks = await Promise.all(this.sides.map((side) => side.search(text)));
    const bits = new Uint8Array((ids.length + 7) >> 3);
    ids.forEach((_, at) => {
      if (masks.some((mask, side) => { const row = rows[side][at]; return row >= 0 && mask[row >> 3] & (1 << (row & 7)); })) bits[at >> 3] |= 1 << (at & 7);
    });
    return bits;
  }

  /** The signs of all runs for one sample. */
  signs(at) {
    const marks = this.sides.map((data, side) => {
      const row = this.agreement.rows[side][at];
      const [kind, text] = row < 0 ? ["unscored", "not in this run"] : BLANK_VIEW.verdictOf(data.verdictAt(row));
      return make("span", { class: "verdict " + kind, title: `${this.names[side]}: ${text}` }, make("span", { class: "unseen" }, `${side + 1} ${text} `));
    });
    return make("span", { class: "two" }, marks);
  }

  fill(at, element) {
    const side = this.agreement.sideOf(at), data = this.sides[side], id = this.agreement.ids[at];
    const sample = data.samples.have(this.agreement.rows[side][at]);
    const marks = annotationMarks(this.annotationsOf(id));
    if (!sample) {
      listRow(element, null, "", id, this.signs(at), marks);
      this.want();
      return;
    }
    const groups = data.columns.groupings().map(([name]) => sample.groups[name]).filter(Boolean).map(words);
    listRow(element, thumbOf(data.key, sample), sample.question || sample.id, [sample.id, ...groups].join(" · "), this.signs(at), marks);
  }

  /** Fetch what is visible, once for all rows that ask in this moment. */
  want() {
    if (this.wanting) return;
    this.wanting = setTimeout(async () => {
      this.wanting = null;
      const visible = this.explorer.list.visible(), { agreement } = this;
      try {
        await Promise.all(this.sides.map((side, nth) => side.samples.get(visible.filter((at) => agreement.sideOf(at) === nth).map((at) => agreement.rows[nth][at]))));
        this.explorer.list.shown.forEach(({ row, element }) => {
          const side = this.agreement.sideOf(row);
          if (this.sides[side].samples.have(this.agreement.rows[side][row]) && !element.querySelector(".ask")?.textContent) this.fill(row, element);
        });
      } catch (error) { complain(error); }
    }, 30);
  }

  async detail(at) {
    const samples = await Promise.all(this.sides.map(async (side, nth) => {
      const row = this.agreement.rows[nth][at];
      return row < 0 ? null : (await side.samples.get([row]))[0];
    }));
    const table = new ReplyTable(samples, this.sides, this.names);
    const box = (side, about, title) => new AnnotationBox({ annotations: this.sides[side].annotations, id: this.agreement.ids[at], about, title, changed: () => this.noted() });
    /* The question's box first, then that of each run. */
    const replies = samples.map((sample, side) => (sample ? box(side, "reply", `Reply of ${this.names[side]}`) : null));
    this.boxes = [box(table.first, "sample", "This question, in all runs"), ...replies];
    const body = table.body(replies);
    addSource(body, this.sides[table.first].key, table.sample);
    return make("div", { class: "sample-page" }, make("div", { class: "note-boxes" }, this.boxes[0].element), body);
  }

  /** Annotations changed: show them in the list, in the filters and in the open sample. */
  noted() {
    this.explorer.list.redraw();
    this.explorer.update();
    this.boxes?.forEach((box) => box?.refresh());
  }

  /** In place of an open sample: the runs, and how often each pattern of results occurs. */
  overview() {
    const { agreement } = this, count = agreement.ids.length;
    if (!count) return make("p", { class: "nothing" }, "Choose a sample: click, or press j.");
    return make("div", { class: "overview" }, this.explorer.backButton(), make("h2", {}, "Runs"), this.runTable(), make("h2", {}, "Patterns"),
      make("p", { class: "lead" }, `How often each pattern of results occurs among ${count.toLocaleString("en")} samples; choose one to see its samples.`), this.patternTable(count));
  }

  runTable() {
    const head = ["run", "score", "right", "partly", "wrong", "not scored", "minus 1", "interval", this.names.length > 2 ? "p (Holm)" : "p"];
    const rows = this.names.map((name, side) => {
      const counts = this.agreement.tally(side), pair = this.differences[side];
      const cells = [this.heads?.[side].value ?? "–", counts.r, counts.p, counts.w, counts.u + counts.o].map((each) => make("td", { class: "n" }, each.toLocaleString("en")));
      const compared = pair?.why_not ? [make("td", { colspan: "3", class: "soft" }, pair.why_not)]
        : [pair?.difference, pair?.interval, (pair && pText(pair.p)) ?? pair?.reason].map((each) => make("td", { class: "n" }, side ? each ?? "…" : "–"));
      return make("tr", {}, make("th", { scope: "row" }, make("span", { class: "number" }, String(side + 1)), make("a", { href: `#/run/${encodeURIComponent(this.keys[side])}` }, name)), ...cells, ...compared);
    });
    return make("div", { class: "scroll" }, make("table", { class: "runs-compared" },
      make("thead", {}, make("tr", {}, head.map((text, at) => make("th", { scope: "col", class: at ? "n" : "" }, text)))), make("tbody", {}, rows)));
  }

  patternTable(count) {
    const most = this.agreement.patterns[0]?.[1] ?? 1;
    const rows = this.agreement.patterns.slice(0, 40).map(([pattern, samples]) => {
      const said = [...pattern].map((sign, side) => `${this.names[side]} ${SIGN_WORDS[sign]}`).join(", ");
      const button = make("button", { type: "button", class: "pattern", "aria-label": `${samples} samples: ${said}` }, samples.toLocaleString("en"));
      button.addEventListener("click", () => this.explorer.choose("pattern", pattern));
      const bar = make("span", { class: "amount" });
      bar.style.width = `${(100 * samples) / most}%`;
      return make("tr", {}, ...[...pattern].map((sign, side) => make("td", { class: "sign" }, make("span", { class: "verdict " + SIGN_VERDICTS[sign], title: `${this.names[side]}: ${SIGN_WORDS[sign]}` }, make("span", { class: "unseen" }, SIGN_WORDS[sign])))),
        make("td", { class: "n" }, button), make("td", { class: "n soft" }, `${((100 * samples) / count).toFixed(1)} %`), make("td", { class: "amounts" }, bar));
    });
    const head = make("tr", {}, ...this.names.map((name, side) => make("th", { scope: "col", class: "sign", title: name }, String(side + 1), make("span", { class: "unseen" }, ` ${name}`))),
      make("th", { scope: "col", class: "n" }, "samples"), make("th", { scope: "col", class: "n" }, "share"), make("th", { scope: "col" }, make("span", { class: "unseen" }, "share as a bar")));
    return make("div", { class: "scroll" }, make("table", { class: "patterns" }, make("thead", {}, head), make("tbody", {}, rows)));
  }

  async start() {
    await this.drawHead();
    await Promise.all([this.pullAll(), ...this.sides.map((side) => side.annotations.pull())]);
    if (this.stopped) return;
    this.noted();
    this.watchNotes();
    /* last, since it takes the server longest */
    this.pulled = true;
    this.drawDifferences();
    while (store.grows && this.sides.some((side) => side.live) && !this.stopped) {
      await new Promise((resolve) => setTimeout(resolve, POLL));
      if (this.stopped) return;
      if (await this.pullAll()) await this.drawHead();
    }
  }

  /** Look for annotations that were made elsewhere, while the page is visible. */
  async watchNotes() {
    while (store.grows && !this.stopped) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN));
      if (this.stopped || document.hidden) continue;
      const changed = await Promise.all(this.sides.map((side) => side.annotations.pull().catch(() => false)));
      if (changed.some(Boolean)) this.noted();
    }
  }

  async pullAll() {
    let any = false, owed = false, shown = -Infinity;
    for (;;) {
      const parts = await Promise.all(this.sides.map((side) => side.pull()));
      if (this.stopped) return any;
      const changed = parts.some((part) => part.changed), more = parts.some((part) => part.more);
      any ||= changed;
      owed ||= changed || !this.begun;
      if (owed && (!more || performance.now() > shown + PAUSE)) {
        this.begun = true;
        this.align();
        await this.explorer.grown();
        this.explorer.drawOverview();
        owed = false;
        shown = performance.now();
      }
      if (!more) return any;
    }
  }

  async drawHead() {
    const heads = await Promise.all(this.keys.map((key) => store.head(key)));
    const all = await runs();
    if (this.stopped) return;
    this.heads = heads;
    this.names = this.keys.map((key, side) => nameOf(all, key, heads[side]));
    title(`${this.names.join(" and ")} on ${heads[0].benchmark}`);
    const { benchmark } = heads[0];
    const others = all.filter((each) => each.benchmark === benchmark && !this.keys.includes(each.key));
    const contenders = this.keys.flatMap((_, side) => [side === 1 && this.keys.length === 2 ? this.swap() : null, this.contender(side, others)]);
    this.difference ||= make("p", { class: "quote difference", role: "status" });
    this.remarks ||= make("div", { class: "remarks" });
    this.head.replaceChildren(
      make("div", { class: "names" }, make("p", { class: "eyebrow" }, benchmark), make("h1", { class: "unseen" }, this.names.join(" and ")),
        make("div", { class: "contest" }, ...contenders.filter(Boolean), this.adder(others) ?? "")), this.difference, this.remarks);
    if (this.pulled) this.drawDifferences();
  }

  swap() { return make("a", { class: "swap", href: this.path([...this.keys].reverse()), title: "Swap the two" }, "⇄"); }

  /** One run in the head: its number, a choice of another in its place, its score. */
  contender(side, others) {
    const key = this.keys[side], head = this.heads[side];
    const go = (keys) => { location.hash = this.path(keys); };
    const select = make("select", { "aria-label": `Run ${side + 1}` }, make("option", { value: key }, this.names[side]), others.map((each) => make("option", { value: each.key }, each.name)));
    select.value = key;
    select.addEventListener("change", () => go(this.keys.map((each, at) => (at === side ? select.value : each))));
    const remove = make("button", { type: "button", class: "remove", title: `Without ${this.names[side]}`, "aria-label": `Without ${this.names[side]}` }, "×");
    remove.addEventListener("click", () => go(this.keys.filter((_, at) => at !== side)));
    return make("div", { class: "contender" }, make("span", { class: "number" }, String(side + 1)), select,
      make("a", { href: `#/run/${encodeURIComponent(key)}`, class: "value", title: "this run alone" }, head.value ?? "–"),
      head.live ? progress(head) : null, this.keys.length > 2 ? remove : null);
  }

  adder(others) {
    if (!others.length || this.keys.length >= MOST_RUNS) return null;
    const none = make("option", {}, "+ run");
    none.value = "";
    const select = make("select", { class: "add-run", "aria-label": "Add a run" }, none, others.map((each) => make("option", { value: each.key }, each.name)));
    select.addEventListener("change", () => { if (select.value) location.hash = this.path([...this.keys, select.value]); });
    return select;
  }

  /** The differences of all runs from the first: of two in the head, of more in the overview. p-values are adjusted
   *  over all pairs of the runs shown, as `snellen compare` adjusts them. */
  async drawDifferences() {
    try {
      const all = await Promise.all(this.keys.flatMap((first, at) => this.keys.slice(at + 1).map((second) => store.compare(first, second))));
      if (this.stopped) return;
      const adjusted = holm(all.map((pair) => (pair.why_not ? 0 : pair.p)));
      const pairs = all.slice(0, this.keys.length - 1).map((pair, at) => ({ ...pair, p: adjusted[at] }));
      this.differences = [null, ...pairs];
      this.explorer.drawOverview();
      if (pairs.length === 1) this.drawDifference(pairs[0]);
      this.remarks.replaceChildren(...[notices([...new Set(pairs.flatMap((pair) => pair.notices ?? []))])].filter(Boolean));
    } catch (error) { complain(error); }
  }

  drawDifference(pair) {
    if (pair.why_not) { this.difference.replaceChildren(make("span", { class: "soft" }, pair.why_not)); return; }
    const number = (text) => [", ", make("span", { class: "num" }, text)];
    const details = [
      ...(pair.interval ? number(`${pair.level} interval ${pair.interval}`) : []),
      ...(pair.anytime ? number(`anytime ${pair.anytime}`) : []),
      ...(pair.bounds ? number(`with failures ${pair.bounds}`) : []),
    ];
    const test = `n\u00a0=\u00a0${pair.n.toLocaleString("en")}, ${pair.p == null ? pair.reason : `p ${/^</.test(pText(pair.p)) ? "" : "= "}${pText(pair.p)} (${pair.test})`}`;
    this.difference.replaceChildren(make("b", {}, pair.difference),
      make("span", {}, `points, ${this.names[1]} minus ${this.names[0]}`, make("span", { class: "soft" }, ...details, make("br"), test)));
  }

  press(event) { return this.explorer.key(event); }

  stop() { this.stopped = true; }
}
