// @ts-check
// Read a table that somebody has: comma, semicolon or tab, quotes, a byte order mark, decimal commas. Errors name lines.

import { codesOf, numberAt, reader } from "./numbers.mjs";

/**
 * @typedef {{ names: string[], text: string, spans: Int32Array, numbers: Float64Array, lines: Int32Array, separator: string }} Table
 * spans: start and end of each value in the text, row after row, the start below zero where quotes are doubled inside;
 * numbers: what the values stand for, NaN where they are no numbers; lines: where each row starts in the file
 */

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
  const decimalComma = separator !== ",";
  const separatorCode = separator.charCodeAt(0);
  const mark = decimalComma ? 44 : 46;
  const size = text.length;
  const codes = codesOf(text);
  /** @type {string[]} */
  let names = [];
  /** @type {number[]} */
  const lines = [];
  // They grow when it is seen how much room the values of this text take.
  let spans = new Int32Array(1024);
  let numbers = new Float64Array(512);
  let filled = 0;
  let line = 1;
  let at = 0;
  while (at < size) {
    const start = line;
    const first = filled;
    for (;;) {
      if (filled === numbers.length) {
        const room = Math.ceil(Math.max(2 * filled, (1.1 * filled * size) / at));
        spans = longer(spans, 2 * room);
        numbers = longer(numbers, room);
      }
      let from = at;
      let end;
      let code = codes[at];
      let number = NaN;
      let read = false;
      if (code === 34) {
        from = at + 1;
        let doubled = false;
        end = from;
        for (;;) {
          end = text.indexOf('"', end);
          if (end < 0) throw new TableError(`Line ${start}: a quotation mark is opened and never closed.`);
          if (codes[end + 1] !== 34) break;
          doubled = true;
          end += 2;
        }
        for (let i = at; i < end; i++) if (codes[i] === 10) line++;
        at = end + 1;
        const next = codes[at];
        if (at < size && next !== separatorCode && next !== 10 && next !== 13) {
          throw new TableError(`Line ${line}: after a closing quotation mark comes “${text[at]}”, where a separator or the end of the line should be.`);
        }
        if (doubled) from = ~from;
      } else {
        // Most values are numbers, and these are read on the way to their end.
        number = (code >= 48 && code <= 57) || code === 45 ? numberAt(codes, at, separatorCode, mark) : NaN;
        read = number === number;
        if (read) at = reader.at;
        else {
          for (; at < size; at++) {
            code = codes[at];
            if (code === separatorCode || code === 10 || code === 13) break;
          }
        }
        end = at;
        if (!read) {
          while (from < end && isSpace(codes[from]) && !text[from].trim()) from++;
          while (from < end && isSpace(codes[end - 1]) && !text[end - 1].trim()) end--;
        }
      }
      spans[2 * filled] = from;
      spans[2 * filled + 1] = end;
      // What begins as no number does is none; the rest is rare, and slower to read.
      numbers[filled] = read || !mayBeNumber(codes[from < 0 ? ~from : from]) ? number : toNumber(valueOf(text, from, end), decimalComma);
      filled++;
      if (codes[at] !== separatorCode) break;
      at++;
    }
    if (codes[at] === 13) at++;
    if (codes[at] === 10) at++;
    line++;
    const many = filled - first;
    if (many === 1 && spans[2 * first] === spans[2 * first + 1]) {
      filled = first;
      continue;
    }
    if (names.length === 0) {
      names = checkedNames(Array.from({ length: many }, (_, i) => valueOf(text, spans[2 * (first + i)], spans[2 * (first + i) + 1])), start);
      filled = 0;
      continue;
    }
    if (many !== names.length) {
      throw new TableError(`Line ${start} has ${many} fields, but the header has ${names.length}. Every row needs one value for each column.`);
    }
    lines.push(start);
  }
  if (lines.length === 0) throw new TableError("The file has a header but no rows.");
  return { names, text, spans, numbers, lines: Int32Array.from(lines), separator };
}

