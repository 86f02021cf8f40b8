// Tabs: each second-level heading in <div class="tabs"> becomes a tab, with what follows it as its
// panel. A link to a place in a panel opens it. Without scripts all sections stand one below the other.
document.querySelectorAll("div.tabs").forEach((tabs) => {
  const bar = document.createElement("div");
  bar.className = "tab-bar";
  bar.setAttribute("role", "tablist");
  const pairs = [...tabs.querySelectorAll(":scope > h2")].map((heading) => {
    const panel = document.createElement("div");
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", `tab-${heading.id}`);
    heading.before(panel);
    panel.append(heading);
    while (panel.nextElementSibling && panel.nextElementSibling.tagName !== "H2") {
      panel.append(panel.nextElementSibling);
    }
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `tab-${heading.id}`;
    tab.setAttribute("role", "tab");
    tab.textContent = heading.textContent;
    tab.addEventListener("click", () => {
      history.replaceState(null, "", `#${heading.id}`);
      open(panel);
    });
    bar.append(tab);
    return { tab, panel };
  });

  function open(chosen) {
    for (const { tab, panel } of pairs) {
      panel.hidden = panel !== chosen;
      tab.setAttribute("aria-selected", String(panel === chosen));
    }
  }

  function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const pair = target && pairs.find(({ panel }) => panel.contains(target));
    if (pair) {
      open(pair.panel);
      target.scrollIntoView();
    }
  }

  tabs.prepend(bar);
  open(pairs[0].panel);
  openTarget();
  window.addEventListener("hashchange", openTarget);
});
