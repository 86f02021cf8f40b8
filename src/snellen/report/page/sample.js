"use strict";
/* one sample as a page shows it, built with text nodes only, so that nothing a model wrote is ever
   read as markup */

/** An element with attributes and children; strings become text nodes. */
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== "") element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
};

const words = (name) => name.replaceAll("_", " ");
const KINDS = { choice: "multiple choice", yes_no: "yes or no", open: "open" };
const RESULTS = { right: "right", partly: "partly right", wrong: "wrong", unscored: "not scored" };

/** Views of a sample. `outcomes`: labels by outcome; `picture(digest, attributes)`: an image element, or
    null without an image; `columns()`: the groupings named in a list. */
const samplesView = ({ outcomes, picture, columns }) => {
  const verdictOf = (sample) => {
    if (sample.outcome === "failed" || sample.outcome === "missing") return ["lost", outcomes[sample.outcome]];
    if (sample.outcome !== "answered") return ["unread", outcomes[sample.outcome]];
    if (sample.result === "unscored") return ["unscored", "no gold"];
    return [sample.result, RESULTS[sample.result]];
  };
  const verdict = ([kind, text]) => make("span", { class: "verdict " + kind }, text);
  const goldText = (labels, options) =>
    labels.map((label) => (options[label] ? `${label}. ${options[label]}` : label)).join(" or ");
  const valueText = (value, options) => (options[value] ? `${value}. ${options[value]}` : value);

  /** The pass that decided: the first that was not right, or the last. */
  const deciding = (sample) => {
    if (sample.passes.length < 2) return null;
    const at = sample.passes.findIndex((turn) => !turn.correct && turn.output.type !== "drawn");
    return at < 0 ? sample.passes.length - 1 : at;
  };

  const summary = (sample) => {
    const at = deciding(sample);
    const turn = at === null ? null : sample.passes[at];
    const options = turn ? turn.options : sample.options;
    const gold = goldText(turn ? turn.gold : sample.gold, options) || "–";
    const thumb = first(sample.media, { class: "thumb", alt: "", width: 48, height: 48 });
    const groups = columns().filter((column) => column in sample.groups).map((column) => words(sample.groups[column]));
    const answer = turn ? reading(turn) || "–" : sample.answer === null ? "–" : valueText(sample.answer, options);
    return make("summary", {},
      thumb || make("span", { class: "thumb none" }),
      make("span", {},
        make("span", { class: "ask" }, sample.question),
        make("span", { class: "meta" }, [sample.id, KINDS[sample.kind] || sample.kind, ...groups].join(" · "))),
      make("span", { class: "said" },
        make("span", { title: answer }, make("em", {}, turn ? `pass ${at + 1}` : "answer"), answer),
        make("span", { title: gold }, make("em", {}, "gold"), gold)),
      verdict(verdictOf(sample)));
  };

  const first = (digests, attributes) => digests.reduce((image, digest) => image || picture(digest, attributes), null);

  /** The roles of the images of a comparison: the image a model made, and the options. */
  const roles = (sample) => Object.fromEntries(sample.passes
    .filter((turn) => turn.output.type === "compared")
    .flatMap((turn) => turn.prompt.flatMap((message) => message.parts).map((part, at) =>
      [part.digest, at ? `Option ${turn.output.candidates[at - 1].label}` : "Drawn"])));

  const gallery = (sample) => make("div", { class: "pictures" }, sample.media.map((digest, at) => {
    const name = roles(sample)[digest] || (sample.media.length > 1 ? `Image ${at + 1}` : "The image");
    const shown = picture(digest, { alt: `${name} of sample ${sample.id}` });
    if (!shown) return make("p", { class: "absent" }, `${name} is not kept here (${digest.slice(0, 12)})`);
    const caption = sample.media.length > 1 ? make("figcaption", {}, name) : null;
    return make("figure", {}, shown, caption);
  }));

  const choices = (sample) => {
    const labels = Object.keys(sample.options);
    if (!labels.length) return null;
    const first = Math.max(sample.passes.findIndex((turn) => turn.answer !== null), 0) + 1;
    return make("ul", { class: "options" }, labels.map((label) => {
      const tags = [];
      if (sample.gold.includes(label)) tags.push("gold");
      if (sample.answer === label) tags.push(sample.passes.length + sample.saved > 1 ? `model in pass ${first}` : "model");
      return make("li", { class: sample.gold.includes(label) ? "gold" : "" },
        make("b", {}, label), sample.options[label], make("span", { class: "tag" }, tags.join(", ")));
    }));
  };

  const facts = (pairs) => make("dl", { class: "facts" }, pairs
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]).flat());

  const promptSide = (turn) => make("div", { class: "side" }, turn.prompt.map((message) =>
    make("div", { class: "message" }, make("h4", {}, `Prompt, ${message.role}`), message.parts.map((part) => {
      if (part.text !== undefined) return make("pre", {}, part.text);
      const shown = part.kind === "image" ? picture(part.digest, { alt: `image ${part.digest.slice(0, 8)}` }) : null;
      return shown || make("span", { class: "chip" }, `${part.kind} ${part.digest.slice(0, 8)}`);
    }))));

  const scores = (names, candidates, rank, cells) => {
    const best = Math.max(...candidates.map(rank));
    return make("table", {},
      make("thead", {}, make("tr", {}, names.map((name, at) => make("th", { class: at ? "n" : "", scope: "col" }, name)))),
      make("tbody", {}, candidates.map((each) => make("tr", {},
        make("th", { scope: "row" }, each.label + (rank(each) === best ? " ✓" : "")),
        cells(each).map((text) => make("td", { class: "n" }, text))))));
  };

  const reply = (output) => {
    if (output.type === "failure") return [make("p", { class: "absent" }, `The request failed (${words(output.kind)}): ${output.message}`)];
    if (output.type === "ranked") {
      const mean = (each) => (each.logprob === null || !each.tokens ? -Infinity : each.logprob / each.tokens);
      return [scores(["candidate", "per token", "log-likelihood", "tokens"], output.candidates, mean, (each) => [
        Number.isFinite(mean(each)) ? mean(each).toFixed(3) : "–",
        each.logprob === null ? "–" : each.logprob.toFixed(3),
        String(each.tokens)])];
    }
    if (output.type === "compared") {
      return [scores(["candidate", "similarity"], output.candidates, (each) => each.similarity, (each) => [each.similarity.toFixed(4)])];
    }
    if (output.type === "drawn") {
      const drawn = output.images.map((digest) => picture(digest, { alt: `drawn ${digest.slice(0, 8)}` })
        || make("span", { class: "chip" }, `drawn ${digest.slice(0, 8)}`));
      return output.text ? [make("pre", { class: "reply" }, output.text), ...drawn] : drawn;
    }
    const parts = [];
    if (output.reasoning) parts.push(make("details", { class: "reasoning" }, make("summary", {}, "Reasoning"), make("pre", {}, output.reasoning)));
    const [before, evidence, after] = output.text;
    if (!(before + evidence + after)) return [...parts, make("p", { class: "absent" }, "The model said nothing.")];
    parts.push(make("pre", { class: "reply" }, before, evidence ? make("mark", { title: "read as the answer" }, evidence) : null, after));
    return parts;
  };

  const reading = (turn) => {
    const answer = turn.answer;
    if (answer === null) return null;
    if (answer.type === "found") return valueText(answer.value, turn.options);
    return outcomes[answer.type] || words(answer.type);
  };

  const passVerdict = (turn) => {
    if (turn.output.type === "failure") return ["lost", "failed"];
    if (turn.output.type === "drawn") return ["unscored", "drawn"];
    if (turn.answer && turn.answer.type !== "found") return ["unread", outcomes[turn.answer.type] || words(turn.answer.type)];
    if (turn.correct === null) return ["unscored", "not scored"];
    if (turn.credit) return ["partly", `earned ${Math.round(100 * turn.credit)} %`];
    return turn.correct ? ["right", "right"] : ["wrong", "wrong"];
  };

  const pass = (turn, at, sample) => {
    const count = sample.passes.length;
    const draws = sample.draws.length;
    // With repeats, `saved` is the sum over all of them.
    const planned = draws ? count : count + sample.saved;
    const single = draws ? `Draw 1 of ${draws}` : "Question and reply";
    const heading = planned > 1 ? `${draws ? "Draw 1, pass" : "Pass"} ${at + 1} of ${planned}` : single;
    const stop = turn.output.stop === "length" ? "the reply ended at the token limit" : turn.output.stop === "refusal" ? "the model refused" : "";
    const spent = [turn.output.tokens ? `${turn.output.tokens} tokens` : "", turn.output.seconds ? `${turn.output.seconds.toFixed(2)} s` : ""].filter(Boolean).join(", ");
    return make("section", { class: "pass", "aria-label": heading },
      make("header", {}, make("strong", {}, heading), turn.row ? make("span", { class: "soft" }, `row ${turn.row}`) : null, verdict(passVerdict(turn))),
      make("div", { class: "sides" }, promptSide(turn),
        make("div", { class: "side" }, make("h4", {}, "Raw reply"), reply(turn.output), facts([
          ["read as", reading(turn)],
          ["by the rule", turn.answer && turn.answer.rule ? words(turn.answer.rule) : null],
          ["gold", goldText(turn.gold, turn.options)],
          ["ended", stop],
          ["spent", spent],
        ]))));
  };

  /** A repeat after the first: the reply and its answer. The prompt is the one of the first. */
  const furtherDraw = (draw, at, sample) => {
    const heading = `Draw ${at + 1} of ${sample.draws.length}`;
    return make("section", { class: "pass", "aria-label": heading },
      make("header", {}, make("strong", {}, heading), verdict(verdictOf(draw))),
      draw.passes.map((turn) => make("div", { class: "side" }, reply(turn.output), facts([
        ["read as", reading(turn)],
        ["by the rule", turn.answer && turn.answer.rule ? words(turn.answer.rule) : null],
        ["gold", draw.passes.length > 1 ? goldText(turn.gold, turn.options) : null],
      ]))));
  };

  const body = (sample) => {
    const values = Object.entries(sample.values).map(([name, value]) => `${words(name)} ${value}`).join(", ");
    const groups = Object.entries(sample.groups).map(([name, value]) => [words(name), words(value)]);
    const read = sample.passes.length > 1
      ? sample.passes.map((turn, at) => [`pass ${at + 1}`, `${reading(turn) || "–"} (${passVerdict(turn)[1]})`])
      : [["answer", sample.answer === null ? outcomes[sample.outcome] : valueText(sample.answer, sample.options)]];
    const early = sample.saved ? `${sample.saved} more ${sample.saved === 1 ? "pass was" : "passes were"} not needed` : null;
    return make("div", { class: "body" },
      make("div", { class: sample.media.length ? "about" : "" },
        sample.media.length ? gallery(sample) : null,
        make("div", {}, choices(sample), facts([
          ["id", sample.id],
          ...read,
          ["gold", goldText(sample.gold, sample.options) || "none"],
          ["score", sample.score === null ? "not scored" : String(sample.score)],
          ["draws", sample.draws.map((draw) => `${draw.answer === null ? "–" : draw.answer} (${verdictOf(draw)[1]})`).join(", ")],
          ["values", values],
          ...groups,
          ["early stop", early],
        ]))),
      sample.passes.map((turn, at) => pass(turn, at, sample)),
      sample.draws.map((draw, at) => (at ? furtherDraw(draw, at, sample) : null)));
  };

  return { body, choices, deciding, facts, gallery, goldText, passVerdict, promptSide, reading, reply, summary, valueText, verdict, verdictOf };
};
