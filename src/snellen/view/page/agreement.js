/* Several runs of the same samples: which agree, by sample. */

const MOST_RUNS = 6;
const MOST_PATTERNS = 60;
const SIGNS = { r: "✓", p: "≈", w: "✗", u: "–", o: "·" };
const SIGN_WORDS = { r: "right", p: "partly right", w: "wrong", u: "not scored", o: "not in this run" };
const SIGN_VERDICTS = { r: "right", p: "partly", w: "wrong", u: "unscored", o: "unscored" };
const ABSENT = -2;

/** The orders of a comparison. */
const AGREEMENT_ORDERS = {
  data: { title: "as in the data" },
  disagreement: { title: "most disagreement first" },
  low: { title: "lowest mean score first" },
  high: { title: "highest mean score first" },
};

/** How the scores of one sample agree. Scores below 0: not scored, or not in the run. */
const agreementOf = (scores) => {
  if (scores.includes(ABSENT)) return "in some runs only";
  if (scores.some((score) => score < 0)) return "not scored";
  const right = scores.filter((score) => score >= 1).length, wrong = scores.filter((score) => score <= 0).length;
  if (right === scores.length) return "all right";
  if (wrong === scores.length) return "all wrong";
  if (right + wrong === scores.length) {
    if (right === 1) return `only ${scores.findIndex((score) => score >= 1) + 1} right`;
    if (wrong === 1) return `only ${scores.findIndex((score) => score <= 0) + 1} wrong`;
    return "mixed";
  }
  const best = Math.max(...scores), leaders = scores.filter((score) => score === best).length;
  if (leaders === scores.length) return "same partial score";
  return leaders === 1 ? `${scores.indexOf(best) + 1} best` : "mixed";
};

/** Every value of `agreementOf` for a number of runs, in the order of the choices. */
const agreementValues = (count) => {
  const each = (text) => Array.from({ length: count }, (_, at) => text(at + 1));
  return ["all right", ...each((at) => `only ${at} right`), ...(count > 2 ? each((at) => `only ${at} wrong`) : []), "mixed",
    ...each((at) => `${at} best`), "same partial score", "all wrong", "not scored", "in some runs only"];
};

const signOf = (score) => (score === ABSENT ? "o" : score < 0 ? "u" : score >= 1 ? "r" : score <= 0 ? "w" : "p");

/** Samples of several runs by id: in which row of each run, and how they agree. */
class Agreement {
  constructor(columns) {
    this.columns = columns;
    columns.forEach((each) => each.find(""));
    this.ids = [...new Set(columns.flatMap((each) => each.ids))];
    this.rows = columns.map((each) => Int32Array.from(this.ids, (id) => each.rowsById.get(id) ?? -1));
    this.scores = columns.map((each, side) => Float32Array.from(this.rows[side], (row) => (row < 0 ? ABSENT : each.score[row])));
    this.ordered = new Map();
    this.build();
  }

  build() {
    const count = this.ids.length, sides = this.columns.length;
    this.values = agreementValues(sides);
    const codeOf = new Map(this.values.map((value, code) => [value, code]));
    Object.assign(this, { agreement: new Uint8Array(count), answers: new Uint8Array(count), differ: new Uint8Array(count) });
    const patterns = new Map(), pattern = new Array(count);
    for (let at = 0; at < count; at++) {
      const scores = this.scores.map((each) => each[at]);
      const answers = new Set(this.columns.map((each, side) => (this.rows[side][at] < 0 ? -1 : each.answer[this.rows[side][at]])));
      this.agreement[at] = codeOf.get(agreementOf(scores));
      this.answers[at] = answers.size === 1 ? 0 : answers.size === sides && sides > 2 ? 2 : 1;
      this.differ[at] = new Set(scores).size > 1 ? 1 : 0;
      pattern[at] = scores.map(signOf).join("");
      patterns.set(pattern[at], (patterns.get(pattern[at]) ?? 0) + 1);
    }
    /* The most frequent patterns have a choice of their own. */
    this.patterns = [...patterns].sort((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1)).slice(0, MOST_PATTERNS);
    const patternCode = new Map(this.patterns.map(([each], code) => [each, code + 1]));
    this.pattern = Uint8Array.from(pattern, (each) => patternCode.get(each) ?? 0);
  }

