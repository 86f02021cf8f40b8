/* Named views: addresses of the first page that were given a name. */

class SavedViews {
  constructor(home) {
    this.home = home;
    this.views = [];
    this.writable = false;
    this.list = make("ul", { class: "saved" });
    this.problem = make("p", { class: "problem", role: "alert", hidden: "" });
    this.name = make("input", { type: "text", "aria-label": "Name of the view", placeholder: "name", maxlength: "80", required: "" });
    this.form = make("form", {}, this.name, make("button", { type: "submit" }, "Save this view"));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.change({ name: this.name.value, address: this.home.state.parameters.toString() }).then((stored) => { if (stored) this.name.value = ""; });
    });
    this.hint = make("p", { class: "soft small" });
    this.element = menu("Views", "Saved views", [this.list, this.form, this.hint, this.problem]);
  }

  async load() {
    try { this.show(await store.views()); } catch (error) { this.complain(error); }
  }

  show({ views, writable, file }) {
    Object.assign(this, { views, writable });
    this.form.hidden = !writable;
    this.hint.textContent = writable ? `Views are stored in ${file}. The address of the page is also a view: bookmark it.` : "Views cannot be saved here, but the address of the page is a view: bookmark it.";
    this.draw();
  }

  draw() {
    const here = this.home.state.parameters.toString();
    this.list.replaceChildren(...this.views.map(({ name, address }) => {
      const remove = this.writable ? make("button", { type: "button", "aria-label": `delete the view ${name}`, title: "delete" }, "×") : null;
      remove?.addEventListener("click", () => this.change({ name, remove: true }));
      return make("li", {}, make("a", { href: address ? `#/?${address}` : "#/", "aria-current": address === here ? "true" : null }, name), remove);
    }));
    if (!this.views.length) this.list.replaceChildren(make("li", { class: "soft" }, "There are no saved views yet."));
  }

  /** Returns whether it was stored. */
  async change(change) {
    try {
      this.show(await store.changeViews(change));
      this.problem.hidden = true;
      return true;
    } catch (error) {
      this.complain(error);
      return false;
    }
  }

  complain(error) {
    this.problem.textContent = error.message;
    this.problem.hidden = false;
  }
}
