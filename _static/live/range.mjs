// @ts-check
// The joint range of two groups' errors: its lower left boundary, the objective of Vu et al., the certificate.

import { html, legend, plot, short, slider, table } from "./dom.mjs";
import { captured, combine, eigh, leading, trace } from "./linear.mjs";

/** @typedef {{ p0: number, lambda: number, radius: number }} Penalty the same radius for both groups */

/**
 * Objective of a pair of errors, the larger of J0 and J1 (equation (12) of Vu et al., with the exact value where a
 * factor is negative).
 *
 * @param {number} s0
 * @param {number} s1
 * @param {Penalty} penalty
 * @returns {{ value: number, first: number, second: number }}
 */
export function objective(s0, s1, { p0, lambda, radius }) {
  const e = Math.sqrt(radius);
  const parts = [[s0, p0], [s1, 1 - p0]].map(([s, p]) => {
    const r = Math.sqrt(Math.max(s, 0));
    const shifted = lambda <= p ? r + e : Math.max(r - e, 0);
    return { own: (p + lambda) * (r + e) ** 2, other: (p - lambda) * shifted ** 2 };
  });
  const first = parts[0].own + parts[1].other;
  const second = parts[1].own + parts[0].other;
  return { value: Math.max(first, second), first, second };
}

/**
 * Point where the line with weight t touches the range: errors of PCA of t M0 + (1-t) M1, and the height of the line.
 *
 * @param {Float64Array} M0
 * @param {Float64Array} M1
 * @param {number} p
 * @param {number} k
 * @param {number} t
 */
export function support(M0, M1, p, k, t) {
  const weighted = combine(t, M0, 1 - t, M1);
  const rows = leading(eigh(weighted, p), k, p);
  const s0 = trace(M0, p) - captured(rows, M0, k, p);
  const s1 = trace(M1, p) - captured(rows, M1, k, p);
  return { t, s0, s1, height: t * s0 + (1 - t) * s1 };
}

/**
 * Smallest objective over the boundary that t sweeps out, and a bound below it from the lines that were drawn.
 *
 * The bound: the range lies on one side of every line, so it lies in their polygon; the objective is smallest on the
 * polygon's lower left edges, and there at a corner or where J0 = J1 (the book's chapter on the exact solution).
 *
 * @param {Float64Array} M0
 * @param {Float64Array} M1
 * @param {number} p
 * @param {number} k
 * @param {Penalty} penalty
 * @param {number} lines how many lines
 */
export function optimum(M0, M1, p, k, penalty, lines) {
  const [low, high] = [Math.min(0, penalty.p0 - penalty.lambda), Math.max(1, penalty.p0 + penalty.lambda)];
  const touched = Array.from({ length: lines }, (_, i) => support(M0, M1, p, k, low + ((high - low) * i) / (lines - 1)));
  let best = { ...touched[0], value: Infinity };
  const consider = (/** @type {ReturnType<typeof support>} */ point) => {
    const { value } = objective(point.s0, point.s1, penalty);
    if (value < best.value) best = { ...point, value };
  };
  touched.forEach(consider);
  // Between neighbours the objective along the boundary is searched by golden section.
  const ratio = (Math.sqrt(5) - 1) / 2;
  const step = (high - low) / (lines - 1);
  let [a, b] = [Math.max(low, best.t - step), Math.min(high, best.t + step)];
  for (let i = 0; i < 60; i++) {
    const [x, y] = [b - ratio * (b - a), a + ratio * (b - a)].map((t) => support(M0, M1, p, k, t));
    consider(x);
    consider(y);
    if (objective(x.s0, x.s1, penalty).value <= objective(y.s0, y.s1, penalty).value) b = y.t;
    else a = x.t;
  }
  const corners = [];
  for (let i = 0; i + 1 < lines; i++) {
    const [u, w] = [touched[i], touched[i + 1]];
    const det = u.t * (1 - w.t) - w.t * (1 - u.t);
    corners.push([(u.height * (1 - w.t) - w.height * (1 - u.t)) / det, (u.t * w.height - w.t * u.height) / det]);
  }
  const edges = [[touched[0].s0, touched[0].s1], ...corners, [touched[lines - 1].s0, touched[lines - 1].s1]];
  let bound = Infinity;
  for (let i = 0; i + 1 < edges.length; i++) bound = Math.min(bound, lowestOnEdge(edges[i], edges[i + 1], penalty));
  return { best, bound: Math.min(bound, best.value), touched, corners };
}

/** @param {number[]} from @param {number[]} to @param {Penalty} penalty */
function lowestOnEdge(from, to, penalty) {
  const at = (/** @type {number} */ u) => objective(from[0] + u * (to[0] - from[0]), from[1] + u * (to[1] - from[1]), penalty);
  const difference = (/** @type {number} */ u) => at(u).first - at(u).second;
  let least = Math.min(at(0).value, at(1).value);
  if (difference(0) * difference(1) < 0) {
    let [a, b] = [0, 1];
    for (let i = 0; i < 60; i++) {
      const middle = (a + b) / 2;
      if (difference(a) * difference(middle) <= 0) b = middle;
      else a = middle;
    }
    least = Math.min(least, at(a).value, at(b).value);
  }
  return least;
}

/**
 * @param {HTMLElement} stage
 * @param {{ M0: number[][], M1: number[][], p0: number, components: number, names: [string, string] }} data
 */
