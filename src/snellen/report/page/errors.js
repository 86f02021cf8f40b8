"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const key = (sample) => `${sample.run}\n${sample.sample}`;
  const kept = `snellen-errors:${data.samples.length}:${data.samples.map(key).join("|").length}:` +
    (data.samples[0] ? key(data.samples[0]) : "");
  const labels = new Map(data.samples.map((sample) => [key(sample), { labels: new Set(sample.labels), note: sample.note }]));
  const cards = new Map();
  const labeller = document.getElementById("labeller");
  const show = document.getElementById("show");
  const model = document.getElementById("model");

  const make = (name, text, kind) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };

  const card = (sample) => {
    const item = make("li");
    item.tabIndex = -1;
    const images = make("div", undefined, "shown");
    for (const digest of sample.pictures) {
      const image = make("img");
      image.src = data.pictures[digest];
      image.alt = "what the model saw";
      images.append(zoomable(image));
    }
    if (sample.places) {
      const figure = make("figure"), outcome = make("span", sample.outcome, "soft");
      figure.append(...[...images.children].slice(0, 1));
      images.prepend(sample.places.extent.length === 1 ? spansFigure(sample.places, outcome) : placesOver(figure, sample.places, outcome));
    }
    const details = make("div");
    details.append(make("p", `${sample.model} · ${sample.subtask} · ${sample.sample}`, "where"));
    details.append(make("p", sample.question, "question"));
    const options = make("ul", undefined, "choices");
    for (const [label, text] of Object.entries(sample.options)) {
      const option = make("li", `${label}. ${text}`);
      if (sample.gold.includes(label)) option.className = "gold";
      else if (sample.answer === label) option.className = "said";
      options.append(option);
    }
    if (!options.children.length) {
      options.append(make("li", sample.gold.join(", "), "gold"));
      if (sample.answer !== null) options.append(make("li", sample.answer, "said"));
    }
    if (sample.beside) options.replaceChildren(besideFigure(sample.beside, make("span", sample.outcome, "soft")));
    details.append(options, make("p", `the reply (${sample.outcome})`, "where"), make("pre", sample.reply || "(empty)"));
    const types = make("fieldset");
    types.append(make("legend", "why it is wrong", "where"));
    data.types.forEach(([name, title, meaning], at) => {
      const label = make("label");
      label.title = meaning;
      const box = make("input");
      box.type = "checkbox";
      box.value = name;
      box.addEventListener("change", () => {
        const names = labels.get(key(sample)).labels;
        if (box.checked) names.add(name); else names.delete(name);
        changed();
      });
      label.append(box, ` ${at + 1} ${title}`);
      types.append(label);
    });
    const note = make("input", undefined, "note");
    note.placeholder = "note";
    note.setAttribute("aria-label", "note");
    note.addEventListener("input", () => { labels.get(key(sample)).note = note.value; changed(); });
    details.append(types, note);
    item.append(images, details);
    item.addEventListener("keydown", (event) => {
      const at = Number(event.key) - 1;
      if (event.target === note || event.ctrlKey || event.metaKey || event.altKey) return;
      if (at >= 0 && at < data.types.length) types.querySelectorAll("input")[at].click();
      else answerKey(event, item);
    });
    return item;
  };

  const render = () => {
    for (const sample of data.samples) {
      const item = cards.get(key(sample));
      const label = labels.get(key(sample));
      for (const box of item.querySelectorAll("fieldset input")) box.checked = label.labels.has(box.value);
      item.querySelector(".note").value = label.note;
    }
    changed();
  };

  const changed = () => {
    let done = 0;
    for (const sample of data.samples) {
      const item = cards.get(key(sample));
      const labelled = labels.get(key(sample)).labels.size > 0;
      done += labelled;
      item.classList.toggle("done", labelled);
      const active = item.contains(document.activeElement);
      item.hidden = (model.value !== "" && sample.model !== model.value) ||
        (show.value === "open" && labelled && !active) || (show.value === "done" && !labelled && !active);
    }
    document.getElementById("progress").textContent = `${done} of ${data.samples.length} labelled`;
    try { localStorage.setItem(kept, JSON.stringify(saved())); } catch { /* a page from a file may have no store */ }
  };

  const saved = () => ({
    samples: data.samples.map((sample) => ({
      run: sample.run, sample: sample.sample, model: sample.model, subtask: sample.subtask,
      labels: data.types.map(([name]) => name).filter((name) => labels.get(key(sample)).labels.has(name)),
      note: labels.get(key(sample)).note,
      wrong: sample.wrong,
    })),
    labeller: labeller.value,
    format: data.format,
  });

  const load = (file) => {
    if (file.format !== data.format) return;
    for (const sample of file.samples) {
      if (labels.has(key(sample))) labels.set(key(sample), { labels: new Set(sample.labels || []), note: sample.note || "" });
    }
    labeller.value = file.labeller || labeller.value;
    render();
  };

  const download = (text, name, kind) => {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([text], { type: kind }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  };

  const cell = (text) => `"${String(text).replaceAll('"', '""')}"`;

  document.getElementById("json").addEventListener("click", () =>
    download(JSON.stringify(saved(), null, 1), "error-labels.json", "application/json"));
  document.getElementById("csv").addEventListener("click", () => {
    const rows = saved().samples.map((sample) =>
      [sample.run, sample.model, sample.sample, sample.subtask, sample.labels.join(";"), sample.note, sample.wrong || "", labeller.value].map(cell).join(","));
    download(["run,model,sample,subtask,labels,note,wrong,labeller", ...rows].join("\r\n") + "\r\n", "error-labels.csv", "text/csv");
  });
  document.getElementById("file").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (file) load(JSON.parse(await file.text()));
  });
  document.querySelector(".tools").addEventListener("submit", (event) => event.preventDefault());
  show.addEventListener("change", changed);
  model.addEventListener("change", changed);
  labeller.addEventListener("input", changed);

  for (const name of new Set(data.samples.map((sample) => sample.model))) {
    const option = make("option", name);
    option.value = name;
    model.append(option);
  }
  const list = document.getElementById("samples");
  for (const sample of data.samples) {
    const item = card(sample);
    cards.set(key(sample), item);
    list.append(item);
  }
  let before = null;
  try { before = JSON.parse(localStorage.getItem(kept)); } catch { /* as above */ }
  render();
  if (before) load(before);
})();
