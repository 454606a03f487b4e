// @ts-check
// Dense linear algebra of small symmetric matrices. A matrix of n columns is a Float64Array, row after row.

/** @typedef {{ values: Float64Array, vectors: Float64Array }} Eigen eigenvalues ascending; vector j is row j */

const EPSILON = Number.EPSILON;

/**
 * Eigenvalues and eigenvectors of a symmetric matrix: Householder reflections to tridiagonal form, then QL steps.
 *
 * @param {Float64Array} matrix n × n; it is not changed
 * @param {number} n
 * @returns {Eigen}
 */
export function eigh(matrix, n) {
  const scale = largest(matrix);
  if (!Number.isFinite(scale)) throw new Error("The matrix has entries that are not finite.");
  const a = Float64Array.from(matrix, (x) => (scale > 0 ? x / scale : 0));
  const reflections = tridiagonalise(a, n);
  const d = new Float64Array(n);
  const e = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    d[i] = a[i * n + i];
    if (i + 1 < n) e[i] = a[i * n + i + 1];
  }
  const vectors = identity(n);
  // Rows of `vectors` become eigenvectors of the tridiagonal matrix, then the reflections take them back.
  qlSteps(d, e, vectors, n);
  for (let k = reflections.length - 1; k >= 0; k--) {
    const { v, beta } = reflections[k];
    for (let j = 0; j < n; j++) {
      let dot = 0;
      for (let i = k + 1; i < n; i++) dot += v[i] * vectors[j * n + i];
      dot *= beta;
      for (let i = k + 1; i < n; i++) vectors[j * n + i] -= dot * v[i];
    }
  }
  const order = Array.from(d.keys()).sort((i, j) => d[i] - d[j]);
  const values = Float64Array.from(order, (i) => d[i] * scale);
  const sorted = new Float64Array(n * n);
  order.forEach((from, to) => sorted.set(vectors.subarray(from * n, (from + 1) * n), to * n));
  return { values, vectors: sorted };
}

/**
 * Make `a` tridiagonal in place by reflections I - beta v v', which are returned.
 *
 * @param {Float64Array} a
 * @param {number} n
 */
function tridiagonalise(a, n) {
  /** @type {{ v: Float64Array, beta: number }[]} */
  const reflections = [];
  const w = new Float64Array(n);
  for (let k = 0; k + 2 < n; k++) {
    const v = new Float64Array(n);
    let tail = 0;
    for (let i = k + 2; i < n; i++) tail += a[i * n + k] ** 2;
    const head = a[(k + 1) * n + k];
    if (tail === 0) {
      reflections.push({ v, beta: 0 });
      continue;
    }
    const norm = Math.sqrt(head * head + tail);
    for (let i = k + 1; i < n; i++) v[i] = a[i * n + k];
    v[k + 1] += head >= 0 ? norm : -norm;
    const beta = 2 / (v[k + 1] ** 2 + tail);
    let half = 0;
    for (let i = k; i < n; i++) {
      let sum = 0;
      for (let j = k + 1; j < n; j++) sum += a[i * n + j] * v[j];
      w[i] = beta * sum;
      half += w[i] * v[i];
    }
    half *= beta / 2;
    for (let i = k; i < n; i++) w[i] -= half * v[i];
    for (let i = k; i < n; i++) {
      for (let j = k; j < n; j++) a[i * n + j] -= v[i] * w[j] + w[i] * v[j];
    }
    reflections.push({ v, beta });
  }
  return reflections;
}

/**
 * Diagonalise a tridiagonal matrix (diagonal d, off-diagonal e) by implicit QL steps; rows of z turn along.
 *
 * @param {Float64Array} d
 * @param {Float64Array} e
 * @param {Float64Array} z
 * @param {number} n
 */
function qlSteps(d, e, z, n) {
  for (let low = 0; low < n; low++) {
    for (let step = 0; ; step++) {
      let high = low;
      while (high + 1 < n && Math.abs(e[high]) > EPSILON * (Math.abs(d[high]) + Math.abs(d[high + 1])) && Math.abs(e[high]) > 1e-300) high++;
      if (high === low) break;
      if (step === 60) throw new Error("The eigenvalues were not found in 60 steps.");
      // The shift is the eigenvalue of the leading 2 × 2 block that lies nearer to d[low].
      const q = (d[low + 1] - d[low]) / (2 * e[low]);
      let g = d[high] - d[low] + e[low] / (q + (q >= 0 ? 1 : -1) * Math.hypot(q, 1));
      let s = 1;
      let c = 1;
      let moved = 0;
      let i = high - 1;
      for (; i >= low; i--) {
        const f = s * e[i];
        const b = c * e[i];
        const square = f * f + g * g;
        // `Math.hypot` is safe for tiny numbers too, and ten times as slow.
        const r = square > 1e-280 ? Math.sqrt(square) : Math.hypot(f, g);
        e[i + 1] = r;
        if (r === 0) {
          d[i + 1] -= moved;
          e[high] = 0;
          break;
        }
        s = f / r;
        c = g / r;
        const rest = d[i + 1] - moved;
        const turn = (d[i] - rest) * s + 2 * c * b;
        moved = s * turn;
        d[i + 1] = rest + moved;
        g = c * turn - b;
        rotateRows(z, n, i, i + 1, c, s);
      }
      if (i >= low) continue;
      d[low] -= moved;
      e[low] = g;
      e[high] = 0;
    }
  }
}

/**
 * @param {Float64Array} z
 * @param {number} n
 * @param {number} i
 * @param {number} j
 * @param {number} c
 * @param {number} s
 */