export function mountRange(stage, data) {
  const p = data.M0.length;
  const [M0, M1] = [Float64Array.from(data.M0.flat()), Float64Array.from(data.M1.flat())];
  const state = { lambda: 0.3, radius: 0, lines: 6, t: data.p0, k: data.components };
  const told = html("div", { "aria-live": "polite", class: "live-told" });
  const holder = html("div", { class: "live-plots" });
  const draw = () => {
    const penalty = { p0: data.p0, lambda: state.lambda, radius: state.radius };
    const arc = Array.from({ length: 240 }, (_, i) => support(M0, M1, p, state.k, -1 + i / 80));
    const inner = Array.from({ length: 101 }, (_, i) => support(M0, M1, p, state.k, i / 100));
    const [x0, x1] = [inner[100].s0, inner[0].s0];
    const [y0, y1] = [inner[0].s1, inner[100].s1];
    const [px, py] = [0.35 * (x1 - x0) + 1e-9, 0.35 * (y1 - y0) + 1e-9];
    const view = plot({
      width: 460, height: 380, xlim: [x0 - px, x1 + px], ylim: [y0 - py, y1 + py], xlabel: `error of ${data.names[0]}`, ylabel: `error of ${data.names[1]}`,
      alt: "The lower left boundary of the joint range with its supporting lines, a level of the objective, and the optimum",
    });
    const { best, bound, touched, corners } = optimum(M0, M1, p, state.k, penalty, state.lines);
    // The range lies to the upper right of its boundary.
    const far = [view.xlim[1] + 10 * px, view.ylim[1] + 10 * py];
    view.area([...arc.map((q) => q.s0), arc[239].s0, far[0], far[0]], [...arc.map((q) => q.s1), far[1], far[1], arc[0].s1], "g0");
    level(view, penalty, best.value, "rfpca");
    level(view, penalty, bound, "g2");
    const polygon = [[touched[0].s0, touched[0].s1], ...corners, [touched[touched.length - 1].s0, touched[touched.length - 1].s1]];
    view.line(polygon.map((q) => q[0]), polygon.map((q) => q[1]), "g3");
    view.line(arc.map((q) => q.s0), arc.map((q) => q.s1), "g0");
    const held = support(M0, M1, p, state.k, state.t);
    const direction = [-(1 - state.t), state.t];
    const reach = (view.xlim[1] - view.xlim[0]) + (view.ylim[1] - view.ylim[0]);
    view.line([held.s0 - reach * direction[0], held.s0 + reach * direction[0]], [held.s1 - reach * direction[1], held.s1 + reach * direction[1]], "yours");
    view.dot(held.s0, held.s1, "yours", 4);
    view.dot(best.s0, best.s1, "rfpca", 6);
    holder.replaceChildren(view.root);
    told.replaceChildren(table(["", `error of ${data.names[0]}`, `error of ${data.names[1]}`, "objective"], [
      ["optimum found", short(best.s0, 6), short(best.s1, 6), short(best.value, 8)],
      ["proved bound", "", "", short(bound, 8)],
      ["your line touches at", short(held.s0, 6), short(held.s1, 6), short(objective(held.s0, held.s1, penalty).value, 8)],
    ]), html("p", {}, [`Gap ${short(best.value - bound, 3)} with ${state.lines} lines; the optimum has weight t = ${short(best.t, 4)}.`]));
  };
  const bind = (/** @type {keyof typeof state} */ key) => (/** @type {number} */ value) => {
    state[key] = value;
    draw();
  };
  const two = (/** @type {number} */ value) => value.toFixed(2);
  stage.append(
    html("div", { class: "live-controls" }, [
      slider("weight of the gap, λ", { min: 0, max: 2, step: 0.05, value: state.lambda, format: two }, bind("lambda")).element,
      slider("radius, ε", { min: 0, max: 1, step: 0.02, value: state.radius, format: two }, bind("radius")).element,
      slider("lines of the certificate", { min: 3, max: 60, step: 1, value: state.lines }, bind("lines")).element,
      slider("weight t of your line", { min: 0, max: 1, step: 0.01, value: state.t, format: two }, bind("t")).element,
      slider("components", { min: 1, max: p - 1, step: 1, value: state.k }, bind("k")).element,
    ]),
    holder,
    legend([["g0", "boundary of the range"], ["g3", "lines of the certificate"], ["rfpca", "level of the objective at the optimum"], ["g2", "level at the bound"], ["yours", "your line"]]),
    told,
  );
  draw();
}

/**
 * The curve on which the objective has a value: for each s0 the s1 where it is reached, by bisection.
 *
 * @param {ReturnType<typeof plot>} view
 * @param {Penalty} penalty
 * @param {number} value
 * @param {string} kind
 */
function level(view, penalty, value, kind) {
  const [xs, ys] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
  for (let i = 0; i <= 160; i++) {
    const s0 = Math.max(0, view.xlim[0]) + ((view.xlim[1] - Math.max(0, view.xlim[0])) * i) / 160;
    // Only the branch that the reader sees: values of s1 inside the picture where the objective passes the level.
    let before = objective(s0, Math.max(0, view.ylim[0]), penalty).value - value;
    for (let j = 1; j <= 120; j++) {
      const s1 = Math.max(0, view.ylim[0]) + ((view.ylim[1] - Math.max(0, view.ylim[0])) * j) / 120;
      const now = objective(s0, s1, penalty).value - value;
      if (before < 0 && now >= 0) {
        xs.push(s0);
        ys.push(s1);
        break;
      }
      before = now;
    }
  }
  if (xs.length > 1) view.line(xs, ys, kind);
}
