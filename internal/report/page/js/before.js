
// Before and after: this comparison and another one, which the page came with or which was
// dropped onto it. A side has rounds and rows: keys to match, names, marks and values.
var BEFORE = { most: 200 << 20, schema: "dumptool/compare/2", earlier: "dumptool/compare/1", listed: 100, tall: 104 };

// dropped is what was dropped: it is after, and this comparison before.
var dropped = null;

// pairOfSides are both sides, null while there is one.
function pairOfSides() {
  if (dropped) return { before: sideOfRun(), after: dropped };
  return DATA.before ? { before: sideOfData(DATA.before), after: sideOfRun() } : null;
}

function newSide(title, headline, own) { return { title: title, headline: headline, own: own, names: [], keys: [], at: [], marks: [], statuses: [], values: { mean_rel: [], score: [] } }; }

// addToSide adds a row. Rows of one name, rank and step are numbered.
function addToSide(side, seen, name, at, mark, status, mean, score) {
  var key = [name, at.rank || "", at.step || ""].join("\u001f"), n = seen.get(key) || 0;
  seen.set(key, n + 1);
  side.keys.push(key + "\u001f" + n);
  side.names.push(name);
  side.at.push(at);
  side.marks.push(mark);
  side.statuses.push(status);
  side.values.mean_rel.push(number(mean));
  side.values.score.push(number(score));
}

var runSide = null;
function sideOfRun() {
  if (runSide) return runSide;
  var side = newSide(DATA.before && DATA.before.after || DATA.title, RUN.headline, true), seen = new Map();
  for (var row = 0; row < COUNT; row++) addToSide(side, seen, (COLS.op[row] || COLS.name[row]).replace(/:output:0$/, ""), RUN.rounds[COLS.round[row]].at, COLS.mark[row], statusOf(row), COLS.mean_rel[row], COLS.score[row]);
  return runSide = side;
}

var dataSide = null;
function sideOfData(d) {
  if (dataSide) return dataSide;
  var side = newSide(d.title, d.headline, false), seen = new Map();
  (d.name || []).forEach(function (name, i) { addToSide(side, seen, name, d.rounds[d.round[i]], d.mark[i], d.statuses[d.status[i]], d.mean_rel[i], d.score[i]); });
  return dataSide = side;
}

// sideOfDocument returns the side of a compare.json; it throws where the rows are no rows.
function sideOfDocument(doc, title) {
  var summary = doc.summary || {}, headline = typeof summary.headline === "string" ? summary.headline : "", side = newSide(title, headline, false), seen = new Map();
  var evidence = summary.verdict_mode === "evidence", text = function (x) { return typeof x === "string" ? x : x === undefined || x === null ? "" : String(x); };
  var own = DATA.run.statuses;
  if (!Array.isArray(doc.rows)) throw new Error("rows");
  doc.rows.forEach(function (row) {
    if (typeof row !== "object" || row === null || typeof row.op !== "string") throw new Error("rows");
    var kind = text(row.kind) || "output", output = Number(row.output) || 0, status = own.includes(row.status) ? row.status : row.status === undefined ? "PASS" : "SKIP";
    var name = row.op + (kind === "output" && output === 0 ? "" : ":" + kind + ":" + output), reason = Array.isArray(row.reasons) && row.reasons[0] ? text(row.reasons[0].code) : "";
    var m = row.metrics || {}, e = row.evidence || {};
    addToSide(side, seen, name, { rank: text(row.rank), step: text(row.step) }, markOfRow(row, status, evidence, reason), status, m.mean_rel === undefined ? null : m.mean_rel, e.score > 0 ? e.score : null);
  });
  return side;
}

function markOfRow(row, status, evidence, reason) {
  switch (STATUS_KINDS[status]) {
  case "bad": return row.origin === true || !evidence && status === "FAIL" && reason !== "" && !["LAYER_INPUT_BAD", "ACCUMULATED", "MODEL_NAN"].includes(reason) ? MARK.origin : MARK.bad;
  case "warn": return MARK.warn;
  case "rounding": return MARK.rounding;
  case "pass": return MARK.pass;
  }
  return MARK.none;
}

