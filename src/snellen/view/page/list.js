/* A list of any length; only its visible rows are in the page. */

const ROW_HEIGHT = 68;

class LongList {
  /** `fill(row, element)` fills the element of a row, at once or later; `choose(at)` gets the
      index that was clicked. */
  constructor({ label, fill, choose }) {
    this.fill = fill;
    this.rows = new Uint32Array(0);
    this.chosen = -1;
    this.sizer = make("div", { class: "sizer", role: "presentation" });
    this.element = make("div", { class: "list", role: "listbox", tabindex: "0", "aria-label": label }, this.sizer);
    this.shown = new Map();
    let waiting = false;
    const later = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; this.draw(); });
    };
    this.element.addEventListener("scroll", later, { passive: true });
    this.sizer.addEventListener("click", (event) => {
      const row = event.target.closest("[role=option]");
      if (row) choose(Number(row.dataset.at));
    });
    new ResizeObserver(later).observe(this.element);
  }

  /** Show these rows; elements whose row keeps its index are not filled again. */
  show(rows) {
    this.rows = rows;
    this.sizer.style.height = rows.length * ROW_HEIGHT + "px";
    this.draw();
  }

  /** Fill every visible row anew. */
  redraw() {
    this.shown.forEach(({ element }) => element.remove());
    this.shown.clear();
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW_HEIGHT) - 4);
    const last = Math.min(this.rows.length, Math.ceil((this.element.scrollTop + this.element.clientHeight) / ROW_HEIGHT) + 4);
    for (const [at, { element, row }] of this.shown) {
      if (at < first || at >= last || this.rows[at] !== row) {
        element.remove();
        this.shown.delete(at);
      }
    }
    for (let at = first; at < last; at++) {
      let entry = this.shown.get(at);
      if (!entry) {
        const element = make("div", {
          class: "row", role: "option", id: `row-${at}`, "data-at": String(at), "aria-setsize": String(this.rows.length), "aria-posinset": String(at + 1),
        });
        element.style.top = at * ROW_HEIGHT + "px";
        entry = { element, row: this.rows[at] };
        this.shown.set(at, entry);
        this.sizer.append(element);
        this.fill(entry.row, element);
      }
      entry.element.setAttribute("aria-selected", String(at === this.chosen));
    }
    if (this.chosen >= first && this.chosen < last) this.element.setAttribute("aria-activedescendant", `row-${this.chosen}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  /** Mark the row at an index, -1 for none, and scroll to it. */
  mark(at) {
    this.chosen = at;
    if (at >= 0) {
      const top = at * ROW_HEIGHT, view = this.element;
      if (top < view.scrollTop) view.scrollTop = top;
      else if (top + ROW_HEIGHT > view.scrollTop + view.clientHeight) view.scrollTop = top + ROW_HEIGHT - view.clientHeight;
    }
    this.draw();
  }

  visible() { return [...this.shown.values()].map(({ row }) => row); }
}
