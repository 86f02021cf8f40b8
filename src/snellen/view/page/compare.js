/* Two runs of the same samples, side by side. */

const AGREEMENTS = ["both right", "only first", "only second", "neither", "not scored", "in one only"];
const DISAGREE = "other score";
const ANSWERS = { "same answer": "same answer", "other answer": "other answer, same score", [DISAGREE]: "other score" };

class ComparePage {
  constructor(first, second, parameters) {
    this.keys = [first, second];
    this.sides = this.keys.map((key) => new RunData(key));
    this.pairs = { rows: [[], []], ids: [], facets: [] };
    this.stopped = false;
    this.head = make("header", { class: "run-head" });
    this.explorer = new Explorer(this.source(), parameters, (now) => address(`#/compare/${this.keys.map(encodeURIComponent).join("/")}`, now));
    this.element = make("div", { class: "page fixed" }, this.head, this.explorer.element);
  }

  source() {
    return {
      label: "Agreement",
      hint: "Choose a sample: click, or press j. d shows only where the runs disagree.",
      count: () => this.pairs.ids.length,
      facets: () => this.pairs.facets,
      search: (text) => this.search(text),
      id: (at) => this.pairs.ids[at],
      find: (id) => this.pairs.ids.indexOf(id),
      fill: (at, element) => this.fill(at, element),
      detail: (at) => this.detail(at),
      key: (event, explorer) => {
        if (event.key !== "d") return false;
        explorer.choose("answers", explorer.chosen.answers === DISAGREE ? "" : DISAGREE);
        return true;
      },
    };
  }

  /** Pairs of samples by id, in the order of the first run; then samples of the second alone. */
  align() {
    const [one, other] = this.sides.map((side) => side.columns);
    one.find(""); other.find("");
    const ids = [...new Set([...one.ids, ...other.ids])];
    const rows = [one, other].map((columns) => Int32Array.from(ids, (id) => columns.rowsById.get(id) ?? -1));
    const scored = [one, other].map((columns, at) => Float32Array.from(rows[at], (row) => (row < 0 ? -2 : columns.score[row])));
    const agreement = new Uint8Array(ids.length), answers = new Uint8Array(ids.length);
    ids.forEach((_, at) => {
      const [a, b] = [scored[0][at], scored[1][at]];
      agreement[at] = a === -2 || b === -2 ? 5 : a < 0 || b < 0 ? 4 : a >= 1 ? (b >= 1 ? 0 : 1) : b >= 1 ? 2 : 3;
      answers[at] = a !== b ? 2 : one.answer[rows[0][at]] !== other.answer[rows[1][at]] ? 1 : 0;
    });
    this.pairs = { ids, rows, facets: this.facets(rows, agreement, answers) };
  }

  facets(rows, agreement, answers) {
    const [one, other] = this.sides.map((side) => side.columns);
    const [first, second] = this.names ?? this.keys;
    const through = (codes, side) => Uint32Array.from(rows[side], (row) => (row < 0 ? 0 : codes[row]));
    const labels = { "both right": "both right", "only first": `only ${first}`, "only second": `only ${second}`, neither: "neither", "not scored": "not scored", "in one only": "in one run only" };
    const groups = one.facets().filter(({ name }) => name.startsWith("g.") || name === "kind").map((facet) => ({ ...facet, codes: through(facet.codes, 0) }));
    const outcome = (columns, side, which) => ({
      name: `outcome-${side + 1}`, title: `${which} outcome`, values: ["", ...known.outcomes], shown: (value) => known.words[value],
      codes: Uint8Array.from(rows[side], (row) => (row < 0 ? 0 : columns.outcome[row] + 1)),
    });
    return [
      { name: "agreement", title: "Agreement", codes: agreement, values: AGREEMENTS, shown: (value) => labels[value], kind: (value) => value.replaceAll(" ", "-"), always: AGREEMENTS.slice(0, 4) },
      { name: "answers", title: "Answers", codes: answers, values: Object.keys(ANSWERS), shown: (value) => ANSWERS[value] },
      outcome(one, 0, "First"), outcome(other, 1, "Second"), ...groups,
    ];
  }

  /** A sample matches if its text in either run does. */
  async search(text) {
    const masks = await Promise.all(this.sides.map((side) => side.search(text)));
    const bits = new Uint8Array((this.pairs.ids.length + 7) >> 3);
    this.pairs.ids.forEach((_, at) => {
      if (masks.some((mask, side) => { const row = this.pairs.rows[side][at]; return row >= 0 && mask[row >> 3] & (1 << (row & 7)); })) bits[at >> 3] |= 1 << (at & 7);
    });
    return bits;
  }

