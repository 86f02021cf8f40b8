"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const key = (one) => `${one.run}\n${one.sample}`;
  const kept = `snellen-errors:${data.samples.length}:${data.samples.map(key).join("|").length}:` +
    (data.samples[0] ? key(data.samples[0]) : "");
  const labels = new Map(data.samples.map((one) => [key(one), { labels: new Set(one.labels), note: one.note }]));
  const cards = new Map();
  const labeller = document.getElementById("labeller");
  const show = document.getElementById("show");
  const model = document.getElementById("model");

  const make = (name, text, kind) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };

  const card = (one) => {
    const item = make("li");
    item.tabIndex = -1;
    const shown = make("div", undefined, "shown");
    for (const digest of one.pictures) {
      const picture = make("img");
      picture.src = data.pictures[digest];
      picture.alt = "what the model saw";
      shown.append(picture);
    }
    const told = make("div");
    told.append(make("p", `${one.model} · ${one.subtask} · ${one.sample}`, "where"));
    told.append(make("p", one.question, "question"));
    const options = make("ul", undefined, "choices");
    for (const [label, text] of Object.entries(one.options)) {
      const option = make("li", `${label}. ${text}`);
      if (one.gold.includes(label)) option.className = "gold";
      else if (one.answer === label) option.className = "said";
      options.append(option);
    }
    if (!options.children.length) {
      options.append(make("li", one.gold.join(", "), "gold"));
      if (one.answer !== null) options.append(make("li", one.answer, "said"));
    }
    told.append(options, make("p", `the reply (${one.outcome})`, "where"), make("pre", one.reply || "(empty)"));
    const types = make("fieldset");
    types.append(make("legend", "why it is wrong", "where"));
    data.types.forEach(([name, title, meaning], at) => {
      const label = make("label");
      label.title = meaning;
      const box = make("input");
      box.type = "checkbox";
      box.value = name;
      box.addEventListener("change", () => {
        const held = labels.get(key(one)).labels;
        if (box.checked) held.add(name); else held.delete(name);
        changed();
      });
      label.append(box, ` ${at + 1} ${title}`);
      types.append(label);
    });
    const note = make("input", undefined, "note");
    note.placeholder = "note";
    note.setAttribute("aria-label", "note");
    note.addEventListener("input", () => { labels.get(key(one)).note = note.value; changed(); });
    told.append(types, note);
    item.append(shown, told);
    item.addEventListener("keydown", (event) => {
      const at = Number(event.key) - 1;
      if (event.target === note || event.ctrlKey || event.metaKey || event.altKey) return;
      if (at >= 0 && at < data.types.length) types.querySelectorAll("input")[at].click();
    });
    return item;
  };

  const render = () => {
    for (const one of data.samples) {
      const item = cards.get(key(one));
      const held = labels.get(key(one));
      for (const box of item.querySelectorAll("fieldset input")) box.checked = held.labels.has(box.value);
      item.querySelector(".note").value = held.note;
    }
    changed();
  };

  const changed = () => {
    let done = 0;
    for (const one of data.samples) {
      const item = cards.get(key(one));
      const labelled = labels.get(key(one)).labels.size > 0;
      done += labelled;
      item.classList.toggle("done", labelled);
      const active = item.contains(document.activeElement);
      item.hidden = (model.value !== "" && one.model !== model.value) ||
        (show.value === "open" && labelled && !active) || (show.value === "done" && !labelled && !active);
    }
    document.getElementById("progress").textContent = `${done} of ${data.samples.length} labelled`;
    try { localStorage.setItem(kept, JSON.stringify(saved())); } catch { /* a page from a file may have no store */ }
  };

  const saved = () => ({
    samples: data.samples.map((one) => ({
      run: one.run, sample: one.sample, model: one.model, subtask: one.subtask,
      labels: data.types.map(([name]) => name).filter((name) => labels.get(key(one)).labels.has(name)),
      note: labels.get(key(one)).note,
      wrong: one.wrong,
    })),
    labeller: labeller.value,
    format: data.format,
  });

  const load = (found) => {
    if (found.format !== data.format) return;
    for (const one of found.samples) {
      if (labels.has(key(one))) labels.set(key(one), { labels: new Set(one.labels || []), note: one.note || "" });
    }
    labeller.value = found.labeller || labeller.value;
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
    const rows = saved().samples.map((one) =>
      [one.run, one.model, one.sample, one.subtask, one.labels.join(";"), one.note, one.wrong || "", labeller.value].map(cell).join(","));
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

  for (const name of new Set(data.samples.map((one) => one.model))) {
    const option = make("option", name);
    option.value = name;
    model.append(option);
  }
  const list = document.getElementById("samples");
  for (const one of data.samples) {
    const item = card(one);
    cards.set(key(one), item);
    list.append(item);
  }
  let before = null;
  try { before = JSON.parse(localStorage.getItem(kept)); } catch { /* as above */ }
  render();
  if (before) load(before);
})();
