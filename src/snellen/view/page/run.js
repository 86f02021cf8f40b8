/* One run: its number, its samples, and on other leaves its groups and its protocol. */

const POLL = 1500;
const PAUSE = 1000;

const bitsOf = (mask, count) => {
  const bits = new Uint8Array((count + 7) >> 3);
  bits.set(mask.subarray(0, bits.length));
  return bits;
};

/** A run whose samples may still grow: columns, samples, searches. */
class RunData {
  constructor(key) {
    Object.assign(this, { key, columns: new Columns(), samples: new Samples(key), annotations: new Annotations(key), searched: null, live: false });
  }

  /** Fetch what is new. Returns whether anything changed, and whether more can be fetched at once. */
  async pull() {
    const part = await store.columns(this.key, this.columns.rows, this.columns.generation);
    const anew = part.generation !== this.columns.generation;
    if (anew) { this.samples.forget(); this.searched = null; }
    const changed = this.columns.add(part);
    this.live = part.live;
    return { changed, more: part.more };
  }

  /** Bits of the samples that contain a text; samples are searched once. */
  async search(text) {
    const old = this.searched?.text === text && this.searched.generation === this.columns.generation ? this.searched : null;
    /* bits begin at a byte */
    const from = old ? old.rows & ~7 : 0;
    const { bits, rows, generation } = await store.search(this.key, text, from);
    const all = joined(old ? old.bits.subarray(0, from >> 3) : new Uint8Array(0), bits, Uint8Array);
    this.searched = { text, bits: all, rows: from + rows, generation };
    return bitsOf(all, this.columns.rows);
  }

  /** What a list says of a sample before it is fetched. */
  verdictAt(row) {
    const score = this.columns.score[row];
    return { score, outcome: known.outcomes[this.columns.outcome[row]], result: known.results[this.columns.result[row]] };
  }

  view(sample) {
    const groupings = this.columns.groupings().map(([name]) => name);
    return samplesView({
      outcomes: known.words,
      columns: () => groupings,
      picture: (digest, attributes) => picture(this.key, digest, sample.id, attributes),
    });
  }
}

/** Verdicts alone: no pictures, no groupings. */
const BLANK_VIEW = samplesView({ outcomes: known.words, columns: () => [], picture: () => null });

class RunPage {
  constructor(key, leaf, parameters) {
    Object.assign(this, { key, leaf, data: new RunData(key), stopped: false });
    this.head = make("header", { class: "run-head" });
    this.element = make("div", { class: leaf === "samples" ? "page fixed" : "page" }, this.head);
    if (leaf === "samples") {
      this.explorer = new Explorer(this.source(), parameters, (now) => address(`#/run/${encodeURIComponent(key)}`, now));
      this.element.append(this.explorer.element);
    }
  }

  source() {
    const { data } = this;
    return {
      label: "Result",
      facets: () => data.columns.facets().map((facet, at) => (at ? facet : { ...facet, kind: (value) => value })),
      orders: ORDERS,
      order: (name) => data.columns.order(name),
      search: (text) => data.search(text),
      id: (row) => data.columns.ids[row],
      find: (id) => data.columns.find(id),
      fill: (row, element) => this.fill(row, element),
      say: (row) => `Sample ${data.columns.ids[row]}, ${BLANK_VIEW.verdictOf(data.verdictAt(row))[1]}`,
      noted: () => data.annotations.ids().map((id) => ({ row: data.columns.find(id), annotations: data.annotations.both(id) })).filter(({ row }) => row >= 0),
      overview: () => make("p", { class: "nothing" }, "Choose a sample: click, or press j."),
      download: (form) => saveText(`${this.key}-annotations.${form}`, annotationText([data.annotations], [this.model], form)),
      detail: (row) => this.detail(row),
      key: (event) => this.noteKey(event) || answerKey(event, this.explorer.detail),
    };
  }

  async detail(row) {
    const { data } = this;
    const [sample] = await data.samples.get([row]);
    const boxes = [["reply", "This reply"], ["sample", "This question, in all runs"]].map(([about, title]) =>
      new AnnotationBox({ annotations: data.annotations, id: sample.id, about, title, changed: () => this.noted() }));
    this.boxes = boxes;
    const body = data.view(sample).body(sample);
    addSource(body, this.key, sample);
    return make("div", { class: "sample-page" }, make("div", { class: "note-boxes" }, boxes.map((box) => box.element)), make("h2", { class: "question" }, sample.question), body);
  }

  /** Annotations changed: show them in the list, in the filters and in the open sample. */
  noted() {
    this.explorer.list.redraw();
    this.explorer.update();
    this.boxes?.forEach((box) => box.refresh());
  }

  /** Keys that write annotations of the open sample. */
  noteKey(event) {
    const [box] = this.explorer.opened === null || !store.writes ? [] : this.boxes ?? [];
    if (!box || !["f", "n", "l"].includes(event.key)) return false;
    ({ f: () => box.flag.click(), n: () => box.note.focus(), l: () => box.label.focus() })[event.key]();
    return true;
  }

