/* The page: who reviews, which item is open, and what the keys do. */

const app = document.getElementById("app");
const keysDialog = document.getElementById("keys");
const trouble = document.getElementById("trouble");
let page = null;

const announce = (text) => { document.getElementById("announce").textContent = text; };

const describeError = (error) => (error instanceof TypeError && /fetch/i.test(error.message) ? "the server does not answer; start the same command again" : error.message);

/** Say on top of the page what went wrong; nothing if `error` is null. */
const complain = (error) => {
  trouble.hidden = error === null;
  if (error === null) return;
  const again = actionButton("Try again", "", () => { complain(null); go(); }, { class: "small" });
  trouble.replaceChildren(make("span", {}, describeError(error)), again);
};

/** Seconds for which the item has been in front of the person; a hidden tab does not count. */
const watch = {
  start() { this.before = 0; this.from = performance.now(); },
  get seconds() { return Math.round((this.before + (document.hidden ? 0 : performance.now() - this.from)) / 100) / 10; },
};
document.addEventListener("visibilitychange", () => {
  if (document.hidden) watch.before += performance.now() - watch.from; else watch.from = performance.now();
});

const bar = make("div", { class: "progress-line" });

/** How far the review is. */
const showState = (state) => {
  person.role = state.role;
  if (state.name) person.name = state.name;
  const { statuses } = state;
  const done = statuses.agreed + statuses.resolved;
  const parts = person.judges
    ? [`${plural(statuses.conflict, "conflict")}`, `${done} of ${plural(state.items, "item")} settled`, `${statuses.begun} begun`]
    : [`${state.own} of ${plural(state.items, "item")} decided by you`, known.annotators > 1 ? `each needs ${known.annotators} people` : `${done} settled`];
  const value = person.judges ? done : state.own;
  bar.replaceChildren(make("progress", { max: String(state.items), value: String(value), "aria-label": person.judges ? "items settled" : "items decided by you" }),
    make("span", {}, parts.join(" · ")), make("span", { class: "me" }, `${person.name}${person.judges ? ", adjudicator" : ""}`));
  document.querySelector("[data-page=agreement]").hidden = !person.judges;
  if (state.unreadable.length) complain(new Error(`reviews.jsonl: lines ${state.unreadable.join(", ")} are no decisions and were left out`));
};

class NamePage {
  constructor() { this.element = make("div", { class: "name-page" }); }

  async start() {
    const name = make("input", { id: "name", required: true, maxlength: String(known.maxName), autocomplete: "name" });
    const problem = make("p", { class: "problem", role: "alert", hidden: true });
    const form = make("form", { class: "decision" }, make("label", {}, "Your name, as decisions will carry it", name), problem, make("div", { class: "buttons" }, make("button", { class: "main" }, "Start")));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const before = person.name;
      person.name = name.value.trim().replace(/\s+/g, " ");
      try {
        showState(await store.state());
        if (!person.name) throw new Refused("type a name");
        location.hash = "#/";
        go();
      } catch (error) {
        person.name = before;
        problem.textContent = describeError(error);
        problem.hidden = false;
      }
    });
    this.element.replaceChildren(make("h1", { tabindex: "-1" }, "Who are you?"),
      make("p", { class: "lead" }, person.judges ? "You see what all annotators decided, and settle their conflicts." : known.blind ? "You answer each question yourself; the key is hidden." : "You check each item: keep, fix or drop it."), form);
    name.focus();
  }

  press() { return false; }
}

class ItemPage {
  constructor(id) {
    this.id = id;
    this.element = make("div", { class: "item-page" });
  }

  async start() { this.open(this.id ? await store.item(this.id) : await store.next("")); }

