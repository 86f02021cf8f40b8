/* The forms of a decision: fix, drop, comment, and the annotator's own answer. */

const fieldName = (field) => (/^[A-Z]$/.test(field) ? `Option ${field}` : words(field).replace(/^./, (letter) => letter.toUpperCase()));

/** The option of a list that chooses nothing. */
const emptyOption = (text) => Object.assign(make("option", {}, text), { value: "" });

/** Text that grows with what is in it. */
const textBox = (attributes, value) => {
  const box = make("textarea", { rows: "1", maxlength: String(known.maxText), spellcheck: "true", ...attributes });
  box.value = value;
  return box;
};

/** A form that is saved by Ctrl+Enter, or by Enter where no line is to be broken, and left by Esc. */
class DecisionForm {
  constructor(item, { title, save, cancel }) {
    Object.assign(this, { item, save, cancel });
    this.problem = make("p", { class: "problem", role: "alert", hidden: true });
    this.element = make("form", { class: "decision", "aria-label": title, novalidate: true });
    this.element.addEventListener("submit", (event) => { event.preventDefault(); this.submit(); });
    this.element.addEventListener("input", () => this.keep());
    this.element.addEventListener("keydown", (event) => this.press(event));
  }

  press(event) {
    if (event.key === "Escape") {
      this.cancel?.();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.target.tagName === "SELECT" || ["radio", "checkbox"].includes(event.target.type))) {
      this.submit();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Keep what is typed in this browser until it is saved. */
  keep() { drafts.put(this.item.id, this.draft()); }

  async submit() {
    if (this.busy) return;
    this.busy = true;
    this.complain("");
    try {
      await this.save(this.decision());
    } catch (error) {
      this.complain(error instanceof Refused ? error.message : `not saved: ${describeError(error)}; what you typed is kept`);
    } finally {
      this.busy = false;
    }
  }

  complain(text) {
    this.problem.textContent = text;
    this.problem.hidden = !text;
  }

  buttons(text) {
    return make("div", { class: "buttons" }, make("button", { class: "main" }, text), this.cancel ? actionButton("Cancel", "Esc", this.cancel) : null);
  }

  comment(value) {
    this.note = textBox({ id: "form-comment", rows: "1" }, value);
    return make("label", {}, "Comment (optional)", this.note);
  }

  focus() { this.element.querySelector("input, textarea, select")?.focus(); }
}

class FixForm extends DecisionForm {
  constructor(item, options) {
    super(item, { title: "Fix this item", ...options });
    const draft = drafts.get(item.id);
    const before = item.own?.action === "fix" ? item.own.changes : options.start ?? {};
    this.fields = new Map(item.fields);
    const letters = [...this.fields.keys()].filter((field) => /^[A-Z]$/.test(field));
    const added = Object.keys({ ...before, ...draft.changes }).filter((field) => /^[A-Z]$/.test(field) && !this.fields.has(field));
    this.inputs = new Map();
    this.list = make("div", { class: "fields" });
    for (const [field, value] of item.fields) {
      this.addField(field, draft.changes?.[field] ?? before[field] ?? value);
      if (field === letters.at(-1)) added.sort().forEach((letter) => this.addField(letter, draft.changes?.[letter] ?? before[letter] ?? ""));
    }
    const more = letters.length ? actionButton("Add an option", "", () => this.addOption(), { class: "small" }) : null;
    this.element.append(make("h2", {}, "Fix"), this.list, ...(more ? [more] : []), this.comment(draft.comment ?? item.own?.comment ?? ""), this.problem, this.buttons("Save the fix"));
  }

  addField(field, value) {
    const kind = this.item.kind;
    let input;
    if (field === "answer" && (kind === "choice" || kind === "yes_no")) {
      input = make("select", {});
      this.fillAnswers(input, value);
    } else if (field === this.item.ability_column) {
      const list = make("datalist", { id: "abilities" }, this.item.abilities.map((name) => make("option", { value: name })));
      this.element.append(list);
      input = make("input", { list: "abilities", autocomplete: "off", maxlength: String(known.maxText) });
      input.value = value;
    } else input = textBox({}, value);
    const help = field === "answer" && kind === "multi" ? " (labels with commas)" : field === "answer" && kind === "open" ? " (one accepted answer a line)" : "";
    const row = make("label", { "data-field": field }, fieldName(field) + help, input);
    this.inputs.set(field, input);
    const answer = this.inputs.get("answer")?.closest("label");
    if (answer && field !== "answer" && /^[A-Z]$/.test(field)) answer.before(row);
    else this.list.append(row);
  }

  fillAnswers(select, value) {
    const labels = this.item.kind === "yes_no" ? ["Yes", "No"] : [...new Set([...this.item.choices.map(([label]) => label), ...(this.inputs ? [...this.inputs.keys()].filter((field) => /^[A-Z]$/.test(field)) : [])])];
    const every = labels.includes(value) || !value ? labels : [value, ...labels];
    select.replaceChildren(...(value ? [] : [emptyOption("none")]), ...every.map((label) => make("option", { value: label }, labels.includes(label) ? label : `${label} (no option)`)));
    select.value = value;
  }

