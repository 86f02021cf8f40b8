/* Flags, notes and labels of people: what is known of them, and the boxes to write them in. */

const NO_ANNOTATION = { flag: false, note: "", labels: [], by: "", at: "" };
const LOOK_AGAIN = 4000;

/** The annotations of one run: of its `reply` to a sample, and of the `sample` itself, which all
    runs of the same data share. */
class Annotations {
  constructor(run) { Object.assign(this, { run, state: { reply: {}, sample: {}, labels: [], notices: [] }, text: "" }); }

  /** Fetch them again. Returns whether anything changed. */
  async pull() { return this.take(await store.annotations(this.run)); }

  take(state) {
    const text = JSON.stringify(state);
    const changed = text !== this.text;
    Object.assign(this, { state, text });
    return changed;
  }

  of(about, id) { return this.state[about][id] ?? NO_ANNOTATION; }

  async change(id, about, fields) { return this.take(await store.annotate({ run: this.run, sample: id, about, ...fields })); }

  /** Everything noted about a sample and the reply to it. */
  both(id) { return [this.state.reply[id], this.state.sample[id]].filter(Boolean); }

  ids() { return [...new Set([...Object.keys(this.state.reply), ...Object.keys(this.state.sample)])]; }
}

/** Whether an annotation fits a choice of the filter: `any`, `flag`, `note` or `label:...`. */
const fitsChoice = (annotation, choice) => {
  if (choice === "flag") return annotation.flag;
  if (choice === "note") return annotation.note !== "";
  return choice === "any" || annotation.labels.includes(choice.slice("label:".length));
};

/** The choices of the filter with the number of samples that fit each. `noted`: for each sample with
    any, its annotations. */
const annotationChoices = (noted) => {
  const count = (choice) => noted.filter((each) => each.some((annotation) => fitsChoice(annotation, choice))).length;
  const labels = [...new Set(noted.flat().flatMap(({ labels: used }) => used))].sort();
  return [["any", "any"], ["flag", "flagged"], ["note", "with a note"], ...labels.map((label) => [`label:${label}`, `label ${label}`])]
    .map(([choice, title]) => ({ choice, title, samples: count(choice) })).filter(({ samples }) => samples);
};

/** Small signs of annotations in a row of a list. */
const annotationMarks = (annotations) => {
  if (!annotations.length) return null;
  const labels = [...new Set(annotations.flatMap((each) => each.labels))];
  const note = annotations.find((each) => each.note)?.note;
  return make("span", { class: "marks" },
    annotations.some((each) => each.flag) ? make("span", { class: "flagged", title: "flagged" }, "⚑", make("span", { class: "unseen" }, " flagged ")) : null,
    note ? make("span", { title: note }, "✎", make("span", { class: "unseen" }, " has a note ")) : null,
    labels.map((label) => make("span", { class: "label" }, label)));
};

/** A box to write annotations of one subject in; without `store.writes` it only shows them. */
class AnnotationBox {
  constructor({ annotations, id, about, title, changed }) {
    Object.assign(this, { annotations, id, about, title, changed });
    this.status = make("span", { class: "soft", role: "status" });
    this.element = make("section", { class: "note-box", "aria-label": title });
    this.draw();
  }

  get now() { return this.annotations.of(this.about, this.id); }

  /** Draw it anew, unless somebody is writing a note in it; what has the focus keeps it. */
  refresh() {
    const active = document.activeElement;
    const held = this.element.contains(active) ? active.className : "";
    if (held === "note") return;
    const begun = this.label?.value ?? "";
    this.draw();
    if (this.label) this.label.value = begun;
    if (held) this.element.querySelector(`[class="${held}"]`)?.focus();
  }

