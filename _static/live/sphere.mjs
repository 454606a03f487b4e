// @ts-check
// Lee et al., Figure 1, live: turn the plane on which three-dimensional rows are projected.

import { html, plot, short, slider, table } from "./dom.mjs";

/** @typedef {[number, number, number]} Vector */

/**
 * Unit normal and two directions that span its plane.
 *
 * @param {number} azimuth degrees
 * @param {number} elevation degrees
 * @returns {{ normal: Vector, u: Vector, v: Vector }}
 */
export function planeOf(azimuth, elevation) {
  const [a, b] = [(azimuth * Math.PI) / 180, (elevation * Math.PI) / 180];
  return {
    normal: [Math.cos(b) * Math.cos(a), Math.cos(b) * Math.sin(a), Math.sin(b)],
    u: [-Math.sin(a), Math.cos(a), 0],
    v: [-Math.sin(b) * Math.cos(a), -Math.sin(b) * Math.sin(a), Math.cos(b)],
  };
}

/** @param {number[]} x @param {Vector} w */
const dot = (x, w) => x[0] * w[0] + x[1] * w[1] + x[2] * w[2];

/**
 * What a projection on the plane does: share of variance kept, distance of means, and MMD².
 *
 * @param {number[][][]} groups rows of the two groups
 * @param {{ u: Vector, v: Vector }} plane
 * @param {number} sigma
 */
export function measure(groups, { u, v }, sigma) {
  const shadows = groups.map((rows) => rows.map((x) => [dot(x, u), dot(x, v)]));
  const all = groups.flat();
  const mean = [0, 1, 2].map((j) => all.reduce((sum, x) => sum + x[j], 0) / all.length);
  let [kept, total] = [0, 0];
  for (const x of all) {
    const centred = x.map((value, j) => value - mean[j]);
    kept += dot(centred, u) ** 2 + dot(centred, v) ** 2;
    total += dot(centred, /** @type {Vector} */ (centred));
  }
  const means = shadows.map((rows) => [0, 1].map((j) => rows.reduce((sum, x) => sum + x[j], 0) / rows.length));
  const factor = -0.5 / (sigma * sigma);
  const kernel = (/** @type {number[][]} */ s, /** @type {number[][]} */ t) => {
    let sum = 0;
    for (const x of s) for (const y of t) sum += Math.exp(factor * ((x[0] - y[0]) ** 2 + (x[1] - y[1]) ** 2));
    return sum / (s.length * t.length);
  };
  const mmd = kernel(shadows[0], shadows[0]) + kernel(shadows[1], shadows[1]) - 2 * kernel(shadows[0], shadows[1]);
  return { shadows, share: kept / total, distance: Math.hypot(means[0][0] - means[1][0], means[0][1] - means[1][1]), mmd };
}

/**
 * @param {HTMLElement} stage
 * @param {{ groups: number[][][], sigma: number, planes: { name: string, normal: number[] }[] }} data
 */
export function mountSphere(stage, data) {
  const state = { azimuth: 0, elevation: 90 };
  const reach = 1.15 * Math.max(...data.groups.flat().map((x) => Math.hypot(...x)));
  const view = plot({ width: 380, height: 360, xlim: [-reach, reach], ylim: [-reach, reach], xlabel: "first direction of the plane", ylabel: "second direction", alt: "The rows of both groups projected on the plane, over their witness function", equal: true });
  const globe = plot({ width: 380, height: 360, xlim: [-1.15, 1.15], ylim: [-1.15, 1.15], xlabel: "normal of the plane, seen from above", ylabel: "", alt: "Half sphere of normals with your plane and the published ones", equal: true });
  const told = html("div", { "aria-live": "polite", class: "live-told" });
  const row = (/** @type {string} */ name, /** @type {ReturnType<typeof measure>} */ m) => [name, `${(100 * m.share).toFixed(2)} %`, short(m.distance, 3), short(m.mmd, 3)];
  const angles = (/** @type {number[]} */ normal) => {
    const upper = normal[2] < 0 ? normal.map((x) => -x) : normal;
    return { azimuth: (Math.atan2(upper[1], upper[0]) * 180) / Math.PI, elevation: (Math.asin(Math.min(1, upper[2] / Math.hypot(...upper))) * 180) / Math.PI };
  };
  const fixed = data.planes.map(({ name, normal }) => ({ name, ...angles(normal) })).map((plane) => ({ ...plane, told: row(plane.name, measure(data.groups, planeOf(plane.azimuth, plane.elevation), data.sigma)) }));
  const onGlobe = (/** @type {number} */ azimuth, /** @type {number} */ elevation) => {
    // Equal areas: the distance from the middle is that of a Lambert projection, scaled to the half sphere.
    const radius = Math.sqrt(2) * Math.sin(((90 - elevation) * Math.PI) / 360);
    return [radius * Math.cos((azimuth * Math.PI) / 180), radius * Math.sin((azimuth * Math.PI) / 180)];
  };
  const draw = () => {
    const plane = planeOf(state.azimuth, state.elevation);
    const found = measure(data.groups, plane, data.sigma);
    view.clear();
    witness(view, found.shadows, data.sigma, reach);
    view.points(found.shadows[0], "g0");
    view.points(found.shadows[1], "g1", true);
    globe.clear();
    globe.line(...circle(1), "g4");
    for (const [i, { name, azimuth, elevation }] of fixed.entries()) {
      const [x, y] = onGlobe(azimuth, elevation);
      globe.dot(x, y, ["mbfpca", "fpca", "pca"].find((method) => name.toLowerCase().replace("-", "").includes(method)) ?? "g0", 5);
      globe.layer.append(label(globe, x, y, name, i % 2 === 1)); // on both sides, as FPCA and MBF-PCA are close
    }
    const [x, y] = onGlobe(state.azimuth, state.elevation);
    globe.dot(x, y, "yours", 7);
    told.replaceChildren(table(["plane", "variance kept", "distance of means", "MMD²"], [row("yours", found), ...fixed.map((plane) => plane.told)]));
  };
  const degrees = (/** @type {number} */ value) => `${Math.round(value)}°`;
  const turned = slider("turn the normal", { min: -180, max: 180, step: 1, value: 0, format: degrees }, (value) => {
    state.azimuth = value;
    draw();
  });
  const raised = slider("raise the normal", { min: 0, max: 90, step: 1, value: 90, format: degrees }, (value) => {
    state.elevation = value;
    draw();
  });
  const go = (/** @type {number} */ azimuth, /** @type {number} */ elevation) => {
    [state.azimuth, state.elevation] = [azimuth, elevation];
    turned.set(azimuth);
    raised.set(elevation);
    draw();
  };
  const buttons = fixed.map(({ name, azimuth, elevation }) => {
    const button = html("button", { type: "button" }, [`go to ${name}`]);
    button.addEventListener("click", () => go(azimuth, elevation));
    return button;
  });
  drag(globe, (x, y) => {
    const radius = Math.min(Math.hypot(x, y), 1);
    go((Math.atan2(y, x) * 180) / Math.PI, 90 - (Math.asin(radius / Math.sqrt(2)) * 360) / Math.PI);
  });
  stage.append(
    html("div", { class: "live-controls" }, [turned.element, raised.element, html("div", { class: "live-control" }, buttons)]),
    html("div", { class: "live-plots" }, [globe.root, view.root]), told,
  );
  draw();
}

