/* One item as a person sees it: pictures, video, question, options, flags and replies. */

const pictureOf = (item, digest, alt) => {
  const image = make("img", { alt, decoding: "async", src: store.picture(digest, item.id) });
  image.addEventListener("error", () => (image.closest("button.zoom") ?? image).replaceWith(make("p", { class: "absent" }, `${alt}: this picture cannot be read (${digest.slice(0, 12)})`)), { once: true });
  return zoomable(image, image.src);
};

/** Pictures and videos in their order. */
const mediaView = (item) => {
  const videos = new Map((item.source?.videos ?? []).map((video) => [video.digest, video]));
  const pictures = item.media.filter(({ kind }) => kind === "image");
  const figures = item.media.map(({ digest, kind, problem }, at) => {
    if (kind === "video") {
      const video = videos.get(digest);
      return video?.has_file ? videoPlayer("", item, video) : make("p", { class: "absent" }, `This video cannot be read (${digest.slice(0, 12)})`);
    }
    const name = pictures.length > 1 ? `Picture ${at + 1} of ${item.media.length}` : "The picture";
    return make("figure", {}, pictureOf(item, digest, name), pictures.length > 1 ? make("figcaption", {}, name) : null, problem ? make("p", { class: "damage" }, problem) : null);
  });
  if (!figures.length) figures.push(make("p", { class: "absent" }, "This item has no picture."));
  const gallery = make("div", { class: `pictures${item.media.length > 1 ? " many" : ""}`, "data-pictures": "" }, figures);
  const first = gallery.querySelector("figure");
  if (first && item.source?.regions.length && item.source.size) boxesOver(first, item.source);
  else if (first && pictures.length === 1) optionBoxesOver(first, item);
  return gallery;
};

const NUMBERS = /^\s*\[\s*(\d+(?:\.\d+)?(?:\s*,\s*\d+(?:\.\d+)?){3})\s*\]\s*$/;

/** Options that are boxes [x1, y1, x2, y2] in pixels, over the picture under their letters; other numbers are left alone. */
const optionBoxesOver = (figure, item) => {
  const regions = item.choices.map(([, text]) => NUMBERS.exec(text)?.[1].split(",").map(Number));
  const image = figure.querySelector("img");
  if (!image || !regions.length || !regions.every((each) => each && each[0] < each[2] && each[1] < each[3])) return;
  const draw = () => {
    const size = [image.naturalWidth, image.naturalHeight];
    const numbers = regions.flat();
    const inside = numbers.some((each) => each > 1) && regions.every(([, , right, bottom]) => right <= size[0] && bottom <= size[1]);
    if (inside) boxesOver(figure, { regions, size, labels: item.choices.map(([label]) => label) });
  };
  if (image.complete && image.naturalWidth) draw();
  else image.addEventListener("load", draw, { once: true });
};

const optionImage = (item, label) => {
  const digest = item.option_images[label];
  return digest ? pictureOf(item, digest, `Picture of option ${label}`) : null;
};

/** The options with the key marked; nothing to choose. */
const optionsView = (item) => {
  if (["open", "yes_no", "place", "fields", "page"].includes(item.kind)) return make("p", { class: "key-line" }, "Key: ", make("b", {}, item.gold.join(" or ") || "none"));
  const right = item.gold.flatMap((text) => (item.kind === "multi" ? text.split(",").map((part) => part.trim()) : [text]));
  const unknown = right.filter((label) => !item.choices.some(([each]) => each === label));
  return make("div", {},
    make("ul", { class: "options" }, item.choices.map(([label, text]) => make("li", { class: right.includes(label) ? "gold" : null },
      make("b", {}, label), make("span", {}, text, optionImage(item, label)), right.includes(label) ? make("span", { class: "tag" }, "key") : make("span")))),
    unknown.length || !right.length ? make("p", { class: "key-line" }, right.length ? `Key: ${unknown.join(", ")}, which is no option` : "The data have no key") : null);
};

const flagsView = (item) => {
  const reasons = item.flags.map(({ step, rule, reason, changed }) => make("li", {}, reason || rule, make("span", { class: "soft" }, ` (${step}: ${rule})`), changesView(changed)));
  if (item.problem) reasons.unshift(make("li", {}, item.problem));
  return reasons.length ? make("section", { class: "why", "aria-labelledby": "why-title" }, make("h2", { id: "why-title" }, "Why you see it"), make("ul", {}, reasons)) : null;
};

/** The items that this one repeats or contradicts, each with its pictures, question and key. */
const pairsView = (item) => {
  if (!item.pairs?.length) return null;
  return make("section", { class: "beside", "aria-labelledby": "beside-title" }, make("h2", { id: "beside-title" }, "Compare with"),
    item.pairs.map((other) => make("article", { "aria-label": `Item ${other.id}` }, make("h3", {}, other.id),
      other.pictures.map((digest) => pictureOf({ id: item.id }, digest, `Picture of ${other.id}`)),
      make("p", { class: "question" }, other.question || "(no question)"), optionsView(other))));
};

