// Numbers, names and settings such as tau=1e-3 stay on one line in tables of results; sentences may wrap.
document.addEventListener("DOMContentLoaded", () => {
  for (const cell of document.querySelectorAll(".cell_output td")) {
    if (cell.textContent.trim().length <= 16) cell.style.whiteSpace = "nowrap";
  }
});