/** @param {number} radius @returns {[number[], number[]]} */
function circle(radius) {
  const turns = Array.from({ length: 121 }, (_, i) => (Math.PI * i) / 60);
  return [turns.map((t) => radius * Math.cos(t)), turns.map((t) => radius * Math.sin(t))];
}

/** @param {ReturnType<typeof plot>} where @param {number} x @param {number} y @param {string} text @param {boolean} left */
function label(where, x, y, text, left) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", "text");
  element.setAttribute("x", String(where.x(x) + (left ? -8 : 8)));
  element.setAttribute("text-anchor", left ? "end" : "start");
  element.setAttribute("y", String(where.y(y) + 4));
  element.textContent = text;
  return element;
}

/**
 * The witness function of the MMD on a coarse grid: where one group is denser than the other.
 *
 * @param {ReturnType<typeof plot>} view
 * @param {number[][][]} shadows
 * @param {number} sigma
 * @param {number} reach
 */
function witness(view, shadows, sigma, reach) {
  const cells = 22;
  const size = (2 * reach) / cells;
  const factor = -0.5 / (sigma * sigma);
  const heat = (/** @type {number[][]} */ rows, /** @type {number} */ x, /** @type {number} */ y) =>
    rows.reduce((sum, z) => sum + Math.exp(factor * ((z[0] - x) ** 2 + (z[1] - y) ** 2)), 0) / rows.length;
  for (let i = 0; i < cells; i++) {
    for (let j = 0; j < cells; j++) {
      const [x, y] = [-reach + (i + 0.5) * size, -reach + (j + 0.5) * size];
      const value = heat(shadows[0], x, y) - heat(shadows[1], x, y);
      if (Math.abs(value) < 0.02) continue;
      const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      rect.setAttribute("x", String(view.x(x - size / 2)));
      rect.setAttribute("y", String(view.y(y + size / 2)));
      rect.setAttribute("width", String(view.x(size) - view.x(0) + 0.3));
      rect.setAttribute("height", String(view.y(0) - view.y(size) + 0.3));
      rect.setAttribute("class", value > 0 ? "live-heat g0" : "live-heat g1");
      rect.setAttribute("fill-opacity", String(Math.min(0.5, Math.abs(value))));
      view.layer.append(rect);
    }
  }
}

/**
 * Report where the pointer is, in data units, while it is held down.
 *
 * @param {ReturnType<typeof plot>} where
 * @param {(x: number, y: number) => void} moved
 */
function drag(where, moved) {
  const root = /** @type {SVGSVGElement} */ (where.root);
  root.style.touchAction = "none";
  const report = (/** @type {PointerEvent} */ event) => {
    const matrix = root.getScreenCTM();
    if (!matrix || event.buttons === 0) return;
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    const unit = where.x(1) - where.x(0);
    moved((x - where.x(0)) / unit, (where.y(0) - y) / unit);
  };
  root.addEventListener("pointerdown", report);
  root.addEventListener("pointermove", report);
}
