/* Who reviews, what the server is asked, and drafts that survive a reload. */

const known = JSON.parse(document.getElementById("known").textContent);

/** The link's token and the person's name, kept for this tab: two tabs may be two people. */
const person = (() => {
  const given = new URLSearchParams(location.hash.replace(/^#/, ""));
  if (given.has("key")) {
    sessionStorage.setItem("key", given.get("key"));
    if (given.has("as")) sessionStorage.setItem("name", given.get("as"));
    /* The address is then safe to copy: it holds no token. */
    history.replaceState(null, "", "#/");
  }
  return {
    get key() { return sessionStorage.getItem("key") ?? ""; },
    get name() { return sessionStorage.getItem("name") ?? ""; },
    set name(name) { sessionStorage.setItem("name", name); },
    role: "annotator",
    get judges() { return this.role === "adjudicator"; },
    /** Whether keys and replies are hidden from this person. */
    get blind() { return known.blind && !this.judges; },
  };
})();

class Refused extends Error {}

const request = async (path, query, body) => {
  const address = `api/${path}?` + new URLSearchParams({ by: person.name, ...query });
  const headers = { "X-Snellen-Token": person.key };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(address, { method: body === undefined ? "GET" : "POST", headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Refused(answer.error || response.statusText);
  return answer;
};

const store = {
  state: () => request("state", {}),
  next: (after) => request("next", { after }),
  item: (id, step = 0) => request("item", { id, step }),
  rows: (show, text, from) => request("rows", { show, text, from }),
  agreement: () => request("agreement", {}),
  decide: (decision) => request("decide", {}, decision),
  undo: () => request("undo", {}, {}),
  picture: (digest, item) => `media/${digest}?` + new URLSearchParams({ item }),
  video: (_, digest, item) => `video/${digest}?` + new URLSearchParams({ item }),
};

/** What somebody typed and did not save yet, by item. */
const drafts = {
  key: (item) => `snellen-review ${location.host} ${person.role} ${person.name} ${item}`,
  get(item) {
    try { return JSON.parse(localStorage.getItem(this.key(item))) ?? {}; } catch { return {}; }
  },
  put(item, values) {
    const kept = { ...this.get(item), ...values };
    try { localStorage.setItem(this.key(item), JSON.stringify(kept)); } catch { /* full, or not allowed: the draft is in the form alone */ }
  },
  drop(item) { try { localStorage.removeItem(this.key(item)); } catch { /* as above */ } },
};

const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** A button; `key` is the key that does the same, `more` what screen readers add to its text. */
const actionButton = (text, key, action, attributes = {}, more = "") => {
  const button = make("button", { type: "button", "aria-keyshortcuts": key || null, ...attributes }, make("span", {}, text, more ? make("span", { class: "unseen" }, more) : null), key ? make("kbd", { "aria-hidden": "true" }, key === "Enter" ? "↵" : key) : null);
  button.addEventListener("click", action);
  return button;
};
