// @ts-check
// Fair PCA of two groups from their second moments: PCA, min-max (Samadi et al.), and mean matching.

import { captured, combine, compress, eigh, largest, leading, multiply, splitSpace, trace, transpose } from "./linear.mjs";

/**
 * @typedef {{ counts: number[], means: Float64Array[], covariances: Float64Array[], p: number }} Moments
 * @typedef {{ rows: Float64Array, decode?: Float64Array, d: number, objective: number, bound: number, sense: "min" | "max" }} Solution
 * rows: d × p, what a centred row is multiplied with; decode: d × p, where it is not the same, what takes it back
 */

/** Of their size: two groups' losses that differ by no more are equal; their own rounding is a tenth of it. */
const CLOSE = 2e-14;

/** @type {WeakMap<Moments, Map<string, any>>} */
const known = new WeakMap();

/**
 * What is the same for every number of components is computed once for the same moments.
 *
 * @template T
 * @param {Moments} moments
 * @param {string} name
 * @param {() => T} make
 * @returns {T}
 */
function once(moments, name, make) {
  let things = known.get(moments);
  if (!things) known.set(moments, (things = new Map()));
  if (!things.has(name)) things.set(name, make());
  return things.get(name);
}

/**
 * Covariance of all rows (divided by their number) from those of the groups.
 *
 * @param {Moments} moments
 * @returns {Float64Array}
 */
export function totalCovariance(moments) {
  return once(moments, "total", () => pooled(moments));
}

/**
 * @param {Moments} moments
 * @returns {Float64Array}
 */
function pooled({ counts, means, covariances, p }) {
  const total = counts.reduce((sum, n) => sum + n, 0);
  const mean = totalMean({ counts, means, covariances, p });
  const sum = new Float64Array(p * p);
  counts.forEach((n, g) => {
    for (let i = 0; i < p; i++) {
      const shift = means[g][i] - mean[i];
      for (let j = 0; j < p; j++) sum[i * p + j] += (n / total) * (covariances[g][i * p + j] + shift * (means[g][j] - mean[j]));
    }
  });
  return sum;
}

/**
 * @param {Moments} moments
 * @returns {Float64Array}
 */
export function totalMean({ counts, means, p }) {
  const total = counts.reduce((sum, n) => sum + n, 0);
  const mean = new Float64Array(p);
  counts.forEach((n, g) => means[g].forEach((x, i) => (mean[i] += (n / total) * x)));
  return mean;
}

/**
 * Ordinary PCA of all rows: the error of all rows is as small as possible.
 *
 * @param {Moments} moments
 * @param {number} d
 * @returns {Solution}
 */
export function solvePca(moments, d) {
  const { p } = moments;
  const total = totalCovariance(moments);
  const eigen = once(moments, "eigen", () => eigh(total, p));
  let kept = 0;
  for (let j = 0; j < d; j++) kept += eigen.values[p - 1 - j];
  const bound = trace(total, p) - kept;
  const rows = leading(eigen, d, p);
  return { rows, d, objective: trace(total, p) - captured(rows, total, d, p), bound, sense: "min" };
}

/**
 * Smallest possible reconstruction error of each group by itself, for d directions.
 *
 * @param {Float64Array} covariance
 * @param {number} p
 * @returns {(d: number) => number} most variance that d directions keep
 */
export function bestKept(covariance, p) {
  const { values } = eigh(covariance, p);
  return (d) => {
    let kept = 0;
    for (let j = 0; j < d; j++) kept += values[p - 1 - j];
    return kept;
  };
}

/**
 * The subspace on which the larger of two groups' losses is smallest (Samadi et al., Definition 4.4), by its dual:
 * phi(t) = t a0 + (1-t) a1 - (sum of the d largest eigenvalues of t C0 + (1-t) C1) is concave, and its maximum is the
 * optimum (Theorem 4.5 and the book's chapter on the dual). The bound is a value of phi, so it is proved up to rounding.
 *
 * @param {Moments} moments two groups
 * @param {number} d
 * @param {"loss" | "error"} [objective]
 * @param {((d: number) => number)[]} [kept] of `bestKept`, where it is known already
 * @returns {Solution & { weight: number }}
 */
