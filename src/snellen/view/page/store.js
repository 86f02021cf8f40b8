/* The source of the data: a server, or files next to the page. Both give the same answers. */

const fetchJson = async (path, query) => {
  const response = await fetch(path + "?" + new URLSearchParams(query));
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error || response.statusText);
  return answer;
};

/** Have the server store something; it takes that from its own pages alone. */
const sendJson = async (path, value) => {
  const headers = { "Content-Type": "application/json", "X-Snellen-Token": known.token };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(value) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error || response.statusText);
  return answer;
};

class Server {
  catalog(since, server) { return fetchJson("api/catalog", { since, server }); }
  suites() { return fetchJson("api/suites", {}); }
  views() { return fetchJson("api/views", {}); }
  changeViews(change) { return sendJson("api/views", change); }
  head(run) { return fetchJson("api/run", { run }); }
  numbers(run) { return fetchJson("api/numbers", { run }); }
  columns(run, from, generation) { return fetchJson("api/columns", { run, from, generation }); }
  samples(run, rows) { return fetchJson("api/samples", { run, rows: rows.join(",") }); }
  compare(first, second) { return fetchJson("api/compare", { first, second }); }

  async search(run, text, from) {
    const { bits, rows, generation } = await fetchJson("api/search", { run, text, from });
    return { bits: unpacked(bits, Uint8Array), rows, generation };
  }

  picture(run, digest, sample, whole) {
    return `media/${encodeURIComponent(run)}/${digest}?` + new URLSearchParams(whole ? { sample, whole: 1 } : { sample });
  }

  annotations(run) { return fetchJson("api/annotations", { run }); }

  annotate(change) { return sendJson("api/annotate", change); }

  source(run, sample) { return fetchJson("api/source", { run, sample }); }

  video(run, digest, sample) { return `video/${encodeURIComponent(run)}/${digest}?` + new URLSearchParams({ sample }); }

  get grows() { return true; }

  get writes() { return true; }
}

/** Files that call `snellen.put(name, value)`: of a local folder, browsers load scripts alone. */
class Files {
  constructor({ chunk, pictures }) {
    this.chunk = chunk;
    this.pictures = new Set(pictures);
    this.kept = new Map();
    this.waiting = new Map();
    window.snellen = { put: (name, value) => this.waiting.get(name)?.(value) };
  }

  load(name) {
    if (!this.kept.has(name)) {
      const arrived = new Promise((resolve, reject) => {
        this.waiting.set(name, resolve);
        const script = make("script", { src: `data/${name.split("/").map(encodeURIComponent).join("/")}.js` });
        script.onerror = () => { this.kept.delete(name); reject(new Error(`data/${name}.js is missing beside this page`)); };
        script.onload = () => script.remove();
        document.head.append(script);
      });
      this.kept.set(name, arrived);
      if (this.kept.size > 60) this.kept.delete([...this.kept.keys()].find((each) => each.includes("/samples-")));
    }
    return this.kept.get(name);
  }

  catalog() { return this.load("catalog"); }
  suites() { return this.load("suites"); }
  views() { return this.load("views"); }
  head(run) { return this.load(`${run}/head`); }
  numbers(run) { return this.load(`${run}/numbers`); }
  columns(run) { return this.load(`${run}/columns`); }

  async samples(run, rows) {
    const chunks = [...new Set(rows.map((row) => Math.floor(row / this.chunk)))];
    const loaded = new Map(await Promise.all(chunks.map(async (at) => [at, await this.load(`${run}/samples-${at}`)])));
    return rows.map((row) => loaded.get(Math.floor(row / this.chunk))[row % this.chunk]);
  }

  async compare(first, second) {
    const pairs = await this.load("pairs");
    return pairs[JSON.stringify([first, second])] ?? { why_not: "this difference was not computed when the pages were written" };
  }

  async search(run, text) {
    const { generation, rows } = await this.columns(run);
    const needle = text.trim().toLowerCase();
    const bits = new Uint8Array((rows + 7) >> 3);
    for (let at = 0; at * this.chunk < rows; at++) {
      const texts = await this.load(`${run}/texts-${at}`);
      texts.forEach((each, nth) => {
        const row = at * this.chunk + nth;
        if (each.includes(needle)) bits[row >> 3] |= 1 << (row & 7);
      });
    }
    return { bits, rows, generation };
  }

  picture(run, digest) { return this.pictures.has(digest) ? `media/${digest.slice(0, 2)}/${digest}.jpg` : null; }

  annotations(run) { return this.load(`${run}/annotations`); }

  source() { return Promise.resolve(null); }

  get grows() { return false; }

  get writes() { return false; }
}

const store = known.files ? new Files(known.files) : new Server();

/** Samples of a run by index, fetched once. Beyond `most`, the oldest are dropped. */
class Samples {
  constructor(run, most = 3000) { Object.assign(this, { run, most, kept: new Map(), asked: new Map() }); }

  have(row) { return this.kept.get(row); }

  forget() { this.kept.clear(); this.asked.clear(); }

  async get(rows) {
    const missing = rows.filter((row) => !this.kept.has(row) && !this.asked.has(row));
    for (let at = 0; at < missing.length; at += 50) {
      const part = missing.slice(at, at + 50);
      const coming = store.samples(this.run, part).then((samples) => part.forEach((row, nth) => this.kept.set(row, samples[nth])))
        .finally(() => part.forEach((row) => this.asked.delete(row)));
      part.forEach((row) => this.asked.set(row, coming));
    }
    await Promise.all([...new Set(rows.map((row) => this.asked.get(row)).filter(Boolean))]);
    const samples = rows.map((row) => this.kept.get(row));
    while (this.kept.size > this.most) this.kept.delete(this.kept.keys().next().value);
    return samples;
  }
}
