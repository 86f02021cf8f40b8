/* All runs, as the server or the files list them, and what makes two of them comparable. */

const ENDED = new Set(["complete"]);
const UNFINISHED = new Set(["running", "interrupted"]);
/* flags that say something about a run, but not that its number is another one */
const REMARKS = new Set(["replies", "tokens", "sampling", "model_options"]);

/* Facts are compared by identity: the same ones are one object, whenever they arrive. */
const knownFacts = new Map();

const factsOf = (pairs) => {
  const key = JSON.stringify(pairs);
  if (!knownFacts.has(key)) knownFacts.set(key, { key, facts: new Map(pairs) });
  return knownFacts.get(key);
};

const DECODED = { setting: factsOf, identity: factsOf, baselines: (pairs) => new Map(pairs), metrics: (pairs) => new Map(pairs) };

/** A run: a row of columns that arrived together. Thousands are made at once, so that a value is only
    looked up when it is asked for. */
class CatalogRun {
  constructor(columns, at) {
    this.columns = columns;
    this.at = at;
    this.text = "";
    this.column = "";
  }

  static define(name, shared) {
    if (name in CatalogRun.prototype) return;
    const get = shared
      ? function () { const column = this.columns[name]; return column.values[column.codes[this.at]]; }
      : function () { return this.columns[name][this.at]; };
    Object.defineProperty(CatalogRun.prototype, name, { get });
  }
}

/** Rows that arrive as columns, in which shared values are numbers of a list. */
const decodeRuns = ({ rows, shared, plain }) => {
  const columns = { ...plain };
  for (const name in plain) CatalogRun.define(name, false);
  for (const name in shared) {
    CatalogRun.define(name, true);
    const { values, codes } = shared[name];
    columns[name] = { values: DECODED[name] ? values.map(DECODED[name]) : values, codes };
  }
  return Array.from({ length: rows }, (_, at) => new CatalogRun(columns, at));
};

/** The runs that are shown, by key; `pull` fetches what changed. */
class Catalog {
  constructor() {
    Object.assign(this, { byKey: new Map(), serial: 0, server: "", total: 0, more: true, revision: 0 });
    this.identities = null;
  }

  get runs() { return (this.list ||= [...this.byKey.values()]); }

  /** Returns whether anything changed. */
  async pull() {
    const answer = await store.catalog(this.serial, this.server);
    if (answer.full) this.byKey.clear();
    const fresh = decodeRuns(answer);
    fresh.forEach((run) => this.byKey.set(run.key, run));
    answer.gone.forEach((key) => this.byKey.delete(key));
    const changed = answer.full || fresh.length > 0 || answer.gone.length > 0 || answer.total !== this.total || answer.more !== this.more;
    Object.assign(this, { serial: answer.serial, server: answer.server, total: answer.total, more: answer.more });
    if (changed) {
      this.list = this.identities = null;
      assignColumns(this.runs);
      this.revision++;
    }
    return changed;
  }

  /** In what the model of a run differs from others of the same name; "" if in nothing. */
  identityOf(run) {
    this.identities ||= identityTexts(this.runs);
    return this.identities.get(run.model)?.get(run.identity) ?? "";
  }

  /** A name that tells a run from others of its benchmark. */
  nameOf(run) {
    const parts = [this.identityOf(run), ...run.flags.filter(([code]) => code !== "extent").map(([, label]) => label)].filter(Boolean);
    return parts.length ? `${run.model} (${parts.join(", ")})` : run.model;
  }
}

/** For each name of several models, by identity: the settings that differ. */
const identityTexts = (runs) => {
  const byModel = new Map();
  for (const { model, identity } of runs) {
    const identities = byModel.get(model);
    if (identities) identities.add(identity);
    else byModel.set(model, new Set([identity]));
  }
  const texts = new Map();
  for (const [model, identities] of byModel) {
    if (identities.size < 2) continue;
    const every = [...identities].map(({ facts }) => facts);
    const names = [...new Set(every.flatMap((facts) => [...facts.keys()]))].filter((name) => new Set(every.map((facts) => facts.get(name))).size > 1);
    texts.set(model, new Map([...identities].map((identity) =>
      [identity, names.map((name) => (identity.facts.has(name) ? `${words(name)} ${shortened(identity.facts.get(name))}` : `no ${words(name)}`)).join(", ")])));
  }
  return texts;
};

const shortened = (text) => { const plain = text.replace(/^sha256:/, ""); return plain.length > 24 ? `${plain.slice(0, 12)}…` : plain; };