export function solveMinMax(moments, d, objective = "loss", kept) {
  const { covariances, p } = moments;
  if (covariances.length !== 2) throw new Error(`This solver takes two groups; there are ${covariances.length}.`);
  const [C0, C1] = covariances;
  const best = objective === "loss" ? (kept ?? [bestKept(C0, p), bestKept(C1, p)]).map((f) => f(d)) : [trace(C0, p), trace(C1, p)];
  const at = (/** @type {number} */ t) => {
    const eigen = eigh(combine(t, C0, 1 - t, C1), p);
    const rows = leading(eigen, d, p);
    const values = [best[0] - captured(rows, C0, d, p), best[1] - captured(rows, C1, d, p)];
    let sum = 0;
    for (let j = 0; j < d; j++) sum += eigen.values[p - 1 - j];
    return { t, eigen, rows, values, slope: values[0] - values[1], phi: t * best[0] + (1 - t) * best[1] - sum };
  };
  const scale = largest(best) || largest([trace(C0, p), trace(C1, p)]) || 1;
  let left = at(0);
  let right = at(1);
  const done = (/** @type {ReturnType<typeof at>} */ point) => ({
    rows: point.rows, d, objective: Math.max(...point.values), bound: Math.max(point.phi, 0), sense: /** @type {"min"} */ ("min"), weight: point.t,
  });
  if (left.slope <= 0) return done(left);
  if (right.slope >= 0) return done(right);
  // Where the slope changes its sign phi is largest: regula falsi with halved ends, and bisection where that is slow.
  let [slopeLeft, slopeRight] = [left.slope, right.slope];
  let last = 0;
  let slow = 0;
  let middle = left;
  for (let step = 0; step < 120; step++) {
    const guess = (left.t * -slopeRight + right.t * slopeLeft) / (slopeLeft - slopeRight);
    const halve = slow >= 2 || !(guess > left.t && guess < right.t);
    const t = halve ? (left.t + right.t) / 2 : guess;
    if (t <= left.t || t >= right.t) break;
    const before = Math.abs(middle.slope);
    middle = at(t);
    if (Math.abs(middle.slope) <= CLOSE * scale) break;
    slow = halve ? 1 : Math.abs(middle.slope) > 0.3 * before ? slow + 1 : 0;
    if (middle.slope > 0) {
      [left, slopeLeft] = [middle, middle.slope];
      if (last === 1) slopeRight /= 2;
      last = 1;
    } else {
      [right, slopeRight] = [middle, middle.slope];
      if (last === -1) slopeLeft /= 2;
      last = -1;
    }
  }
  const candidates = [middle, left, right].map((point) => balanced(point, moments, d, best)).map(({ rows, values }, i) => ({
    rows, objective: Math.max(...values), weight: [middle, left, right][i].t,
  }));
  const found = candidates.reduce((a, b) => (b.objective < a.objective ? b : a));
  return { ...found, d, bound: Math.max(middle.phi, left.phi, right.phi, 0), sense: "min" };
}

/**
 * Where eigenvalues are tied, the eigenspace leaves a choice: turn inside it until both groups have the same value.
 *
 * @param {{ eigen: import("./linear.mjs").Eigen, rows: Float64Array, values: number[], slope: number }} point
 * @param {Moments} moments
 * @param {number} d
 * @param {number[]} best
 */
