// @ts-check
// Wake the live parts of a page. Where a script fails, what stood on the page before stays.

import { mountCurves } from "./curves.mjs";
import { mountOwnTable } from "./own_table.mjs";
import { mountPlane } from "./plane.mjs";
import { mountRange } from "./range.mjs";
import { makeSortable } from "./sortable.mjs";
import { mountSphere } from "./sphere.mjs";

/** @type {Record<string, (stage: HTMLElement, data: any) => void>} */
const FIGURES = { curves: mountCurves, "own-table": mountOwnTable, plane: mountPlane, range: mountRange, sphere: mountSphere };

function wake() {
  for (const figure of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".live[data-live]"))) {
    const mount = FIGURES[figure.dataset.live ?? ""];
    const stage = /** @type {HTMLElement} */ (figure.querySelector(".live-stage"));
    const source = figure.dataset.source ? document.getElementById(figure.dataset.source) : null;
    if (!mount || !stage || (figure.dataset.source && !source)) continue;
    mount(stage, source ? JSON.parse(source.textContent ?? "null") : null);
    figure.hidden = false;
  }
  for (const element of document.querySelectorAll("table.sortable, .sortable table")) makeSortable(/** @type {HTMLTableElement} */ (element));
}

if (typeof document !== "undefined") {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", wake);
  else wake();
}
