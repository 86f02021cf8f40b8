"use strict";
/* one sample as a page shows it, built with text nodes only, so that nothing a model wrote is ever
   read as markup */

/** An element with attributes and children; strings become text nodes. */
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== null && (value !== "" || name.startsWith("data-") || name === "alt")) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
};

const words = (name) => name.replaceAll("_", " ");
const KINDS = { choice: "multiple choice", yes_no: "yes or no", open: "open", place: "place", fields: "record" };
const rounded = (value) => String(Math.round(1e4 * value) / 1e4);
const RESULTS = { right: "right", partly: "partly right", wrong: "wrong", unscored: "not scored" };

/** Views of a sample. `outcomes`: labels by outcome; `picture(digest, attributes)`: an image element, or
    null without an image; `columns()`: the groupings named in a list. */
const samplesView = ({ outcomes, picture, columns }) => {
  const verdictOf = (sample) => {
    if (sample.outcome === "failed" || sample.outcome === "missing") return ["lost", outcomes[sample.outcome]];
    if (sample.outcome !== "answered") return ["unread", outcomes[sample.outcome]];
    if (sample.result === "unscored") return ["unscored", sample.unscored === "ungraded" ? "not graded" : "no gold"];
    const share = sample.result === "partly" && sample.score ? ` ${Math.round(100 * sample.score)} %` : "";
    return [sample.result, RESULTS[sample.result] + share];
  };
  const verdict = ([kind, text]) => make("span", { class: "verdict " + kind }, text);
  const goldText = (labels, options) =>
    labels.map((label) => (options[label] ? `${label}. ${options[label]}` : label)).join(" or ");
  const valueText = (value, options) => (options[value] ? `${value}. ${options[value]}` : value);
  const facts = (pairs) => make("dl", { class: "facts" }, pairs
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]).flat());
  const passes = passesView({ outcomes, picture, facts, verdict, goldText, valueText });
  const { passVerdict, reading } = passes;

  /** The pass that decided: the first that was not right, or the last. */
  const deciding = (sample) => {
    if (sample.passes.length < 2) return null;
    const at = sample.passes.findIndex((turn) => !turn.correct && turn.output.type !== "drawn");
    return at < 0 ? sample.passes.length - 1 : at;
  };

  const firstPicture = (digests, attributes) => digests.reduce((image, digest) => image || picture(digest, attributes), null);

  const summary = (sample) => {
    const at = deciding(sample);
    const turn = at === null ? null : sample.passes[at];
    const options = turn ? turn.options : sample.options;
    const gold = goldText(turn ? turn.gold : sample.gold, options) || "–";
    const thumb = firstPicture(sample.media, { class: "thumb", alt: "", width: 48, height: 48 });
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

  /** The roles of the images of a comparison: the image a model made, and the options. */
  const roles = (sample) => Object.fromEntries(sample.passes
    .filter((turn) => turn.output.type === "compared")
    .flatMap((turn) => turn.prompt.flatMap((message) => message.parts).map((part, at) =>
      [part.digest, at ? `Option ${turn.output.candidates[at - 1].label}` : "Drawn"])));

  /** The places of a sample over its picture, or over the duration; IoU and verdict beside them. */
  const placeFigure = (sample, figure = make("figure")) => (sample.places.extent.length === 1
    ? spansFigure(sample.places, verdict(verdictOf(sample)))
    : placesOver(figure, sample.places, verdict(verdictOf(sample))));

  /** The pictures of a sample in their order, each with its name; `data-digest` finds one again. The
      places of a sample are on its first picture. */
  const gallery = (sample, withPlaces = true) => {
    const named = roles(sample), many = sample.media.length > 1;
    const shown = make("div", { class: `pictures${sample.media.length > 2 ? " many" : ""}`, "data-pictures": "" }, sample.media.map((digest, at) => {
      const name = named[digest] || (many ? `Image ${at + 1}` : "The image");
      const shown = picture(digest, { alt: `${name}${many && !named[digest] ? ` of ${sample.media.length}` : ""} of sample ${sample.id}` });
      if (!shown) return make("p", { class: "absent" }, `${name} is not on this machine (${digest.slice(0, 12)})`);
      return make("figure", { "data-digest": digest }, shown, many ? make("figcaption", {}, name) : null);
    }));
    if (!sample.places || !withPlaces) return shown;
    const first = shown.firstElementChild;
    if (sample.places.extent.length === 2 && first?.matches("figure")) placeFigure(sample, first);
    else shown.prepend(placeFigure(sample));
    return shown;
  };

  /** One or two pictures stand beside the facts, more above them. */
  const aboutClass = ({ media, places }) => (media.length > 2 ? "about wide" : media.length || places ? "about" : "");

  const choices = (sample) => {
    const labels = Object.keys(sample.options);
    if (!labels.length) return null;
    const first = Math.max(sample.passes.findIndex((turn) => turn.answer !== null), 0) + 1;
    return make("ul", { class: "options" }, labels.map((label) => {
      const tags = [];
      if (sample.gold.includes(label)) tags.push("gold");
      if (sample.answer === label) tags.push(sample.passes.length + sample.saved > 1 ? `model in pass ${first}` : "model");
      const kinds = [sample.gold.includes(label) ? "gold" : "", sample.answer === label ? "chosen" : ""].filter(Boolean).join(" ");
      return make("li", { class: kinds },
        make("b", {}, label), make("span", {}, sample.options[label]), make("span", { class: "tag" }, tags.join(", ")));
    }));
  };

  const remarks = (sample) => [
    sample.saved ? `${sample.saved} more ${sample.saved === 1 ? "pass was" : "passes were"} not needed` : "",
    sample.asked_once ? "asked once: its options cannot be rotated" : "",
    sample.lacking ? `${sample.lacking} of its rotations are missing from the data` : "",
    sample.holds_verdict ? "the reply itself states what looks like a verdict" : "",
  ].filter(Boolean).join("; ");

  const about = (sample) => {
    const values = Object.entries(sample.values).map(([name, value]) => `${words(name)} ${rounded(value)}`).join(", ");
    const turns = passes.dialogue(sample) !== null;
    const groups = Object.entries(sample.groups).map(([name, value]) => [words(name), words(value)]);
    const read = sample.passes.length > 1
      ? sample.passes.map((turn, at) => [`pass ${at + 1}`, `${reading(turn) || "–"} (${passVerdict(turn)[1]})`])
      : [["answer", sample.answer === null ? outcomes[sample.outcome] : sample.beside ? null : valueText(sample.answer, sample.options)]];
    return facts([
      ["id", sample.id],
      ["position in the data", sample.position === undefined ? null : (sample.position + 1).toLocaleString("en")],
      ...(turns ? [] : read),
      ["gold", turns || sample.beside ? null : sample.gold.length > 3 ? `${sample.gold.length} accepted answers` : goldText(sample.gold, sample.options) || "none"],
      ["score", sample.score === null ? "not scored" : rounded(sample.score)],
      ["draws", sample.draws.map((draw) => `${draw.answer === null ? "–" : draw.answer} (${verdictOf(draw)[1]})`).join(", ")],
      ["values", values],
      ...groups,
      ["unit", sample.unit && sample.unit.length <= 40 ? sample.unit : null],
      ["failure", sample.failure ? words(sample.failure) : null],
      ["remarks", remarks(sample)],
    ]);
  };

  const body = (sample) => make("div", { class: "body" },
    make("div", { class: aboutClass(sample) },
      sample.media.length || sample.places ? gallery(sample) : null,
      make("div", {}, choices(sample), about(sample))),
    sample.beside ? besideFigure(sample.beside, verdict(verdictOf(sample))) : null,
    passes.dialogue(sample) ?? sample.passes.map((turn, at) => passes.pass(turn, at, sample)),
    sample.draws.map((draw, at) => (at ? passes.furtherDraw(draw, at, sample, verdictOf(draw)) : null)));

  return { ...passes, aboutClass, body, choices, deciding, facts, gallery, goldText, placeFigure, summary, valueText, verdict, verdictOf };
};
