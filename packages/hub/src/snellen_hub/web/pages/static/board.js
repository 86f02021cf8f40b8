/* Sorting and filtering a board at once. Without this file the same links and forms ask the server,
   whose order this follows: what has no value comes last in either direction, equal rows by name. */

const board = document.querySelector("#board");
const form = document.querySelector("#filter");
const table = board?.querySelector("table.board");

/* Menus close on Escape and on a click elsewhere. */
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

const last = (date) => (date.length < 10 ? date + "-12-31".slice(date.length - 10) : date);

/* Whether a row passes a filter: the same rules as boards/queries.py. */
const TESTS = {
  text: (row, wanted) => row.text.includes(wanted.toLowerCase()),
  size: (row, wanted) => {
    if (!row.size) return false;
    const [low, high] = wanted.includes("..") ? wanted.split("..") : [wanted, wanted];
    return (!low || Number(row.size) >= Number(low)) && (!high || Number(row.size) <= Number(high));
  },
  weights: (row, wanted) => row.weights === wanted,
  since: (row, wanted) => row.since !== "" && last(row.since) >= wanted,
  evidence: (row, wanted) => row.evidence === wanted,
  route: (row, wanted) => row.route === wanted.toLowerCase(),
  organisation: (row, wanted) => row.organisation === wanted.toLowerCase(),
  capability: (row, wanted) => row.capability === wanted,
};

class QuickBoard {
  constructor() {
    this.body = table.tBodies[0];
    this.rows = [...this.body.rows];
    this.complete = board.dataset.filtered === "";
    this.main = table.dataset.main;
    const head = table.querySelector("thead [aria-sort]");
    this.sort = head?.dataset.key ?? this.main;
    this.descending = head?.getAttribute("aria-sort") === "descending";
    this.grouped = !table.classList.contains("flat");
    this.count = document.querySelector("#count");
    this.words = this.count.textContent;
    this.drawn = JSON.stringify(this.values());
    for (const link of table.querySelectorAll("thead a")) {
      link.addEventListener("click", (event) => this.turn(event, link.closest("th")));
    }
    form.addEventListener("input", (event) => this.change(event));
    form.addEventListener("change", (event) => this.change(event));
  }

  turn(event, head) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    const { key, natural } = head.dataset;
    this.descending = key === this.sort ? !this.descending : natural === "down";
    this.sort = key;
    this.draw();
  }

  async change(event) {
    if (!TESTS[event.target.name]) return;
    if (!this.complete) {
      this.rest ??= this.complement();
      await this.rest;
    }
    /* Leaving a field tells of a change that typing told of before. */
    if (JSON.stringify(this.values()) !== this.drawn) this.draw();
  }

  /* A page that came filtered lacks the other rows: they are fetched once. */
  async complement() {
    const answer = await fetch(board.dataset.all, { headers: { Accept: "text/html" } });
    if (!answer.ok) return form.submit();
    const other = new DOMParser().parseFromString(await answer.text(), "text/html");
    this.rows = [...other.querySelectorAll("#board table.board tbody tr")].map((row) => document.adoptNode(row));
    this.complete = true;
  }

  values() {
    const given = [...new FormData(form)].filter(([name, value]) => TESTS[name] && value.trim());
    return given.map(([name, value]) => [name, value.trim()]);
  }

  draw() {
    const filters = this.values();
    this.drawn = JSON.stringify(filters);
    const wanted = this.rows.filter((row) => filters.every(([name, value]) => TESTS[name](row.dataset, value)));
    const heads = [...table.tHead.rows[0].cells];
    const at = heads.findIndex((head) => head.dataset.key === this.sort);
    const isNumber = heads[at].classList.contains("n");
    const value = (row) => row.cells[at].dataset.v;
    const name = (row) => row.querySelector("th.model").dataset.v;
    const order = (one, other) => (isNumber ? Number(one) - Number(other) : one < other ? -1 : one > other ? 1 : 0);
    const sign = this.descending ? -1 : 1;
    const byName = (one, other) => (name(one) < name(other) ? -1 : name(one) > name(other) ? 1 : 0);
    wanted.sort((one, other) => {
      const [a, b] = [value(one), value(other)];
      if (a === "" || b === "") return (a === "") - (b === "") || byName(one, other);
      return sign * order(a, b) || byName(one, other);
    });
    this.body.replaceChildren(...wanted);
    this.group(wanted, heads[at]);
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[at].setAttribute("aria-sort", this.descending ? "descending" : "ascending");
    this.count.textContent = this.words.replace(/\d[\d,]*/, String(wanted.length));
    this.chips(filters);
    this.remember(filters, heads[at]);
  }

  /* The filters in use, each with a way to take it off. */
  chips(filters) {
    const list = document.querySelector("ul.applied");
    list.replaceChildren(...filters.map(([name, value]) => {
      const field = form.elements[name];
      const label = (field.labels[0]?.firstChild.textContent ?? list.dataset.text).trim();
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `${label}: ${field.selectedOptions?.[0].textContent ?? value} ×`;
      button.addEventListener("click", () => { field.value = ""; field.focus(); this.draw(); });
      const item = document.createElement("li");
      item.append(button);
      return item;
    }));
    list.hidden = !filters.length;
    document.querySelector("#filter-count").textContent = filters.length || "";
  }

  /* Bands of rows that cannot be told apart, in the order of the ranks only. */
  group(rows, head) {
    const isRanked = this.sort === this.main && this.descending === (head.dataset.natural === "down");
    table.classList.toggle("flat", !isRanked || !rows.some((row) => row.dataset.tier));
    let even = false;
    let last = "";
    for (const row of rows) {
      const { tier } = row.dataset;
      const starts = tier !== "" && tier !== last;
      if (starts && last) even = !even;
      last = tier || last;
      row.classList.toggle("starts", starts);
      row.classList.toggle("even", even);
    }
  }

  /* The address is that of the same view by the server. */
  remember(filters, head) {
    const query = new URLSearchParams(location.search);
    for (const name of [...Object.keys(TESTS), "sort", "order"]) query.delete(name);
    for (const [name, value] of filters) query.set(name, value);
    const turned = this.descending !== (head.dataset.natural === "down");
    if (turned || this.sort !== this.main) query.set("sort", this.sort);
    if (turned) query.set("order", this.descending ? "down" : "up");
    const text = query.toString();
    history.replaceState(null, "", board.dataset.path + (text ? `?${text}` : ""));
  }
}

if (table && form) {
  document.documentElement.classList.add("quick");
  new QuickBoard();
}

/* Comparing needs two. */
const button = document.querySelector("#compare-button");
if (button && table) {
  const draw = () => {
    const chosen = table.querySelectorAll(".pick :checked").length;
    button.toggleAttribute("disabled", chosen < 2);
  };
  table.addEventListener("change", draw);
  draw();
}
