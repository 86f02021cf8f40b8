/* Addresses, keys and the pages they lead to. */

const app = document.getElementById("app");
let page = null;
let listed = null;

const title = (text) => { document.title = text ? `${text} – Snellen` : "Snellen"; };

/** Show an error once, on top of the page. */
const complain = (error) => {
  const text = error instanceof TypeError && /fetch/i.test(error.message) ? "the server does not answer: it was stopped; start it again and reload" : error.message;
  let box = document.querySelector("#complaint");
  if (!box) {
    box = make("ul", { class: "notices", id: "complaint", role: "alert" });
    app.before(box);
  }
  box.replaceChildren(make("li", {}, text));
};

/** Put the state into the address, without a new entry in the history. */
const address = (path, parameters) => {
  const text = parameters.toString();
  const hash = text ? `${path}?${text}` : path;
  if (location.hash !== hash) history.replaceState(null, "", hash);
};

const runs = async () => {
  listed ||= (await store.runs()).runs;
  return listed;
};

/** Every run, by benchmark; two of one benchmark can be chosen for a comparison. */
class RunsPage {
  constructor() {
    this.element = make("div", { class: "page" });
    this.stopped = false;
  }

  async start() {
    title("");
    for (;;) {
      const { runs: found, html } = await store.runs();
      if (this.stopped) return;
      listed = found;
      this.draw(found, html);
      if (!store.grows) return;
      await new Promise((resolve) => setTimeout(resolve, found.some((run) => run.live) ? 2 * POLL : 6 * POLL));
      if (this.stopped) return;
    }
  }

  draw(found, html) {
    if (html === this.html) return;
    this.html = html;
    const picked = new Set([...this.element.querySelectorAll("input:checked")].map((box) => box.value));
    const held = document.activeElement?.value;
    const benchmarks = new Set(found.map((run) => run.benchmark)).size;
    const counted = (number, one) => `${number} ${one}${number === 1 ? "" : "s"}`;
    const boards = make("div", {});
    boards.innerHTML = html;
    this.element.replaceChildren(
      make("section", { class: "hero" }, make("p", { class: "eyebrow" }, `${counted(found.length, "run")}, ${counted(benchmarks, "benchmark")}`), make("h1", {}, "Runs")),
      boards);
    boards.querySelectorAll("input[type=checkbox]").forEach((box) => {
      box.checked = picked.has(box.value);
      if (box.value === held) box.focus();
    });
    boards.querySelectorAll("[data-board]").forEach((board) => this.compare(board));
  }

  compare(board) {
    const button = board.querySelector("button.compare");
    if (!button) return;
    const boxes = [...board.querySelectorAll("input[type=checkbox]")];
    const check = () => {
      const chosen = boxes.filter((box) => box.checked);
      button.disabled = chosen.length !== 2;
      boxes.forEach((box) => { box.disabled = chosen.length === 2 && !box.checked; });
    };
    board.addEventListener("change", check);
    button.addEventListener("click", () => {
      const [one, other] = boxes.filter((box) => box.checked).map((box) => encodeURIComponent(box.value));
      location.hash = `#/compare/${one}/${other}`;
    });
    check();
  }

  press(event) {
    const links = [...this.element.querySelectorAll("tbody th a")];
    const at = links.indexOf(document.activeElement);
    const to = { j: at + 1, k: Math.max(0, at - 1) }[event.key];
    if (to === undefined || !links[to]) return false;
    links[to].focus();
    return true;
  }

  stop() { this.stopped = true; }
}

const route = () => {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [kind, ...rest] = path.split("/").map(decodeURIComponent);
  const parameters = new URLSearchParams(query);
  if (kind === "run" && rest[0]) return new RunPage(rest[0], rest[1] || "samples", parameters);
  if (kind === "compare" && rest.length >= 2 && rest.length <= MOST_RUNS) return new ComparePage(rest, parameters);
  return new RunsPage();
};

const go = () => {
  page?.stop();
  document.querySelector("#complaint")?.remove();
  page = route();
  app.replaceChildren(page.element);
  document.body.classList.toggle("fixed", page.element.classList.contains("fixed"));
  const mine = page;
  page.start().catch((error) => { if (page === mine && !mine.stopped) complain(error); });
};

const keys = document.getElementById("keys");
addEventListener("hashchange", go);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName) && document.activeElement.type !== "checkbox";
  if (typing) {
    if (event.key === "Escape") { document.activeElement.blur(); event.preventDefault(); }
    return;
  }
  if (event.key === "?") keys.showModal();
  else if (event.key === "o") location.hash = "#/";
  else if (!page.press(event)) return;
  event.preventDefault();
});
document.querySelector(".bar-top nav").append(Object.assign(make("button", { type: "button", class: "keys", title: "Keys (?)" }, "Keys"), { onclick: () => keys.showModal() }));
go();
