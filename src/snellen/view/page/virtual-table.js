/* A table of any length; only its visible rows are in the page. */

const SPARE_ROWS = 6;

/** A real table in a box that scrolls. `row(item, index)` gives the element of a row, `head` that of
    the headings, `first` fixed rows above the others. One control of the table is in the order of
    focus; arrow keys lead to the others. Every row has the same height. */
class VirtualTable {
  constructor({ label, kind, height, row }) {
    Object.assign(this, { row, height, items: [], from: -1, to: -1, active: { row: 0, column: 0 } });
    this.head = make("thead", {});
    this.first = make("tbody", { class: "fixed-rows" });
    this.body = make("tbody", {});
    this.caption = make("caption", { class: "unseen" }, label);
    this.table = make("table", { class: `virtual ${kind}` }, this.caption, this.head, this.first, this.body);
    this.element = make("div", { class: "table-box", role: "region", "aria-label": label, tabindex: "0" }, this.table);
    let waiting = false;
    const later = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; this.draw(); });
    };
    this.element.addEventListener("scroll", later, { passive: true });
    this.observer = new ResizeObserver(later);
    this.observer.observe(this.element);
    this.body.addEventListener("focusin", (event) => {
      const cell = event.target.closest("[data-column]");
      const row = event.target.closest("tr");
      if (cell && row) this.activate(Number(row.dataset.at), Number(cell.dataset.column));
    });
  }

  /** Show these items. `columns`: how many there are, for screen readers. */
  show(items, columns) {
    this.items = items;
    this.columns = columns;
    this.table.setAttribute("aria-rowcount", String(items.length + this.head.rows.length + this.first.rows.length));
    this.table.setAttribute("aria-colcount", String(columns));
    this.active.row = Math.max(0, Math.min(this.active.row, items.length - 1));
    this.redraw();
  }

  redraw() {
    this.from = -1;
    this.draw();
  }

  /** The range of columns that is drawn; tables with many columns draw the visible ones. */
  columnRange() { return ""; }

  draw() {
    const above = this.head.offsetHeight + this.first.offsetHeight;
    const { scrollTop, clientHeight } = this.element;
    const from = Math.max(0, Math.floor((scrollTop - above) / this.height) - SPARE_ROWS);
    const to = Math.min(this.items.length, Math.ceil((scrollTop + clientHeight) / this.height) + SPARE_ROWS);
    const range = this.columnRange();
    if (from === this.from && to === this.to && range === this.range) return;
    Object.assign(this, { from, to, range });
    const held = this.body.contains(document.activeElement) ? { ...this.active } : null;
    const offset = this.head.rows.length + this.first.rows.length + 1;
    const rows = [];
    for (let at = from; at < to; at++) {
      const element = this.row(this.items[at], at);
      element.dataset.at = String(at);
      element.setAttribute("aria-rowindex", String(at + offset));
      element.style.height = this.height + "px";
      rows.push(element);
    }
    this.body.replaceChildren(this.spacer(from), ...rows, this.spacer(this.items.length - to));
    this.tabStops();
    if (held) this.control(held.row, held.column)?.focus({ preventScroll: true });
  }

  spacer(count) {
    const element = make("tr", { class: "spacer", "aria-hidden": "true" });
    element.style.height = count * this.height + "px";
    return element;
  }

  /** The first control in a cell that is drawn. */
  control(row, column) {
    return this.body.querySelector(`tr[data-at="${row}"] [data-column="${column}"] :is(a, button, input, .none)`);
  }

  /** Every control of the body is out of the order of focus but those of the active cell. */
  tabStops() {
    const row = this.active.row < this.from || this.active.row >= this.to ? this.from : this.active.row;
    this.body.querySelectorAll("a, button, input, .none").forEach((control) => {
      const cell = control.closest("[data-column]"), at = Number(control.closest("tr").dataset.at);
      control.tabIndex = at === row && Number(cell?.dataset.column) === this.active.column ? 0 : -1;
    });
  }

  activate(row, column) {
    if (row === this.active.row && column === this.active.column) return;
    this.active = { row, column };
    this.tabStops();
  }

  /** Bring a row into view and focus the control of a cell, or the next one that has any. */
  focus(row, column) {
    row = Math.max(0, Math.min(row, this.items.length - 1));
    const top = row * this.height, above = this.head.offsetHeight, view = this.element;
    const start = top + this.first.offsetHeight;
    if (start < view.scrollTop) view.scrollTop = row === 0 ? 0 : start;
    else if (start + this.height + above > view.scrollTop + view.clientHeight) view.scrollTop = start + this.height + above - view.clientHeight;
    this.reveal(column);
    this.draw();
    const target = this.control(row, column) ?? this.control(row, 0);
    this.active = { row, column: target ? Number(target.closest("[data-column]").dataset.column) : 0 };
    this.tabStops();
    target?.focus({ preventScroll: true });
    return target !== null && target !== undefined;
  }

  /** Bring a column into view. */
  reveal() { /* narrow tables have all of them in view */ }

  /** Arrow keys and their like. Returns whether the key was one of them. */
  key(event) {
    if (!this.items.length) return false;
    const inside = this.body.contains(document.activeElement);
    const { row, column } = this.active;
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 2);
    const steps = {
      ArrowDown: [1, 0], j: [1, 0], ArrowUp: [-1, 0], k: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1],
      PageDown: [page, 0], PageUp: [-page, 0], Home: [0, -Infinity], End: [0, Infinity], g: [-this.items.length, 0], G: [this.items.length, 0],
    };
    const step = steps[event.key];
    if (!step) return false;
    /* from outside, the keys lead to where one was */
    if (!inside) return ["ArrowDown", "ArrowUp", "j", "k"].includes(event.key) && this.focus(row, column);
    return step[0] ? this.focus(row + step[0], column) : this.across(row, column, step[1]);
  }

  /** The next cell of a row that has a control. */
  across(row, column, right) {
    const far = !Number.isFinite(right), last = this.columns - 1;
    const step = (right > 0) === far ? -1 : 1;
    for (let to = far ? (right > 0 ? last : 0) : column + right; to >= 0 && to <= last; to += step) {
      this.reveal(to);
      this.draw();
      if (this.control(row, to)) return this.focus(row, to);
    }
    return true;
  }

  stop() { this.observer.disconnect(); }
}
