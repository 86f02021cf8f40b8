/* Pictures of a run, from the server or from files, and rows of lists. */

/** A small picture; a click on one that is to be looked at enlarges it. Where it cannot be had, its
    place says so. */
const picture = (run, digest, sample, attributes) => {
  const small = store.picture(run, digest, sample, false);
  if (!small) return null;
  const image = make("img", { loading: "lazy", decoding: "async", ...attributes });
  const plain = attributes.class === "thumb";
  const gone = () => {
    const place = plain ? make("span", { class: "thumb none" }) : make("span", { class: "absent" }, `this picture is not on this machine (${digest.slice(0, 12)})`);
    (image.closest("button.zoom") || image).replaceWith(place);
  };
  image.addEventListener("error", gone, { once: true });
  image.src = small;
  if (plain) return image;
  return zoomable(image, store.grows ? store.picture(run, digest, sample, true) : "");
};

/** Fill a row of a list. */
const listRow = (element, thumb, ask, meta, verdicts, marks = null) =>
  element.replaceChildren(thumb || make("span", { class: "thumb none" }),
    make("span", { class: "what" }, make("span", { class: "ask" }, ask), make("span", { class: "meta" }, marks, meta)), verdicts);

const thumbOf = (run, sample) => sample.media.length
  ? picture(run, sample.media[0], sample.id, { class: "thumb", alt: "", width: 44, height: 44 }) : null;
