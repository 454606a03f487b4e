// Answer cases that arrive as JSON on standard input with the modules of the live pages.
import { readFileSync } from "node:fs";
import { describeColumns, numericRows, parseTable, valueAt } from "../../_static/live/csv.mjs";
import { eigh } from "../../_static/live/linear.mjs";
import { meanDistance, reconstructionErrors, solveMeanOblique, solveMeanOrthogonal, solveMinMax, solvePca } from "../../_static/live/fair.mjs";
import { groupMoments } from "../../_static/live/moments.mjs";
import { analyse } from "../../_static/live/own_table.mjs";
import { codesOf, numberAt } from "../../_static/live/numbers.mjs";
import { cloud, criteria } from "../../_static/live/plane.mjs";
import { objective, optimum } from "../../_static/live/range.mjs";
import { compareCells, matching } from "../../_static/live/sortable.mjs";
import { measure, planeOf } from "../../_static/live/sphere.mjs";

const flat = (rows) => Float64Array.from(rows.flat());

const ANSWERS = {
  solve({ X, codes, groups, d }) {
    const p = X[0].length;
    const moments = groupMoments(flat(X), Int32Array.from(codes), groups, p);
    const told = (solution) => ({
      objective: solution.objective, bound: solution.bound, rows: Array.from(solution.rows),
      decode: solution.decode && Array.from(solution.decode), ...reconstructionErrors(moments, solution), distance: meanDistance(moments, solution),
    });
    const { values, vectors } = eigh(moments.covariances[0], p);
    const answer = { values: Array.from(values), vectors: Array.from(vectors), pca: told(solvePca(moments, d)) };
    if (groups === 2) {
      answer.loss = told(solveMinMax(moments, d, "loss"));
      answer.error = told(solveMinMax(moments, d, "error"));
    }
    if (d <= p - groups + 1) {
      answer.orthogonal = told(solveMeanOrthogonal(moments, d));
      answer.oblique = told(solveMeanOblique(moments, d));
    }
    return answer;
  },
  plane: ({ first, second, angles, penalty, sigma }) => {
    const groups = [cloud(first), cloud(second)];
    return { groups, rows: criteria(groups, angles, penalty, sigma) };
  },
  range: ({ M0, M1, k, penalty, lines }) => {
    const { best, bound } = optimum(flat(M0), flat(M1), M0.length, k, penalty, lines);
    return { best, bound };
  },
  objective: ({ s0, s1, penalty }) => objective(s0, s1, penalty),
  sphere: ({ groups, azimuth, elevation, sigma }) => ({ plane: planeOf(azimuth, elevation), ...measure(groups, planeOf(azimuth, elevation), sigma) }),
  table: ({ text, features, group, drop }) => {
    try {
      const table = parseTable(text);
      if (!features) return { names: table.names, columns: table.names.map((_, i) => Array.from(table.lines, (_, row) => valueAt(table, row, i))), described: describeColumns(table) };
      const rows = numericRows(table, features, group, drop);
      return { ...rows, X: Array.from(rows.X), codes: Array.from(rows.codes) };
    } catch (error) {
      return { error: error.message, kind: error.constructor.name };
    }
  },
  own: ({ text, features, group, scaled }) => {
    const analysis = analyse(numericRows(parseTable(text), features, group, false), scaled, features.length - 1);
    return analysis.solutions.map((list) => list.map(({ method, errors, losses, share, gap, distance }) => ({ method, errors, losses, share, gap, distance })));
  },
  numbers: ({ texts }) => texts.map((text) => numberAt(codesOf(text), 0, 44, 46)).map((x) => (Number.isNaN(x) ? null : x)),
  cells: ({ pairs }) => pairs.map(([a, b]) => compareCells(a, b)),
  matching: ({ names, rows, words }) => matching(names, rows, words),
};

const cases = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(cases.map(({ what, ...given }) => ANSWERS[what](given))));
