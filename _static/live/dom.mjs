// @ts-check
// Small helpers for pages: elements, sliders, and plots in SVG.

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {(Node | string)[]} [children]
 * @returns {HTMLElement}
 */
export function html(tag, attributes = {}, children = []) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/**
 * @param {string} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {(Node | string)[]} [children]
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, children = []) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

let used = 0;
/** @returns {string} an id that is used nowhere else on the page */
export function freshId() {
  used += 1;
  return `live-${used}`;
}

/**
 * A slider with its label and its value beside it; works with the keyboard as every range input does.
 *
 * @param {string} label
 * @param {{ min: number, max: number, step: number, value: number, format?: (value: number) => string }} range
 * @param {(value: number) => void} changed
 */
export function slider(label, { min, max, step, value, format = (x) => String(x) }, changed) {
  const id = freshId();
  const input = /** @type {HTMLInputElement} */ (html("input", { type: "range", id, min, max, step, value }));
  const output = html("output", { for: id }, [format(value)]);
  const show = () => {
    const text = format(Number(input.value));
    output.textContent = text;
    input.setAttribute("aria-valuetext", text);
  };
  show();
  input.addEventListener("input", () => {
    show();
    changed(Number(input.value));
  });
  return {
    element: html("div", { class: "live-control" }, [html("label", { for: id }, [label]), input, output]),
    get value() {
      return Number(input.value);
    },
    set(/** @type {number} */ next) {
      input.value = String(next);
      show();
    },
  };
}

/**
 * A choice between a few words.
 *
 * @param {string} label
 * @param {[string, string][]} choices value and what is shown
 * @param {(value: string) => void} changed
 */
export function choice(label, choices, changed) {
  const id = freshId();
  const input = /** @type {HTMLSelectElement} */ (html("select", { id }, choices.map(([value, shown]) => html("option", { value }, [shown]))));
  input.addEventListener("change", () => changed(input.value));
  return { element: html("div", { class: "live-control" }, [html("label", { for: id }, [label]), input]), input };
}

/**
 * The legend of a plot: each name with its line as it is drawn.
 *
 * @param {[string, string][]} entries class and name
 */
export function legend(entries) {
  return html("p", { class: "live-legend" }, entries.map(([kind, name]) => html("span", { class: "live-key" }, [
    svg("svg", { viewBox: "0 0 36 8", width: 36, height: 8, "aria-hidden": "true" }, [svg("path", { d: "M1 4H35", class: `live-line ${kind}` })]), name,
  ])));
}

/**
 * A table; the first column names the rows.
 *
 * @param {string[]} head
 * @param {string[][]} rows
 * @param {string} [caption]
 */
export function table(head, rows, caption) {
  const th = (/** @type {string} */ text, /** @type {string} */ scope) => html("th", { scope }, [text]);
  return html("table", { class: "live-table" }, [
    ...(caption ? [html("caption", {}, [caption])] : []),
    html("thead", {}, [html("tr", {}, head.map((text) => th(text, "col")))]),
    html("tbody", {}, rows.map(([first, ...rest]) => html("tr", {}, [th(first, "row"), ...rest.map((text) => html("td", {}, [text]))]))),
  ]);
}

/**
 * A plot with axes: `x` and `y` turn data into positions.
 *
 * @param {{ width?: number, height?: number, xlim: [number, number], ylim: [number, number], xlabel: string, ylabel: string, alt: string, equal?: boolean, frame?: boolean }} options
 */
