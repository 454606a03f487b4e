// @ts-check
// Counts, means and covariances of groups of rows.

/**
 * Divide columns by their standard deviation after taking away their mean; constant columns stay as they are.
 *
 * @param {Float64Array} X n × p, row after row; changed in place
 * @param {number} n
 * @param {number} p
 */
export function standardise(X, n, p) {
  const mean = new Float64Array(p);
  const square = new Float64Array(p);
  for (let i = 0; i < n; i++) for (let j = 0; j < p; j++) mean[j] += X[i * p + j] / n;
  for (let i = 0; i < n; i++) for (let j = 0; j < p; j++) square[j] += (X[i * p + j] - mean[j]) ** 2;
  for (let j = 0; j < p; j++) {
    const spread = Math.sqrt(square[j] / n);
    // A column whose spread is rounding of its mean is constant.
    const scale = spread > 1e-12 * Math.abs(mean[j]) && spread > 0 ? spread : 1;
    for (let i = 0; i < n; i++) X[i * p + j] = (X[i * p + j] - mean[j]) / scale;
  }
}

/**
 * Moments of each group: number of rows, mean, covariance about the group's own mean, divided by the number of rows.
 *
 * @param {Float64Array} X n × p, row after row
 * @param {Int32Array} codes group of each row, from 0
 * @param {number} nGroups
 * @param {number} p
 * @returns {import("./fair.mjs").Moments}
 */
export function groupMoments(X, codes, nGroups, p) {
  const n = codes.length;
  const counts = new Array(nGroups).fill(0);
  const means = counts.map(() => new Float64Array(p));
  const covariances = counts.map(() => new Float64Array(p * p));
  for (let i = 0; i < n; i++) {
    const mean = means[codes[i]];
    counts[codes[i]]++;
    for (let j = 0; j < p; j++) mean[j] += X[i * p + j];
  }
  means.forEach((mean, g) => mean.forEach((sum, j) => (mean[j] = sum / counts[g])));
  // Four rows of a group at a time: the sums are fetched and stored a quarter as often.
  const waiting = counts.map(() => new Float64Array(4 * p));
  const filled = new Int32Array(nGroups);
  for (let i = 0; i < n; i++) {
    const g = codes[i];
    const rows = waiting[g];
    const at = filled[g] * p;
    for (let j = 0; j < p; j++) rows[at + j] = X[i * p + j] - means[g][j];
    if (++filled[g] === 4) {
      addProducts(covariances[g], rows, p);
      filled[g] = 0;
    }
  }
  waiting.forEach((rows, g) => addProducts(covariances[g], rows.fill(0, filled[g] * p), p));
  covariances.forEach((sum, g) => {
    for (let j = 0; j < p; j++) for (let k = j; k < p; k++) sum[j * p + k] = sum[k * p + j] = sum[j * p + k] / counts[g];
  });
  return { counts, means, covariances, p };
}

/**
 * Add x x' for each of four rows x, above the diagonal.
 *
 * @param {Float64Array} sum p × p
 * @param {Float64Array} rows 4 × p
 * @param {number} p
 */
function addProducts(sum, rows, p) {
  for (let j = 0; j < p; j++) {
    const [a, b, c, d] = [rows[j], rows[p + j], rows[2 * p + j], rows[3 * p + j]];
    for (let k = j; k < p; k++) sum[j * p + k] += a * rows[k] + b * rows[p + k] + c * rows[2 * p + k] + d * rows[3 * p + k];
  }
}
