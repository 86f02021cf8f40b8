"use strict";
/* theme: follow the system until the reader chooses */
(() => {
  const button = document.querySelector(".theme");
  if (!button) return;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  button.addEventListener("click", () => {
    const root = document.documentElement;
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  });
})();
