/* the list of samples, from the JSON beside this script, and its filters */
(() => {
  const { samples, pictures, outcomes, annotations } = JSON.parse(document.getElementById("data").textContent);
  const list = document.querySelector(".samples");
  const form = document.querySelector(".filters");
  const countLine = document.querySelector(".found");

  /* a column in which all samples have the same label says nothing */
  const labels = new Map();
  for (const [column, label] of samples.flatMap((sample) => Object.entries(sample.groups))) {
    labels.set(column, (labels.get(column) || new Set()).add(label));
  }
  const columns = [...labels.keys()].filter((column) => labels.get(column).size > 1);

  const image = (digest, attributes) => {
    if (!pictures[digest]) return null;
    const shown = make("img", { src: "data:image/jpeg;base64," + pictures[digest], loading: "lazy", decoding: "async", ...attributes });
    return attributes.class === "thumb" ? shown : zoomable(shown);
  };
  const { body, summary, verdictOf } = samplesView({ outcomes, picture: image, columns: () => columns });

  /* What people noted in the viewer, as it was when this page was written. */
  const notesOf = ({ id }) => annotations.filter(({ sample }) => sample === id).map(({ about, flag, labels = [], note, by, at }) =>
    make("p", { class: "noted" }, make("b", {}, `${flag ? "⚑ " : ""}Noted about the ${about}: `), [...labels, note].filter(Boolean).join("; "),
      make("span", { class: "soft" }, ` ${[by, at.slice(0, 10)].filter(Boolean).join(", ")}`)));

  const rows = samples.map((sample, at) => {
    const row = make("details", { class: "sample", id: `sample-${at + 1}` }, summary(sample));
    row.addEventListener("toggle", () => {
      if (row.open && row.childElementCount === 1) row.append(...notesOf(sample), body(sample));
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
      const matches = (!result || sample.result === result) && (!outcome || sample.outcome === outcome)
        && (!kind || sample.kind === kind) && (!group || sample.groups[column] === label)
        && (!needle || texts[at].includes(needle));
      rows[at].hidden = !matches;
      count += matches;
    });
    countLine.textContent = count === samples.length ? `${count} shown` : `${count} of ${samples.length} shown`;
  };

  /* The order of the data is the one in which the samples come; sorts keep it among equals. */
  const TROUBLE = { lost: 0, unread: 1, wrong: 2, partly: 3, unscored: 4, right: 5 };
  const replyLength = (sample) => sample.passes.reduce((sum, turn) => sum + (turn.output.text?.join("").length ?? 0), 0);
  const ranks = {
    data: () => 0,
    trouble: (sample) => TROUBLE[verdictOf(sample)[0]],
    score: (sample) => sample.score ?? 2,
    long: (sample) => -replyLength(sample),
  };
  const sort = () => {
    const rank = ranks[form.elements.order.value];
    const order = samples.map((sample, at) => [rank(sample), at]).sort((one, other) => one[0] - other[0] || one[1] - other[1]);
    list.append(...order.map(([, at]) => rows[at]));
  };
  form.elements.order.addEventListener("input", sort);
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { apply(); sort(); }));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      form.elements.text.focus();
    } else if (!/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName) && !event.ctrlKey && !event.metaKey) {
      const row = document.activeElement.closest(".sample[open]") ?? (rows.filter((each) => each.open).length === 1 ? rows.find((each) => each.open) : null);
      if (row && answerKey(event, row)) event.preventDefault();
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
