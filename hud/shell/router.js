// Links between pages, the arrow keys in grids, for the whole document; installed once.
(() => {
  if (window.gauntletRouter) return;
  window.gauntletRouter = true;

  // Streamlit would load the whole application again. One entry in the history for each link,
  // so that the back button goes back by one page.
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const anchor = event.composedPath().find((each) => each.tagName === "A");
    if (!anchor || !anchor.hasAttribute("href") || anchor.hasAttribute("download")) return;
    const target = new URL(anchor.href, document.baseURI);
    if (!(anchor.getAttribute("href") || "").startsWith("./")) return;
    if (target.origin !== window.location.origin) return;
    event.preventDefault();
    event.stopPropagation();
    if (target.href === window.location.href) return;
    window.history.pushState({}, "", target.href);
    window.dispatchEvent(new PopStateEvent("popstate", { state: {} }));
  }, true);

  document.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[event.key];
    const cell = event.target.closest && event.target.closest("[data-grid] [data-cell]");
    if (!step || !cell) return;
    const table = cell.closest("[data-grid]");
    let [row, column] = cell.dataset.cell.split(",").map(Number);
    const [rows, columns] = table.dataset.grid.split(",").map(Number);
    for (;;) {
      row += step[0];
      column += step[1];
      if (row < 0 || column < 0 || row >= rows || column >= columns) return;
      const next = table.querySelector(`[data-cell="${row},${column}"]`);
      if (!next) continue;
      event.preventDefault();
      cell.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
      return;
    }
  });
})();
