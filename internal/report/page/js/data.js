
// The data of the page: DATA is the head with all rows as columns, detail(row) what
// else is known of a row and pictures(row) what its charts show. These are in blocks of some rows, which are read when the
// first of them is opened.
var DATA = readBlock("data");
var RUN = DATA.run;
var COLS = RUN ? RUN.cols : null;
var COUNT = RUN ? COLS.name.length : 0;
var chunks = {};

function readBlock(id) {
  var element = document.getElementById(id);
  return element ? JSON.parse(element.textContent) : null;
}

function detail(row) { return ofRow(COLS.chunk[row], row); }
function pictures(row) { return ofRow(COLS.pic[row], row); }

function ofRow(chunk, row) {
  if (chunk < 0) return null;
  if (!chunks[chunk]) chunks[chunk] = readBlock("d" + chunk);
  return chunks[chunk][row];
}

// number is a number of the data: null where it is undefined.
function number(x) {
  if (x === "nan") return NaN;
  if (x === "inf") return Infinity;
  if (x === "-inf") return -Infinity;
  return x;
}

// one is the only member of a list of numbers.
function one(list) { return number(list[0]); }

var MARK = { none: 0, pass: 1, rounding: 2, warn: 3, bad: 4, origin: 5 };

function statusOf(row) { return RUN.statuses[COLS.status[row]]; }
function codeOf(row) { return COLS.reason[row] < 0 ? "" : RUN.codes[COLS.reason[row]]; }
function inTable(column, row) { return column.table[column.at[row]]; }
function isBad(row) { return COLS.mark[row] >= MARK.bad; }
function modulesOf(row) {
  var path = inTable(COLS.mod, row);
  return path === "" ? [] : path.split("\u001f");
}

// nameParts are the path of an operator and the last part of its name.
function nameParts(row) {
  var name = COLS.name[row], at = COLS.path[row];
  return [name.slice(0, at), name.slice(at)];
}

// METRICS are what the strip can show of a row.
var METRICS = {
  mean_rel: function (row) { return number(COLS.mean_rel[row]); },
  share: function (row) { return COLS.total[row] > 0 ? COLS.err[row] / COLS.total[row] : null; },
  max_abs: function (row) { return number(COLS.max_abs[row]); },
  cosd: function (row) { return number(COLS.cosd[row]); },
  ulp: function (row) { return number(COLS.ulp[row]); },
  ratio: function (row) { var x = BY_STATISTICS ? number(COLS.ratio[row]) : null; return x === null ? null : Math.log2(x); },
  z: function (row) { return BY_STATISTICS ? number(COLS.z[row]) : null; },
  score: function (row) { return number(COLS.score[row]); }
};

// BY_STATISTICS is set where elements are missing: rows are judged by their statistics.
var BY_STATISTICS = Boolean(RUN && RUN.few);

// badness is how bad a row is, in short.
function badness(row) { return BY_STATISTICS ? brief(COLS.score[row]) : percent(COLS.err[row], COLS.total[row]); }

// metricNames are the metrics that any row has.
function metricNames() {
  return Object.keys(METRICS).filter(function (name) {
    for (var row = 0; row < COUNT; row++) if (METRICS[name](row) !== null) return true;
    return false;
  });
}

// rowsOfRound are the rows of a round, in execution order.
var roundRows = {};
function rowsOfRound(round) {
  if (!roundRows[round]) {
    roundRows[round] = [];
    for (var row = 0; row < COUNT; row++) if (COLS.round[row] === round) roundRows[round].push(row);
  }
  return roundRows[round];
}

// brief is a number of at most four digits.
function brief(x) {
  if (x === null || x === undefined) return "–";
  x = number(x);
  if (typeof x === "string") return x;
  if (isNaN(x)) return "NaN";
  if (!isFinite(x)) return x > 0 ? "inf" : "-inf";
  if (x === 0) return "0";
  var size = Math.abs(x);
  if (size < 1e-4 || size >= 1e6) return x.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(Number(x.toPrecision(4)));
}

function percent(part, whole) {
  if (part < 0 || whole <= 0) return "–";
  var share = 100 * part / whole;
  if (part > 0 && share < 0.1) return "<0.1 %";
  if (part < whole && share > 99.9) return ">99.9 %";
  return Number(share.toPrecision(3)) + " %";
}

function cosine(distance) {
  distance = number(distance);
  if (distance === null) return "–";
  if (isNaN(distance)) return "NaN";
  if (distance > 0 && distance < 5e-8) return "0.9999999";
  return (1 - distance).toFixed(7).replace(/0+$/, "").replace(/\.$/, "");
}
