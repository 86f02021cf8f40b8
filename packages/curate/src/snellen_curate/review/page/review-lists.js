/* The list of the queue, and for an adjudicator the agreement of the annotators. */

const STATUS_WORDS = { open: "open", begun: "begun", conflict: "conflict", agreed: "agreed", resolved: "resolved" };
const OWN_WORDS = { keep: "kept", fix: "fixed", drop: "dropped", answer: "answered" };

class ListPage {
  constructor(parameters) {
    this.show = parameters.get("show") ?? "all";
    this.text = parameters.get("text") ?? "";
    this.element = make("div", { class: "list-page" });
  }

  async start() {
    const choices = person.judges ? ["all", "conflict", "open", "begun", "agreed", "resolved"] : ["all", "todo", "mine"];
    const names = { all: "all", todo: "to do", mine: "decided by me", ...STATUS_WORDS };
    this.chips = make("div", { class: "chips", role: "group", "aria-label": "Which items" }, choices.map((choice) => actionButton(names[choice], "", () => this.pick(choice), { "aria-pressed": String(choice === this.show), class: "chip-button", "data-show": choice })));
    this.search = make("input", { type: "search", value: this.text, placeholder: "Search", "aria-label": "Search in ids and questions", "aria-keyshortcuts": "/" });
    this.search.addEventListener("input", () => { this.text = this.search.value; clearTimeout(this.timer); this.timer = setTimeout(() => this.load(), 200); });
    this.found = make("p", { class: "found", role: "status" });
    this.table = make("ol", { class: "rows" });
    this.more = actionButton("More", "", () => this.load(this.table.childElementCount), { class: "small", hidden: true });
    this.element.replaceChildren(make("h1", { tabindex: "-1" }, "The queue"), make("div", { class: "sieve" }, this.chips, this.search), this.found, this.table, this.more);
    await this.load();
  }

  pick(choice) {
    this.show = choice;
    this.chips.querySelectorAll("button").forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.show === choice)));
    return this.load();
  }

  async load(from = 0) {
    const { rows, found, state } = await store.rows(this.show, this.text, from);
    showState(state);
    this.found.textContent = plural(found, "item");
    const made = rows.map((row) => make("li", {}, make("a", { href: `#/item/${encodeURIComponent(row.id)}` },
      row.media.length ? make("img", { class: "thumb", alt: "", loading: "lazy", width: "44", height: "44", src: store.picture(row.media[0], row.id) }) : make("span", { class: "thumb none" }),
      make("span", { class: "what" }, make("span", { class: "ask" }, row.question || "(no question)"), make("span", { class: "meta" }, `${row.position + 1} · ${row.id}`, row.reason && row.status === "conflict" ? ` · ${row.reason}` : "")),
      person.judges ? make("span", { class: `status ${row.status}` }, row.action ? `${STATUS_WORDS[row.status]}: ${row.action}` : STATUS_WORDS[row.status]) : make("span", { class: `status ${row.own ? "agreed" : "open"}` }, OWN_WORDS[row.own] ?? "to do"))));
    made.forEach((row) => row.querySelector("img")?.addEventListener("error", (event) => event.target.replaceWith(make("span", { class: "thumb none" })), { once: true }));
    if (from) this.table.append(...made); else this.table.replaceChildren(...made);
    this.more.hidden = this.table.childElementCount >= found;
  }

  press(event) {
    if (event.key !== "/") return false;
    this.search.focus();
    return true;
  }
}

/** A value with its interval. */
const estimateText = ({ value, interval }, percent) => {
  if (value === null) return "not defined";
  const text = (number) => (percent ? (100 * number).toFixed(1) : number.toFixed(2));
  return interval ? `${text(value)} (${text(interval.low)} to ${text(interval.high)})` : `${text(value)} (too few items for an interval)`;
};

class AgreementPage {
  constructor() { this.element = make("div", { class: "agreement-page" }); }

  async start() {
    const { fields, annotators, state } = await store.agreement();
    showState(state);
    const conflicts = state.statuses.conflict;
    this.element.replaceChildren(make("h1", { tabindex: "-1" }, "Agreement"),
      make("p", { class: "lead" }, conflicts ? `${plural(conflicts, "item")} wait${conflicts === 1 ? "s" : ""} for you. ` : "No conflict is open. ",
        conflicts ? make("a", { href: "#/" }, "Resolve them") : null),
      ...fields.map((each) => this.field(each)), ...this.annotators(annotators));
  }

  /** The annotators, each measured; who needs a look is named first. */
  annotators(people) {
    const share = (each) => (each.items ? `${estimateText(each, true)} of ${each.items}` : "–");
    const head = ["annotator", "items", "said, %", "kappa with the others", known.blind ? "key chosen, %" : null, "gold items right, %", "median seconds"].filter(Boolean);
    const rows = people.map((one) => [one.annotator, one.items, Object.entries(one.choices).slice(0, 3).map(([value, part]) => `${value} ${(100 * part).toFixed(0)}`).join(", "),
      estimateText(one.kappa), ...(known.blind ? [share(one.key)] : []), share(one.gold), one.seconds?.toFixed(1) ?? "–"]);
    const said = people.flatMap(({ annotator, confusion }) => Object.entries(confusion).map(([likeliest, counts]) => [annotator, likeliest, Object.entries(counts).map(([value, count]) => `${value} ${count}`).join(", ")]));
    return people.length ? [make("section", {}, make("h2", {}, "Annotators"),
      people.filter(({ warning }) => warning).map((one) => make("p", { class: "warning" }, `Look at what ${one.annotator} decided: ${one.warning}`)), this.table("Annotators", head, rows)),
    make("details", { class: "more" }, make("summary", {}, "What each said of what"), make("p", { class: "soft" }, "Beside what the others' votes, or the gold, make likeliest: how often the annotator said what."),
      this.table("What each annotator said", ["annotator", "likeliest", "said"], said))] : [];
  }

  table(caption, head, rows) {
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, make("table", {}, make("caption", { class: "unseen" }, caption),
      make("thead", {}, make("tr", {}, head.map((name, at) => make("th", { scope: "col", class: at ? "n" : null }, name)))),
      make("tbody", {}, rows.map(([name, ...cells]) => make("tr", {}, make("th", { scope: "row" }, name), cells.map((cell) => make("td", { class: "n" }, cell)))))));
  }

  field({ field, annotators, raw, alpha, pairs }) {
    const head = make("h2", {}, `On the ${field}`);
    if (raw.value === null) return make("section", {}, head, make("p", { class: "soft" }, annotators.length ? "No item has decisions of two annotators yet." : "Nobody decided yet."));
    const rows = [["agreeing pairs, %", estimateText(raw, true), raw.items], ["Krippendorff's alpha", estimateText(alpha), alpha.items],
      ...pairs.filter((pair) => pair.kappa.items).map(({ first, second, kappa }) => [`Cohen's kappa, ${first} and ${second}`, estimateText(kappa), kappa.items])];
    return make("section", {}, head, this.table(`Agreement on the ${field}`, ["measure", "value (95 % interval)", "items"], rows));
  }

  press() { return false; }
}
