/* Gold and answered places over a picture, or over the duration of a video: the drawing that comes
   with a sample, a legend that shows and hides either side, and a look at the places from near. */

const SIDES = { gold: "s", answer: "a" };

/** An SVG element of a tree [name, attributes, ...children]; texts become text nodes. */
const drawn = ([name, attributes, ...children]) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.map((child) => (typeof child === "string" ? child : drawn(child))));
  return element;
};

/** Show or hide the places of a side, on the whole page and on those that are opened later. */
const toggleSide = (side) => {
  const hides = document.body.classList.toggle(`without-${side}`);
  document.querySelectorAll(`button.side-of-${side}`).forEach((button) => button.setAttribute("aria-pressed", String(!hides)));
};

const sideButton = (side, shown) => {
  const line = drawn(["svg", { viewBox: "0 0 26 8", class: "sample-line", "aria-hidden": "true" }, ["path", { d: "M1 4h24", class: side }]]);
  const button = make("button", { type: "button", class: `side-button side-of-${side}`, title: `Show or hide ${side} (${SIDES[side]})` }, line, shown);
  button.setAttribute("aria-pressed", String(!document.body.classList.contains(`without-${side}`)));
  button.addEventListener("click", () => toggleSide(side));
  return button;
};

/** What a figure of places says below its drawing. `verdict`: an element, `near`: looks from near. */
const placeLegend = (places, verdict, near) => {
  const button = near && places.focus.length ? make("button", { type: "button", class: "side-button near", title: "Enlarge the places (z)" }, "Zoom") : null;
  button?.addEventListener("click", near);
  const overlap = places.overlap === null || places.overlap === undefined ? null : make("span", { class: "num" }, `IoU ${places.overlap.toFixed(2)}`);
  return make("figcaption", { class: "place-legend" }, Object.keys(SIDES).map((side) => sideButton(side, side)), button, overlap, verdict);
};

/** Draw the places of a sample into the figure of its picture; without a picture on an empty frame. */
const placesOver = (figure, places, verdict) => {
  const overlay = drawn(places.svg);
  const image = figure.querySelector("img");
  const canvas = make("span", { class: image ? "canvas" : "canvas empty" });
  if (image) { image.replaceWith(canvas); canvas.append(image, overlay); } else figure.append(canvas), canvas.append(overlay);
  const button = canvas.closest("button.zoom");
  if (button) button.dataset.focus = places.focus.join(" ");
  figure.classList.add("placed");
  figure.append(placeLegend(places, verdict, button && (() => button.near())));
  return figure;
};

/** The drawing of spans of time, which needs no picture. */
const spansFigure = (places, verdict) => make("figure", { class: "placed timed" }, drawn(places.svg), placeLegend(places, verdict, null));

/** Keys for the places below `element`: s and a show and hide a side, z looks from near. */
const placeKey = (event, element) => {
  const figure = element.querySelector(".placed");
  if (!figure) return false;
  const side = Object.keys(SIDES).find((name) => SIDES[name] === event.key);
  if (side) toggleSide(side);
  else if (event.key === "z") figure.querySelector(".near")?.click();
  else return false;
  return true;
};
