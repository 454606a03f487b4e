// @ts-check
// Two groups in the plane and one direction to keep: every criterion at every angle, live.

import { choice, html, legend, plot, short, slider, table } from "./dom.mjs";

/** @typedef {[number, number][]} Points */

/**
 * Normal numbers that are the same in every browser (a linear congruence and Box and Muller's transformation).
 *
 * @param {number} count
 * @param {number} seed
 * @returns {number[]}
 */
export function normals(count, seed) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 4294967296;
  };
  for (let i = 0; i < 8; i++) uniform();
  return Array.from({ length: count }, () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()));
}

/**
 * Points with exactly the mean and the covariance that the settings say.
 *
 * @param {{ n: number, long: number, wide: number, turn: number, x: number, y: number, seed: number }} settings
 * @returns {Points}
 */
export function cloud({ n, long, wide, turn, x, y, seed }) {
  const z = normals(2 * n, seed);
  const raw = Array.from({ length: n }, (_, i) => [z[2 * i], z[2 * i + 1]]);
  const mean = [0, 1].map((j) => raw.reduce((sum, row) => sum + row[j], 0) / n);
  const [a, b, c] = raw.reduce(([s, t, u], row) => {
    const [p, q] = [row[0] - mean[0], row[1] - mean[1]];
    return [s + (p * p) / n, t + (p * q) / n, u + (q * q) / n];
  }, [0, 0, 0]);
  // Whitened by the Cholesky factor of the covariance, then stretched, turned, and moved.
  const l11 = Math.sqrt(a);
  const l21 = b / l11;
  const l22 = Math.sqrt(c - l21 * l21);
  const [cos, sin] = [Math.cos((turn * Math.PI) / 180), Math.sin((turn * Math.PI) / 180)];
  return raw.map((row) => {
    const p = (row[0] - mean[0]) / l11;
    const q = (row[1] - mean[1] - l21 * p) / l22;
    return [x + cos * long * p - sin * wide * q, y + sin * long * p + cos * wide * q];
  });
}

/** @param {Points} points */
function momentsOf(points) {
  const n = points.length;
  const mean = [0, 1].map((j) => points.reduce((sum, row) => sum + row[j], 0) / n);
  const [xx, xy, yy] = points.reduce(([s, t, u], [p, q]) => {
    const [a, b] = [p - mean[0], q - mean[1]];
    return [s + (a * a) / n, t + (a * b) / n, u + (b * b) / n];
  }, [0, 0, 0]);
  return { mean, xx, xy, yy };
}

/** @param {{ xx: number, xy: number, yy: number }} m @param {number} cos @param {number} sin */
const spread = (m, cos, sin) => cos * cos * m.xx + 2 * cos * sin * m.xy + sin * sin * m.yy;

/**
 * Squared maximum mean discrepancy of two samples of numbers, kernel exp(-(x-y)²/(2 sigma²)), means over all pairs.
 *
 * @param {number[]} a
 * @param {number[]} b
 * @param {number} sigma
 * @returns {number}
 */
export function mmdSquared(a, b, sigma) {
  const factor = -0.5 / (sigma * sigma);
  const between = (/** @type {number[]} */ s, /** @type {number[]} */ t) => {
    let sum = 0;
    for (const x of s) for (const y of t) sum += Math.exp(factor * (x - y) * (x - y));
    return sum / (s.length * t.length);
  };
  const within = (/** @type {number[]} */ s) => {
    let sum = s.length;
    for (let i = 0; i < s.length; i++) for (let j = 0; j < i; j++) sum += 2 * Math.exp(factor * (s[i] - s[j]) * (s[i] - s[j]));
    return sum / (s.length * s.length);
  };
  return within(a) + within(b) - 2 * between(a, b);
}

/**
 * All criteria of the line at each angle (in degrees): errors about the groups' own means, losses, the error of all
 * rows about the common mean, and MMD².
 *
 * @param {[Points, Points]} groups
 * @param {number[]} angles
 * @param {number} penalty
 * @param {number} sigma
 */
export function criteria(groups, angles, penalty, sigma) {
  const [m0, m1, all] = [momentsOf(groups[0]), momentsOf(groups[1]), momentsOf([...groups[0], ...groups[1]])];
  const least = [m0, m1].map((m) => (m.xx + m.yy) / 2 - Math.hypot((m.xx - m.yy) / 2, m.xy));
  return angles.map((angle) => {
    const [cos, sin] = [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)];
    const errors = [m0, m1].map((m) => m.xx + m.yy - spread(m, cos, sin));
    const total = all.xx + all.yy - spread(all, cos, sin);
    const gap = Math.abs(errors[0] - errors[1]);
    const [a, b] = groups.map((points) => points.map(([x, y]) => cos * x + sin * y));
    return {
      angle, errors, total, loss: Math.max(errors[0] - least[0], errors[1] - least[1]), error: Math.max(...errors),
      gap: total + penalty * gap, means: Math.abs(cos * (m0.mean[0] - m1.mean[0]) + sin * (m0.mean[1] - m1.mean[1])),
      mmd: mmdSquared(a, b, sigma),
    };
  });
}

