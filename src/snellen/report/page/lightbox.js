"use strict";
/* One picture as large as the window: zoom with the wheel, + and -, drag to move, arrows for the
   next picture of the same sample; places that are drawn over it move with it. */

const lightbox = (() => {
  const MOST = 16, LETTER = 15;
  let dialog = null, stage, canvas, image, caption, place, open, near, sides, items = [], at = 0;
  const view = { scale: 1, x: 0, y: 0 };
  const points = new Map();

  const apply = () => {
    canvas.style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.scale})`;
    canvas.style.setProperty("--scale", view.scale);
    const overlay = items[at]?.overlay;
    if (overlay) canvas.style.setProperty("--letter", LETTER / (letterSize(overlay) * shownScale(overlay) * view.scale));
    stage.classList.toggle("zoomed", view.scale > 1);
    place.textContent = `${items.length > 1 ? `${at + 1} of ${items.length}, ` : ""}${Math.round(view.scale * 100)} %`;
  };

  const sizeOf = (overlay) => overlay.getAttribute("viewBox").split(" ").slice(2).map(Number);
  const letterSize = (overlay) => Number(overlay.querySelector("text")?.getAttribute("font-size") ?? LETTER);

  /** Pixels of the screen in one of the picture, before it is zoomed. */
  const shownScale = (overlay) => {
    const [width, height] = sizeOf(overlay);
    return Math.min(canvas.clientWidth / width, canvas.clientHeight / height);
  };

  /** Zoom by a factor around a point of the stage, which stays where it is. */
  const zoom = (factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2) => {
    const scale = Math.min(MOST, Math.max(1, view.scale * factor));
    const ratio = scale / view.scale, dx = x - stage.clientWidth / 2, dy = y - stage.clientHeight / 2;
    view.x = dx - (dx - view.x) * ratio;
    view.y = dy - (dy - view.y) * ratio;
    view.scale = scale;
    if (scale === 1) view.x = view.y = 0;
    apply();
  };

  const reset = () => { Object.assign(view, { scale: 1, x: 0, y: 0 }); apply(); };

  /** Zoom so that the places fill most of the stage, or back to the whole picture. */
  const look = () => {
    const { overlay, focus } = items[at];
    if (!focus.length || view.scale > 1) return reset();
    const [width, height] = sizeOf(overlay), [left, top, right, bottom] = focus, shown = shownScale(overlay);
    const fit = Math.min(canvas.clientWidth / (right - left || 1), canvas.clientHeight / (bottom - top || 1)) / shown;
    view.scale = Math.min(MOST / 2, 0.6 * fit);
    if (view.scale <= 1) return reset();
    view.x = (width / 2 - (left + right) / 2) * shown * view.scale;
    view.y = (height / 2 - (top + bottom) / 2) * shown * view.scale;
    apply();
  };

  const show = (index) => {
    at = (index + items.length) % items.length;
    const { src, original, alt, text, overlay, focus } = items[at];
    canvas.replaceChildren(image, ...(overlay ? [overlay.cloneNode(true)] : []));
    near.hidden = !focus.length;
    sides.forEach((button) => { button.hidden = !overlay; });
    image.alt = alt;
    image.src = original || src;
    image.onerror = () => { if (image.src !== src) image.src = src; };
    caption.textContent = text || alt;
    open.hidden = !original;
    if (original) open.href = original;
    reset();
  };

  const press = (event) => {
    const actions = {
      ArrowRight: () => show(at + 1), ArrowLeft: () => show(at - 1), j: () => show(at + 1), k: () => show(at - 1),
      "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), "0": reset, z: look,
      ...Object.fromEntries(Object.keys(SIDES).map((side) => [SIDES[side], () => toggleSide(side)])),
    };
    event.stopPropagation();
    if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
    actions[event.key]();
    event.preventDefault();
  };

  /* One pointer drags, two pinch. */
  const move = (event) => {
    const before = points.get(event.pointerId);
    if (!before) return;
    const now = { x: event.clientX, y: event.clientY };
    const other = [...points].find(([id]) => id !== event.pointerId)?.[1];
    points.set(event.pointerId, now);
    if (other) {
      const length = (point) => Math.hypot(point.x - other.x, point.y - other.y) || 1;
      zoom(length(now) / length(before));
    } else if (view.scale > 1) {
      view.x += now.x - before.x;
      view.y += now.y - before.y;
      apply();
    }
  };

  const build = () => {
    const button = (text, title, action) => {
      const made = make("button", { type: "button", title, "aria-label": title }, text);
      made.addEventListener("click", action);
      return made;
    };
    image = make("img", { draggable: "false" });
    canvas = make("div", { class: "canvas" }, image);
    stage = make("div", { class: "stage" }, canvas);
    caption = make("p", { class: "lightbox-caption" });
    place = make("span", { class: "soft num", role: "status" });
    open = make("a", { target: "_blank", rel: "noopener" }, "original");
    sides = Object.keys(SIDES).map((side) => sideButton(side, side));
    near = button("Places", "The places from near, or the whole picture (z)", look);
    const steps = [button("←", "Previous picture (left)", () => show(at - 1)), button("→", "Next picture (right)", () => show(at + 1))];
    const shut = button("Close", "Close (Esc)", () => dialog.close());
    shut.autofocus = true;
    const tools = make("div", { class: "lightbox-tools" }, caption, place, ...steps,
      button("−", "Smaller (-)", () => zoom(1 / 1.4)), button("+", "Larger (+)", () => zoom(1.4)), button("1:1", "Whole picture (0)", reset),
      near, ...sides, open, shut);
    dialog = make("dialog", { class: "lightbox", "aria-label": "Picture" }, tools, stage);
    dialog.steps = steps;
    dialog.addEventListener("keydown", press);
    dialog.addEventListener("click", (event) => { if (event.target === stage) dialog.close(); });
    stage.addEventListener("wheel", (event) => {
      const box = stage.getBoundingClientRect();
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    stage.addEventListener("dblclick", () => (view.scale > 1 ? reset() : zoom(3)));
    stage.addEventListener("pointerdown", (event) => { points.set(event.pointerId, { x: event.clientX, y: event.clientY }); stage.setPointerCapture(event.pointerId); });
    stage.addEventListener("pointermove", move);
    for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, (event) => points.delete(event.pointerId));
    document.body.append(dialog);
  };

  /** Open the dialog over `pictures`, of which each has src, alt, and perhaps original and text. */
  return (pictures, index, isNear = false) => {
    if (!dialog) build();
    items = pictures;
    dialog.steps.forEach((step) => { step.hidden = items.length < 2; });
    dialog.showModal();
    show(index);
    if (isNear) look();
  };
})();

/** A button around a picture that opens it, with the other `[data-zoom]` pictures of its group. */
const zoomable = (image, original = "") => {
  const button = make("button", { type: "button", class: "zoom", title: "Enlarge", "data-zoom": "", "data-original": original }, image);
  button.setAttribute("aria-label", `Enlarge ${image.alt || "picture"}`);
  const enlarge = (isNear) => {
    const group = button.closest("[data-pictures]") ?? button.parentElement;
    const buttons = [...group.querySelectorAll("[data-zoom]")];
    const pictures = buttons.map((each) => {
      const shown = each.querySelector("img");
      const text = each.closest("figure")?.querySelector("figcaption:not(.place-legend)")?.textContent;
      const focus = each.dataset.focus ? each.dataset.focus.split(" ").map(Number) : [];
      return { src: shown.src, alt: shown.alt, original: each.dataset.original, text, overlay: each.querySelector("svg.places"), focus };
    });
    lightbox(pictures, buttons.indexOf(button), isNear);
  };
  button.addEventListener("click", () => enlarge(false));
  button.near = () => enlarge(true);
  return button;
};
