// @ts-check
// Your table, nothing uploaded: read a file in the browser, compute PCA and fair projections, show and save them.

import { TableError, describeColumns, numericRows, parseTable } from "./csv.mjs";
import { choice, freshId, html, legend, plot, short, slider, table } from "./dom.mjs";
import { bestKept, meanDistance, reconstructionErrors, solveMeanOblique, solveMeanOrthogonal, solveMinMax, solvePca, totalMean } from "./fair.mjs";
import { groupMoments, standardise } from "./moments.mjs";

/** Most features: the work grows with their cube, and 200 take about a second. */
export const MOST_FEATURES = 200;

const METHODS = /** @type {const} */ ([
  ["pca", "PCA", "pca"],
  ["minmax", "equal losses (min-max)", "minmax"],
  ["orthogonal", "equal means, orthogonal", "mean"],
  ["oblique", "equal means, oblique", "eraser"],
]);

/**
 * Everything that is computed from rows and their groups, for all numbers of components.
 *
 * @param {{ X: Float64Array, n: number, p: number, labels: string[], codes: Int32Array }} rows
 * @param {boolean} scaled whether every feature is divided by its standard deviation first
 * @param {number} most components at most
 */
export function analyse({ X, n, p, labels, codes }, scaled, most) {
  const Y = Float64Array.from(X);
  if (scaled) standardise(Y, n, p);
  const moments = groupMoments(Y, codes, labels.length, p);
  if (!moments.covariances.some((C) => C.some((x) => x !== 0))) throw new TableError("The features do not vary inside the groups; choose other features.");
  const kept = moments.covariances.map((C) => bestKept(C, p));
  const total = reconstructionErrors(moments, { rows: new Float64Array(0), d: 0, objective: 0, bound: 0, sense: "min" });
  const solutions = Array.from({ length: most }, (_, i) => {
    const d = i + 1;
    const found = [
      ["pca", () => solvePca(moments, d)],
      ["minmax", () => (labels.length === 2 ? solveMinMax(moments, d, "loss", kept) : null)],
      ["orthogonal", () => (d <= p - labels.length + 1 ? solveMeanOrthogonal(moments, d) : null)],
      ["oblique", () => (d <= p - labels.length + 1 ? solveMeanOblique(moments, d) : null)],
    ].map(([name, solve]) => {
      const solution = /** @type {() => import("./fair.mjs").Solution | null} */ (solve)();
      if (!solution) return null;
      const { errors, total: error } = reconstructionErrors(moments, solution);
      const best = total.errors.map((all, g) => all - kept[g](d));
      return {
        method: /** @type {string} */ (name), solution, errors, losses: errors.map((e, g) => e - best[g]),
        share: 1 - error / total.total, distance: meanDistance(moments, solution),
        gap: Math.abs(solution.objective - solution.bound),
      };
    });
    return found.filter((entry) => entry !== null);
  });
  return { Y, moments, solutions, labels, total: total.total };
}

/**
 * Rows of text for a file: a header and one line a row.
 *
 * @param {string[]} head
 * @param {Iterable<(string | number)[]>} rows
 * @returns {string}
 */
export function toCsv(head, rows) {
  const quoted = (/** @type {string | number} */ value) => (typeof value === "string" && /[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : String(value));
  let text = `${head.map(quoted).join(",")}\n`;
  for (const row of rows) text += `${row.map(quoted).join(",")}\n`;
  return text;
}

/**
 * @param {HTMLElement} stage
 * @param {{ name: string, text: string } | null} example a table to try
 */
export function mountOwnTable(stage, example) {
  const fileId = freshId();
  const input = /** @type {HTMLInputElement} */ (html("input", { type: "file", id: fileId, accept: ".csv,.tsv,.txt,text/csv" }));
  const message = html("p", { role: "alert", class: "live-message" });
  const settings = html("div");
  const results = html("div", { "aria-live": "polite" });
  const trial = html("button", { type: "button" }, [`try it with ${example?.name ?? "no data"}`]);
  const controls = [html("div", { class: "live-control" }, [html("label", { for: fileId }, ["a CSV file on your computer"]), input])];
  if (example) controls.push(html("div", { class: "live-control" }, [trial]));
  stage.append(html("div", { class: "live-controls" }, controls), message, settings, results);
  const attempt = (/** @type {() => void} */ work) => {
    message.textContent = "";
    try {
      work();
    } catch (error) {
      results.replaceChildren();
      message.textContent = error instanceof Error ? error.message : String(error);
      if (!(error instanceof TableError) && !(error instanceof Error)) throw error;
    }
  };
  const open = (/** @type {string} */ text) => attempt(() => {
    settings.replaceChildren();
    results.replaceChildren();
    showSettings(settings, results, parseTable(text), attempt);
  });
  input.addEventListener("change", async () => {
    const file = input.files?.[0];
    if (!file) return;
    if (file.size > 200e6) {
      message.textContent = `The file has ${Math.round(file.size / 1e6)} MB; this page reads up to 200 MB. The package reads larger ones.`;
      return;
    }
    const bytes = await file.arrayBuffer();
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      // Files of spreadsheet programs are often in this encoding; every byte means something in it.
      text = new TextDecoder("windows-1252").decode(bytes);
    }
    open(text);
  });
  trial.addEventListener("click", () => open(example?.text ?? ""));
}