  fill(row, element) {
    const { data } = this;
    const sample = data.samples.have(row);
    const mark = BLANK_VIEW.verdict(BLANK_VIEW.verdictOf(sample ?? data.verdictAt(row)));
    const marks = annotationMarks(data.annotations.both(data.columns.ids[row]));
    if (!sample) {
      listRow(element, null, "", data.columns.ids[row], mark, marks);
      this.want();
      return;
    }
    const view = data.view(sample);
    const at = view.deciding(sample);
    const turn = at === null ? null : sample.passes[at];
    const options = turn ? turn.options : sample.options;
    const answer = turn ? view.reading(turn) || "–" : sample.answer === null ? "–" : view.valueText(sample.answer, options);
    const gold = view.goldText(turn ? turn.gold : sample.gold, options);
    const said = sample.result === "right" || !gold ? answer : `${answer}, not ${gold}`;
    listRow(element, thumbOf(this.key, sample), sample.question || sample.id, [sample.id, said].join(" · "), mark, marks);
  }

  /** Fetch what is visible, once for all rows that ask in this moment. */
  want() {
    if (this.wanting) return;
    this.wanting = setTimeout(async () => {
      this.wanting = null;
      try {
        await this.data.samples.get(this.explorer.list.visible());
        this.explorer.list.shown.forEach(({ row, element }) => { if (this.data.samples.have(row) && !element.querySelector(".ask")?.textContent) this.fill(row, element); });
      } catch (error) { complain(error); }
    }, 30);
  }

  async start() {
    const heading = this.drawHead();
    if (this.leaf !== "samples") {
      await heading;
      const { [this.leaf === "protocol" ? "protocol" : "result"]: html } = await store.numbers(this.key);
      const leaf = make("div", { class: "leaf" });
      leaf.innerHTML = html;
      this.element.append(leaf);
      return;
    }
    await Promise.all([this.pullAll(), this.data.annotations.pull()]);
    if (this.stopped) return;
    this.noted();
    this.watchNotes();
    await heading;
    while (store.grows && this.data.live && !this.stopped) {
      await new Promise((resolve) => setTimeout(resolve, POLL));
      if (this.stopped) return;
      if (await this.pullAll()) await this.drawHead();
    }
    if (!this.stopped) await this.drawHead();
  }

  /** Look for annotations that were made elsewhere, while the page is visible. */
  async watchNotes() {
    while (store.grows && !this.stopped) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN));
      if (this.stopped || document.hidden) continue;
      /* A server that was stopped is reported by what asks for samples. */
      if (await this.data.annotations.pull().catch(() => false)) this.noted();
    }
  }

  async pullAll() {
    let any = false, owed = false, shown = -Infinity;
    for (;;) {
      const { changed, more } = await this.data.pull();
      if (this.stopped) return any;
      any ||= changed;
      owed ||= changed || !this.begun;
      /* while much is still to be read, most of the time is left for that */
      if (owed && (!more || performance.now() > shown + PAUSE)) {
        this.begun = true;
        await this.explorer.grown();
        owed = false;
        shown = performance.now();
      }
      if (!more) return any;
    }
  }

  async drawHead() {
    const head = await store.head(this.key), all = await runs();
    if (this.stopped) return;
    const name = nameOf(all, this.key, head);
    this.model = name;
    title(`${name} on ${head.benchmark}`);
    const leaf = (name, text) => make("a", { href: `#/run/${encodeURIComponent(this.key)}${name === "samples" ? "" : "/" + name}`, "aria-current": name === this.leaf ? "page" : null }, text);
    const others = compareLinks(this.key, head, all);
    this.head.replaceChildren(...[
      make("div", { class: "names" }, make("p", { class: "eyebrow" }, head.benchmark), make("h1", {}, name)),
      this.leaf === "numbers" ? null : headline(head),
      make("nav", { class: "leaves", "aria-label": "Leaves" }, leaf("samples", "Samples"), leaf("numbers", "Numbers"), leaf("protocol", "Protocol"), others),
      notices([...(head.notices ?? []), ...this.data.annotations.state.notices]),
    ].filter(Boolean));
  }

  press(event) { return this.explorer ? this.explorer.key(event) : false; }

  stop() { this.stopped = true; }
}

const headline = (head) => make("p", { class: "quote" },
  head.value === undefined ? null : make("b", {}, head.value),
  head.value === undefined ? null : make("span", {}, head.metric, make("span", { class: "soft" }, head.interval ? `, ${head.level} interval ${head.interval}` : "", `, n\u00a0=\u00a0${head.n.toLocaleString("en")}`)),
  head.live ? progress(head) : null);

const progress = (head) => make("span", { class: "live", role: "status" },
  make("progress", { max: String(head.samples || 1), value: String(head.done), "aria-label": "samples done" }),
  `${head.done.toLocaleString("en")} of ${head.samples.toLocaleString("en")}`);

const notices = (texts) => (texts && texts.length ? make("ul", { class: "notices", role: "status" }, texts.map((text) => make("li", {}, text))) : null);

/** The name of a run among the runs of its benchmark. */
const nameOf = (all, key, head) => all.find((each) => each.key === key)?.name ?? head.model;

/** Links to comparisons with the other runs of the benchmark. */
const compareLinks = (key, head, all) => {
  const others = all.filter((each) => each.key !== key && each.benchmark === head.benchmark);
  if (!others.length) return null;
  const none = make("option", {}, "Compare with …");
  none.value = "";
  const select = make("select", { class: "compare-with", "aria-label": "Compare with" }, none, others.map((each) => make("option", { value: each.key }, each.name)));
  select.addEventListener("change", () => { if (select.value) location.hash = `#/compare/${encodeURIComponent(key)}/${encodeURIComponent(select.value)}`; });
  return select;
};