/** What is searched for a run, in lower case. */
const searchedText = (run) => (run.text ||= [
  run.model, run.benchmark, run.title, run.source, run.status, run.provider, run.family, run.folder, run.key,
  ...run.flags.map(([, label]) => label), ...run.labels, ...run.notes, run.problem,
].join("\n").toLowerCase());

/** Give each run the column that it belongs to: its benchmark, or its data file where several files
    have one name but for their endings. */
const assignColumns = (runs) => {
  const sources = new Map();
  for (const { benchmark, source } of runs) {
    if (!source) continue;
    if (!sources.has(benchmark)) sources.set(benchmark, new Set());
    sources.get(benchmark).add(source);
  }
  for (const run of runs) run.column = run.source && sources.get(run.benchmark).size > 1 ? run.source : run.benchmark;
};

/** The columns of some runs: {id, label, title, runs, settings, setting}, by id. `chosen`: settings by
    column that the reader chose; `alike`: keys of settings in which cells may differ. */
const benchmarkColumns = (runs, { chosen, alike }) => {
  const columns = new Map();
  for (const run of runs) {
    if (run.status === "damaged") continue;
    let column = columns.get(run.column);
    if (!column) columns.set(run.column, column = { id: run.column, label: run.column, title: run.title || run.benchmark, runs: [] });
    column.runs.push(run);
  }
  for (const column of columns.values()) {
    column.settings = columnSettings(column.runs, alike);
    column.setting = column.settings.find(({ id }) => id === chosen[column.id]) ?? column.settings[0];
  }
  return columns;
};

/** The settings of a column's runs, that of most models first: the plain one and the newest where as
    many models have it. */
const columnSettings = (runs, alike) => {
  const settings = new Map();
  for (const run of runs) {
    const key = comparedKey(run.setting, alike);
    let entry = settings.get(key);
    if (!entry) settings.set(key, entry = { key, id: digestOf(key), facts: run.setting.facts, flags: flagsOfSetting(run), count: 0, models: new Set(), newest: "" });
    entry.count++;
    if (run.value !== null && ENDED.has(run.status)) entry.models.add(run.model);
    if (run.created > entry.newest) entry.newest = run.created;
  }
  const isLess = (entry) => entry.facts.has("extent");
  return [...settings.values()].sort((one, other) =>
    isLess(one) - isLess(other) || other.models.size - one.models.size || one.flags.length - other.flags.length || (other.newest > one.newest ? 1 : -1));
};

const flagsOfSetting = (run) => run.flags.filter(([code]) => run.setting.facts.has(code) && !REMARKS.has(code));

/** A setting without what may differ, as text; kept with the setting. */
const comparedKey = (setting, alike) => {
  if (!alike.length) return setting.key;
  setting.without ||= new Map();
  const which = alike.join();
  if (!setting.without.has(which)) setting.without.set(which, JSON.stringify([...setting.facts].filter(([code]) => !alike.includes(code))));
  return setting.without.get(which);
};

/** Eight characters for a text, for addresses (FNV-1a, 32 bit). */
const digestOf = (text) => {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
};

/** In what a run differs from the setting of its column: [code, label, sentence]. */
const differencesFrom = (run, column, alike) => {
  const mine = run.setting.facts, theirs = column.setting.facts;
  if (comparedKey(run.setting, alike) === column.setting.key) return [];
  return [...new Set([...mine.keys(), ...theirs.keys()])]
    .filter((code) => !alike.includes(code) && mine.get(code) !== theirs.get(code))
    .map((code) => {
      const flag = run.flags.find(([each]) => each === code);
      const label = flag ? flag[1] : mine.get(code) ?? `no ${known.settings[code]}`;
      const sentence = `${known.settings[code]}: ${mine.get(code) ?? "none"}; the column has ${theirs.get(code) ?? "none"}`;
      return [code, label, flag ? `${flag[2]}. ${sentence}` : sentence];
    });
};

/** Which of the runs of a cell is shown: one of the column's setting, with a number, complete, the
    newest. */
const cellOrder = (column, alike) => {
  const rank = (run) => 4 * (comparedKey(run.setting, alike) === column.setting.key) + 2 * (run.value !== null) + ENDED.has(run.status);
  return (one, other) => rank(other) - rank(one) || (other.created > one.created ? 1 : other.created < one.created ? -1 : 0);
};

/** A number with one decimal as the other tables print it: halves go to the even digit. */
const points = (value) => {
  const quarters = value * 4;
  if (!Number.isInteger(quarters) || quarters % 2 === 0) return value.toFixed(1);
  const below = Math.floor(value * 10);
  return ((below % 2 === 0 ? below : below + 1) / 10).toFixed(1);
};
