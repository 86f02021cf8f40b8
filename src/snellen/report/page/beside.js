/* Gold and answer of a sample next to each other: the tree that comes with it as elements, buttons that
   show and hide either side, and keys. Texts become text nodes: nothing that a model says is markup. */

const TAGS = new Set(["figure", "div", "h4", "p", "pre", "mark", "span", "b", "table", "caption", "thead", "tbody", "tr", "th", "td"]);
const ATTRIBUTES = new Set(["class", "role", "aria-label", "title", "scope", "colspan", "rowspan", "tabindex"]);

/** An element of a tree [name, attributes, ...children]; other names than those above are spans. */
const built = ([name, attributes, ...children]) => make(TAGS.has(name) ? name : "span",
  Object.fromEntries(Object.entries(attributes).filter(([key]) => ATTRIBUTES.has(key))),
  ...children.map((child) => (typeof child === "string" ? child : built(child))));

/** The words of a figure that differ, in the order in which they stand. */
const marksOf = (figure) => [...figure.querySelectorAll("mark.differs, .field:not(.right)")].filter((mark) => mark.offsetParent !== null);

/** Scroll to the next word that differs; after the last to the first. */
const nextMark = (figure) => {
  const marks = marksOf(figure);
  if (!marks.length) return;
  const before = marks.findIndex((mark) => mark.classList.contains("current"));
  const next = marks[(before + 1) % marks.length];
  marks.forEach((mark) => mark.classList.toggle("current", mark === next));
  next.scrollIntoView({ block: "center" });
};

const unfold = (figure, button) => {
  const whole = figure.classList.toggle("whole");
  button.textContent = whole ? "Fold" : "Unfold";
  button.setAttribute("aria-expanded", String(whole));
};

/** The figure of a sample with its buttons; `verdict`: an element. */
const besideFigure = (tree, verdict) => {
  const figure = built(tree), bar = make("figcaption", { class: "beside-bar" });
  const button = (kind, text, title, action) => {
    const made = make("button", { type: "button", class: `side-button ${kind}`, title }, text);
    made.addEventListener("click", () => action(figure, made));
    return made;
  };
  const fold = button("fold", "Unfold", "Whole length, or folded (z)", unfold);
  fold.setAttribute("aria-expanded", "false");
  const next = figure.querySelector("mark.differs, .field:not(.right)") ? button("next", "Next", "Next difference (w)", nextMark) : null;
  bar.append(...[...Object.keys(SIDES).map((side) => sideButton(side, side)), next, fold, verdict].filter(Boolean));
  figure.prepend(bar);
  /* a button for what is folded alone */
  const look = new ResizeObserver(() => {
    if (figure.classList.contains("whole")) return;
    fold.hidden = [...figure.querySelectorAll(".tall")].every((part) => part.scrollHeight <= part.clientHeight + 1);
  });
  look.observe(figure);
  return figure;
};

/** Keys for what is drawn below `element`: s and a show and hide a side; of answers next to each other
    z unfolds and w goes to the next difference. */
const answerKey = (event, element) => {
  const figure = element.querySelector(".beside");
  if (!figure || event.ctrlKey || event.metaKey || event.altKey) return placeKey(event, element);
  const side = Object.keys(SIDES).find((name) => SIDES[name] === event.key);
  if (side) toggleSide(side);
  else if (event.key === "z") figure.querySelector(".fold")?.click();
  else if (event.key === "w") figure.querySelector(".next")?.click();
  else return false;
  return true;
};