// readSecond reads a file that was dropped or chosen.
function readSecond(file) {
  if (file.size > BEFORE.most) { notice(say("drop_large", file.name, Math.round(file.size / 1048576))); return; }
  file.text().then(function (text) {
    var doc;
    try { doc = JSON.parse(text); } catch (e) { notice(say("drop_json", file.name)); return; }
    if (typeof doc !== "object" || doc === null || doc.schema !== BEFORE.schema && doc.schema !== BEFORE.earlier) { notice(say("drop_schema", file.name, BEFORE.schema)); return; }
    if (doc.slim === true) { notice(say("drop_slim", file.name)); return; }
    try { dropped = sideOfDocument(doc, file.name); } catch (e) { notice(say("drop_rows", file.name)); return; }
    notice("");
    openTab("before");
  }, function () { notice(say("drop_unread", file.name)); });
}

// notice says in a line what went wrong, until the next time.
function notice(text) {
  var box = document.getElementById("notice");
  box.hidden = text === "";
  replace(box, visible(text));
}

// listenDrop takes a file that is dropped anywhere on the page.
function listenDrop() {
  var box = h("p", { id: "notice", class: "notice", role: "alert", hidden: true });
  document.getElementById("top").after(box);
  document.addEventListener("dragover", function (event) { event.preventDefault(); });
  document.addEventListener("drop", function (event) {
    event.preventDefault();
    var files = event.dataTransfer ? event.dataTransfer.files : [];
    if (files.length === 1) readSecond(files[0]);
    else if (files.length > 1) notice(say("drop_one"));
  });
}

// chooseSecond lets choose a file without a pointer.
function chooseSecond() {
  var input = h("input", { type: "file", accept: ".json,application/json" });
  input.addEventListener("change", function () { if (input.files.length) readSecond(input.files[0]); });
  input.click();
}

// changesOf says what became of the rows of two sides.
function changesOf(pair) {
  var at = new Map(), b = pair.before, a = pair.after, c = { gone: [], fresh: [], same: [], fixed: 0, broken: 0, still: 0, onlyBefore: 0, onlyAfter: 0, lost: 0 };
  b.keys.forEach(function (key, i) { at.set(key, i); });
  var matched = new Array(b.keys.length).fill(false);
  a.keys.forEach(function (key, i) {
    var k = at.get(key), wasOrigin = false;
    if (k === undefined) c.onlyAfter++;
    else {
      matched[k] = true;
      wasOrigin = b.marks[k] === MARK.origin;
      var was = b.marks[k] >= MARK.bad, is = a.marks[i] >= MARK.bad;
      c.fixed += was && !is && a.marks[i] !== MARK.none;
      c.broken += !was && is;
      c.still += was && is;
      if (wasOrigin && a.marks[i] !== MARK.origin) c.gone.push([k, i]);
    }
    if (a.marks[i] === MARK.origin) (wasOrigin ? c.same : c.fresh).push([k === undefined ? -1 : k, i]);
  });
  matched.forEach(function (m, k) {
    if (m) return;
    c.onlyBefore++;
    if (b.marks[k] === MARK.origin) c.lost++;
  });
  return c;
}

function beforeTab() {
  var pair = pairOfSides();
  if (!pair) return h("section", { class: "card" }, h("h1", null, say("before_title")), h("p", null, say("before_none")), h("button", { type: "button", class: "btn", onclick: chooseSecond }, say("before_choose")));
  var c = changesOf(pair), fact = function (key, n) { return h("div", { class: "fact" }, h("span", null, say(key)), h("b", null, String(n))); };
  var head = function (key, side) { return h("div", null, h("dt", null, say(key)), h("dd", null, h("b", null, bdi(side.title)), h("p", null, tell(side.headline)))); };
  var list = function (key, pairs, kind) {
    return h("section", { class: "card" }, h("h2", null, say(key) + " ", h("span", { class: "pill" + kind }, String(pairs.length))), pairs.length > 0 && h("ul", { class: "list" }, pairs.slice(0, BEFORE.listed).map(function (p) { return h("li", null, changeLine(pair, p)); }),
      pairs.length > BEFORE.listed && h("li", { class: "mute" }, say("and_more", pairs.length - BEFORE.listed))));
  };
  return [h("section", { class: "card" }, h("h1", null, say("before_count", c.gone.length, c.fresh.length, c.same.length)), h("dl", { class: "lines" }, head("before", pair.before), head("after", pair.after)),
    h("div", { class: "facts" }, fact("before_fixed", c.fixed), fact("before_broken", c.broken), fact("before_still", c.still), fact("before_only", c.onlyBefore), fact("after_only", c.onlyAfter)),
    c.lost > 0 && h("p", { class: "note" }, say("before_lost", c.lost)), (c.onlyBefore > 0 || c.onlyAfter > 0) && h("p", { class: "mute small" }, say("before_matched")),
    h("p", null, h("button", { type: "button", class: "btn", onclick: chooseSecond }, say("before_choose")))),
  h("section", { class: "card" }, h("h2", null, say("before_strips")), h("div", { id: "twostrips", class: "twostrips" })),
  list("before_gone", c.gone, ""), list("before_new", c.fresh, c.fresh.length ? " bad" : ""), list("before_same", c.same, "")];
}