  /** The side whose sample is listed for both. */
  sideOf(at) { return this.pairs.rows[0][at] >= 0 ? 0 : 1; }

  fill(at, element) {
    const side = this.sideOf(at), data = this.sides[side];
    const sample = data.samples.have(this.pairs.rows[side][at]);
    const blank = samplesView({ outcomes: known.words, columns: () => [], picture: () => null });
    const marks = make("span", { class: "two" }, this.sides.map((each, nth) => {
      const row = this.pairs.rows[nth][at];
      const [kind, text] = row < 0 ? ["unscored", "not in this run"] : blank.verdictOf(each.verdictAt(row));
      return make("span", { class: "verdict " + kind, title: `${(this.names ?? this.keys)[nth]}: ${text}` }, make("span", { class: "unseen" }, text));
    }));
    if (!sample) {
      listRow(element, null, "", this.pairs.ids[at], marks);
      this.want();
      return;
    }
    const groups = data.columns.groupings().map(([name]) => sample.groups[name]).filter(Boolean).map(words);
    listRow(element, thumbOf(null, data.key, sample), sample.question || sample.id, [sample.id, ...groups].join(" · "), marks);
  }

  want() {
    if (this.wanting) return;
    this.wanting = setTimeout(async () => {
      this.wanting = null;
      const visible = this.explorer.list.visible();
      try {
        await Promise.all([0, 1].map((side) => this.sides[side].samples.get(visible.filter((at) => this.sideOf(at) === side).map((at) => this.pairs.rows[side][at]))));
        this.explorer.list.shown.forEach(({ row, element }) => {
          const side = this.sideOf(row);
          if (this.sides[side].samples.have(this.pairs.rows[side][row]) && !element.querySelector(".ask")?.textContent) this.fill(row, element);
        });
      } catch (error) { complain(error); }
    }, 30);
  }

  async detail(at) {
    const samples = await Promise.all(this.sides.map(async (side, nth) => {
      const row = this.pairs.rows[nth][at];
      return row < 0 ? null : (await side.samples.get([row]))[0];
    }));
    const shown = samples[0] || samples[1];
    const view = this.sides[samples[0] ? 0 : 1].view(shown);
    const groups = Object.entries(shown.groups).map(([name, value]) => [words(name), words(value)]);
    const passes = Math.max(...samples.map((sample) => (sample ? sample.passes.length : 0)));
    return make("div", { class: "body" },
      make("div", { class: shown.media.length ? "about" : "" }, shown.media.length ? view.gallery(shown) : null,
        make("div", {}, make("p", { class: "question" }, shown.question), this.choices(samples, view),
          view.facts([["gold", view.goldText(shown.gold, shown.options) || "none"], ...groups]))),
      this.unlike(samples),
      Array.from({ length: passes }, (_, nth) => this.pass(samples, nth)));
  }

  choices(samples, view) {
    const shown = samples[0] || samples[1];
    const labels = Object.keys(shown.options);
    if (!labels.length) return null;
    return make("ul", { class: "options" }, labels.map((label) => {
      const tags = samples.map((sample, nth) => (sample?.answer === label ? this.names[nth] : null)).filter(Boolean);
      if (shown.gold.includes(label)) tags.unshift("gold");
      return make("li", { class: shown.gold.includes(label) ? "gold" : "" }, make("b", {}, label), shown.options[label], make("span", { class: "tag" }, tags.join(", ")));
    }));
  }

