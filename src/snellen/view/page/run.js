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
  constructor(key) { Object.assign(this, { key, columns: new Columns(), samples: new Samples(key), searched: null, live: false }); }

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

  verdictAt(row) { return { outcome: known.outcomes[this.columns.outcome[row]], result: known.results[this.columns.result[row]] }; }

  view(sample) {
    const groupings = this.columns.groupings().map(([name]) => name);
    return samplesView({
      outcomes: known.words,
      columns: () => groupings,
      picture: (digest, attributes) => picture(this.key, digest, sample.id, attributes),
    });
  }
}

/** A small picture; one that is to be looked at opens the original. Where it cannot be had, its
    place says so. */
const picture = (run, digest, sample, attributes) => {
  const small = store.picture(run, digest, sample, false);
  if (!small) return null;
  const image = make("img", { loading: "lazy", decoding: "async", ...attributes });
  const plain = attributes.class === "thumb";
  const gone = () => {
    const place = plain ? make("span", { class: "thumb none" }) : make("span", { class: "absent" }, `this picture is not on this machine (${digest.slice(0, 12)})`);
    (image.closest("a.whole") || image).replaceWith(place);
  };
  image.addEventListener("error", gone);
  image.src = small;
  if (plain || !store.grows) return image;
  return make("a", { class: "whole", href: store.picture(run, digest, sample, true), target: "_blank", rel: "noopener", title: "open the original" }, image);
};

const listRow = (element, thumb, ask, meta, verdicts) =>
  element.replaceChildren(thumb || make("span", { class: "thumb none" }),
    make("span", { class: "what" }, make("span", { class: "ask" }, ask), make("span", { class: "meta" }, meta)), verdicts);

const thumbOf = (view, run, sample) => sample.media.length
  ? picture(run, sample.media[0], sample.id, { class: "thumb", alt: "", width: 44, height: 44 }) : null;

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
      hint: "Choose a sample: click, or press j.",
      count: () => data.columns.rows,
      facets: () => data.columns.facets().map((facet, at) => (at ? facet : { ...facet, kind: (value) => value })),
      search: (text) => data.search(text),
      id: (row) => data.columns.ids[row],
      find: (id) => data.columns.find(id),
      fill: (row, element) => this.fill(row, element),
      detail: async (row) => { const [sample] = await data.samples.get([row]); return make("div", {}, make("p", { class: "question" }, sample.question), data.view(sample).body(sample)); },
    };
  }

  fill(row, element) {
    const { data } = this;
    const sample = data.samples.have(row);
    const blank = samplesView({ outcomes: known.words, columns: () => [], picture: () => null });
    const mark = blank.verdict(blank.verdictOf(data.verdictAt(row)));
    if (!sample) {
      listRow(element, null, "", data.columns.ids[row], mark);
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
    listRow(element, thumbOf(view, this.key, sample), sample.question || sample.id, [sample.id, said].join(" · "), mark);
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
    await this.pullAll();
    await heading;
    while (store.grows && this.data.live && !this.stopped) {
      await new Promise((resolve) => setTimeout(resolve, POLL));
      if (this.stopped) return;
      if (await this.pullAll()) await this.drawHead();
    }
    if (!this.stopped) await this.drawHead();
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
    const head = await store.head(this.key);
    if (this.stopped) return;
    const all = await runs(), name = nameOf(all, this.key, head);
    title(`${name} on ${head.benchmark}`);
    const leaf = (name, text) => make("a", { href: `#/run/${encodeURIComponent(this.key)}${name === "samples" ? "" : "/" + name}`, "aria-current": name === this.leaf ? "page" : null }, text);
    const others = compareLinks(this.key, head, all);
    this.head.replaceChildren(...[
      make("div", { class: "names" }, make("p", { class: "eyebrow" }, head.benchmark), make("h1", {}, name)),
      this.leaf === "numbers" ? null : headline(head),
      make("nav", { class: "leaves", "aria-label": "Leaves" }, leaf("samples", "Samples"), leaf("numbers", "Numbers"), leaf("protocol", "Protocol"), others),
      notices(head.notices),
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
