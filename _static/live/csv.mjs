// @ts-check
// Read a table that somebody has: comma, semicolon or tab, quotes, a byte order mark, decimal commas. Errors name lines.

/** @typedef {{ names: string[], columns: string[][], lines: Int32Array, separator: string }} Table values as text, column by column; lines: where each row starts in the file */

/** What can be told to the person who chose the file. */
export class TableError extends Error {}

/**
 * @param {string} text
 * @returns {string} the separator that splits the first line into most fields
 */
function separatorOf(text) {
  const end = text.search(/[\r\n]/);
  const first = end < 0 ? text : text.slice(0, end);
  const counts = [",", ";", "\t"].map((mark) => first.split(mark).length);
  return [",", ";", "\t"][counts.indexOf(Math.max(...counts))];
}

/**
 * Split a text into a table. Every row must have as many fields as the header.
 *
 * @param {string} text
 * @returns {Table}
 */
export function parseTable(text) {
  if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
  if (text.includes("\0")) throw new TableError("The file is not a text file (it has zero bytes). Save the table as CSV in UTF-8.");
  if (!text.trim()) throw new TableError("The file is empty. It needs a first line with the names of the columns, then one row a line.");
  const separator = separatorOf(text);
  const separatorCode = separator.charCodeAt(0);
  /** @type {string[]} */
  let names = [];
  /** @type {string[][]} */
  let columns = [];
  /** @type {number[]} */
  const lines = [];
  let line = 1;
  let at = 0;
  while (at < text.length) {
    const start = line;
    /** @type {string[]} */
    const fields = [];
    for (;;) {
      let value;
      if (text.charCodeAt(at) === 34) {
        let end = at + 1;
        for (;;) {
          end = text.indexOf('"', end);
          if (end < 0) throw new TableError(`Line ${start}: a quotation mark is opened and never closed.`);
          if (text.charCodeAt(end + 1) !== 34) break;
          end += 2;
        }
        value = text.slice(at + 1, end).replaceAll('""', '"');
        for (let i = at; i < end; i++) if (text.charCodeAt(i) === 10) line++;
        at = end + 1;
        const next = text.charCodeAt(at);
        if (at < text.length && next !== separatorCode && next !== 10 && next !== 13) {
          throw new TableError(`Line ${line}: after a closing quotation mark comes “${text[at]}”, where a separator or the end of the line should be.`);
        }
      } else {
        let end = at;
        for (; end < text.length; end++) {
          const code = text.charCodeAt(end);
          if (code === separatorCode || code === 10 || code === 13) break;
        }
        value = text.slice(at, end);
        // Few values have white space around them, and trimming all of them takes time.
        if (isSpace(value.charCodeAt(0)) || isSpace(value.charCodeAt(value.length - 1))) value = value.trim();
        at = end;
      }
      fields.push(value);
      if (text.charCodeAt(at) !== separatorCode) break;
      at++;
    }
    if (text.charCodeAt(at) === 13) at++;
    if (text.charCodeAt(at) === 10) at++;
    line++;
    if (fields.length === 1 && fields[0] === "") continue;
    if (names.length === 0) {
      names = checkedNames(fields, start);
      columns = names.map(() => []);
      continue;
    }
    if (fields.length !== names.length) {
      throw new TableError(`Line ${start} has ${fields.length} fields, but the header has ${names.length}. Every row needs one value for each column.`);
    }
    lines.push(start);
    for (let i = 0; i < fields.length; i++) columns[i].push(fields[i]);
  }
  if (lines.length === 0) throw new TableError("The file has a header but no rows.");
  return { names, columns, lines: Int32Array.from(lines), separator };
}

/**
 * @param {number} code of a character
 * @returns {boolean} whether the character may be white space
 */
function isSpace(code) {
  return code <= 32 || code >= 160;
}

/**
 * @param {string[]} fields
 * @param {number} line
 */
function checkedNames(fields, line) {
  const seen = new Set();
  fields.forEach((name, i) => {
    if (name === "") throw new TableError(`Line ${line}: column ${i + 1} has no name. The first line must name every column.`);
    if (seen.has(name)) throw new TableError(`Line ${line}: two columns are called “${name}”. Give them different names.`);
    seen.add(name);
  });
  if (fields.length < 2) throw new TableError(`Line ${line} has one column only. Values must be separated by commas, semicolons or tabs.`);
  if (fields.every((name) => Number.isFinite(Number(name)))) {
    throw new TableError(`Line ${line} has numbers only, so it seems to be data. The first line must name the columns.`);
  }
  return fields;
}

const MISSING = new Set(["", "na", "nan", "null", "none", "?", "-", "n/a"]);

/**
 * @param {string} value
 * @returns {boolean}
 */
