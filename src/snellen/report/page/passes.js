"use strict";
/* What was asked and answered in one pass of a sample: the prompt as it was sent, the reply, how it
   was read, and what an extractor and judges made of it. */

/** The beginning of a text that is too long for a line of facts; the figure of the sample has all. */
const beginningOf = (text) => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

/** Views of passes. `picture` and `outcomes` as of `samplesView`; `lists`: facts, verdict, ... */
const passesView = ({ outcomes, picture, facts, verdict, goldText, valueText }) => {
  const reading = (turn, answer = turn.answer) => {
    if (answer === null || answer === undefined) return null;
    if (answer.type === "found") return beginningOf(valueText(answer.value, turn.options));
    return (outcomes[answer.type] || words(answer.type)) + (answer.value ? `: ${answer.value}` : "");
  };

  const passVerdict = (turn) => {
    if (turn.output.type === "failure") return ["lost", "failed"];
    if (turn.output.type === "drawn") return ["unscored", "drawn"];
    if (turn.answer && turn.answer.type !== "found") return ["unread", outcomes[turn.answer.type] || words(turn.answer.type)];
    if (turn.correct === null) return ["unscored", turn.verdicts ? "judged" : "not scored"];
    if (turn.credit) return ["partly", `earned ${Math.round(100 * turn.credit)} %`];
    return turn.correct ? ["right", "right"] : ["wrong", "wrong"];
  };

  /** The parts of a message in their order: text, pictures, and what is neither. */
  const messageParts = (message) => message.parts.map((part) => {
    if (part.text !== undefined) return make("pre", {}, part.text);
    const shown = part.kind === "image" ? picture(part.digest, { alt: `image ${part.digest.slice(0, 8)} of the prompt` }) : null;
    return shown || make("span", { class: "chip" }, `${part.kind} ${part.digest.slice(0, 8)}`);
  });

  const messages = (prompt, heading = (message) => `Prompt, ${message.role}`) => prompt.map((message) =>
    make("div", { class: `message ${message.role}` }, make("h4", {}, heading(message)), messageParts(message)));

  const promptSide = (turn) => make("div", { class: "side", "data-pictures": "" }, messages(turn.prompt));

  const scores = (names, candidates, rank, cells) => {
    const best = Math.max(...candidates.map(rank));
    return make("table", {},
      make("thead", {}, make("tr", {}, names.map((name, at) => make("th", { class: at ? "n" : "", scope: "col" }, name)))),
      make("tbody", {}, candidates.map((each) => make("tr", {},
        make("th", { scope: "row" }, each.label + (rank(each) === best ? " ✓" : "")),
        cells(each).map((text) => make("td", { class: "n" }, text))))));
  };

  const ranked = ({ candidates }) => {
    const mean = (each) => (each.logprob === null || !each.tokens ? -Infinity : each.logprob / each.tokens);
    return [scores(["candidate", "per token", "log-likelihood", "tokens"], candidates, mean, (each) => [
      Number.isFinite(mean(each)) ? mean(each).toFixed(3) : "–",
      each.logprob === null ? "–" : each.logprob.toFixed(3),
      String(each.tokens)])];
  };

  const failure = (output) => [make("div", { class: "failure" },
    make("p", {}, make("b", {}, `The request failed: ${words(output.kind)}`), output.sent > 1 ? `, sent ${output.sent} times` : ""),
    make("pre", {}, output.message))];

  const reply = (output) => {
    if (output.type === "failure") return failure(output);
    if (output.type === "ranked") return ranked(output);
    if (output.type === "compared") {
      return [scores(["candidate", "similarity"], output.candidates, (each) => each.similarity, (each) => [each.similarity.toFixed(4)])];
    }
    if (output.type === "drawn") {
      const drawn = output.images.map((digest) => picture(digest, { alt: `drawn ${digest.slice(0, 8)}` })
        || make("span", { class: "chip" }, `drawn ${digest.slice(0, 8)}`));
      return output.text ? [make("pre", { class: "reply" }, output.text), ...drawn] : drawn;
    }
    const parts = [];
    if (output.reasoning) parts.push(make("details", { class: "reasoning" }, make("summary", {}, `Reasoning, ${output.reasoning.length.toLocaleString("en")} characters`), make("pre", {}, output.reasoning)));
    const [before, evidence, after] = output.text;
    if (!(before + evidence + after)) return [...parts, make("p", { class: "absent" }, "The model said nothing.")];
    parts.push(make("pre", { class: "reply", tabindex: "0" }, before, evidence ? make("mark", { class: "read", title: "read as the answer" }, evidence) : null, after));
    return parts;
  };

  const STOPS = { length: "at the token limit", refusal: "the model refused", stop: "by itself" };

  const spent = ({ tokens, prompt_tokens: prompt, reasoning_tokens: thought, seconds }) => [
    prompt ? `${prompt.toLocaleString("en")} tokens in the prompt` : "",
    tokens ? `${tokens.toLocaleString("en")} in the reply${thought ? ` (${thought.toLocaleString("en")} reasoning)` : ""}` : "",
    seconds ? `${seconds.toFixed(2)} s` : ""].filter(Boolean).join(", ");

  const readingFacts = (turn) => [
    ["read as", reading(turn)],
    ["by the rule", turn.answer && turn.answer.rule ? words(turn.answer.rule) : null],
    ["by rules alone", turn.extraction ? reading(turn, turn.by_rules) || "nothing" : null],
    ["gold", beginningOf(goldText(turn.gold, turn.options))],
    ["credit", turn.credit ? `${Math.round(100 * turn.credit)} %` : null],
  ];

  const spentFacts = (turn) => [
    ["ended", STOPS[turn.output.stop]],
    ["spent", spent(turn.output)],
  ];

  /** The extractor's reply and the judges' verdicts, folded. */
  const helpers = (turn) => {
    const parts = [];
    if (turn.cut_reply) parts.push(make("details", { class: "helper" }, make("summary", {}, `First reply, cut at ${turn.cut_at.toLocaleString("en")} tokens`), reply(turn.cut_reply)));
    if (turn.extraction) parts.push(make("details", { class: "helper" }, make("summary", {}, "Extractor: ", make("b", {}, reading(turn) || "nothing")), reply(turn.extraction)));
    for (const each of turn.verdicts ?? []) {
      const grades = Object.entries(each.values).map(([name, value]) => `${words(name)} ${value}`);
      const stated = each.text !== null && each.text !== undefined ? [`“${each.text}”`] : [];
      const notes = [each.step && words(each.step), each.repeat ? `repeat ${each.repeat + 1}` : "", each.tries > 1 ? `${each.tries} tries` : ""].filter(Boolean);
      const gave = [...grades, ...stated].join(", ") || "no verdict that could be read";
      parts.push(make("details", { class: "helper" },
        make("summary", {}, `${words(each.judge)}: `, make("b", {}, gave), notes.length ? make("span", { class: "soft" }, ` ${notes.join(", ")}`) : null), reply(each.output)));
    }
    return parts.length ? [make("div", { class: "helpers" }, parts)] : [];
  };

  const replySide = (turn, heading = "Raw reply") => make("div", { class: "side", "data-pictures": "" },
    make("h4", {}, heading), reply(turn.output), facts([...readingFacts(turn), ...spentFacts(turn)]), helpers(turn));

  /** The messages of a pass that the passes before it, with their replies, do not have already: of a
      dialogue, those of its turn. Null if the pass does not go on where the last one ended. */
  const turnOf = (sample, at) => {
    const turn = sample.passes[at], before = sample.passes[at - 1];
    if (!before) return sample.passes.length > 1 && turnOf(sample, 1) ? turn.prompt : null;
    const count = before.prompt.length;
    if (turn.prompt.length <= count) return null;
    const same = before.prompt.every((message, nth) => JSON.stringify(message) === JSON.stringify(turn.prompt[nth]));
    if (!same) return null;
    const rest = turn.prompt.slice(count);
    return rest[0].role === "assistant" ? rest.slice(1) : rest;
  };

  /** A multi-turn sample as a dialogue: each turn's question, then the reply with its verdict. */
  const dialogue = (sample) => {
    if (sample.passes.length < 2 || sample.passes.some((_, at) => turnOf(sample, at) === null)) return null;
    return make("ol", { class: "dialogue", "aria-label": "Dialogue" }, sample.passes.map((turn, at) =>
      make("li", { class: "turn", "data-pictures": "" },
        make("h3", {}, `Turn ${at + 1} of ${sample.passes.length}`, verdict(passVerdict(turn))),
        messages(turnOf(sample, at), (message) => message.role),
        make("div", { class: "message model" }, make("h4", {}, "model"), reply(turn.output),
          facts([...readingFacts(turn).map(([name, value]) => (name === "read as" ? [name, null] : [name, value])), ...spentFacts(turn)]), helpers(turn)))));
  };

  const pass = (turn, at, sample) => {
    const count = sample.passes.length, draws = sample.draws.length;
    // With repeats, `saved` is the sum over all of them.
    const planned = draws ? count : count + sample.saved;
    const single = draws ? `Draw 1 of ${draws}` : "Question and reply";
    const heading = planned > 1 ? `${draws ? "Draw 1, pass" : "Pass"} ${at + 1} of ${planned}` : single;
    return make("section", { class: "pass", "aria-label": heading },
      make("header", {}, make("h3", {}, heading), turn.row ? make("span", { class: "soft" }, `row ${turn.row}`) : null, verdict(passVerdict(turn))),
      make("div", { class: "sides" }, promptSide(turn), replySide(turn)));
  };

  /** A repeat after the first: the reply and its answer. The prompt is the one of the first. */
  const furtherDraw = (draw, at, sample, drawVerdict) => {
    const heading = `Draw ${at + 1} of ${sample.draws.length}`;
    return make("section", { class: "pass", "aria-label": heading },
      make("header", {}, make("h3", {}, heading), verdict(drawVerdict)),
      draw.passes.map((turn, nth) => replySide(turn, draw.passes.length > 1 ? `Pass ${nth + 1}` : "Raw reply")));
  };

  return { dialogue, furtherDraw, helpers, pass, passVerdict, promptSide, reading, readingFacts, reply, spentFacts };
};
