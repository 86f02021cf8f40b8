// The menu: each group opens and closes by its name. Open at first is the group of this page, or
// else the first. Without scripts all are open.
const groups = [...document.querySelectorAll(".wy-menu-vertical p.caption")].map((caption) => {
  const pages = caption.nextElementSibling;
  return { caption, pages, hasPage: pages.classList.contains("current") };
});
const isAnywhere = groups.some(({ hasPage }) => hasPage);

groups.forEach(({ caption, pages, hasPage }, number) => {
  const name = document.createElement("button");
  name.type = "button";
  name.append(...caption.childNodes);
  caption.append(name);

  function show(isOpen) {
    pages.hidden = !isOpen;
    name.setAttribute("aria-expanded", String(isOpen));
  }

  name.addEventListener("click", () => show(pages.hidden));
  show(isAnywhere ? hasPage : number === 0);
});
