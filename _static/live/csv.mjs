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
        value = text.slice(at, end).trim();
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
  // Number() also reads hexadecimal and the like, which nobody writes into a table.
  return /^[0-9.+\-eE]+$/.test(decimalComma ? value.replace(",", ".") : value) ? number : NaN;
}

/**
 * What a column is: numbers if all its values that are not missing are.
 *
 * @param {Table} table
 * @returns {{ name: string, numeric: boolean, distinct: number, missing: number, constant: boolean }[]}
 */
export function describeColumns(table) {
  const decimalComma = table.separator !== ",";
  return table.columns.map((values, i) => {
    const distinct = new Set();
    let missing = 0;
    let numeric = true;
    for (const value of values) {
      if (isMissing(value)) missing++;
      else {
        if (distinct.size <= 60) distinct.add(value);
        if (numeric && !Number.isFinite(toNumber(value, decimalComma))) numeric = false;
      }
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
  const decimalComma = table.separator !== ",";
  const picked = features.map((name) => table.columns[table.names.indexOf(name)]);
  const groups = table.columns[table.names.indexOf(group)];
  const total = table.lines.length;
  const p = features.length;
  const X = new Float64Array(total * p);
  const codes = new Int32Array(total);
  /** @type {Map<string, number>} */
  const known = new Map();
  let n = 0;
  for (let row = 0; row < total; row++) {
    let usable = !isMissing(groups[row]);
    if (!usable && !dropMissing) throw new TableError(`Line ${table.lines[row]}: the group column “${group}” has no value. Fill it in, or leave out rows with missing values.`);
    for (let j = 0; j < p && usable; j++) {
      const value = picked[j][row];
      if (isMissing(value)) {
        if (!dropMissing) throw new TableError(`Line ${table.lines[row]}: column “${features[j]}” has no value. Fill it in, leave the column out, or leave out rows with missing values.`);
        usable = false;
        break;
      }
      const number = toNumber(value, decimalComma);
      if (!Number.isFinite(number)) throw new TableError(`Line ${table.lines[row]}: column “${features[j]}” has “${value.slice(0, 40)}”, which is not a finite number. Leave the column out, or write numbers.`);
      X[n * p + j] = number;
    }
    if (!usable) continue;
    let code = known.get(groups[row]);
    if (code === undefined) known.set(groups[row], (code = known.size));
    codes[n] = code;
    n++;
  }
  // Groups in the order of their names, so that the order of rows does not matter.
  const labels = [...known.keys()].sort();
  const rank = new Map(labels.map((label, i) => [known.get(label), i]));
  for (let i = 0; i < n; i++) codes[i] = /** @type {number} */ (rank.get(codes[i]));
  return { X: X.subarray(0, n * p), n, p, labels, codes: codes.subarray(0, n), dropped: total - n };
}