  /** A notice if one id has different questions in the two runs. */
  unlike([one, other]) {
    if (!one || !other) return make("p", { class: "absent" }, `Only ${this.names[one ? 0 : 1]} has this sample.`);
    const odd = ["question", "options", "gold", "media"].filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]));
    return odd.length ? make("p", { class: "absent" }, `Not the same in both runs: ${odd.join(", ")}. Shown is that of ${this.names[0]}.`) : null;
  }

  pass(samples, nth) {
    const turns = samples.map((sample) => sample?.passes[nth] ?? null);
    const texts = turns.map((turn) => (turn?.output.type === "generated" ? turn.output.text.join("") : null));
    const differences = texts.every((text) => text !== null) && texts[0] !== texts[1] ? wordDifferences(...texts) : null;
    const many = samples.some((sample) => sample && sample.passes.length + sample.saved > 1);
    const prompts = turns.map((turn) => JSON.stringify(turn?.prompt ?? null));
    const same = prompts[0] === prompts[1];
    return make("section", { class: "pass", "aria-label": many ? `Pass ${nth + 1}` : "Replies" },
      make("header", {}, make("strong", {}, many ? `Pass ${nth + 1}` : "Replies"),
        make("span", { class: "soft" }, texts[0] === texts[1] && texts[0] !== null ? "word for word the same" : differences ? "words that the other lacks are marked" : "")),
      make("div", { class: "sides" }, turns.map((turn, side) => this.reply(samples[side], turn, side, differences?.[side]))),
      make("details", { class: "prompts", ...(same ? {} : { open: "open" }) },
        make("summary", {}, same ? "Prompt, the same for both" : "The prompts differ"),
        make("div", { class: same ? "" : "sides" }, (same ? [turns[0]] : turns).map((turn, side) => (turn ? this.sides[side].view(samples[side]).promptSide(turn) : make("div", { class: "side" }))))));
  }

  reply(sample, turn, side, tokens) {
    const name = make("h4", {}, this.names[side]);
    if (!sample) return make("div", { class: "side" }, name, make("p", { class: "absent" }, "not in this run"));
    if (!turn) return make("div", { class: "side" }, name, make("p", { class: "absent" }, sample.saved ? "not asked: an earlier pass was wrong" : "not asked"));
    const view = this.sides[side].view(sample);
    const parts = view.reply(turn.output);
    if (tokens && tokens.length) parts[parts.length - 1] = markedReply(turn.output.text, tokens);
    return make("div", { class: "side" }, make("div", { class: "whose" }, name, view.verdict(view.passVerdict(turn))), parts, view.facts([
      ["read as", view.reading(turn)],
      ["by the rule", turn.answer && turn.answer.rule ? words(turn.answer.rule) : null],
      ["tokens", turn.output.tokens ? String(turn.output.tokens) : null],
    ]));
  }

  async start() {
    await this.drawHead();
    await this.pullAll();
    if (this.stopped) return;
    /* last, since it takes the server longest */
    this.pulled = true;
    this.drawDifference();
    while (store.grows && this.sides.some((side) => side.live) && !this.stopped) {
      await new Promise((resolve) => setTimeout(resolve, POLL));
      if (this.stopped) return;
      if (await this.pullAll()) await this.drawHead();
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
    this.names = this.keys.map((key, side) => nameOf(all, key, heads[side]));
    title(`${this.names.join(" and ")} on ${heads[0].benchmark}`);
    const swap = make("a", { class: "swap", href: `#/compare/${[...this.keys].reverse().map(encodeURIComponent).join("/")}`, title: "Swap the two" }, "⇄");
    const name = (side) => {
      const select = make("select", { "aria-label": side ? "Second run" : "First run" }, all.filter((each) => each.benchmark === heads[side].benchmark && each.key !== this.keys[1 - side])
        .map((each) => make("option", { value: each.key }, each.name)));
      select.value = this.keys[side];
      select.addEventListener("change", () => {
        const keys = [...this.keys];
        keys[side] = select.value;
        location.hash = `#/compare/${keys.map(encodeURIComponent).join("/")}`;
      });
      return make("div", { class: "contender" }, select, make("a", { href: `#/run/${encodeURIComponent(this.keys[side])}`, class: "value", title: "this run alone" }, heads[side].value ?? "–"), heads[side].live ? progress(heads[side]) : null);
    };
    this.difference ||= make("p", { class: "quote difference", role: "status" });
    this.remarks ||= make("div", { class: "remarks" });
    this.head.replaceChildren(
      make("div", { class: "names" }, make("p", { class: "eyebrow" }, heads[0].benchmark), make("h1", { class: "unseen" }, this.names.join(" and ")),
        make("div", { class: "contest" }, name(0), swap, name(1))), this.difference, this.remarks);
    if (this.pulled) this.drawDifference();
  }

  async drawDifference() {
    try {
      const pair = await store.compare(...this.keys);
      if (this.stopped) return;
      if (pair.why_not) { this.difference.replaceChildren(make("span", { class: "soft" }, pair.why_not)); return; }
      this.difference.replaceChildren(make("b", {}, pair.difference),
        make("span", {}, `points, ${this.names[1]} less ${this.names[0]}`, make("span", { class: "soft" }, ...(pair.interval ? [", ", make("span", { class: "num" }, `${pair.level} interval ${pair.interval}`)] : []), ...(pair.anytime ? [", ", make("span", { class: "num" }, `anytime ${pair.anytime}`)] : []), ...(pair.bounds ? [", ", make("span", { class: "num" }, `with failures ${pair.bounds}`)] : []), make("br"), `n\u00a0=\u00a0${pair.n.toLocaleString("en")}, ${pair.p ? `p ${pair.p} (${pair.test})` : pair.reason}`)));
      this.remarks.replaceChildren(...[notices(pair.notices)].filter(Boolean));
    } catch (error) { complain(error); }
  }

  press(event) { return this.explorer.key(event); }

  stop() { this.stopped = true; }
}
