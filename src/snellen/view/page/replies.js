/* One sample as several runs answered it, side by side. */

const PARTS = ["question", "options", "gold", "media"];

class ReplyTable {
  /** `samples`: that of each run, or null; `sides`: their RunData; `names` of the runs. */
  constructor(samples, sides, names) {
    Object.assign(this, { samples, sides, names });
    this.first = samples.findIndex(Boolean);
    this.sample = samples[this.first];
    this.views = samples.map((sample, side) => (sample ? sides[side].view(sample) : null));
  }

  /** `boxes`: for each run a box for annotations of its reply, or null. */
  body(boxes) {
    const { sample } = this, view = this.views[this.first];
    const groups = Object.entries(sample.groups).map(([name, value]) => [words(name), words(value)]);
    const passes = Math.max(...this.samples.map((each) => (each ? each.passes.length : 0)));
    return make("div", { class: "body" },
      make("div", { class: view.aboutClass(sample) }, sample.media.length ? view.gallery(sample, false) : null,
        make("div", {}, make("h2", { class: "question" }, sample.question), this.choices(view),
          view.facts([["gold", sample.beside ? null : view.goldText(sample.gold, sample.options) || "none"], ...groups]))),
      this.unlike(),
      Array.from({ length: passes }, (_, nth) => this.pass(nth, passes, boxes)));
  }

  choices(view) {
    const { sample } = this, labels = Object.keys(sample.options);
    if (!labels.length) return null;
    return make("ul", { class: "options" }, labels.map((label) => {
      const gold = sample.gold.includes(label);
      const sides = this.samples.flatMap((each, side) => (each?.answer === label ? [side] : []));
      /* Two runs by their names, more by their numbers. */
      const tags = this.samples.length === 2 ? sides.map((side) => this.names[side])
        : sides.map((side) => make("span", { class: "number", title: this.names[side] }, String(side + 1), make("span", { class: "unseen" }, ` ${this.names[side]} `)));
      const shown = this.samples.length === 2 ? [[...(gold ? ["gold"] : []), ...tags].join(", ")] : [gold ? "gold " : "", ...tags];
      return make("li", { class: gold ? "gold" : "" }, make("b", {}, label), make("span", {}, sample.options[label]), make("span", { class: "tag" }, shown));
    }));
  }

  /** Notices if one id has different questions in the runs, or is missing in some. */
  unlike() {
    const missing = this.names.filter((_, side) => !this.samples[side]);
    const odd = PARTS.filter((name) => new Set(this.samples.filter(Boolean).map((each) => JSON.stringify(each[name]))).size > 1);
    return [
      missing.length ? make("p", { class: "absent" }, `Not in ${missing.join(", ")}.`) : null,
      odd.length ? make("p", { class: "absent" }, `Not the same in all runs: ${odd.join(", ")}. Showing that of ${this.names[this.first]}.`) : null,
    ];
  }

  /** For each run the words of its reply with whether the others lack them; null for no difference. */
  differences(texts) {
    const base = texts.findIndex((text) => text !== null);
    return texts.map((text, side) => {
      if (text === null) return null;
      const other = side === base ? (texts.length === 2 ? texts[1 - side] : null) : texts[base];
      if (other === null || other === undefined || other === text) return null;
      return wordDifferences(text, other)?.[0] ?? null;
    });
  }

  pass(nth, passes, boxes) {
    const turns = this.samples.map((each) => each?.passes[nth] ?? null);
    const texts = turns.map((turn) => (turn?.output.type === "generated" ? turn.output.text.join("") : null));
    const tokens = this.differences(texts);
    const many = passes > 1 || this.samples.some((each) => each && each.passes.length + each.saved > 1);
    const prompts = turns.map((turn) => JSON.stringify(turn?.prompt ?? null));
    const same = new Set(prompts.filter((_, side) => turns[side])).size <= 1;
    const heading = many ? `Pass ${nth + 1}` : "Replies";
    const alike = texts.every((text) => text !== null && text === texts[0]);
    const shown = alike ? "word for word the same" : tokens.some(Boolean) ? (texts.length === 2 ? "words that the other lacks are marked" : `words that ${this.names[texts.findIndex((text) => text !== null)]} lacks are marked`) : "";
    return make("section", { class: "pass", "aria-label": heading },
      make("header", {}, make("h3", {}, heading), make("span", { class: "soft" }, shown)),
      make("div", { class: `sides of-${turns.length}` }, turns.map((turn, side) => this.reply(turn, side, tokens[side], nth ? null : boxes[side]))),
      this.prompts(turns, same));
  }

  prompts(turns, same) {
    const first = turns.findIndex(Boolean);
    const sides = same ? [this.views[first].promptSide(turns[first])] : turns.map((turn, side) => (turn ? this.views[side].promptSide(turn) : make("div", { class: "side" })));
    return make("details", { class: "prompts", open: same ? null : true },
      make("summary", {}, same ? "Prompt, the same for all" : "The prompts differ"), make("div", { class: same ? "" : `sides of-${turns.length}` }, sides));
  }

  reply(turn, side, tokens, box) {
    const sample = this.samples[side];
    const name = make("h4", {}, make("span", { class: "number" }, String(side + 1)), this.names[side]);
    const frame = (...parts) => make("div", { class: "side", tabindex: "-1", "data-side": String(side + 1), "data-pictures": "" }, parts);
    if (!sample) return frame(name, make("p", { class: "absent" }, "not in this run"));
    if (!turn) return frame(name, make("p", { class: "absent" }, sample.saved ? "not asked: an earlier pass was wrong" : "not asked"));
    const view = this.views[side];
    const parts = view.reply(turn.output);
    if (tokens?.length) parts[parts.length - 1] = markedReply(turn.output.text, tokens);
    const verdict = sample.passes.length === 1 && sample.result === "partly" ? view.verdictOf(sample) : view.passVerdict(turn);
    const places = sample.places ? view.gallery({ ...sample, media: sample.media.slice(0, 1) }) : null;
    const beside = sample.beside && turn === sample.passes[0] ? besideFigure(sample.beside, null) : null;
    return frame(make("div", { class: "whose" }, name, view.verdict(verdict)), places ?? "", beside ?? "", ...parts,
      view.facts([...view.readingFacts(turn).slice(0, 2), ...view.spentFacts(turn)]), ...view.helpers(turn), box?.element ?? "");
  }
}