/**
 * @template {Int32Array | Float64Array} T
 * @param {T} values
 * @param {number} length
 * @returns {T} the same values with room for more
 */
function longer(values, length) {
  const made = /** @type {T} */ (new /** @type {any} */ (values.constructor)(length));
  made.set(values);
  return made;
}

/**
 * @param {string} text
 * @param {number} from
 * @param {number} end
 */
function valueOf(text, from, end) {
  return from < 0 ? text.slice(~from, end).replaceAll('""', '"') : text.slice(from, end);
}

/**
 * What stands in a row and a column.
 *
 * @param {Table} table
 * @param {number} row
 * @param {number} column
 * @returns {string}
 */
export function valueAt({ text, spans, names }, row, column) {
  const place = 2 * (row * names.length + column);
  return valueOf(text, spans[place], spans[place + 1]);
}

/**
 * @param {number} code of a character
 * @returns {boolean} whether a number may begin with it
 */
function mayBeNumber(code) {
  return code >= 43 && code <= 57;
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

/**
 * What a column is: numbers if all its values that are not missing are.
 *
 * @param {Table} table
 * @returns {{ name: string, numeric: boolean, distinct: number, missing: number, constant: boolean }[]}
 */
export function describeColumns(table) {
  const { names, numbers, lines } = table;
  const [rows, width] = [lines.length, names.length];
  return names.map((name, i) => {
    const distinct = new Set();
    let missing = 0;
    let numeric = true;
    for (let row = 0; row < rows; row++) {
      const number = numbers[row * width + i];
      const finite = number - number === 0;
      if (finite && distinct.size > 60) continue;
      const value = valueAt(table, row, i);
      if (!finite) {
        if (isMissing(value)) {
          missing++;
          continue;
        }
        numeric = false;
      }
      if (distinct.size <= 60) distinct.add(value);
    }
    if (missing === rows) numeric = false;
    return { name, numeric, distinct: distinct.size, missing, constant: distinct.size <= 1 };
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
  const { names, numbers, lines } = table;
  const places = Int32Array.from(features, (name) => names.indexOf(name));
  const groupPlace = names.indexOf(group);
  const width = names.length;
  const total = lines.length;
  const p = features.length;
  const X = new Float64Array(total * p);
  const codes = new Int32Array(total);
  /** @type {Map<string, number>} */
  const groupsKnown = new Map();
  let n = 0;
  for (let row = 0; row < total; row++) {
    const label = valueAt(table, row, groupPlace);
    let usable = !isMissing(label);
    if (!usable && !dropMissing) throw new TableError(`Line ${lines[row]}: the group column “${group}” has no value. Fill it in, or leave out rows with missing values.`);
    for (let j = 0; j < p && usable; j++) {
      const number = numbers[row * width + places[j]];
      X[n * p + j] = number;
      if (number - number === 0) continue; // neither NaN nor infinite
      const value = valueAt(table, row, places[j]);
      if (isMissing(value)) {
        if (!dropMissing) throw new TableError(`Line ${lines[row]}: column “${features[j]}” has no value. Fill it in, leave the column out, or leave out rows with missing values.`);
        usable = false;
        break;
      }
      throw new TableError(`Line ${lines[row]}: column “${features[j]}” has “${value.slice(0, 40)}”, which is not a finite number. Leave the column out, or write numbers.`);
    }
    if (!usable) continue;
    let code = groupsKnown.get(label);
    if (code === undefined) groupsKnown.set(label, (code = groupsKnown.size));
    codes[n] = code;
    n++;
  }
  // Groups in the order of their names, so that the order of rows does not matter.
  const labels = [...groupsKnown.keys()].sort();
  const rank = new Map(labels.map((label, i) => [groupsKnown.get(label), i]));
  for (let i = 0; i < n; i++) codes[i] = /** @type {number} */ (rank.get(codes[i]));
  return { X: X.subarray(0, n * p), n, p, labels, codes: codes.subarray(0, n), dropped: total - n };
}