export function isMissing(value) {
  return value.length <= 4 && MISSING.has(value.toLowerCase());
}

/**
 * The number that a text stands for; NaN if it stands for none.
 *
 * @param {string} value
 * @param {boolean} decimalComma
 * @returns {number}
 */
export function toNumber(value, decimalComma) {
  if (value === "") return NaN;
  const number = Number(decimalComma ? value.replace(",", ".") : value);
  // Number() also reads white space, hexadecimal and the like, which nobody writes into a table.
  const [first, second, last] = [value.charCodeAt(0), value.charCodeAt(1) | 32, value.charCodeAt(value.length - 1)];
  const plain = first >= 43 && first <= 57 && last >= 44 && last <= 57 && second !== 120 && second !== 98 && second !== 111;
  return plain ? number : NaN;
}

/** @type {WeakMap<Table, Map<number, Float64Array>>} */
const known = new WeakMap();

/**
 * The numbers of a column, NaN where there is none; they are read once for each table.
 *
 * @param {Table} table
 * @param {number} i
 * @returns {Float64Array}
 */
function numbersOf(table, i) {
  let columns = known.get(table);
  if (!columns) known.set(table, (columns = new Map()));
  let numbers = columns.get(i);
  if (!numbers) {
    const decimalComma = table.separator !== ",";
    const values = table.columns[i];
    numbers = new Float64Array(values.length);
    for (let row = 0; row < values.length; row++) numbers[row] = toNumber(values[row], decimalComma);
    columns.set(i, numbers);
  }
  return numbers;
}

/**
 * What a column is: numbers if all its values that are not missing are.
 *
 * @param {Table} table
 * @returns {{ name: string, numeric: boolean, distinct: number, missing: number, constant: boolean }[]}
 */
export function describeColumns(table) {
  return table.columns.map((values, i) => {
    const distinct = new Set();
    const numbers = numbersOf(table, i);
    let missing = 0;
    let numeric = true;
    for (let row = 0; row < values.length; row++) {
      if (!Number.isFinite(numbers[row])) {
        if (isMissing(values[row])) {
          missing++;
          continue;
        }
        numeric = false;
      }
      if (distinct.size <= 60) distinct.add(values[row]);
    }
    if (missing === values.length) numeric = false;
    return { name: table.names[i], numeric, distinct: distinct.size, missing, constant: distinct.size <= 1 };
  });
}

/**
 * Rows of numbers and the group of each. A value that is no number is an error that names its line and column.
 *
 * @param {Table} table
 * @param {string[]} features
 * @param {string} group
 * @param {boolean} dropMissing leave out rows with missing values instead of refusing them
 * @returns {{ X: Float64Array, n: number, p: number, labels: string[], codes: Int32Array, dropped: number }}
 */
export function numericRows(table, features, group, dropMissing) {
  const places = features.map((name) => table.names.indexOf(name));
  const picked = places.map((i) => table.columns[i]);
  const numbers = places.map((i) => numbersOf(table, i));
  const groups = table.columns[table.names.indexOf(group)];
  const total = table.lines.length;
  const p = features.length;
  const X = new Float64Array(total * p);
  const codes = new Int32Array(total);
  /** @type {Map<string, number>} */
  const groupsKnown = new Map();
  let n = 0;
  for (let row = 0; row < total; row++) {
    let usable = !isMissing(groups[row]);
    if (!usable && !dropMissing) throw new TableError(`Line ${table.lines[row]}: the group column “${group}” has no value. Fill it in, or leave out rows with missing values.`);
    for (let j = 0; j < p && usable; j++) {
      const number = numbers[j][row];
      X[n * p + j] = number;
      if (Number.isFinite(number)) continue;
      const value = picked[j][row];
      if (isMissing(value)) {
        if (!dropMissing) throw new TableError(`Line ${table.lines[row]}: column “${features[j]}” has no value. Fill it in, leave the column out, or leave out rows with missing values.`);
        usable = false;
        break;
      }
      throw new TableError(`Line ${table.lines[row]}: column “${features[j]}” has “${value.slice(0, 40)}”, which is not a finite number. Leave the column out, or write numbers.`);
    }
    if (!usable) continue;
    let code = groupsKnown.get(groups[row]);
    if (code === undefined) groupsKnown.set(groups[row], (code = groupsKnown.size));
    codes[n] = code;
    n++;
  }
  // Groups in the order of their names, so that the order of rows does not matter.
  const labels = [...groupsKnown.keys()].sort();
  const rank = new Map(labels.map((label, i) => [groupsKnown.get(label), i]));
  for (let i = 0; i < n; i++) codes[i] = /** @type {number} */ (rank.get(codes[i]));
  return { X: X.subarray(0, n * p), n, p, labels, codes: codes.subarray(0, n), dropped: total - n };
}
