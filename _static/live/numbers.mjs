// @ts-check
// Decimal numbers in a text, read where they stand: a table of 30 000 rows is not cut into 600 000 strings first.

/** Powers of ten that are doubles without rounding. */
const TENS = Array.from({ length: 23 }, (_, k) => Number(`1e${k}`));
const SPLIT = 2 ** 27 + 1;
const LARGEST = 2 ** 53;

/** Where the number that was read last ended. */
export const reader = { at: 0 };

/**
 * The codes of a text's characters, for quick access.
 *
 * @param {string} text
 * @returns {Uint8Array | Uint16Array}
 */
export function codesOf(text) {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length === text.length) return bytes; // nothing but ASCII
  const codes = new Uint16Array(text.length);
  for (let i = 0; i < codes.length; i++) codes[i] = text.charCodeAt(i);
  return codes;
}

/**
 * The number that starts at a place and ends where a separator, a line or the text ends; NaN if there is none or if it
 * is written in a way that this function does not know. What it reads is the nearest double, as `Number` would say:
 * digits are whole numbers without rounding, and one division is done in two doubles where one would round twice.
 *
 * @param {Uint8Array | Uint16Array} codes
 * @param {number} from
 * @param {number} separator code of the character
 * @param {number} mark code of the character before the decimals, a comma or a point
 * @returns {number}
 */
export function numberAt(codes, from, separator, mark) {
  let at = from;
  const negative = codes[at] === 45;
  if (negative) at++;
  const start = at;
  let whole = 0;
  for (let digit = codes[at] - 48; digit >= 0 && digit <= 9; digit = codes[++at] - 48) whole = whole * 10 + digit;
  const length = at - start;
  if (length === 0 || length > 9) return NaN;
  let high = 0; // nine decimals
  let low = 0; // and nine more
  let decimals = 0;
  if (codes[at] === mark || (codes[at] === 46 && separator !== 46)) {
    const first = ++at;
    let last = first + 9;
    for (let digit = codes[at] - 48; digit >= 0 && digit <= 9 && at < last; digit = codes[++at] - 48) high = high * 10 + digit;
    last += 9;
    for (let digit = codes[at] - 48; digit >= 0 && digit <= 9 && at < last; digit = codes[++at] - 48) low = low * 10 + digit;
    decimals = at - first;
    if (decimals === 0) return NaN;
  }
  const code = codes[at];
  if (at < codes.length && code !== separator && code !== 10 && code !== 13) return NaN;
  reader.at = at;
  let value;
  if (decimals <= 9) {
    const power = TENS[decimals];
    const digits = whole * power + high;
    value = digits < LARGEST ? digits / power : divided(whole, power, high, power);
  } else {
    const more = TENS[decimals - 9];
    const upper = whole * 1e9 + high;
    if (upper > LARGEST) return NaN;
    const digits = upper * more + low;
    value = digits < LARGEST ? digits / TENS[decimals] : divided(upper, more, low, TENS[decimals]);
  }
  return negative ? -value : value;
}

/**
 * (a b + c) / d for whole numbers, rounded once: products and sums carry along what a double cannot hold.
 *
 * @param {number} a
 * @param {number} b
 * @param {number} c
 * @param {number} d
 */
function divided(a, b, c, d) {
  const product = a * b;
  const sum = product + c;
  const back = sum - product;
  const rest = product - (sum - back) + (c - back) + leftOver(a, b, product);
  const quotient = sum / d;
  const again = quotient * d;
  return quotient + (sum - again - leftOver(quotient, d, again) + rest) / d;
}

/**
 * What a product lost when it was rounded (Dekker 1971).
 *
 * @param {number} a
 * @param {number} b
 * @param {number} product
 */
function leftOver(a, b, product) {
  const bigA = SPLIT * a - (SPLIT * a - a);
  const bigB = SPLIT * b - (SPLIT * b - b);
  const smallA = a - bigA;
  const smallB = b - bigB;
  return smallA * smallB - (product - bigA * bigB - smallA * bigB - bigA * smallB);
}
