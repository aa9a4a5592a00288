/* Runs before the first paint, so that a remembered choice of colours does not flash. */
(() => {
  try {
    const chosen = localStorage.getItem("preflight.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    /* storage is switched off: the system's colours serve */
  }
})();
