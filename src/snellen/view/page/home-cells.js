/* What cells of the first page are made of: scores, intervals, flags, dates. */

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const byText = new Intl.Collator("en", { numeric: true }).compare;
const numberText = (value) => value.toLocaleString("en");

/** A date in a few characters; the year where it is not this one. */
const dayText = (iso) => {
  if (!iso) return "";
  const [year, month, day] = iso.slice(0, 10).split("-");
  const text = `${Number(day)} ${MONTHS[Number(month) - 1]}`;
  return year === String(new Date().getFullYear()) ? text : `${text} ${year}`;
};

const dateCell = (run) => (run.created ? make("time", { datetime: `${run.created}Z`, title: `${run.created.replace("T", " ")} UTC` }, dayText(run.created)) : "");

const durationText = (seconds) => {
  if (!seconds) return "";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};

const runLink = (run, text, attributes = {}) => make("a", { href: `#/run/${encodeURIComponent(run.key)}`, ...attributes }, text);

/** A flag: a few words, and a sentence on hovering. `differs`: in this a cell is not its column's. */
const flagChip = ([code, label, sentence], differs = false) =>
  make("span", { class: `flag ${code}${differs ? " differs" : ""}`, title: sentence }, differs ? `≠ ${label}` : label);

const progressText = (run) => make("span", { class: run.status === "running" ? "live" : "halted", title: run.status === "running" ? "in progress, or was killed" : "was interrupted" },
  `${numberText(run.done)} of ${numberText(run.samples)}`);

/** Score and interval over the range of the metric, as a line of the cell. `chance`: a mark. */
const scoreBar = (run, chance) => {
  if (run.value === null) return null;
  const at = (value) => `${Math.max(0, Math.min(100, 100 * value / run.top)).toFixed(1)}%`;
  const bar = make("i", { class: "score-bar", "aria-hidden": "true" }, make("i", { class: "reach" }));
  bar.style.setProperty("--v", at(run.value));
  if (run.low !== null) {
    const span = make("i", { class: "span" });
    span.style.setProperty("--from", at(run.low));
    span.style.setProperty("--to", at(run.high));
    bar.append(span);
  }
  if (chance !== undefined) {
    const mark = make("i", { class: "chance" });
    mark.style.setProperty("--at", at(chance));
    bar.append(mark);
  }
  return bar;
};

/** Why a run has no number. */
const noScore = (run) => run.problem || run.flags.find(([code]) => code === "withheld")?.[2] || (UNFINISHED.has(run.status) ? "no number yet" : "no number");

/** A menu: a button that opens a box of choices under it. */
const menu = (text, label, content, attributes = {}) => {
  const summary = make("summary", { "aria-label": label }, text);
  const box = make("div", { class: "menu-box" });
  /* what is not looked at is not built */
  if (typeof content !== "function") box.append(...[content].flat());
  const element = make("details", { class: "menu", ...attributes }, summary, box);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !element.open) return;
    element.open = false;
    summary.focus();
    event.stopPropagation();
    event.preventDefault();
  });
  /* one is open at a time, and none after a click elsewhere */
  element.addEventListener("toggle", () => {
    if (element.open && typeof content === "function" && !box.firstChild) box.append(content());
    if (element.open) document.querySelectorAll("details.menu[open]").forEach((other) => { if (other !== element) other.open = false; });
  });
  return element;
};
document.addEventListener("pointerdown", (event) => {
  document.querySelectorAll("details.menu[open]").forEach((open) => { if (!open.contains(event.target)) open.open = false; });
});

/** Check boxes of which any number may be chosen. `choices`: [value, text, count]. `change` gets all
    chosen values. */
const checkList = (legend, choices, chosen, change) => {
  const list = make("div", { class: "choices" });
  const draw = (needle) => list.replaceChildren(...choices.filter(([, text]) => text.toLowerCase().includes(needle)).slice(0, 400).map(([value, text, count]) => {
    const box = make("input", { type: "checkbox", value });
    box.checked = chosen.includes(value);
    box.addEventListener("change", () => {
      chosen = box.checked ? [...chosen, value] : chosen.filter((each) => each !== value);
      change(chosen);
    });
    return make("label", {}, box, make("span", {}, text), count === undefined ? null : make("b", {}, numberText(count)));
  }));
  draw("");
  const parts = [make("legend", {}, legend)];
  if (choices.length > 12) {
    const search = make("input", { type: "search", "aria-label": `Search in ${legend}`, placeholder: "search" });
    search.addEventListener("input", () => draw(search.value.trim().toLowerCase()));
    parts.push(search);
  }
  return make("fieldset", {}, ...parts, list);
};
