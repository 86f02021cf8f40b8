/* Samples in a list next to the open one, with filters, search and keys. */

class Explorer {
  /** `source` has what is shown: facets(), orders (titles by name, the default first), order(name)
      (all rows, sorted), search(text), fill(row, element), detail(row), say(row) (a row in words),
      id(row), find(id), noted() (row and annotations of each annotated sample), overview() (what
      stands in place of an open sample), download(form), label. `wanted`: what the address says.
      `remember(parameters)` puts the state into the address. */
  constructor(source, wanted, remember) {
    Object.assign(this, { source, remember, chosen: {}, text: wanted.get("text") || "", mask: null, opened: null, turn: 0 });
    this.sort = wanted.get("order") in source.orders ? wanted.get("order") : Object.keys(source.orders)[0];
    this.noted = wanted.get("noted") || "";
    /* the choices are known once the columns have loaded */
    this.wishes = new Map([...wanted].filter(([name]) => !["text", "sample", "order", "noted"].includes(name)));
    this.wish = wanted.get("sample");
    this.build();
  }

  build() {
    this.search = make("input", { type: "search", autocomplete: "off", spellcheck: "false", placeholder: "Search texts and ids", "aria-label": "Search questions, prompts and replies" });
    this.search.value = this.text;
    this.search.addEventListener("input", () => { this.text = this.search.value; this.seek(); });
    this.selects = make("span", { class: "selects" });
    this.clear = make("button", { type: "button" }, "Clear");
    this.clear.addEventListener("click", () => this.reset());
    this.chips = make("div", { class: "chips", role: "group", "aria-label": this.source.label });
    this.found = make("p", { class: "found", role: "status", "aria-live": "polite" });
    this.spoken = make("p", { class: "unseen", role: "status", "aria-live": "polite" });
    this.order = make("select", { "aria-label": "Order", title: "Order" }, Object.entries(this.source.orders).map(([value, { title }]) => make("option", { value }, title)));
    this.order.value = this.sort;
    this.order.addEventListener("change", () => { this.sort = this.order.value; this.update(); this.list.mark(this.place(this.opened)); });
    this.notedSelect = make("select", { "aria-label": "Annotations" });
    this.notedSelect.addEventListener("change", () => { this.noted = this.notedSelect.value; this.update(); this.list.element.scrollTop = 0; });
    this.downloads = make("span", { class: "downloads" });
    const summarise = make("button", { type: "button", class: "summarise chip-button every" }, "Patterns");
    summarise.addEventListener("click", () => { this.shut(); this.panes.classList.add("reading"); });
    this.list = new LongList({ label: "Samples", fill: (row, element) => this.source.fill(row, element), choose: (at) => this.open(at) });
    this.detail = make("article", { class: "detail", tabindex: "-1", "aria-label": "Sample" }, this.nothing());
    const form = make("form", { class: "narrow", role: "search" }, this.search, this.selects, make("label", {}, this.notedSelect), this.clear);
    form.addEventListener("submit", (event) => event.preventDefault());
    this.panes = make("div", { class: "panes" }, make("div", { class: "side-list" },
      make("div", { class: "list-head" }, this.found, summarise, this.downloads, this.order), this.source.listHead?.() ?? "", this.list.element), this.detail);
    this.element = make("section", { class: "explorer", "aria-label": "Samples" }, make("div", { class: "sieve" }, this.chips, form), this.panes, this.spoken);
  }

  nothing() { return this.source.overview(); }

  /** Search for the text; late answers, for an earlier text, are dropped. */
  async seek() {
    const turn = ++this.turn;
    if (!this.text.trim()) { this.mask = null; this.update(); return; }
    try {
      const mask = await this.source.search(this.text);
      if (turn === this.turn) { this.mask = mask; this.update(); }
    } catch (error) { complain(error); }
  }

  /** The data grew: filter again, and keep what is open. */
  async grown() {
    for (const { name, values } of this.source.facets()) {
      /* A value that an old address names, or one of another run, filters nothing. */
      if (values.includes(this.wishes.get(name))) this.chosen[name] = this.wishes.get(name);
      this.wishes.delete(name);
    }
    if (this.text.trim()) await this.seek();
    else this.update();
  }