function balanced(point, { covariances: [C0, C1], p }, d, best) {
  const { eigen } = point;
  const value = eigen.values[p - d];
  const size = largest(eigen.values) || 1;
  let found = { rows: point.rows, values: point.values };
  for (const width of [1e-13, 1e-11, 1e-9, 1e-7]) {
    let low = p - d;
    let high = p - d;
    while (low > 0 && value - eigen.values[low - 1] <= width * size) low--;
    while (high + 1 < p && eigen.values[high + 1] - value <= width * size) high++;
    const m = high - low + 1;
    const r = high - (p - d) + 1;
    if (m === r) continue;
    // In the tied space the difference of the groups is a symmetric matrix; its eigenvectors, largest first, are u_i.
    const Z = eigen.vectors.slice(low * p, (high + 1) * p);
    const inner = eigh(compress(Z, combine(1, C0, -1, C1), m, p), m);
    const U = multiply(inner.vectors, Z, m, m, p); // row 0 has the smallest difference
    const fixed = eigen.vectors.slice((high + 1) * p);
    let difference = best[0] - best[1] - captured(fixed, combine(1, C0, -1, C1), d - r, p);
    /** @type {Float64Array[]} */
    const chosen = [];
    // Start with the r directions that lower the second group's value least, then swap one after the other.
    const inside = Array.from({ length: r }, (_, i) => m - 1 - i);
    for (const i of inside) difference -= inner.values[i];
    const outside = Array.from({ length: m - r }, (_, i) => i);
    const row = (/** @type {number} */ i) => U.slice(i * p, (i + 1) * p);
    const swaps = Math.min(r, m - r);
    for (let k = 0; k < r; k++) {
      const i = inside[k];
      if (k >= swaps || difference >= 0) {
        chosen.push(row(i));
        continue;
      }
      const j = outside[k];
      const whole = inner.values[i] - inner.values[j];
      const part = whole > 0 ? Math.min(1, -difference / whole) : 0;
      const [c, s] = [Math.sqrt(1 - part), Math.sqrt(part)];
      const [u, w] = [row(i), row(j)];
      chosen.push(u.map((x, l) => c * x + s * w[l]));
      difference += part * whole;
    }
    const rows = new Float64Array(d * p);
    for (let k = 0; k < d - r; k++) rows.set(fixed.subarray((d - r - 1 - k) * p, (d - r - k) * p), k * p);
    chosen.forEach((vector, k) => rows.set(vector, (d - r + k) * p));
    const values = [best[0] - captured(rows, C0, d, p), best[1] - captured(rows, C1, d, p)];
    if (Math.max(...values) < Math.max(...found.values)) found = { rows, values };
  }
  return found;
}

/**
 * Most variance with equal means of the projected groups (Kleindessner et al. 2023): PCA in the complement of the
 * differences of means.
 *
 * @param {Moments} moments
 * @param {number} d
 * @returns {Solution}
 */
export function solveMeanOrthogonal(moments, d) {
  const { p } = moments;
  const total = totalCovariance(moments);
  const { outside, room, eigen } = once(moments, "orthogonal", () => {
    const differences = moments.means.slice(1).map((mean) => mean.map((x, i) => x - moments.means[0][i]));
    const { outside, rank } = splitSpace(differences, p);
    return { outside, room: p - rank, eigen: eigh(compress(outside, total, p - rank, p), p - rank) };
  });
  if (d > room) throw new Error(`At most ${room} directions have equal means; ${d} were asked for.`);
  const rows = multiply(leading(eigen, d, room), outside, d, room, p);
  let bound = 0;
  for (let j = 0; j < d; j++) bound += eigen.values[room - 1 - j];
  return { rows, d, objective: captured(rows, total, d, p), bound, sense: "max" };
}

/**
 * The rows without linear information on the group, in coordinates in which all rows have the identity as covariance.
 *
 * @param {Moments} moments
 */
function erased(moments) {
  const { p } = moments;
  const total = totalCovariance(moments);
  const eigen = once(moments, "eigen", () => eigh(total, p));
  const most = largest(eigen.values);
  const kept = Array.from(eigen.values.keys()).filter((i) => eigen.values[i] > 1e-12 * p * most);
  const m = kept.length;
  // Rows of W are directions scaled so that the covariance is the identity: whitened x is W x.
  const W = new Float64Array(m * p);
  const back = new Float64Array(m * p);
  kept.forEach((i, k) => {
    const root = Math.sqrt(eigen.values[i]);
    for (let j = 0; j < p; j++) {
      W[k * p + j] = eigen.vectors[i * p + j] / root;
      back[k * p + j] = eigen.vectors[i * p + j] * root;
    }
  });
  const differences = moments.means.slice(1).map((mean) => multiply(W, mean.map((x, i) => x - moments.means[0][i]), m, p, 1));
  const { outside, rank } = splitSpace(differences, m);
  const room = m - rank;
  // Erased rows have the covariance R' R with R = (complement) · S^(1/2); its PCA in the small coordinates:
  const R = multiply(outside, back, room, m, p);
  const gram = multiply(R, transpose(R, room, p), room, p, room);
  return { W, R, outside, rank, room, m, inner: eigh(gram, room) };
}

