/* What samples are filtered by: one number per sample and column, so that 100,000 of them are
   looked through at every key stroke. */

const known = JSON.parse(document.getElementById("known").textContent);

const unpacked = (text, Type) => {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  return new Type(bytes.buffer);
};

const joined = (one, other, Type) => {
  const both = new Type(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
};

/** The samples of one run, which may grow. `generation` changes when an index means another sample. */
class Columns {
  constructor() { this.forget(); }

  forget() {
    Object.assign(this, {
      generation: 0, ids: [], groups: new Map(), rowsById: null,
      result: new Uint8Array(0), outcome: new Uint8Array(0), kind: new Uint8Array(0),
      score: new Float32Array(0), answer: new Uint32Array(0),
      position: new Int32Array(0), tokens: new Uint32Array(0), seconds: new Float32Array(0), ordered: new Map(),
    });
  }

  get rows() { return this.ids.length; }

  /** Take what the store sent. Returns whether anything changed. */
  add(part) {
    const anew = part.generation !== this.generation;
    if (anew) this.forget();
    this.generation = part.generation;
    if (!part.ids.length || part.from !== this.rows) return anew;
    const before = this.rows;
    this.ids = this.ids.concat(part.ids);
    this.rowsById = null;
    for (const name of ["result", "outcome", "kind"]) this[name] = joined(this[name], unpacked(part[name], Uint8Array), Uint8Array);
    this.score = joined(this.score, unpacked(part.score, Float32Array), Float32Array);
    this.answer = joined(this.answer, unpacked(part.answer, Uint32Array), Uint32Array);
    this.position = joined(this.position, unpacked(part.position, Int32Array), Int32Array);
    this.tokens = joined(this.tokens, unpacked(part.tokens, Uint32Array), Uint32Array);
    this.seconds = joined(this.seconds, unpacked(part.seconds, Float32Array), Float32Array);
    this.ordered = new Map();
    for (const [name, { labels, codes }] of Object.entries(part.groups)) {
      const old = this.groups.get(name)?.codes ?? new Uint32Array(before);
      this.groups.set(name, { labels, codes: joined(old, unpacked(codes, Uint32Array), Uint32Array) });
    }
    return true;
  }

  /** The number of the sample with this id, or -1; of several, the last. */
  find(id) {
    this.rowsById ||= new Map(this.ids.map((each, row) => [each, row]));
    return this.rowsById.get(id) ?? -1;
  }

  /** All rows in an order of `ORDERS`, sorted once. */
  order(name) {
    if (!this.ordered.has("data")) this.ordered.set("data", dataOrder(this.position, this.ids));
    const data = this.ordered.get("data");
    const { keys } = ORDERS[name] ?? {};
    if (keys && !this.ordered.has(name)) this.ordered.set(name, rowsByKey(keys(this), data));
    return this.ordered.get(name) ?? data;
  }

  /** Groupings that tell samples apart, the coarse ones first. */
  groupings() {
    return [...this.groups].filter(([, { labels }]) => labels.length > 1 && labels.length <= 1000)
      .sort((one, other) => one[1].labels.length - other[1].labels.length);
  }

  facets() {
    const groups = this.groupings().map(([name, { labels, codes }]) => ({ name: "g." + name, title: words(name), codes, values: ["", ...labels], shown: words }));
    return [
      { name: "result", title: "Result", codes: this.result, values: known.results, shown: (value) => RESULTS[value] },
      { name: "outcome", title: "Outcome", codes: this.outcome, values: known.outcomes, shown: (value) => known.words[value] },
      { name: "kind", title: "Kind", codes: this.kind, values: known.kinds, shown: (value) => KINDS[value] || value },
      ...groups,
    ];
  }
}

/** Rows by ascending key; `ties`: all rows in the order of those with one key. */
const rowsByKey = (keys, ties = null) => {
  const rows = ties ? Uint32Array.from(ties) : Uint32Array.from(keys, (_, row) => row);
  const ranks = new Uint32Array(rows.length);
  rows.forEach((row, at) => { ranks[row] = at; });
  return rows.sort((one, other) => keys[one] - keys[other] || ranks[one] - ranks[other]);
};

/** Rows in the order of their questions in the data; where that was not recorded, by their ids. */
const dataOrder = (positions, ids) => {
  if (positions.every((position) => position >= 0)) return rowsByKey(positions);
  const { compare } = new Intl.Collator("en", { numeric: true });
  return Uint32Array.from(ids, (_, row) => row).sort((one, other) => compare(ids[one], ids[other]) || one - other);
};

/** What the samples of a run can be sorted by. */
const ORDERS = {
  data: { title: "as in the data" },
  finished: { title: "as they finished", keys: (columns) => Float64Array.from(columns.ids, (_, row) => row) },
  score: { title: "lowest score first", keys: (columns) => Float64Array.from(columns.score, (score) => (score < 0 ? 2 : score)) },
  tokens: { title: "longest reply first", keys: (columns) => Float64Array.from(columns.tokens, (tokens) => -tokens) },
  seconds: { title: "slowest first", keys: (columns) => Float64Array.from(columns.seconds, (seconds) => -seconds) },
};

/** Rows that fit every chosen value, and for each value of each facet how many rows there would be
    were it the one chosen. `masks`: bits by row that must be set; `order`: all rows as they are to be
    listed. */
const filtered = (order, facets, chosen, masks) => {
  const wanted = facets.map(({ name, values }) => (chosen[name] === undefined ? -1 : values.indexOf(chosen[name])));
  const codes = facets.map((facet) => facet.codes);
  const tallies = facets.map(({ values }) => new Uint32Array(values.length));
  const rows = new Uint32Array(order.length);
  let found = 0;
  for (const row of order) {
    if (masks.some((mask) => !(mask[row >> 3] & (1 << (row & 7))))) continue;
    let odd = -1, misses = 0;
    for (let at = 0; at < codes.length && misses < 2; at++) {
      if (chosen[facets[at].name] !== undefined && codes[at][row] !== wanted[at]) { misses++; odd = at; }
    }
    if (misses === 0) {
      rows[found++] = row;
      for (let at = 0; at < codes.length; at++) tallies[at][codes[at][row]]++;
    } else if (misses === 1) tallies[odd][codes[odd][row]]++;
  }
  return { rows: rows.subarray(0, found), tallies };
};