/**
 * @param {HTMLElement} settings
 * @param {HTMLElement} results
 * @param {import("./csv.mjs").Table} data
 * @param {(work: () => void) => void} attempt
 */
function showSettings(settings, results, data, attempt) {
  const columns = describeColumns(data);
  const possible = columns.filter((column) => column.distinct >= 2 && column.distinct <= 50);
  if (possible.length === 0) throw new TableError("No column has between 2 and 50 different values, so none can be the group. Add a column that names each row's group.");
  const likely = possible.find((column) => /sex|gender|race|group|ethnic/i.test(column.name)) ?? possible.find((column) => !column.numeric) ?? possible.reduce((a, b) => (b.distinct < a.distinct ? b : a));
  const state = { group: likely.name, scaled: true, drop: columns.some((column) => column.missing > 0) };
  const boxes = html("fieldset", { class: "live-boxes" });
  const chosen = () => [.../** @type {NodeListOf<HTMLInputElement>} */ (boxes.querySelectorAll("input:checked"))].map((box) => box.value);
  const fill = () => {
    boxes.replaceChildren(html("legend", {}, ["features (columns of numbers)"]));
    for (const column of columns) {
      if (column.name === state.group || !column.numeric) continue;
      const id = freshId();
      const box = /** @type {HTMLInputElement} */ (html("input", { type: "checkbox", id, value: column.name }));
      box.checked = !column.constant;
      box.addEventListener("change", compute);
      const remark = column.constant ? " (constant)" : column.missing ? ` (${column.missing} missing)` : "";
      boxes.append(html("span", { class: "live-box" }, [box, html("label", { for: id }, [column.name + remark])]));
    }
  };
  const left = columns.filter((column) => !column.numeric && column.name !== state.group).map((column) => column.name);
  const group = choice("column with the group", possible.map((column) => [column.name, `${column.name} (${column.distinct} values)`]), (value) => {
    state.group = value;
    fill();
    compute();
  });
  group.input.value = state.group;
  const flag = (/** @type {string} */ label, /** @type {"scaled" | "drop"} */ key) => {
    const id = freshId();
    const box = /** @type {HTMLInputElement} */ (html("input", { type: "checkbox", id }));
    box.checked = state[key];
    box.addEventListener("change", () => {
      state[key] = box.checked;
      compute();
    });
    return html("span", { class: "live-box" }, [box, html("label", { for: id }, [label])]);
  };
  function compute() {
    attempt(() => {
      const features = chosen();
      if (features.length < 2) throw new TableError(`Choose two features or more; ${features.length} ${features.length === 1 ? "is" : "are"} chosen.`);
      if (features.length > MOST_FEATURES) throw new TableError(`This page takes up to ${MOST_FEATURES} features; ${features.length} are chosen. The package takes more.`);
      const rows = numericRows(data, features, state.group, state.drop);
      if (rows.labels.length < 2) throw new TableError(`The column “${state.group}” has one value only in the rows that are left; two groups are needed.`);
      const lonely = rows.labels.filter((_, g) => rows.codes.reduce((sum, code) => sum + Number(code === g), 0) < 2);
      if (lonely.length) throw new TableError(`The group “${lonely[0]}” has one row only, which has no variance. Merge it with another group or remove it.`);
      const started = performance.now();
      const analysis = analyse(rows, state.scaled, features.length - 1);
      showResults(results, analysis, rows, features, state.group, performance.now() - started);
    });
  }
  fill();
  settings.replaceChildren(
    html("p", {}, [`${data.lines.length} rows, ${data.names.length} columns.${left.length ? ` Not numbers, so no features: ${left.join(", ")}.` : ""}`]),
    html("div", { class: "live-controls" }, [group.element, html("div", { class: "live-control" }, [flag("divide every feature by its standard deviation", "scaled"), flag("leave out rows with missing values", "drop")])]),
    boxes,
  );
  compute();
}

/**
 * @param {HTMLElement} results
 * @param {ReturnType<typeof analyse>} analysis
 * @param {ReturnType<typeof numericRows>} rows
 * @param {string[]} features
 * @param {string} group
 * @param {number} milliseconds
 */