/**
 * The best linear code of d numbers that carries no linear information on the group; coding and decoding differ.
 *
 * With U an orthonormal basis of the range of S^(-1/2) Cov(x, group), the code is that of PCA of the rows from which
 * S^(1/2) U U' S^(-1/2) x has been taken away (see the book's chapter on erasure).
 *
 * @param {Moments} moments
 * @param {number} d
 * @returns {Solution}
 */
export function solveMeanOblique(moments, d) {
  const { p } = moments;
  const { W, R, outside, rank, room, m, inner } = once(moments, "oblique", () => erased(moments));
  if (d > p - rank) throw new Error(`At most ${p - rank} directions carry no linear information on the group; ${d} were asked for.`);
  // Where fewer directions vary at all, the other numbers of the code are zero.
  const used = Math.min(d, room);
  const top = leading(inner, used, room);
  const decode = new Float64Array(d * p);
  decode.set(multiply(top, R, used, room, p)); // rows s_j v_j
  const rows = new Float64Array(d * p);
  rows.set(multiply(multiply(top, outside, used, room, m), W, used, m, p));
  let keptVariance = 0;
  for (let j = 0; j < used; j++) {
    const s = Math.sqrt(Math.max(inner.values[room - 1 - j], 0));
    keptVariance += inner.values[room - 1 - j];
    // Unit decoding directions, so that the code has the units of the data.
    for (let i = 0; i < p; i++) {
      decode[j * p + i] = s > 0 ? decode[j * p + i] / s : 0;
      rows[j * p + i] *= s;
    }
  }
  return { rows, decode, d, objective: keptVariance, bound: keptVariance, sense: "max" };
}

/**
 * Reconstruction error of each group about its own mean, and of all rows about the common mean, for a solution.
 *
 * @param {Moments} moments
 * @param {Solution} solution
 * @returns {{ errors: number[], total: number }}
 */
export function reconstructionErrors(moments, { rows, decode, d }) {
  const { p, covariances } = moments;
  const error = (/** @type {Float64Array} */ M) => {
    if (!decode) return trace(M, p) - captured(rows, M, d, p);
    const coded = compress(rows, M, d, p);
    const grams = multiply(decode, transpose(decode, d, p), d, p, d);
    const mixed = multiply(multiply(rows, M, d, p, p), transpose(decode, d, p), d, p, d);
    let sum = trace(M, p) - 2 * trace(mixed, d);
    for (let i = 0; i < d; i++) for (let j = 0; j < d; j++) sum += coded[i * d + j] * grams[j * d + i];
    return sum;
  };
  return { errors: covariances.map(error), total: error(totalCovariance(moments)) };
}

/**
 * How far apart the projected means of the first two groups are, in pooled standard deviations, at most over the axes.
 *
 * @param {Moments} moments
 * @param {Solution} solution
 * @returns {number}
 */
export function meanDistance(moments, { rows, d }) {
  const { p, means } = moments;
  const total = totalCovariance(moments);
  // Directions without variance have no distance; what is left there is rounding.
  const least = 1e-9 * Math.sqrt(trace(total, p));
  let most = 0;
  for (let k = 0; k < d; k++) {
    const row = rows.subarray(k * p, (k + 1) * p);
    let gap = 0;
    for (let i = 0; i < p; i++) gap += row[i] * (means[1][i] - means[0][i]);
    const spread = Math.sqrt(Math.max(captured(row, total, 1, p), 0));
    if (spread > least) most = Math.max(most, Math.abs(gap) / spread);
  }
  return most;
}
