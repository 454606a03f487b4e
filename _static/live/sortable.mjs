// @ts-check
// A table that sorts by a click on a heading and shows only the rows that contain what is typed.

import { freshId, html } from "./dom.mjs";

/**
 * Order of two cells: numbers by value, everything else by the alphabet, what is empty last.
 *
 * @param {string} a
 * @param {string} b
 * @returns {number}
 */
export function compareCells(a, b) {
  const [x, y] = [a, b].map((text) => parseFloat(text.replace("−", "-")));
  const numeric = (/** @type {string} */ text) => /^[−+-]?(\d|\.\d)/.test(text);
  if (a === "" || b === "") return Number(a === "") - Number(b === "");
  if (numeric(a) && numeric(b)) return x - y;
  if (numeric(a) !== numeric(b)) return numeric(a) ? -1 : 1;
  return a.localeCompare(b, "en");
}

const SHORT = /** @type {Record<string, string>} */ ({ fig: "figure", figs: "figure", figures: "figure", tab: "table", tables: "table", thm: "theorem", prop: "proposition", lem: "lemma", def: "definition", cor: "corollary", alg: "algorithm", suppl: "supplement", sp: "supplement", appendix: "supplement", et: "", al: "", and: "", of: "", the: "" });

/**
 * Words and numbers of a text, with the usual abbreviations written out.
 *
 * @param {string} text
 * @returns {string[]}
 */
export function tokens(text) {
  const found = text.toLowerCase().match(/[a-z]?\d+(\.\d+)*|\p{L}+/gu) ?? [];
  return found.map((word) => SHORT[word] ?? word).filter(Boolean);
}

/**
 * Rows that have all words: numbers and single letters as a whole ("Figure 4" is not "Figure 14"), words from their beginning.
 *
 * @param {string[]} names what a row is called, where numbers are looked for
 * @param {string[][]} rows all cells
 * @param {string} words
 * @returns {number[]} which rows are shown
 */
export function matching(names, rows, words) {
  const wanted = tokens(words);
  return [...rows.keys()].filter((i) => {
    const [own, all] = [tokens(names[i]), tokens(`${names[i]} ${rows[i].join(" ")}`)];
    return wanted.every((word) => (/\d/.test(word) || word.length === 1 ? own.includes(word) : all.some((other) => other.startsWith(word))));
  });
}

/** @param {HTMLTableElement} element a table with one row of headings */
export function makeSortable(element) {
  const body = element.tBodies[0];
  const headings = [...(element.tHead?.rows[element.tHead.rows.length - 1]?.cells ?? [])];
  if (!body || headings.length === 0) return;
  const rows = [...body.rows];
  const texts = rows.map((row) => [...row.cells].map((cell) => (cell.textContent ?? "").trim()));
  const names = rows.map((row, i) => row.dataset.words ?? texts[i].join(" "));
  headings.forEach((heading, column) => {
    const name = (heading.textContent ?? "").trim();
    if (!name) return;
    const button = html("button", { type: "button", class: "live-sort" }, [name]);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = heading.getAttribute("aria-sort") !== "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const order = [...rows.keys()].sort((i, j) => {
        const [a, b] = [texts[i][column], texts[j][column]];
        if (a === "" || b === "") return compareCells(a, b);
        return (up ? 1 : -1) * compareCells(a, b);
      });
      body.append(...order.map((i) => rows[i]));
    });
  });
  const id = freshId();
  const input = /** @type {HTMLInputElement} */ (html("input", { type: "search", id, autocomplete: "off" }));
  const count = html("span", { "aria-live": "polite" }, [`${rows.length} rows`]);
  input.addEventListener("input", () => {
    const shown = new Set(matching(names, texts, input.value));
    rows.forEach((row, i) => (row.hidden = !shown.has(i)));
    count.textContent = shown.size ? `${shown.size} of ${rows.length} rows` : "No row has all of these words. Try fewer of them, for example an author and a number.";
  });
  element.before(html("div", { class: "live-filter" }, [html("label", { for: id }, ["show only rows with"]), input, count]));
}
