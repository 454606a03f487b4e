// @ts-check
// Stored curves over the number of components: a slider reads them off.

import { choice, html, legend, plot, short, slider, table } from "./dom.mjs";

/**
 * @param {HTMLElement} stage
 * @param {{ x: number[], xlabel: string, panels: { name: string, ylabel: string, curves: { name: string, kind: string, y: number[] }[] }[] }} data
 */
export function mountCurves(stage, data) {
  const state = { panel: 0, at: 0 };
  const holder = html("div", { class: "live-plots" });
  const told = html("div", { "aria-live": "polite", class: "live-told" });
  const draw = () => {
    const panel = data.panels[state.panel];
    const values = panel.curves.flatMap((curve) => curve.y).filter(Number.isFinite);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const pad = 0.06 * (high - low || 1);
    const view = plot({ width: 520, height: 320, xlim: [data.x[0] - 0.3, data.x[data.x.length - 1] + 0.3], ylim: [low - pad, high + pad], xlabel: data.xlabel, ylabel: panel.ylabel, alt: `${panel.name} over the ${data.xlabel}` });
    const x = data.x[state.at];
    view.line([x, x], [low - pad, high + pad], "yours");
    for (const { y, kind } of panel.curves) {
      view.line(data.x, y, kind);
      view.dot(x, y[state.at], kind, 4);
    }
    holder.replaceChildren(view.root);
    told.replaceChildren(legend(panel.curves.map(({ kind, name }) => [kind, name])), table([`${data.xlabel}: ${x}`, panel.ylabel], panel.curves.map((curve) => [curve.name, short(curve.y[state.at], 6)])));
  };
  const controls = [slider(data.xlabel, { min: 0, max: data.x.length - 1, step: 1, value: 0, format: (i) => String(data.x[i]) }, (value) => {
    state.at = value;
    draw();
  }).element];
  if (data.panels.length > 1) {
    controls.unshift(choice("show", data.panels.map((panel, i) => [String(i), panel.name]), (value) => {
      state.panel = Number(value);
      draw();
    }).element);
  }
  stage.append(html("div", { class: "live-controls" }, controls), holder, told);
  draw();
}
