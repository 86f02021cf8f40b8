/* Where two texts differ, word by word. */

const MOST_CELLS = 4e6;

/** For each text its words and gaps, each with whether it is missing in the other text. Null if the
    texts are too long to compare. */
const wordDifferences = (first, second) => {
  const one = first.match(/\s+|[^\s]+/g) || [], other = second.match(/\s+|[^\s]+/g) || [];
  let head = 0;
  while (head < one.length && head < other.length && one[head] === other[head]) head++;
  let tail = 0;
  while (tail < one.length - head && tail < other.length - head
    && one[one.length - 1 - tail] === other[other.length - 1 - tail]) tail++;
  const n = one.length - head - tail, m = other.length - head - tail;
  if ((n + 1) * (m + 1) > MOST_CELLS) return null;
  /* length of the longest common subsequence of the rests behind word i and word j */
  const width = m + 1, longest = new Uint16Array((n + 1) * width);
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      longest[i * width + j] = one[head + i] === other[head + j]
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const onlyInFirst = new Uint8Array(one.length), onlyInSecond = new Uint8Array(other.length);
  let i = 0, j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && one[head + i] === other[head + j]) { i++; j++; }
    else if (j === m || (i < n && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) onlyInFirst[head + i++] = 1;
    else onlyInSecond[head + j++] = 1;
  }
  const marked = (tokens, isUnshared) => tokens.map((text, at) => ({ text, differs: isUnshared[at] === 1 && text.trim() !== "" }));
  return [marked(one, onlyInFirst), marked(other, onlyInSecond)];
};

/** A reply in which the words that the other has not, and the evidence of its answer, are marked. */
const markedReply = (pieces, tokens) => {
  const from = pieces[0].length, to = from + pieces[1].length;
  const shown = make("pre", { class: "reply" });
  let at = 0;
  for (const { text, differs } of tokens) {
    const cuts = [0, from - at, to - at, text.length].filter((cut) => cut >= 0 && cut <= text.length).sort((a, b) => a - b);
    for (let nth = 1; nth < cuts.length; nth++) {
      const part = text.slice(cuts[nth - 1], cuts[nth]);
      if (!part) continue;
      const read = at + cuts[nth - 1] >= from && at + cuts[nth - 1] < to;
      const kinds = [differs ? "differs" : "", read ? "read" : ""].filter(Boolean).join(" ");
      shown.append(kinds ? make("mark", { class: kinds, title: read ? "read as the answer" : "not in the other reply" }, part) : part);
    }
    at += text.length;
  }
  return shown;
};