  /** Show an item, or that none is left. */
  open({ item, state, waiting = 0 }) {
    showState(state);
    if (item?.id !== this.item?.id) watch.start();
    this.item = item;
    this.form = null;
    this.waits = !item && (waiting > 0 || person.judges);
    if (!item) {
      history.replaceState(null, "", "#/");
      const rest = state.items - state.own;
      const text = person.judges ? "No conflict is open." : waiting ? `${plural(waiting, "item")} ${waiting === 1 ? "is" : "are"} with other annotators just now; look again later.` : rest ? "Every other item has as many decisions as it needs." : "You decided every item of the queue.";
      this.element.replaceChildren(bar, make("section", { class: "empty" }, make("h1", { tabindex: "-1" }, person.judges ? "Nothing to resolve" : waiting ? "Nothing free just now" : "Done, thank you"), make("p", { class: "lead" }, text), make("p", {}, make("a", { href: "#/list" }, "See the list"))));
      this.focusTitle();
      return;
    }
    history.replaceState(null, "", `#/item/${encodeURIComponent(item.id)}`);
    document.title = `${item.id} – Review – Snellen`;
    const head = make("header", { class: "item-head" }, make("h1", { tabindex: "-1" }, `Item ${item.position + 1} of ${state.items}`), make("code", {}, item.id),
      item.own ? make("span", { class: "status agreed" }, person.judges ? `settled by ${item.own.by}: ${decisionText(item.own)}` : `you said: ${decisionText(item.own)}`) : null);
    const blind = person.blind;
    this.answer = blind ? new AnswerForm(item, { save: (decision) => this.decide(decision) }) : null;
    this.place = make("div", { class: "form-place" });
    const question = make("section", { class: "question-box", "aria-label": "Question" },
      item.hint ? make("p", { class: "hint" }, item.hint) : null,
      make("p", { class: "question" }, item.question || "(no question)"),
      blind ? this.answer.element : optionsView(item));
    this.element.replaceChildren(bar, head, make("div", { class: `split${item.media.length ? "" : " textual"}` },
      make("div", { class: "seen" }, mediaView(item)),
      make("div", { class: "asked" }, ...[decisionsView(item, (decision) => this.accept(decision)), blind ? null : flagsView(item), question, this.place, blind ? null : pairsView(item), commentsView(item), blind ? null : repliesView(item), factsView(item)].filter(Boolean))),
    this.actions());
    this.focusTitle();
    const { form } = drafts.get(item.id);
    if (form === "comment" || form === "drop" || (form === "fix" && !blind)) this.show(form, false);
  }

  focusTitle() {
    window.scrollTo(0, 0);
    this.element.querySelector("h1").focus({ preventScroll: true });
  }

  actions() {
    const blind = person.blind;
    return make("div", { class: "actions", role: "toolbar", "aria-label": "Decide" },
      blind ? null : actionButton("Keep", "k", () => this.quick({ action: "keep" }), { class: "keep" }),
      blind ? null : actionButton("Fix", "f", () => this.show("fix")),
      actionButton("Drop", "d", () => this.show("drop")),
      actionButton("Comment", "c", () => this.show("comment")),
      make("span", { class: "gap" }),
      actionButton("Undo", "u", () => this.undo().catch(complain)),
      actionButton("Previous", "p", () => this.step(-1).catch(complain)),
      actionButton("Next", "n", () => this.step(1).catch(complain)));
  }

  show(kind, focus = true, start = undefined) {
    const forms = { fix: FixForm, drop: DropForm, comment: CommentForm };
    const cancel = () => { drafts.drop(this.item.id); this.close(); };
    this.form = new forms[kind](this.item, { save: (decision) => this.decide(decision), cancel, start });
    this.place.replaceChildren(this.form.element);
    /* The form of a fix holds the question and its options. */
    this.element.querySelector(".question-box").hidden = kind === "fix";
    if (!focus) return;
    this.form.focus();
    this.form.element.scrollIntoView({ block: "nearest" });
  }

  close() {
    this.form = null;
    this.place.replaceChildren();
    this.element.querySelector(".question-box").hidden = false;
    this.element.querySelector("h1").focus({ preventScroll: true });
  }

  /** Accept what an annotator said; an answer becomes a fix of the key, or keeps the item. */
  accept({ action, changes, reason, comment }) {
    if (action === "drop") return this.quick({ action, reason: reason ?? "other", comment: comment ?? "" });
    if (Object.keys(changes).length) return this.quick({ action: "fix", changes });
    return this.quick({ action: "keep" });
  }

  /** Store a decision without a form; what goes wrong is said on top. */
  async quick(decision) {
    if (this.busy) return;
    this.busy = true;
    try {
      await this.decide(decision);
    } catch (error) {
      complain(error);
    } finally {
      this.busy = false;
    }
  }

  /** Store a decision, and go on to the next item. */
  async decide(decision) {
    const { item } = this;
    await store.decide({ item: item.id, seconds: watch.seconds, ...decision });
    complain(null);
    drafts.drop(item.id);
    if (decision.action === "comment") {
      this.open(await store.item(item.id));
      announce("Comment saved.");
      return;
    }
    this.open(await store.next(item.id));
    announce(`Saved: ${decision.action} ${item.id}. ${this.item ? `Next: item ${this.item.position + 1}.` : "Nothing is left."}`);
  }

  async undo() {
    const answer = await store.undo();
    if (!answer.item) { announce("There is nothing to undo."); return; }
    this.open(answer);
    announce(`Taken back: item ${answer.item.position + 1} is open again.`);
  }

  async step(by) {
    if (this.item) this.open(await store.item(this.item.id, by));
    else this.open(await store.next(""));
  }

