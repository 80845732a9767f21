
// RUN is the shown comparison or check, COLS its rows as columns. detail(row) and pictures(row) read the panel
// and the charts of a row, in blocks of rows.
var DATA = readBlock("data"), RUN = null, COLS = null, COUNT = 0, chunks = {};

// BY_STATISTICS is set where elements are missing: rows are judged by their statistics.
var BY_STATISTICS = false;

// runOf is the run that a tab shows, or that its rows belong to.
function runOf(tab) { return tab === "check" ? DATA.check : DATA.run || DATA.check; }

// isCheck reports whether a check is shown.
function isCheck() { return RUN !== null && RUN === DATA.check; }

// use shows a run, with the state in which it was left.
function use(run) {
  if (run === RUN) return;
  if (RUN) ["round", "row", "metric", "only", "query", "zoom", "module", "open", "sort", "down"].forEach(function (key) { RUN.left[key] = state[key]; });
  RUN = run;
  COLS = run.cols;
  COUNT = COLS.name.length;
  BY_STATISTICS = Boolean(run.few);
  beginnings = {};
  roundRows = readers = rowByName = null;
  places = [];
  haystacks = [];
  COLUMNS = columnsOfTable();
  if (!run.left) {
    run.left = { round: run.round, metric: "score", only: "all", query: "", zoom: null, module: null, open: {}, sort: "i", down: false };
    var names = metricNames();
    if (!names.includes("score")) run.left.metric = names[0] || "mean_rel";
    run.left.row = startRow(run.round);
  }
  Object.assign(state, run.left);
}

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

// nameOf is the name of a row within its round.
function nameOf(row) { return nameIn(RUN, row); }

function nameIn(run, row) {
  var name = run.cols.name[row], end = "@" + run.rounds[run.cols.round[row]].name;
  return end.length > 1 && name.endsWith(end) ? name.slice(0, -end.length) : name;
}

// nameParts are the path of an operator and the last part of its name.
function nameParts(row) {
  var name = nameOf(row), at = COLS.path[row];
  return [name.slice(0, at), name.slice(at)];
}

// beginning is what the names of all rows of a round begin with, up to the end of a part. It
// is said once. The last part of a name is never in it.
var beginnings = {}, leastBeginning = 5;
function beginning(round) {
  if (round in beginnings) return beginnings[round];
  var rows = rowsOfRound(round), common = rows.length > 1 ? nameParts(rows[0])[0] : "";
  for (var i = 1; i < rows.length && common; i++) {
    var path = nameParts(rows[i])[0], n = 0;
    while (n < common.length && common[n] === path[n]) n++;
    common = common.slice(0, n);
  }
  common = common.slice(0, 1 + Math.max(common.lastIndexOf("/"), common.lastIndexOf("."), common.lastIndexOf("_")));
  return beginnings[round] = common.length < leastBeginning ? "" : common;
}

// shortName is a name without what all begin with, cut in the middle.
function shortName(row, most) { return shorten(nameOf(row).slice(beginning(COLS.round[row]).length), most); }

// METRICS are what the strip can show of a row.
var METRICS = {
  mean_rel: function (row) { return number(COLS.mean_rel[row]); },
  share: function (row) { return COLS.total[row] > 0 ? COLS.err[row] / COLS.total[row] : null; },
  max_abs: function (row) { return number(COLS.max_abs[row]); },
  cosd: function (row) { return number(COLS.cosd[row]); },
  ulp: function (row) { return number(COLS.ulp[row]); },
  ratio: function (row) { var x = BY_STATISTICS ? number(COLS.ratio[row]) : null; return x === null ? null : Math.log2(x); },
  z: function (row) { return BY_STATISTICS ? number(COLS.z[row]) : null; },
  score: function (row) { var x = number(COLS.score[row]); return x === null && COLS.mark[row] === MARK.pass && COLS.total[row] >= 0 ? 0 : x; }
};

// badness is how bad a row is, in short.
function badness(row) { return BY_STATISTICS ? brief(COLS.score[row]) : percent(COLS.err[row], COLS.total[row]); }

// metricNames are the metrics that any row has.
function metricNames() {
  return Object.keys(METRICS).filter(function (name) {
    if (name === "score") return COLS.score.some(function (x) { return x !== null; });
    for (var row = 0; row < COUNT; row++) if (METRICS[name](row) !== null) return true;
    return false;
  });
}

// rowsOfRound are the rows of a round, in execution order, and placeOf is the place of a row
// among them.
var roundRows = null, places = [];
function rowsOfRound(round) {
  if (!roundRows) {
    roundRows = RUN.rounds.map(function () { return []; });
    for (var row = 0; row < COUNT; row++) places[row] = roundRows[COLS.round[row]].push(row) - 1;
  }
  return roundRows[round];
}

function placeOf(row) {
  rowsOfRound(0);
  return places[row];
}

// flowOf are the rows that a row reads, and those that read it: empty where nobody knows.
var readers = null;
function flowOf(row) {
  if (!readers) {
    readers = new Map();
    for (var i = 0; i < COUNT; i++) inputsOf(i).forEach(function (from) {
      if (!readers.has(from)) readers.set(from, []);
      readers.get(from).push(i);
    });
  }
  return { reads: inputsOf(row), readBy: readers.get(row) || [] };
}

// inputsOf are the rows that a row reads. The data has how far they are before it.
function inputsOf(row) {
  var by = COLS.flow[row];
  return by === 0 ? [] : (typeof by === "number" ? [by] : by).map(function (d) { return row - d; });
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