/** The colour of a verdict such as "wrong in rotation 2 of 4: A, not B". */
const verdictClass = (verdict) => `verdict ${/^(right|wrong)\b/.exec(verdict)?.[1] ?? "unread"}`;

const repliesView = (item) => {
  if (!item.replies?.length) return null;
  return make("section", { class: "replies", "aria-labelledby": "replies-title" }, make("h2", { id: "replies-title" }, "What models and rules said"),
    make("ul", {}, item.replies.map(({ model, reply, verdict }) => make("li", {},
      make("div", { class: "model" }, make("b", {}, model), verdict ? make("span", { class: verdictClass(verdict) }, verdict) : null),
      reply ? make("pre", { class: "reply", tabindex: reply.length > 400 ? "0" : null }, reply) : null))));
};

const factsView = (item) => {
  const pairs = [...Object.entries(item.groups ?? {}), ...Object.entries(item.cells ?? {})];
  if (!pairs.length) return null;
  return make("details", { class: "more" }, make("summary", {}, "More about this item"),
    make("dl", { class: "facts" }, pairs.flatMap(([name, value]) => [make("dt", {}, words(name)), make("dd", {}, value)])));
};

const commentsView = (item) => (item.comments.length
  ? make("section", { class: "comments", "aria-labelledby": "comments-title" }, make("h2", { id: "comments-title" }, "Comments"),
    make("ul", {}, item.comments.map(({ by, text, at }) => make("li", {}, make("p", {}, text), make("p", { class: "soft" }, `${by}, ${at.slice(0, 16).replace("T", " ")}`)))))
  : null);

const ACTION_WORDS = { keep: "keep", fix: "fix", drop: "drop", answer: "answer" };
const REASONS = Object.fromEntries(known.reasons);

/** A decision in words. */
const decisionText = (decision) => {
  const parts = [decision.action === "answer" ? `answer ${decision.answer}${decision.ability ? `, ability ${decision.ability}` : ""}` : ACTION_WORDS[decision.action] ?? decision.action];
  if (decision.reason) parts.push(REASONS[decision.reason] ?? decision.reason);
  return parts.join(": ");
};

/** Before and after of every changed field. */
const changesView = (changed) => (changed.length
  ? make("table", { class: "changes" }, make("thead", {}, make("tr", {}, ["field", "before", "after"].map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, changed.map(([field, before, after]) => make("tr", {}, make("th", { scope: "row" }, fieldName(field)), make("td", {}, make("del", {}, before || "–")), make("td", {}, make("ins", {}, after || "–"))))))
  : null);

/** The votes beside the probability that the annotators' records give each value. */
const chancesView = ({ chances, decisions, right }) => {
  if (right) return make("p", { class: "soft" }, `A gold item; right is: ${right}`);
  const votes = decisions.filter(({ role }) => role === "annotator").length;
  const likely = Object.entries(chances ?? {}).filter(([, chance]) => chance >= 0.005).sort(([, a], [, b]) => b - a).slice(0, 3);
  if (votes < 2) return null;
  return make("p", { class: "chances" }, "By what each annotator gets right elsewhere: ", likely.map(([value, chance], at) => `${at ? ", " : ""}${value} ${(100 * chance).toFixed(0)} %`).join(""));
};

/** For an adjudicator: what everybody said, each to be accepted, which `accept(decision)` does. */
const decisionsView = (item, accept) => {
  if (!item.decisions?.length && !item.outcome?.reason) return null;
  const annotators = item.decisions.filter(({ role }) => role === "annotator");
  return make("section", { class: "said", "aria-labelledby": "said-title" },
    make("h2", { id: "said-title" }, item.outcome.status === "conflict" ? "Conflict" : "What people said"),
    item.outcome.reason ? make("p", { class: "reason" }, item.outcome.reason) : null,
    chancesView(item),
    make("ol", {}, item.decisions.map((decision) => {
      const at = annotators.indexOf(decision);
      return make("li", {},
        make("div", { class: "who" }, make("b", {}, decision.role === "adjudicator" ? `${decision.by} (adjudicator)` : decision.by), make("span", {}, decisionText(decision)),
          at >= 0 ? actionButton("Accept", at < 9 ? String(at + 1) : "", () => accept(decision), { class: "small" }, ` what ${decision.by} said`) : null),
        decision.warning ? make("p", { class: "warning" }, `${decision.by}: ${decision.warning}`) : null,
        changesView(decision.changed), decision.comment ? make("p", { class: "soft" }, decision.comment) : null);
    })));
};