  update() {
    const started = performance.now();
    const facets = this.source.facets(), order = this.source.order(this.sort), count = order.length;
    const noted = this.source.noted();
    const { rows, tallies } = filtered(order, facets, this.chosen, [this.mask, this.notedMask(noted, count)].filter(Boolean));
    this.places = new Int32Array(count).fill(-1);
    rows.forEach((row, at) => { this.places[row] = at; });
    this.list.show(rows);
    this.drawChips(facets[0], tallies[0]);
    this.drawSelects(facets.slice(1), tallies.slice(1));
    this.drawNoted(noted);
    const all = count.toLocaleString("en"), some = rows.length.toLocaleString("en");
    this.found.textContent = rows.length === count ? `${all} samples` : `${some} of ${all} samples`;
    this.clear.disabled = !Object.keys(this.chosen).length && !this.text && !this.noted;
    if (this.wish) {
      const row = this.source.find(this.wish);
      if (row >= 0) { this.wish = null; this.openRow(row, false); }
    } else this.list.mark(this.place(this.opened));
    this.drawBar();
    this.note();
    this.element.dataset.filtered = (performance.now() - started).toFixed(1);
  }

  /** Bits of the samples whose annotations fit the choice; null without one. */
  notedMask(noted, count) {
    if (!this.noted) return null;
    const bits = new Uint8Array((count + 7) >> 3);
    for (const { row, annotations } of noted) {
      if (annotations.some((each) => fitsChoice(each, this.noted))) bits[row >> 3] |= 1 << (row & 7);
    }
    return bits;
  }

  drawNoted(noted) {
    const choices = annotationChoices(noted.map(({ annotations }) => annotations));
    const all = make("option", {}, "Annotations: all");
    all.value = "";
    this.notedSelect.replaceChildren(all, ...choices.map(({ choice, title, samples }) => make("option", { value: choice }, `${title} (${samples.toLocaleString("en")})`)));
    if (this.noted && !choices.some(({ choice }) => choice === this.noted)) this.notedSelect.append(make("option", { value: this.noted }, `${this.noted} (0)`));
    this.notedSelect.value = this.noted;
    this.notedSelect.classList.toggle("on", this.noted !== "");
    this.notedSelect.parentElement.hidden = !choices.length && !this.noted;
    if (Boolean(choices.length) === Boolean(this.downloads.childElementCount)) return;
    this.downloads.replaceChildren(...(choices.length ? [["csv", "Save the annotations as CSV"], ["jsonl", "Save the annotations as JSON lines"]].map(([form, title]) => {
      const button = make("button", { type: "button", title, "aria-label": title }, `✎ ${form.toUpperCase()}`);
      button.addEventListener("click", () => this.source.download(form));
      return button;
    }) : []));
  }

  /** Index of a row in the list, or -1. */
  place(row) { return row === null ? -1 : this.places?.[row] ?? -1; }

  drawChips(facet, tally) {
    const held = document.activeElement?.closest?.(".chips") === this.chips ? document.activeElement.dataset.value : null;
    const everything = tally.reduce((sum, each) => sum + each, 0);
    const chip = (value, text, number, kind) => {
      const button = make("button", { type: "button", class: "chip-button " + kind, "aria-pressed": String((this.chosen[facet.name] ?? "") === value), "data-value": value || "*" },
        make("span", {}, text), make("b", {}, number.toLocaleString("en")));
      button.addEventListener("click", () => this.choose(facet.name, value));
      return button;
    };
    this.chips.replaceChildren(chip("", "all", everything, "every"),
      ...facet.values.map((value, at) => (tally[at] || this.chosen[facet.name] === value || facet.always?.includes(value)
        ? chip(value, facet.shown(value), tally[at], facet.kind ? facet.kind(value) : value) : null)).filter(Boolean));
    if (held !== null) [...this.chips.children].find((each) => each.dataset.value === held)?.focus();
  }

  drawSelects(facets, tallies) {
    const names = facets.map(({ name }) => name).join("|");
    if (this.selects.dataset.names !== names) {
      this.selects.dataset.names = names;
      this.selects.replaceChildren(...facets.map((facet) => {
        const select = make("select", { name: facet.name, "aria-label": facet.title });
        select.addEventListener("change", () => this.choose(facet.name, select.value));
        return make("label", {}, select);
      }));
    }
    facets.forEach((facet, nth) => {
      const select = this.selects.children[nth].firstChild, tally = tallies[nth];
      const present = facet.values.map((value, at) => [value, tally[at]]).filter(([value, number]) => value !== "" && (number || this.chosen[facet.name] === value));
      if (facet.name.startsWith("g.")) present.sort((one, other) => one[0].localeCompare(other[0], "en", { numeric: true }));
      const all = make("option", {}, `${facet.title}: all`);
      all.value = "";
      select.replaceChildren(all, ...present.map(([value, number]) => make("option", { value }, `${facet.shown(value)} (${number.toLocaleString("en")})`)));
      select.value = this.chosen[facet.name] ?? "";
      select.classList.toggle("on", this.chosen[facet.name] !== undefined);
      select.parentElement.hidden = present.length < 2 && this.chosen[facet.name] === undefined;
    });
  }

  choose(name, value) {
    if (value) this.chosen[name] = value; else delete this.chosen[name];
    this.update();
    this.list.element.scrollTop = 0;
  }

