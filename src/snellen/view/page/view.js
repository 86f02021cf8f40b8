/* Addresses, keys and the pages they lead to. */

const app = document.getElementById("app");
let page = null;
let openedPath = "";
const catalog = new Catalog();

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

/** What the address names before its parameters. */
const pathOf = (hash) => hash.split("?")[0];

/** Put the state into the address, without a new entry in the history. The browser changes the
    address before it says so: once the reader has gone elsewhere, a page that is still loading must
    not write its own address over the new one. */
const address = (path, parameters) => {
  if (pathOf(location.hash) !== openedPath) return;
  const text = parameters.toString();
  const hash = text ? `${path}?${text}` : path;
  if (location.hash !== hash) history.replaceState(null, "", hash);
  openedPath = path;
};

/** All runs: {key, model, benchmark, name}, where names tell those of a benchmark apart. */
const runs = async () => {
  if (!catalog.revision) do await catalog.pull(); while (catalog.more);
  return catalog.runs.filter((run) => run.status !== "damaged").map((run) => ({ key: run.key, model: run.model, benchmark: run.benchmark, live: run.status === "running", name: catalog.nameOf(run) }));
};

const route = () => {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [kind, ...rest] = path.split("/").map(decodeURIComponent);
  const parameters = new URLSearchParams(query);
  if (kind === "run" && rest[0]) return new RunPage(rest[0], rest[1] || "samples", parameters);
  if (kind === "compare" && rest.length >= 2 && rest.length <= MOST_RUNS) return new ComparePage(rest, parameters);
  return new HomePage(parameters);
};

const go = () => {
  if (page instanceof HomePage && /^#?\/?(\?|$)/.test(location.hash)) {
    page.readAddress(new URLSearchParams(location.hash.split("?")[1] ?? ""));
    return;
  }
  page?.stop();
  openedPath = pathOf(location.hash);
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
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName) && !["checkbox", "radio"].includes(document.activeElement.type);
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