  find(id) {
    this.byId ||= new Map(this.ids.map((each, at) => [each, at]));
    return this.byId.get(id) ?? -1;
  }

  /** The first run that has a sample. */
  sideOf(at) { return this.rows.findIndex((rows) => rows[at] >= 0); }

  order(name) {
    if (!this.ordered.has("data")) {
      const positions = Int32Array.from(this.ids, (_, at) => { const side = this.sideOf(at); return this.columns[side].position[this.rows[side][at]]; });
      this.ordered.set("data", dataOrder(positions, this.ids));
    }
    const data = this.ordered.get("data");
    if (!this.ordered.has(name)) this.ordered.set(name, rowsByKey(this.keys(name), data));
    return this.ordered.get(name);
  }

  keys(name) {
    return Float64Array.from(this.ids, (_, at) => {
      const scores = this.scores.map((each) => each[at]).filter((score) => score >= 0);
      if (!scores.length) return 2;
      const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
      const spread = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length;
      /* Where scores spread alike, different answers decide. */
      return { disagreement: -spread - 1e-3 * this.answers[at], low: mean, high: -mean }[name];
    });
  }

  /** What a comparison is filtered by, made once. `names`: of the runs. */
  facets(names) {
    const key = names.join("\n");
    if (this.facetsKey !== key) Object.assign(this, { facetsKey: key, made: this.makeFacets(names) });
    return this.made;
  }

  makeFacets(names) {
    const both = this.columns.length === 2;
    /* Of more than two, the numbers that stand at their names. */
    const shown = (value) => (both ? value.replace(/^(only )?(\d)/, (_, only, at) => `${only ?? ""}${names[at - 1]}`) : value);
    const texts = both ? { "all right": "both right", "all wrong": "both wrong", "in some runs only": "in one run only" } : {};
    const kind = (value) => (/^only|best/.test(value) ? `split at-${value.match(/\d/)[0]} ${/wrong/.test(value) ? "wrong" : "right"}` : value.replaceAll(" ", "-"));
    const through = (codes, side) => Uint32Array.from(this.rows[side], (row) => (row < 0 ? 0 : codes[row]));
    const main = this.columns[0];
    const outcomes = this.columns.map((columns, side) => ({
      name: `outcome-${side + 1}`, title: `${side + 1}: outcome`, values: ["", ...known.outcomes], shown: (value) => known.words[value],
      codes: Uint8Array.from(this.rows[side], (row) => (row < 0 ? 0 : columns.outcome[row] + 1)),
    }));
    const groups = main.facets().filter(({ name }) => name.startsWith("g.") || name === "kind").map((facet) => ({ ...facet, codes: through(facet.codes, 0) }));
    return [
      { name: "agreement", title: "Agreement", codes: this.agreement, values: this.values, shown: (value) => texts[value] ?? shown(value), kind, always: both ? ["all right", "only 1 right", "only 2 right", "all wrong"] : ["all right", "all wrong"] },
      { name: "scores", title: "Scores", codes: this.differ, values: ["same score", "other score"], shown: (value) => (value === "same score" ? "the same" : "they differ") },
      { name: "answers", title: "Answers", codes: this.answers, values: ["same", "differ", "all differ"], shown: (value) => ({ same: "the same", differ: both ? "they differ" : "some differ", "all differ": "all differ" })[value] },
      { name: "pattern", title: "Pattern", codes: this.pattern, values: ["", ...this.patterns.map(([each]) => each)], shown: (value) => [...value].map((sign) => SIGNS[sign]).join(" ") },
      ...outcomes, ...groups,
    ];
  }

  /** How many samples of a run are right, partly right, wrong and not scored. */
  tally(side) {
    const counts = { r: 0, p: 0, w: 0, u: 0, o: 0 };
    this.scores[side].forEach((score) => { counts[signOf(score)]++; });
    return counts;
  }
}