  press(event) {
    const guard = (action) => { action().catch(complain); return true; };
    if (event.key === "u") return guard(() => this.undo());
    if (!this.item) return false;
    const { key } = event;
    if (key === "n" || key === "ArrowRight") return guard(() => this.step(1));
    if (key === "p" || key === "ArrowLeft") return guard(() => this.step(-1));
    if (key === "d") this.show("drop");
    else if (key === "c") this.show("comment");
    else if (key === "z") this.element.querySelector("button.zoom")?.click();
    else if (key === " " && this.element.querySelector("video")) this.playOrPause();
    else if (person.blind) return this.pressBlind(key);
    else if (key === "k") this.quick({ action: "keep" });
    else if (key === "f") this.show("fix");
    else if (person.judges && /^[1-9]$/.test(key)) this.element.querySelector(`.said button[aria-keyshortcuts="${key}"]`)?.click();
    else return false;
    return true;
  }

  pressBlind(key) {
    if (/^[1-9]$/.test(key)) return this.answer.choose(Number(key));
    if (key === "t" && this.answer.ability) this.answer.ability.focus();
    else if (key === "Enter") this.answer.submit();
    else return false;
    return true;
  }

  playOrPause() {
    const video = this.element.querySelector("video");
    if (video.paused) video.play().catch(() => {}); else video.pause();
  }
}

const keyList = () => [
  ...(person.blind ? [["1 … 9", "choose an option; 1 to type an open answer"], ["t", "choose the ability"], ["Enter", "save the answer"]] : [["k", "keep"], ["f", "fix: edit question, options, answer, hint, ability"]]),
  ...(person.judges ? [["1 … 9", "accept what that annotator said"]] : []),
  ["d", "drop; then 1 … 6 for the reason"], ["c", "comment"], ["u", "undo your last decision"], ["n, →", "next item, undecided"], ["p, ←", "previous item"],
  ["z", "enlarge the picture"], ["Space", "play or pause the video"], ["Ctrl Enter", "save a form"], ["Esc", "leave a form"], ["r", "back to reviewing"], ["l", "list"],
  ...(person.judges ? [["a", "agreement"]] : []), ["?", "these keys"],
];

const showKeys = () => {
  document.getElementById("key-list").replaceChildren(...keyList().flatMap(([keys, text]) => [make("dt", {}, keys.split(/(, | … | )/).map((part) => (/^(, | … | )$/.test(part) ? part : make("kbd", {}, part)))), make("dd", {}, text)]));
  keysDialog.showModal();
};

const route = () => {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [kind, ...rest] = path.split("/");
  if (!person.name) return new NamePage();
  if (kind === "list") return new ListPage(new URLSearchParams(query));
  if (kind === "agreement") return new AgreementPage();
  return new ItemPage(kind === "item" ? decodeURIComponent(rest.join("/")) : "");
};

const go = async () => {
  try {
    showState(await store.state());
  } catch (error) {
    complain(error);
    return;
  }
  complain(null);
  page = route();
  const name = page instanceof ListPage ? "list" : page instanceof AgreementPage ? "agreement" : "item";
  document.querySelectorAll("nav [data-page]").forEach((link) => (link.dataset.page === name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current")));
  document.title = { list: "List – Review – Snellen", agreement: "Agreement – Review – Snellen", item: "Review – Snellen" }[name];
  app.replaceChildren(page.element);
  const mine = page;
  try {
    await page.start();
    if (page === mine && !(page instanceof NamePage)) page.element.querySelector("h1")?.focus({ preventScroll: true });
  } catch (error) {
    if (page === mine) complain(error);
  }
};

addEventListener("hashchange", go);
/** Ask for the next item, also if the address is that already. */
const goOn = () => { if (location.hash === "#/") go(); else location.hash = "#/"; };
document.querySelector("nav [data-page=item]").addEventListener("click", (event) => { event.preventDefault(); goOn(); });
document.getElementById("show-keys").addEventListener("click", showKeys);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const active = document.activeElement;
  const typing = /^(TEXTAREA|SELECT)$/.test(active.tagName) || (active.tagName === "INPUT" && !["checkbox", "radio"].includes(active.type));
  if (typing) {
    if (event.key === "Escape") { active.blur(); event.preventDefault(); }
    return;
  }
  /* Buttons, links and players have these keys to themselves. */
  if ([" ", "Enter"].includes(event.key) && /^(BUTTON|A|VIDEO|SUMMARY)$/.test(active.tagName)) return;
  if (/^Arrow/.test(event.key) && /^(INPUT|VIDEO)$/.test(active.tagName)) return;
  if (event.key === "?") showKeys();
  else if (!person.name) return;
  else if (event.key === "l") location.hash = "#/list";
  else if (event.key === "r") goOn();
  else if (event.key === "a" && person.judges) location.hash = "#/agreement";
  else if (!page?.press(event)) return;
  event.preventDefault();
});
/* How far the others are; and whether there is something to do again. */
setInterval(async () => {
  if (!person.name || document.hidden || !trouble.hidden) return;
  const mine = page;
  try {
    if (!mine?.waits) showState(await store.state());
    else {
      const next = await store.next("");
      if (page === mine && mine.waits && next.item) mine.open(next);
    }
  } catch { /* the next request of the person says what is wrong */ }
}, 5000);
go();