function rotateRows(z, n, i, j, c, s) {
  for (let k = 0; k < n; k++) {
    const x = z[i * n + k];
    const y = z[j * n + k];
    z[i * n + k] = c * x - s * y;
    z[j * n + k] = s * x + c * y;
  }
}

/**
 * @param {number} n
 * @returns {Float64Array}
 */
export function identity(n) {
  const matrix = new Float64Array(n * n);
  for (let i = 0; i < n; i++) matrix[i * n + i] = 1;
  return matrix;
}

/**
 * @param {ArrayLike<number>} values
 * @returns {number} the largest magnitude
 */
export function largest(values) {
  let most = 0;
  for (let i = 0; i < values.length; i++) {
    const size = Math.abs(values[i]);
    if (!(size <= most)) most = size;
  }
  return most;
}

/**
 * @param {Float64Array} matrix n × n
 * @param {number} n
 * @returns {number}
 */
export function trace(matrix, n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += matrix[i * n + i];
  return sum;
}

/**
 * a·A + b·B, entry by entry.
 *
 * @param {number} a
 * @param {Float64Array} A
 * @param {number} b
 * @param {Float64Array} B
 * @returns {Float64Array}
 */
export function combine(a, A, b, B) {
  const sum = new Float64Array(A.length);
  for (let i = 0; i < sum.length; i++) sum[i] = a * A[i] + b * B[i];
  return sum;
}

/**
 * Product of A (m × k) and B (k × n).
 *
 * @param {Float64Array} A
 * @param {Float64Array} B
 * @param {number} m
 * @param {number} k
 * @param {number} n
 * @returns {Float64Array}
 */
export function multiply(A, B, m, k, n) {
  const product = new Float64Array(m * n);
  for (let i = 0; i < m; i++) {
    for (let l = 0; l < k; l++) {
      const factor = A[i * k + l];
      if (factor === 0) continue;
      for (let j = 0; j < n; j++) product[i * n + j] += factor * B[l * n + j];
    }
  }
  return product;
}

/**
 * @param {Float64Array} A m × n
 * @param {number} m
 * @param {number} n
 * @returns {Float64Array} n × m
 */
export function transpose(A, m, n) {
  const turned = new Float64Array(m * n);
  for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) turned[j * m + i] = A[i * n + j];
  return turned;
}

/**
 * W M W' for the rows of W (d × n): what a symmetric matrix is in the coordinates of W.
 *
 * @param {Float64Array} W
 * @param {Float64Array} M
 * @param {number} d
 * @param {number} n
 * @returns {Float64Array} d × d
 */
export function compress(W, M, d, n) {
  return multiply(multiply(W, M, d, n, n), transpose(W, d, n), d, n, d);
}

/**
 * Sum of v' M v over the rows v of W.
 *
 * @param {Float64Array} W
 * @param {Float64Array} M
 * @param {number} d
 * @param {number} n
 * @returns {number}
 */
export function captured(W, M, d, n) {
  let sum = 0;
  for (let r = 0; r < d; r++) {
    for (let i = 0; i < n; i++) {
      const x = W[r * n + i];
      if (x === 0) continue;
      let dot = 0;
      for (let j = 0; j < n; j++) dot += M[i * n + j] * W[r * n + j];
      sum += x * dot;
    }
  }
  return sum;
}

/**
 * The d leading eigenvectors, largest first, as rows.
 *
 * @param {Eigen} eigen
 * @param {number} d
 * @param {number} n
 * @returns {Float64Array}
 */
export function leading(eigen, d, n) {
  const rows = new Float64Array(d * n);
  for (let j = 0; j < d; j++) rows.set(eigen.vectors.subarray((n - 1 - j) * n, (n - j) * n), j * n);
  return rows;
}

/**
 * Orthonormal rows that span the complement of the given vectors (near copies of what is there already are ignored).
 *
 * @param {Float64Array[]} vectors
 * @param {number} n
 * @returns {{ inside: Float64Array, outside: Float64Array, rank: number }} rows of the span and of its complement
 */
export function splitSpace(vectors, n) {
  /** @type {Float64Array[]} */
  const basis = [];
  const longest = Math.max(0, ...vectors.map((v) => Math.sqrt(v.reduce((sum, x) => sum + x * x, 0))));
  const add = (/** @type {Float64Array} */ vector, /** @type {number} */ least) => {
    const rest = Float64Array.from(vector);
    for (let pass = 0; pass < 2; pass++) {
      for (const known of basis) {
        let dot = 0;
        for (let i = 0; i < n; i++) dot += known[i] * rest[i];
        for (let i = 0; i < n; i++) rest[i] -= dot * known[i];
      }
    }
    const norm = Math.sqrt(rest.reduce((sum, x) => sum + x * x, 0));
    if (norm <= least) return false;
    basis.push(rest.map((x) => x / norm));
    return true;
  };
  for (const vector of vectors) add(vector, 1e-12 * longest);
  const rank = basis.length;
  // Unit vectors fill the rest; of those that remain the one with the longest remainder comes next.
  const left = new Set(Array.from({ length: n }, (_, i) => i));
  while (basis.length < n) {
    let best = -1;
    let most = -1;
    for (const i of left) {
      let inside = 0;
      for (const known of basis) inside += known[i] ** 2;
      if (1 - inside > most) [best, most] = [i, 1 - inside];
    }
    const unit = new Float64Array(n);
    unit[best] = 1;
    left.delete(best);
    add(unit, 0);
  }
  const rows = (/** @type {Float64Array[]} */ list) => {
    const packed = new Float64Array(list.length * n);
    list.forEach((vector, i) => packed.set(vector, i * n));
    return packed;
  };
  return { inside: rows(basis.slice(0, rank)), outside: rows(basis.slice(rank)), rank };
}