  draw() {
    const { now } = this;
    const name = make("b", {}, this.title);
    this.element.hidden = false;
    if (!store.writes) {
      const empty = !now.flag && !now.note && !now.labels.length;
      this.element.hidden = empty;
      this.element.replaceChildren(name, ...[annotationMarks([{ ...now, note: "" }]), now.note ? make("p", { class: "note" }, now.note) : null, this.author()].filter(Boolean));
      return;
    }
    this.flag = make("button", { type: "button", class: "flag-button", "aria-pressed": String(now.flag), title: "Flag (f)" }, "⚑ ", now.flag ? "Flagged" : "Flag");
    this.flag.addEventListener("click", () => this.send({ flag: !this.now.flag }));
    const labels = now.labels.map((label) => {
      const remove = make("button", { type: "button", class: "remove", "aria-label": `Remove the label ${label}` }, "×");
      remove.addEventListener("click", () => this.send({ remove: [label] }));
      return make("span", { class: "label" }, label, remove);
    });
    this.element.replaceChildren(name, this.flag, ...labels, this.labelInput(), this.noteInput(), this.author() ?? "", this.status);
  }

  labelInput() {
    const list = make("datalist", { id: `labels-${this.about}-${this.annotations.run}` }, this.annotations.state.labels.map((label) => make("option", { value: label })));
    this.label = make("input", { class: "add-label", type: "text", maxlength: "80", autocomplete: "off", list: list.id, placeholder: "Label", "aria-label": `Add a label: ${this.title}`, title: "Label (l)" });
    const add = () => {
      const label = this.label.value.trim();
      this.label.value = "";
      if (label) this.send({ add: [label] });
    };
    this.label.addEventListener("change", add);
    this.label.addEventListener("keydown", (event) => { if (event.key === "Enter") { add(); event.preventDefault(); } });
    return make("span", {}, this.label, list);
  }

  noteInput() {
    this.note = make("textarea", { class: "note", rows: "1", maxlength: "10000", placeholder: "Note", "aria-label": `Note: ${this.title}`, title: "Note (n)" });
    this.note.value = this.now.note;
    this.note.rows = Math.min(8, this.now.note.split("\n").length + Math.floor(this.now.note.length / 70)) || 1;
    this.note.addEventListener("change", () => { if (this.note.value.trim() !== this.now.note) this.send({ note: this.note.value }); });
    this.note.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.note.blur(); });
    return this.note;
  }

  author() {
    const { by, at } = this.now;
    if (!at) return null;
    const when = make("time", { datetime: at }, at.slice(0, 16).replace("T", " "));
    return make("span", { class: "soft author" }, by ? `${by}, ` : "", when);
  }

  /** Store a change. If that fails, what was typed stays, with the reason beside it. */
  async send(fields) {
    this.status.textContent = "";
    try {
      await this.annotations.change(this.id, this.about, fields);
      this.changed();
      this.refresh();
      this.status.textContent = "saved";
      setTimeout(() => { this.status.textContent = ""; }, 2000);
    } catch (error) {
      this.status.textContent = /fetch/i.test(error.message) ? "not saved: the server does not answer" : error.message;
    }
  }
}

const csvCell = (text) => {
  /* Spreadsheets run what begins like a formula. */
  const safe = /^'*[=+\-@\t\r\n]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

/** The annotations of several runs as text: `csv` or `jsonl`. `names`: the name of each run. */
const annotationText = (every, names, form) => {
  const rows = every.flatMap((annotations, at) => ["sample", "reply"].flatMap((about) =>
    /* Those of samples are the same in all runs of the same data. */
    (about === "sample" && at ? [] : Object.entries(annotations.state[about])).map(([sample, each]) => ({
      run: about === "reply" ? annotations.run : "", model: about === "reply" ? names[at] : "", sample, about, ...each }))));
  if (form === "jsonl") return rows.map((row) => JSON.stringify(row) + "\n").join("");
  const head = ["run", "model", "sample", "about", "flag", "labels", "note", "by", "at"];
  return [head, ...rows.map((row) => head.map((name) => ({ flag: row.flag ? "yes" : "", labels: row.labels.join("; ") })[name] ?? row[name]))]
    .map((cells) => cells.map(csvCell).join(",") + "\n").join("");
};

const saveText = (name, text) => {
  const link = make("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: "text/plain" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