  addOption() {
    const letters = [...this.inputs.keys()].filter((field) => /^[A-Z]$/.test(field)).sort();
    const next = String.fromCharCode(letters.at(-1).charCodeAt(0) + 1);
    if (next > "Z") return;
    this.addField(next, "");
    const answer = this.inputs.get("answer");
    if (answer.tagName === "SELECT") this.fillAnswers(answer, answer.value);
    this.inputs.get(next).focus();
  }

  changes() { return Object.fromEntries([...this.inputs].filter(([field, input]) => input.value !== (this.fields.get(field) ?? "")).map(([field, input]) => [field, input.value])); }

  draft() { return { changes: this.changes(), comment: this.note.value, form: "fix" }; }

  decision() { return { action: "fix", changes: this.changes(), comment: this.note.value }; }
}

class DropForm extends DecisionForm {
  constructor(item, options) {
    super(item, { title: "Drop this item", ...options });
    const draft = drafts.get(item.id);
    const chosen = draft.reason ?? item.own?.reason ?? "";
    this.radios = known.reasons.map(([code, text], at) => {
      const radio = make("input", { type: "radio", name: "reason", value: code, checked: code === chosen || null });
      return [radio, make("label", { class: "choice" }, radio, make("kbd", { "aria-hidden": "true" }, String(at + 1)), text)];
    });
    this.element.append(make("fieldset", {}, make("legend", {}, "Drop, because it"), this.radios.map(([, label]) => label)), this.comment(draft.comment ?? item.own?.comment ?? ""), this.problem, this.buttons("Drop it"));
    this.element.addEventListener("keydown", (event) => {
      const radio = event.target.tagName !== "TEXTAREA" && /^[1-9]$/.test(event.key) ? this.radios[event.key - 1]?.[0] : null;
      if (!radio) return;
      radio.checked = true;
      radio.focus();
      this.keep();
      event.preventDefault();
      event.stopPropagation();
    });
  }

  get reason() { return this.radios.find(([radio]) => radio.checked)?.[0].value ?? ""; }

  draft() { return { reason: this.reason, comment: this.note.value, form: "drop" }; }

  decision() {
    if (!this.reason) throw new Refused("choose a reason");
    return { action: "drop", reason: this.reason, comment: this.note.value };
  }
}

class CommentForm extends DecisionForm {
  constructor(item, options) {
    super(item, { title: "Comment on this item", ...options });
    this.element.append(this.comment(drafts.get(item.id).comment ?? ""), this.problem, this.buttons("Save the comment"));
    this.note.closest("label").firstChild.textContent = "Comment; it decides nothing";
  }

  draft() { return { comment: this.note.value, form: "comment" }; }

  decision() { return { action: "comment", comment: this.note.value }; }
}

/** The annotator's own answer and ability, where the key is hidden. */
class AnswerForm extends DecisionForm {
  constructor(item, options) {
    super(item, { title: "Your answer", ...options });
    const draft = drafts.get(item.id);
    const answer = draft.answer ?? item.own?.answer ?? "";
    const given = item.kind === "multi" ? answer.split(",").map((part) => part.trim()) : [answer];
    if (item.choices.length) {
      this.choices = item.choices.map(([label, text], at) => {
        const box = make("input", { type: item.kind === "multi" ? "checkbox" : "radio", name: "answer", value: label, checked: given.includes(label) || null });
        return [box, make("label", { class: "choice" }, box, at < 9 ? make("kbd", { "aria-hidden": "true" }, String(at + 1)) : null, make("b", {}, label), text ? make("span", {}, text, optionImage(item, label)) : null)];
      });
      this.element.append(make("fieldset", {}, make("legend", {}, item.kind === "multi" ? "Which options are right?" : "Which is right?"), this.choices.map(([, label]) => label)));
    } else {
      this.open = textBox({}, answer);
      this.element.append(make("label", {}, "Your answer", this.open));
    }
    if (item.abilities.length) {
      this.ability = make("select", {}, emptyOption("choose"), item.abilities.map((name) => make("option", { value: name }, words(name))));
      this.ability.value = draft.ability ?? item.own?.ability ?? "";
      this.element.append(make("label", { class: "ability" }, make("span", {}, "Ability it tests", make("kbd", { "aria-hidden": "true" }, "t")), this.ability));
    }
    this.element.append(this.comment(draft.comment ?? item.own?.comment ?? ""), this.problem, this.buttons("Save the answer"));
  }

  choose(number) {
    const box = this.open ?? this.choices[number - 1]?.[0];
    if (!box) return false;
    if (box === this.open) { box.focus(); return true; }
    box.checked = box.type === "radio" || !box.checked;
    box.focus();
    this.keep();
    return true;
  }

  get answer() { return this.open ? this.open.value : this.choices.filter(([box]) => box.checked).map(([box]) => box.value).join(", "); }

  draft() { return { answer: this.answer, ability: this.ability?.value ?? "", comment: this.note.value }; }

  decision() {
    if (!this.answer.trim()) throw new Refused("choose an answer, or drop the item");
    if (this.ability && !this.ability.value) throw new Refused("choose the ability that the item tests");
    return { action: "answer", answer: this.answer, ability: this.ability?.value ?? "", comment: this.note.value };
  }
}