// changeLine is a row of both sides: a link where it is in this page.
function changeLine(pair, p) {
  var b = pair.before, a = pair.after, own = b.own ? p[0] : p[1], side = p[1] >= 0 ? a : b, i = p[1] >= 0 ? p[1] : p[0];
  var at = [side.at[i].rank && say("rank") + " " + side.at[i].rank, side.at[i].step && say("step") + " " + side.at[i].step].filter(Boolean).join(" · ");
  return [p[0] >= 0 ? statusBadge(b.statuses[p[0]]) : h("span", { class: "mute" }, "–"), " → ", statusBadge(a.statuses[p[1]]), " ", own >= 0 ? h("button", { type: "button", class: "link", onclick: function () { select(own, true); } }, bdi(side.names[i])) : bdi(side.names[i]), at && h("span", { class: "mute" }, " " + visible(at))];
}

// drawTwoStrips draws the errors of both sides in one scale, of the round that is chosen.
function drawTwoStrips() {
  var box = document.getElementById("twostrips"), pair = box && pairOfSides();
  if (!pair) return;
  var at = RUN.rounds[state.round].at, sides = [pair.before, pair.after].map(function (side) {
    var rows = [];
    side.at.forEach(function (x, i) { if ((x.rank || "") === (at.rank || "") && (x.step || "") === (at.step || "")) rows.push(i); });
    return { side: side, rows: rows };
  });
  var metric = ["mean_rel", "score"].find(function (m) { return sides.some(function (x) { return x.rows.some(function (i) { return x.side.values[m][i] !== null; }); }); }) || "mean_rel";
  var width = Math.max(240, box.clientWidth), inner = width - STRIP.left - STRIP.right;
  sides.forEach(function (x) { x.groups = grouped(x.rows, inner, function (i) { return x.side.values[metric][i]; }, x.side.marks); });
  var scale = scaleOf([].concat.apply([], sides.map(function (x) { return x.groups.map(function (g) { return { row: [x.side, g.row] }; }); })), function (r) { return r[0].values[metric][r[1]]; }, metric);
  replace(box, sides.map(function (x, k) { return [h("p", { class: "small" }, h("b", null, say(k ? "after" : "before")), " ", h("span", { class: "mute" }, bdi(x.side.title))), oneStrip(x, metric, scale, width, inner)]; }));
}

function oneStrip(x, metric, scale, width, inner) {
  var top = 20, base = top + BEFORE.tall, valueOf = function (i) { return x.side.values[metric][i]; }, slot = x.groups.length ? inner / x.groups.length : inner;
  var y = function (v) { return v <= 0 ? base : base - Math.max(0, Math.min(1, (Math.log10(v) - scale.low) / (scale.high - scale.low))) * BEFORE.tall; };
  var origins = x.rows.filter(function (i) { return x.side.marks[i] === MARK.origin; }).length, svg = s("svg", { width: width, height: base + 14, viewBox: "0 0 " + width + " " + (base + 14), role: "img", "aria-label": say("before_strip", x.rows.length, origins) });
  [scale.low, scale.high].forEach(function (d, k) {
    var at = k ? top : base;
    svg.append(s("line", { class: k ? "grid" : "axis", x1: STRIP.left, x2: width - STRIP.right, y1: at, y2: at }), s("text", { class: "tick", x: STRIP.left - 6, y: at + 4, "text-anchor": "end" }, decade(d)));
  });
  svg.append(s("text", { class: "tick", transform: "translate(11 " + (top + BEFORE.tall) / 2 + ") rotate(-90)", "text-anchor": "middle" }, fitted(say("m_" + metric), BEFORE.tall + 18, "11px")));
  var paths = stripPaths(x.groups, valueOf, y, base, base, slot, x.side.marks, 10);
  Object.keys(paths).forEach(function (name) { if (paths[name]) svg.append(s("path", { class: "mark " + name, d: paths[name] })); });
  return svg;
}