function showResults(results, analysis, rows, features, group, milliseconds) {
  const { solutions, labels, moments } = analysis;
  const state = { d: Math.min(2, solutions.length), measure: /** @type {"losses" | "errors"} */ ("losses"), saved: "pca" };
  const told = html("div", { class: "live-told" });
  const chart = html("div", { class: "live-plots" });
  const draw = () => {
    const found = solutions[state.d - 1];
    const name = (/** @type {string} */ method) => METHODS.find(([key]) => key === method)?.[1] ?? method;
    const chosen = () => found.find((entry) => entry.method === state.saved) ?? found[0];
    const which = choice("save the results of", found.map((entry) => [entry.method, name(entry.method)]), (value) => (state.saved = value));
    state.saved = chosen().method;
    which.input.value = state.saved;
    const head = ["method", "variance kept", ...labels.map((label) => `error: ${label}`), ...labels.map((label) => `loss: ${label}`), "distance of means", "proved within"];
    told.replaceChildren(
      table(head, found.map((entry) => [
        name(entry.method), `${(100 * entry.share).toFixed(2)} %`, ...entry.errors.map((x) => short(x)), ...entry.losses.map((x) => short(Math.max(x, 0))), short(entry.distance, 3), short(entry.gap, 2),
      ]), `${state.d} component${state.d > 1 ? "s" : ""}`),
      html("div", { class: "live-controls" }, [
        which.element,
        save("projection", () => `projection-${state.saved}-${state.d}.csv`, () => projectionCsv(analysis, chosen().solution, rows, group)),
        save("loadings", () => `loadings-${state.saved}-${state.d}.csv`, () => loadingsCsv(chosen().solution, features)),
      ]),
    );
    const xs = solutions.map((_, i) => i + 1);
    const series = METHODS.map(([method]) => solutions.map((list) => {
      const entry = list.find((other) => other.method === method);
      return entry ? Math.max(...entry[state.measure]) : NaN;
    }));
    const all = series.flat().filter(Number.isFinite);
    const top = Math.max(...all) || 1;
    const view = plot({ width: 560, height: 320, xlim: [0.7, xs.length + 0.3], ylim: [0, 1.06 * top], xlabel: "components", ylabel: state.measure === "losses" ? "largest loss of a group" : "largest error of a group", alt: "Largest loss or error of a group over the number of components, for each method" });
    view.line([state.d, state.d], [0, 1.06 * top], "yours");
    series.forEach((values, i) => {
      const there = xs.filter((_, j) => Number.isFinite(values[j]));
      if (there.length) view.line(there, values.filter(Number.isFinite), METHODS[i][2]);
      if (Number.isFinite(values[state.d - 1])) view.dot(state.d, values[state.d - 1], METHODS[i][2], 4);
    });
    chart.replaceChildren(view.root);
  };
  const controls = [
    choice("show in the plot", [["losses", "largest loss"], ["errors", "largest error"]], (value) => {
      state.measure = value === "errors" ? "errors" : "losses";
      draw();
    }).element,
    slider("components", { min: 1, max: solutions.length, step: 1, value: state.d }, (value) => {
      state.d = value;
      draw();
    }).element,
  ];
  const counts = labels.map((label, g) => `${label}: ${moments.counts[g]}`).join(", ");
  results.replaceChildren(
    html("p", {}, [`${rows.n} rows used${rows.dropped ? `, ${rows.dropped} left out` : ""}; groups ${counts}. Computed for all numbers of components in ${Math.round(milliseconds)} ms.`]),
    html("div", { class: "live-controls" }, controls), chart,
    legend(METHODS.map(([, name, kind]) => [kind, name])), told,
  );
  draw();
}

/**
 * @param {string} label
 * @param {() => string} name
 * @param {() => string} content
 */
function save(label, name, content) {
  const button = html("button", { type: "button" }, [`save ${label}`]);
  button.addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([content()], { type: "text/csv" }));
    const link = html("a", { href: address, download: name() });
    document.body.append(link);
    link.click();
    link.remove();
    // A busy browser fetches the text only later.
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  });
  return button;
}

/**
 * @param {ReturnType<typeof analyse>} analysis
 * @param {import("./fair.mjs").Solution} solution
 * @param {ReturnType<typeof numericRows>} rows
 * @param {string} group
 */
export function projectionCsv({ Y, moments, labels }, { rows: W, d }, rows, group) {
  const { p } = moments;
  const mean = totalMean(moments);
  const lines = Array.from({ length: rows.n }, (_, i) => {
    const values = Array.from({ length: d }, (_, k) => {
      let sum = 0;
      for (let j = 0; j < p; j++) sum += W[k * p + j] * (Y[i * p + j] - mean[j]);
      return sum;
    });
    return [labels[rows.codes[i]], ...values];
  });
  return toCsv([group, ...Array.from({ length: d }, (_, k) => `component ${k + 1}`)], lines);
}

/**
 * @param {import("./fair.mjs").Solution} solution
 * @param {string[]} features
 */
export function loadingsCsv({ rows: W, decode, d }, features) {
  const p = features.length;
  const line = (/** @type {Float64Array} */ M, /** @type {string} */ name) => Array.from({ length: d }, (_, k) => [`${name} ${k + 1}`, ...M.subarray(k * p, (k + 1) * p)]);
  return toCsv(["component", ...features], [...line(W, decode ? "code" : "component"), ...(decode ? line(decode, "decode") : [])]);
}
