"use strict";
// Loads the page of a submission again once it no longer waits for its score.
const progress = document.getElementById("progress");
if (progress) {
  const look = async () => {
    try {
      const answer = await fetch(progress.dataset.status, { headers: { Accept: "application/json" } });
      if (answer.ok && (await answer.json()).status === "queued") {
        setTimeout(look, 2000);
        return;
      }
    } catch {
      setTimeout(look, 5000);
      return;
    }
    location.reload();
  };
  setTimeout(look, 1000);
}