  reset() {
    this.chosen = {};
    this.text = this.search.value = this.noted = "";
    this.turn++;
    this.mask = null;
    this.update();
  }

  note() {
    const parameters = { ...Object.fromEntries(this.wishes), ...this.chosen };
    if (this.text.trim()) parameters.text = this.text.trim();
    if (this.noted) parameters.noted = this.noted;
    if (this.sort !== Object.keys(this.source.orders)[0]) parameters.order = this.sort;
    if (this.wish || this.opened !== null) parameters.sample = this.wish || this.source.id(this.opened);
    this.remember(new URLSearchParams(parameters));
  }

  open(at) {
    if (at < 0 || at >= this.list.rows.length) return;
    this.openRow(this.list.rows[at], true);
  }

  async openRow(row, reading) {
    this.opened = row;
    this.list.mark(this.place(row));
    this.note();
    this.panes.classList.toggle("reading", reading || this.panes.classList.contains("reading"));
    if (reading || matchMedia("(max-width: 60rem)").matches) this.panes.classList.add("reading");
    try {
      const body = await this.source.detail(row);
      if (this.opened !== row) return;
      const held = this.heldIn(this.detail);
      this.detail.replaceChildren(this.detailBar(row), body);
      this.detail.scrollTop = 0;
      this.detail.querySelector(held)?.focus({ preventScroll: true });
      this.spoken.textContent = `${this.source.say(row)}, ${this.whereText(row)}`;
    } catch (error) { complain(error); }
  }

  detailBar(row) {
    const at = this.place(row);
    const step = (text, title, by) => {
      const button = make("button", { type: "button", title, "aria-label": title }, text);
      button.disabled = at < 0 || at + by < 0 || at + by >= this.list.rows.length;
      button.addEventListener("click", () => this.open(this.place(this.opened) + by));
      return button;
    };
    const back = this.backButton();
    const shut = make("button", { type: "button", class: "shut", title: "Close the sample (Esc)", "aria-label": "Close the sample" }, "×");
    shut.addEventListener("click", () => { this.shut(); this.list.element.focus(); });
    return make("div", { class: "detail-bar" }, back, shut, make("code", {}, this.source.id(row)), make("span", { class: "soft" }, this.whereText(row)),
      make("span", { class: "steps" }, step("↑", "Previous sample (k)", -1), step("↓", "Next sample (j)", 1)));
  }

  whereText(row) {
    const at = this.place(row);
    return at < 0 ? "outside the filter" : `${(at + 1).toLocaleString("en")} of ${this.list.rows.length.toLocaleString("en")}`;
  }

  /** A selector of the focused button inside an element, to focus its successor. */
  heldIn(element) {
    const button = element.contains(document.activeElement) ? document.activeElement.closest("button[title]") : null;
    return button ? `button[title="${CSS.escape(button.title)}"]` : ":not(*)";
  }

  /** On a narrow screen, where the list hides behind what is open. */
  backButton() {
    const back = make("button", { type: "button", class: "back" }, "← List");
    back.addEventListener("click", () => { this.close(); this.list.element.focus(); });
    return back;
  }

  /** Update the index of the open sample, which may change while the sample does not. */
  drawBar() {
    const bar = this.detail.querySelector(".detail-bar");
    if (!bar || this.opened === null) return;
    const held = this.heldIn(bar);
    const fresh = this.detailBar(this.opened);
    bar.replaceWith(fresh);
    fresh.querySelector(held)?.focus();
  }

  /** On a narrow screen, back to the list. */
  close() { this.panes.classList.remove("reading"); }

  /** Close the open sample: the overview stands in its place. */
  shut() {
    this.opened = null;
    this.list.mark(-1);
    this.close();
    this.detail.replaceChildren(this.nothing());
    this.note();
  }

  /** Draw the overview anew, if no sample is open. */
  drawOverview() { if (this.opened === null && !this.wish) this.detail.replaceChildren(this.nothing()); }

  key(event) {
    const at = this.place(this.opened);
    const inDetail = this.detail.contains(document.activeElement);
    const moves = { j: at + 1, k: at < 0 ? 0 : at - 1, g: 0, G: this.list.rows.length - 1 };
    if (!inDetail) Object.assign(moves, { ArrowDown: at + 1, ArrowUp: at < 0 ? 0 : at - 1, Home: 0, End: this.list.rows.length - 1 });
    if (event.key in moves) {
      this.open(Math.max(0, Math.min(this.list.rows.length - 1, moves[event.key])));
      return true;
    }
    if (event.key === "/") { this.search.focus(); this.search.select(); return true; }
    if (event.key === "x") { this.reset(); return true; }
    if (event.key === "Escape" && this.opened !== null) { this.shut(); return true; }
    return Boolean(this.source.key?.(event, this));
  }
}
