/* What only the data know of a sample: its video, its boxes, and when each frame was taken. */

const clock = (seconds) => {
  const whole = Math.floor(seconds), rest = Math.round(10 * (seconds - whole));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}${rest ? `.${rest}` : ""}`;
};

/** Regions as outlines over the first picture, in pixels of the original; with the labels of options if they are theirs. */
const boxesOver = (figure, { regions, size, labels }) => {
  const image = figure.querySelector("img");
  if (!image) return;
  const ns = "http://www.w3.org/2000/svg";
  const overlay = document.createElementNS(ns, "svg");
  overlay.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`);
  overlay.setAttribute("class", "boxes");
  overlay.setAttribute("role", "img");
  overlay.setAttribute("aria-label", `${regions.length === 1 ? "a box" : `${regions.length} boxes`} on the image`);
  regions.forEach(([left, top, right, bottom], at) => {
    const box = document.createElementNS(ns, "rect");
    for (const [name, value] of Object.entries({ x: left, y: top, width: right - left, height: bottom - top, "vector-effect": "non-scaling-stroke" })) box.setAttribute(name, value);
    const title = document.createElementNS(ns, "title");
    title.textContent = `box ${at + 1}: ${left}, ${top} to ${right}, ${bottom}`;
    box.append(title);
    overlay.append(box);
    if (!labels) return;
    const name = document.createElementNS(ns, "text");
    const height = size[1] / 20;
    for (const [key, value] of Object.entries({ x: left + height / 5, y: Math.max(top, height) - height / 5, "font-size": height })) name.setAttribute(key, value);
    name.textContent = labels[at];
    overlay.append(name);
  });
  image.parentElement.classList.add("boxed");
  image.after(overlay);
  figure.append(make("figcaption", {}, `${regions.length === 1 ? "The box is that" : "The boxes are those"} of the ${labels ? "options" : "data"}`));
};

/** A player for a video; where the browser cannot play it, its place says so. */
const videoPlayer = (run, sample, video) => {
  const source = store.video(run, video.digest, sample.id);
  const part = video.start !== null || video.end !== null ? `#t=${video.start ?? 0}${video.end === null ? "" : `,${video.end}`}` : "";
  const player = make("video", { controls: true, preload: "metadata", playsinline: true, src: source + part, "aria-label": `Video of sample ${sample.id}` });
  if (video.cues.length) player.append(make("track", { kind: "subtitles", label: "Subtitles", srclang: "und", default: true, src: `${source}&subtitles=1` }));
  const figure = make("figure", { class: "video" }, player);
  player.addEventListener("error", () => player.replaceWith(make("p", { class: "absent" }, "This browser cannot play the video; the frames are what the model was shown.")), { once: true });
  if (part) figure.append(make("figcaption", {}, `The question is about ${clock(video.start ?? 0)}${video.end === null ? " to the end" : ` to ${clock(video.end)}`}`));
  if (video.cues.length) {
    figure.append(make("details", { class: "cues" }, make("summary", {}, `Subtitles, ${video.cues.length} lines`),
      make("ol", {}, video.cues.map(([start, end, text]) => make("li", {}, make("time", {}, `${clock(start)}–${clock(end)}`), " ", text)))));
  }
  return figure;
};

/** The sides, gold and answer, of which a span of time holds a moment. */
const sidesAt = (sample, time) => Object.entries(sample.places?.spans ?? {})
  .filter(([, spans]) => spans.some(([start, end]) => start <= time && time <= end)).map(([side]) => side).sort().reverse();

/** Fetch what the data know of a sample and add it to its page: late, since the data may be large. */
const addSource = async (body, run, sample) => {
  const gallery = body.querySelector(".pictures");
  if (!gallery) return;
  const source = await store.source(run, sample.id).catch(() => null);
  if (!source) return;
  gallery.querySelectorAll("figure[data-digest]").forEach((figure) => {
    const time = source.times[figure.dataset.digest];
    if (time === undefined) return;
    const caption = figure.querySelector("figcaption") ?? figure.appendChild(make("figcaption"));
    const sides = sidesAt(sample, time);
    caption.textContent = [`${caption.textContent.replace(/^Image/, "Frame")} at ${clock(time)}`, ...sides].join(", ");
    figure.classList.add(...sides.map((side) => `in-${side}`));
  });
  const first = gallery.querySelector("figure");
  if (first && source.regions.length && source.size) boxesOver(first, source);
  const players = source.videos.filter((video) => video.has_file).map((video) => videoPlayer(run, sample, video));
  /* A model that takes videos was shown the video itself, not frames. */
  const shown = source.videos.some((video) => sample.media.includes(video.digest));
  if (shown) gallery.querySelectorAll(".absent").forEach((place) => place.remove());
  gallery.prepend(...players);
};