export function plot({ width = 360, height = 300, xlim, ylim, xlabel, ylabel, alt, equal = false }) {
  const [left, right, top, bottom] = [46, 10, 10, 38];
  let [w, h] = [width - left - right, height - top - bottom];
  if (equal) {
    const unit = Math.min(w / (xlim[1] - xlim[0]), h / (ylim[1] - ylim[0]));
    const [cx, cy] = [(xlim[0] + xlim[1]) / 2, (ylim[0] + ylim[1]) / 2];
    xlim = [cx - w / unit / 2, cx + w / unit / 2];
    ylim = [cy - h / unit / 2, cy + h / unit / 2];
  }
  const x = (/** @type {number} */ value) => left + ((value - xlim[0]) / (xlim[1] - xlim[0])) * w;
  const y = (/** @type {number} */ value) => top + (1 - (value - ylim[0]) / (ylim[1] - ylim[0])) * h;
  const clip = freshId();
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": alt, class: "live-plot" });
  root.append(svg("defs", {}, [svg("clipPath", { id: clip }, [svg("rect", { x: left, y: top, width: w, height: h })])]));
  root.append(svg("rect", { x: left, y: top, width: w, height: h, class: "live-frame" }));
  for (const value of ticks(...xlim)) {
    root.append(svg("line", { x1: x(value), x2: x(value), y1: top + h, y2: top + h + 4, class: "live-tick" }));
    root.append(svg("text", { x: x(value), y: top + h + 15, "text-anchor": "middle" }, [tickText(value)]));
  }
  for (const value of ticks(...ylim)) {
    root.append(svg("line", { x1: left - 4, x2: left, y1: y(value), y2: y(value), class: "live-tick" }));
    root.append(svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, [tickText(value)]));
  }
  root.append(svg("text", { x: left + w / 2, y: height - 5, "text-anchor": "middle" }, [xlabel]));
  root.append(svg("text", { x: 11, y: top + h / 2, "text-anchor": "middle", transform: `rotate(-90 11 ${top + h / 2})` }, [ylabel]));
  const layer = svg("g", { "clip-path": `url(#${clip})` });
  root.append(layer);
  const path = (/** @type {ArrayLike<number>} */ xs, /** @type {ArrayLike<number>} */ ys) => {
    let text = "";
    for (let i = 0; i < xs.length; i++) text += `${i ? "L" : "M"}${x(xs[i]).toFixed(2)} ${y(ys[i]).toFixed(2)}`;
    return text;
  };
  return {
    root, layer, x, y, xlim, ylim,
    clear: () => layer.replaceChildren(),
    line: (/** @type {ArrayLike<number>} */ xs, /** @type {ArrayLike<number>} */ ys, /** @type {string} */ kind) =>
      layer.append(svg("path", { d: path(xs, ys), class: `live-line ${kind}` })),
    dot: (/** @type {number} */ px, /** @type {number} */ py, /** @type {string} */ kind, r = 5) =>
      layer.append(svg("circle", { cx: x(px), cy: y(py), r, class: `live-dot ${kind}` })),
    area: (/** @type {ArrayLike<number>} */ xs, /** @type {ArrayLike<number>} */ ys, /** @type {string} */ kind) =>
      layer.append(svg("path", { d: `${path(xs, ys)}Z`, class: `live-area ${kind}` })),
    points: (/** @type {number[][]} */ points, /** @type {string} */ kind, square = false) => {
      let text = "";
      for (const [px, py] of points) {
        const [cx, cy] = [x(px), y(py)];
        text += square ? `M${(cx - 2).toFixed(1)} ${(cy - 2).toFixed(1)}h4v4h-4z` : `M${(cx - 2).toFixed(1)} ${cy.toFixed(1)}a2 2 0 1 0 4 0a2 2 0 1 0 -4 0`;
      }
      layer.append(svg("path", { d: text, class: `live-points ${kind}` }));
    },
  };
}

/**
 * About five round numbers between two ends.
 *
 * @param {number} low
 * @param {number} high
 * @returns {number[]}
 */
export function ticks(low, high) {
  const rough = (high - low) / 4;
  if (!(rough > 0) || !Number.isFinite(rough)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((m) => m * power >= rough) ?? 10);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

/**
 * @param {number} value
 * @returns {string}
 */
export function tickText(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(0) : String(Number(value.toPrecision(6)));
}

/**
 * @param {number} value
 * @param {number} [digits]
 * @returns {string}
 */
export function short(value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(digits - 2);
  return String(Number(value.toPrecision(digits)));
}
