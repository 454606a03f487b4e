// Numbers, names and settings such as tau=1e-3 stay on one line in tables of results; sentences may wrap.
document.addEventListener("DOMContentLoaded", () => {
  for (const cell of document.querySelectorAll(".cell_output td")) {
    if (cell.textContent.trim().length <= 16) cell.style.whiteSpace = "nowrap";
  }
});

// The theme remembers how far the sidebar was scrolled; after a link to elsewhere, the current page may be out of sight.
addEventListener("load", () => {
  const sidebar = document.querySelector(".bd-sidebar-primary");
  const current = [...document.querySelectorAll(".bd-sidebar-primary .bd-links li.current > a")].pop();
  if (!sidebar || !current) return;
  const [outer, inner] = [sidebar, current].map((element) => element.getBoundingClientRect());
  if (inner.top < outer.top || inner.bottom > Math.min(outer.bottom, innerHeight)) sidebar.scrollTop += inner.top - outer.top - outer.height / 2;
});

// What is wider than its box is reached with the keyboard, and a formula that is cut says so.
(() => {
  const boxes = "div.math, .bd-article pre, .cell_output .output, .bd-article .table-container, .pst-scrollable-table-container, .live-told, .bd-article p";
  // On a phone a formula becomes smaller before it is cut, down to some eleven pixels.
  const fit = (box, inner) => {
    box.style.fontSize = "";
    if (innerWidth > 600) return;
    const share = Math.min(...[box, inner].map((e) => e.clientWidth / Math.max(1, e.scrollWidth)));
    if (share < 1) box.style.fontSize = `${Math.max(0.72, share - 0.01)}em`;
  };
  const mark = () => {
    for (const box of document.querySelectorAll(boxes)) {
      const inner = box.matches("div.math") ? box.querySelector("mjx-container") : null;
      if (inner) fit(box, inner);
      const wide = [box, inner].some((e) => e && e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1);
      if (wide) box.setAttribute("tabindex", "0");
      else if (box.hasAttribute("tabindex")) box.removeAttribute("tabindex");
      if (box.matches("div.math")) box.classList.toggle("is-cut", wide);
    }
  };
  let waiting = 0;
  const soon = () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(mark);
  };
  addEventListener("load", () => {
    soon();
    const math = window.MathJax?.startup?.promise;
    if (math) math.then(soon);
  });
  addEventListener("resize", soon);
})();

// Escape puts away what a word means, until the word is pointed at or reached again.
(() => {
  const words = () => document.querySelectorAll("a.word");
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const word of words()) word.classList.add("is-quiet");
  });
  for (const kind of ["mouseover", "focusin"]) {
    addEventListener(kind, ({ target }) => target.closest?.("a.word")?.classList.remove("is-quiet"));
  }
})();