/** Names of the criteria, the key of each, and the class that colours it. */
const CRITERIA = /** @type {[string, "total" | "loss" | "gap" | "means" | "mmd", string][]} */ ([
  ["PCA: error of all rows", "total", "pca"],
  ["larger loss (Samadi et al.)", "loss", "minmax"],
  ["error and gap (Vu et al.)", "gap", "rfpca"],
  ["distance of means", "means", "mean"],
  ["MMD² (Lee et al.)", "mmd", "mbfpca"],
]);

/** @param {HTMLElement} stage */
export function mountPlane(stage) {
  const settings = { n: 60, long: 1.6, wide: 0.6, turn: 70, x: 1.5, y: 0.5, penalty: 1, yours: 20 };
  const angles = Array.from({ length: 91 }, (_, i) => 2 * i);
  const left = plot({ xlim: [-5, 5], ylim: [-4, 4], xlabel: "feature 1", ylabel: "feature 2", alt: "Two groups of points and the directions that the criteria choose", equal: true });
  const right = plot({ xlim: [0, 180], ylim: [0, 1.05], xlabel: "angle of the direction, degrees", ylabel: "share of its largest value", alt: "Each criterion over the angle, with its smallest value marked" });
  const told = html("div", { "aria-live": "polite", class: "live-told" });
  const draw = () => {
    const a = cloud({ n: 120, long: 2, wide: 0.5, turn: 0, x: 0, y: 0, seed: 1 });
    const b = cloud({ ...settings, seed: 2 });
    const rows = criteria([a, b], angles, settings.penalty, 1);
    const [yours] = criteria([a, b], [settings.yours], settings.penalty, 1);
    left.clear();
    right.clear();
    left.points(a, "g0");
    left.points(b, "g1", true);
    const centre = momentsOf([...a, ...b]).mean;
    const ray = (/** @type {number} */ angle, /** @type {string} */ kind) => {
      const [cos, sin] = [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)];
      left.line([centre[0] - 9 * cos, centre[0] + 9 * cos], [centre[1] - 9 * sin, centre[1] + 9 * sin], kind);
    };
    const lines = CRITERIA.map(([name, key, kind]) => {
      const values = rows.map((row) => row[key]);
      const most = Math.max(...values) || 1;
      const best = values.indexOf(Math.min(...values));
      right.line(angles, values.map((value) => value / most), kind);
      right.dot(angles[best], values[best] / most, kind);
      ray(angles[best], kind);
      return [name, `${angles[best] % 180}°`, short(values[best], 3), short(yours[key], 3)];
    });
    ray(settings.yours, "yours");
    right.line([settings.yours, settings.yours], [0, 1.05], "yours");
    told.replaceChildren(table(["criterion", "best angle", "value there", `at your ${settings.yours}°`], lines));
  };
  /** @param {keyof typeof settings} key */
  const bind = (key) => (/** @type {number} */ value) => {
    settings[key] = value;
    draw();
  };
  const degrees = (/** @type {number} */ value) => `${value}°`;
  const one = (/** @type {number} */ value) => value.toFixed(1);
  const presets = choice("start from", [["", "a tilted small group"], ["cross", "two groups at right angles"], ["round", "a flat and a round group"], ["apart", "equal shapes in different places"]], (value) => {
    const chosen = { "": [60, 1.6, 0.6, 70, 1.5, 0.5], cross: [120, 2, 0.5, 90, 0, 0], round: [120, 1.5, 1.5, 0, 0, 0], apart: [120, 2, 0.5, 0, 0, 2] }[value] ?? [];
    [settings.n, settings.long, settings.wide, settings.turn, settings.x, settings.y] = chosen;
    controls.forEach(([key, control]) => control.set(settings[key]));
    draw();
  });
  const make = (/** @type {keyof typeof settings} */ key, /** @type {string} */ label, /** @type {number} */ min, /** @type {number} */ max, /** @type {number} */ step, /** @type {(x: number) => string} */ format) =>
    /** @type {[keyof typeof settings, ReturnType<typeof slider>]} */ ([key, slider(label, { min, max, step, value: settings[key], format }, bind(key))]);
  const controls = [
    make("yours", "your direction", 0, 180, 1, degrees),
    make("turn", "turn group 1", 0, 180, 5, degrees),
    make("long", "its length", 0.1, 3, 0.1, one),
    make("wide", "its width", 0.1, 3, 0.1, one),
    make("x", "move it right", -3, 3, 0.1, one),
    make("y", "move it up", -3, 3, 0.1, one),
    make("n", "its number of rows", 10, 150, 10, String),
    make("penalty", "weight of the gap, λ", 0, 3, 0.1, one),
  ];
  const key = legend([...CRITERIA.map(([name, , kind]) => /** @type {[string, string]} */ ([kind, name])), ["yours", "your direction"]]);
  stage.append(
    html("div", { class: "live-controls" }, [presets.element, ...controls.map(([, control]) => control.element)]),
    html("div", { class: "live-plots" }, [left.root, right.root]), key, told,
  );
  draw();
}
