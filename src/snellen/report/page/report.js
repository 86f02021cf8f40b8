/* samples: built from the JSON beside this script with text nodes only, so that nothing a model
   said is ever read as markup */
(() => {
  const { samples, pictures, outcomes } = JSON.parse(document.getElementById("data").textContent);
  const list = document.querySelector(".samples");
  const form = document.querySelector(".filters");
  const found = document.querySelector(".found");
  const words = (name) => name.replaceAll("_", " ");
  const KINDS = { choice: "multiple choice", yes_no: "yes or no", open: "open" };
  const RESULTS = { right: "right", partly: "partly right", wrong: "wrong", unscored: "not scored" };

  /* a column in which all samples have the same label says nothing */
  const labels = new Map();
  for (const [column, label] of samples.flatMap((sample) => Object.entries(sample.groups))) {
    labels.set(column, (labels.get(column) || new Set()).add(label));
  }
  const columns = [...labels.keys()].filter((column) => labels.get(column).size > 1);

  /** An element with attributes and children; strings become text nodes. */
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined && value !== null && value !== "") element.setAttribute(name, value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  };
  const image = (digest, attributes) =>
    make("img", { src: "data:image/jpeg;base64," + pictures[digest], loading: "lazy", decoding: "async", ...attributes });

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
    const digest = sample.media.find((each) => pictures[each]);
    const groups = columns.filter((column) => column in sample.groups).map((column) => words(sample.groups[column]));
    const answer = turn ? reading(turn) || "–" : sample.answer === null ? "–" : valueText(sample.answer, options);
    return make("summary", {},
      digest ? image(digest, { class: "thumb", alt: "", width: 48, height: 48 }) : make("span", { class: "thumb none" }),
      make("span", {},
        make("span", { class: "ask" }, sample.question),
        make("span", { class: "meta" }, [sample.id, KINDS[sample.kind] || sample.kind, ...groups].join(" · "))),
      make("span", { class: "said" },
        make("span", { title: answer }, make("em", {}, turn ? `pass ${at + 1}` : "answer"), answer),
        make("span", { title: gold }, make("em", {}, "gold"), gold)),
      verdict(verdictOf(sample)));
  };

  const gallery = (sample) => make("div", { class: "pictures" }, sample.media.map((digest, at) => {
    const name = sample.media.length > 1 ? `Picture ${at + 1}` : "The picture";
    if (!pictures[digest]) return make("p", { class: "absent" }, `${name} is not kept here (${digest.slice(0, 12)})`);
    const caption = sample.media.length > 1 ? make("figcaption", {}, name) : null;
    return make("figure", {}, image(digest, { alt: `${name} of sample ${sample.id}` }), caption);
  }));

  const choices = (sample) => {
    const labels = Object.keys(sample.options);
    if (!labels.length) return null;
    return make("ul", { class: "options" }, labels.map((label) => {
      const tags = [];
      if (sample.gold.includes(label)) tags.push("gold");
      if (sample.answer === label) tags.push(sample.passes.length + sample.saved > 1 ? "model in pass 1" : "model");
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
      if (part.kind === "image" && pictures[part.digest]) return image(part.digest, { alt: `image ${part.digest.slice(0, 8)}` });
      return make("span", { class: "chip" }, `${part.kind} ${part.digest.slice(0, 8)}`);
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
      const drawn = output.images.map((digest) => pictures[digest]
        ? image(digest, { alt: `drawn ${digest.slice(0, 8)}` })
        : make("span", { class: "chip" }, `drawn ${digest.slice(0, 8)}`));
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
    return turn.correct ? ["right", "right"] : ["wrong", "wrong"];
  };

  const pass = (turn, at, sample) => {
    const count = sample.passes.length;
    const heading = count + sample.saved > 1 ? `Pass ${at + 1} of ${count + sample.saved}` : "Question and reply";
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
          ["values", values],
          ...groups,
          ["early stop", early],
        ]))),
      sample.passes.map((turn, at) => pass(turn, at, sample)));
  };

  const rows = samples.map((sample, at) => {
    const row = make("details", { class: "sample", id: `sample-${at + 1}` }, summary(sample));
    row.addEventListener("toggle", () => {
      if (row.open && row.childElementCount === 1) row.append(body(sample));
    });
    return row;
  });
  list.append(...rows);

  /* filters */
  const tally = (values) => values.reduce((counts, value) => counts.set(value, (counts.get(value) || 0) + 1), new Map());
  const option = (value, text, count) => make("option", { value }, `${text} (${count})`);
  const fill = (name, values, naming) => {
    const counts = tally(values);
    const select = form.elements[name];
    const all = make("option", {}, "all");
    all.value = "";
    select.append(all, ...[...counts].map(([value, count]) => option(value, naming(value), count)));
    select.closest("label").hidden = name !== "result" && counts.size < 2;
  };
  fill("result", samples.map((sample) => sample.result), (value) => RESULTS[value]);
  fill("outcome", samples.map((sample) => sample.outcome), (value) => outcomes[value]);
  fill("kind", samples.map((sample) => sample.kind), (value) => KINDS[value] || value);
  const everything = make("option", {}, "all");
  everything.value = "";
  form.elements.group.append(everything, ...columns.map((column) => {
    const counts = [...tally(samples.filter((sample) => column in sample.groups).map((sample) => sample.groups[column]))];
    counts.sort((one, other) => one[0].localeCompare(other[0]));
    return make("optgroup", { label: words(column) }, counts.map(([label, count]) => option(JSON.stringify([column, label]), words(label), count)));
  }));
  form.elements.group.closest("label").hidden = !columns.length;
  form.hidden = samples.length === 0;

  let texts = null;
  const textOf = (sample) => [
    sample.id, sample.question, sample.answer, ...sample.gold, ...Object.values(sample.options),
    ...sample.passes.flatMap((turn) => [
      ...turn.prompt.flatMap((message) => message.parts.map((part) => part.text || "")),
      turn.output.text ? turn.output.text.join("") : turn.output.message || "",
    ]),
  ].join("\n").toLowerCase();

  const apply = () => {
    const { text, result, outcome, kind, group } = Object.fromEntries(new FormData(form));
    const needle = text.trim().toLowerCase();
    if (needle && !texts) texts = samples.map(textOf);
    const [column, label] = group ? JSON.parse(group) : [];
    let count = 0;
    samples.forEach((sample, at) => {
      const shown = (!result || sample.result === result) && (!outcome || sample.outcome === outcome)
        && (!kind || sample.kind === kind) && (!group || sample.groups[column] === label)
        && (!needle || texts[at].includes(needle));
      rows[at].hidden = !shown;
      count += shown;
    });
    found.textContent = count === samples.length ? `${count} shown` : `${count} of ${samples.length} shown`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      form.elements.text.focus();
    }
  });
  apply();

  /* a link to one sample, e.g. report.html#sample-12, opens it */
  const open = () => {
    const row = rows.find((each) => "#" + each.id === location.hash);
    if (row) { row.open = true; row.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  open();
})();
