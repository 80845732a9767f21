
// The tabs beside the comparison, each where there is data for it.
var TABS = [
  { key: "run", has: function () { return DATA.run; }, count: function () { return badIn(DATA.run); }, make: runTab },
  { key: "before", has: function () { return DATA.run && (dropped || DATA.before); }, count: function () { return 0; }, make: beforeTab },
  { key: "check", has: function () { return DATA.check; }, count: function () { return badIn(DATA.check); }, make: checkTab },
  { key: "ranks", has: function () { return rankReports().length; }, count: function () { return rankReports().reduce(function (n, d) { return n + list(d.findings).length + d.left; }, 0); }, make: ranksTab },
  { key: "overflow", has: function () { return DATA.overflow; }, count: function () { return DATA.overflow.total; }, make: overflowTab },
  { key: "headroom", has: function () { return DATA.headroom; }, count: function () { return list(DATA.headroom.rows).filter(function (o) { return o.status === "OVERFLOWS"; }).length; }, make: headroomTab },
  { key: "checkpoints", has: function () { return DATA.checkpoints; }, count: function () { return list(DATA.checkpoints.rows).filter(function (r) { return CHECKPOINT[r.status] === "FAIL"; }).length; }, make: checkpointsTab },
  { key: "determinism", has: function () { return DATA.determinism; }, count: function () { return DATA.determinism.differing; }, make: determinismTab },
  { key: "perf", has: function () { return DATA.perf; }, count: function () { return list(DATA.perf.operators).filter(function (o) { return o.status === "SLOWER"; }).length; }, make: perfTab },
  { key: "baseline", has: function () { return DATA.run && DATA.run.baseline; }, count: function () { return changed(1).length + changed(2).length; }, make: baselineTab },
  { key: "about", has: function () { return DATA.run; }, count: function () { return 0; }, make: aboutTab }
];

// badIn counts the bad rows of a run.
function badIn(run) { return run.cols.mark.filter(function (m) { return m >= MARK.bad; }).length; }

function list(all) { return all || []; }

function tabs() { return TABS.filter(function (t) { return t.has(); }); }

function changed(change) {
  var rows = [];
  DATA.run.cols.chg.forEach(function (c, row) { if (c === change) rows.push(row); });
  return rows;
}

// baselineTab lists what changed since the baseline.
function baselineTab() {
  var parts = [1, 2, 4, 3].map(function (change) {
    var rows = changed(change);
    return rows.length > 0 && h("section", { class: "card" }, h("h2", null, say("chg_" + change) + " ", h("span", { class: "pill chg-" + change }, String(rows.length))), rowList(rows));
  });
  var missing = RUN.baseline.missing || [];
  if (missing.length) parts.push(h("section", { class: "card" }, h("h2", null, say("baseline_missing")), nameList(missing)));
  return [h("section", { class: "card" }, h("h2", null, say("baseline_file")), h("p", null, bdi(RUN.baseline.file)), RUN.baseline.updated && h("p", null, say("baseline_updated")), !parts.some(Boolean) && h("p", null, say("baseline_none"))), parts];
}

var LISTED = 200;

function rowList(rows) {
  return h("ul", { class: "list" }, rows.slice(0, LISTED).map(function (row) { return h("li", null, statusBadge(statusOf(row)), " ", rowLink(row), " ", h("span", { class: "mute" }, badness(row))); }),
    rows.length > LISTED && h("li", { class: "mute" }, say("and_more", rows.length - LISTED)));
}

function nameList(names) {
  return h("ul", { class: "list" }, names.slice(0, LISTED).map(function (n) { return h("li", null, bdi(n)); }), names.length > LISTED && h("li", { class: "mute" }, say("and_more", names.length - LISTED)));
}

// UNITS are those of sizes, a thousand of one the next.
var UNITS = ["B", "KB", "MB", "GB", "TB", "PB"];

function sizeText(bytes) {
  var u = 0;
  for (; bytes >= 999.5 && u < UNITS.length - 1; u++) bytes /= 1000;
  return brief(Number(bytes.toPrecision(3))) + " " + UNITS[u];
}

// timeText formats microseconds since 1970 in UTC, at most the year 275760.
function timeText(at) {
  return at > 0 && at < 8e18 ? new Date(at / 1000).toISOString().slice(0, 19).replace("T", " ") : "";
}

// dumpsText says how many files a side has, how large they are, from when they are, and what
// made them.
function dumpsText(d) {
  if (!d.files) return "";
  var from = timeText(d.oldest), to = timeText(d.newest);
  var when = from && (from === to ? say("dumps_at", from) : say("dumps_between", from, to));
  var by = list(d.software).map(function (x) { return say("dumps_by", [x.name, x.version].filter(Boolean).join(" "), x.file); });
  return [d.files === 1 ? say("dumps_file") : say("dumps_files", whole(d.files)), sizeText(d.bytes), when].concat(by).filter(Boolean).join(" · ");
}

// verdictText says what tensors fail by, and why by that.
function verdictText() {
  var text = say("v_" + RUN.verdict), why = tell(RUN.why);
  return why.startsWith(text) ? why : text + (why && " (" + why + ")");
}

function aboutTab() {
  var lines = [[say("tool"), RUN.tool], [say("command_line"), RUN.args.length > 0 && command(["dumptool", "compare"].concat(RUN.args))], [say("profile"), say("profile_text", RUN.profile, RUN.tol, RUN.nan)],
    [say("verdict"), RUN.standard ? say("standard_of", RUN.standard) : RUN.verdict && verdictText()],
    [say("effective"), RUN.effective], [say("order"), tell(RUN.order)], [say("inputs"), tell(RUN.graph) || say("inputs_unknown")], [say("coverage"), say("coverage_of", RUN.compared, RUN.reference)]].concat(RUN.dumps.map(function (d, i) { return [say(i ? "dumps_npu" : "dumps_ref"), dumpsText(d)]; }));
  var lists = ["ref_only", "npu_only", "skipped", "unread", "superseded", "rounds", "unused"].map(function (key) {
    var names = RUN.coverage[key === "unused" ? "unused_op_config" : key] || [];
    return names.length > 0 && h("section", { class: "card" }, h("h2", null, say("list_" + key) + " ", h("span", { class: "pill" }, String(names.length))), nameList(names));
  });
  return [h("section", { class: "card" }, h("dl", { class: "lines" }, lines.filter(function (x) { return x[1]; }).map(function (x) { return h("div", null, h("dt", null, x[0]), h("dd", null, typeof x[1] === "string" ? bdi(x[1]) : x[1])); }))),
    RUN.warnings && RUN.warnings.length > 0 && h("section", { class: "card" }, h("h2", null, say("warning_list")), h("ul", { class: "list" }, RUN.warnings.map(function (w) { return h("li", null, tell(w)); }))), lists];
}

// rowOf finds the row of an operator by its name.
var rowByName = null;
function rowOf(name) {
  if (!RUN || !name) return -1;
  if (!rowByName) {
    rowByName = new Map();
    for (var row = COUNT - 1; row >= 0; row--) rowByName.set(nameOf(row).replace(/:.*$/, ""), row);
  }
  return rowByName.has(name) ? rowByName.get(name) : -1;
}

// verdictOfRecord is the verdict of an overflow record in words.
function verdictOfRecord(verdict) {
  var key = "v_" + String(verdict || "cannot tell").replace(/ /g, "_");
  return key in WORDS.en ? say(key) : visible(verdict);
}

// isScan reports whether the overflow records are scanned files.
function isScan() { return Boolean(DATA.overflow) && /^dumptool\/overflow_scan\//.test(DATA.overflow.schema); }

// overflowTab shows the records: how many there are by rank and step, and groups of those of
// an operator with the same cause.
function overflowTab() {
  var doc = DATA.overflow, groups = list(doc.groups), problems = list(doc.problems);
  var input = h("input", { id: "ov-search", type: "search", placeholder: say("ov_search"), "aria-label": say("ov_search_label"), value: state.overflow.query, autocomplete: "off", spellcheck: "false", oninput: function () { state.overflow.query = input.value; drawGroups(); } });
  return [h("section", { class: "card" }, h("h1", null, doc.total ? say("overflow_count") + say("colon") + doc.total : say("overflow_none")), overflowMatrix(groups)),
    groups.length > 0 && h("section", { class: "card" }, h("div", { class: "bar" }, input, h("span", { class: "grow" }), h("span", { class: "mute small", id: "ov-shown", role: "status" })), h("div", { id: "ov-groups" })),
    problems.length > 0 && h("section", { class: "card" }, h("h2", null, say("ov_problems")), h("ul", { class: "list" }, problems.slice(0, LISTED).map(function (p) { return h("li", null, bdi(p.file), ": ", visible(p.error)); })))];
}

// overflowMatrix counts the records by rank and step, where there are several of these.
function overflowMatrix(groups) {
  var cells = new Map();
  groups.forEach(function (g) {
    g.places.forEach(function (p) {
      var key = p.rank + "\u001f" + p.step, cell = cells.get(key) || { key: key, rank: p.rank, step: p.step, n: 0, first: null };
      cell.n += p.n;
      cell.first = cell.first || g;
      cells.set(key, cell);
    });
  });
  var all = Array.from(cells.values()), highest = all.reduce(function (a, c) { return Math.max(a, c.n); }, 1), chosen = all.find(function (c) { return c.key === state.overflow.place; });
  if (all.length < 2) return null;
  var grid = gridOf(all, function (c) { return c.rank || "–"; }, function (c) { return c.step || "–"; }, function (c) { return String(c.n) + groupName(c.first); });
  return matrix(grid, {
    id: "ov-matrix", label: say("ov_matrix"), hint: say("ov_hint"), row: say("rank"), column: say("step"), chosen: chosen || null,
    kind: function (c) { return ["few", "some", "many"][Math.min(2, Math.floor(3 * Math.log(c.n) / Math.log(highest + 1)))]; },
    text: function (c) { return c.n < 1e4 ? String(c.n) : "…"; },
    same: function (cell, item) { return item !== null && cell.key === item.key; },
    lines: function (c) { return [say("overflow_count") + say("colon") + c.n, bdi(shorten(groupName(c.first), 60))]; },
    choose: function (c) {
      state.overflow.place = state.overflow.place === c.key ? null : c.key;
      draw();
      document.getElementById("ov-matrix").focus({ preventScroll: true });
    }
  });
}

function groupName(g) { return g.first.op && (g.first.op.name || g.first.op.type) || say("ov_unknown"); }

// drawGroups shows the groups that have all words of the search, and records in the chosen
// place.
function drawGroups() {
  var box = document.getElementById("ov-groups");
  if (!box) return;
  var groups = list(DATA.overflow.groups), words = state.overflow.query.toLowerCase().split(/\s+/).filter(Boolean), shown = groups.filter(function (g) {
    var r = g.first, text = [groupName(g), r.op && r.op.type, r.verdict, r.reason, r.acc_type].concat(list(r.causes).map(function (c) { return c.mask + " " + c.en + " " + c.zh; })).join("\n").toLowerCase();
    return words.every(function (w) { return text.includes(w); }) && (!state.overflow.place || g.places.some(function (p) { return p.rank + "\u001f" + p.step === state.overflow.place; }));
  });
  document.getElementById("ov-shown").textContent = say("ov_shown", shown.length, groups.length + DATA.overflow.left);
  replace(box, shown.slice(0, LISTED).map(function (g, i) { return groupElement(g, i === 0); }), shown.length > LISTED && h("p", { class: "mute" }, say("and_more", shown.length - LISTED)), DATA.overflow.left > 0 && h("p", { class: "mute" }, say("and_more", DATA.overflow.left)));
}

// groupElement is a group that opens to its first record and the files of others.
function groupElement(g, open) {
  var r = g.first, ranksOf = ranges(Array.from(new Set(g.places.map(function (p) { return p.rank; }).filter(Boolean)))), steps = ranges(Array.from(new Set(g.places.map(function (p) { return p.step; }).filter(Boolean))));
  var facts = [ranksOf && say("rank") + " " + ranksOf, steps && say("ov_step") + " " + steps, verdictOfRecord(r.verdict)].filter(Boolean).join(" · "), body = h("div"), filled = false;
  var fill = function () {
    if (filled) return;
    filled = true;
    replace(body, recordParts(r), g.count > 1 && [h("h4", null, say("ov_files", Math.min(g.files.length, g.count), g.count)), h("div", { class: "wrap", tabindex: 0, role: "group", "aria-label": say("table") }, h("table", { class: "t" }, h("thead", null, h("tr", null, [say("rank"), say("ov_step"), say("ov_time"), say("ov_record")].map(function (t) { return h("th", { class: "l", scope: "col" }, t); }))),
      h("tbody", null, g.files.map(function (f) { return h("tr", null, [f.rank, f.step, f.time, f.file].map(function (x) { return h("td", { class: "l" }, x ? bdi(x) : "–"); })); }))))]);
  };
  if (open) fill();
  return h("details", { class: "group", open: open, ontoggle: fill }, h("summary", null, h("span", { class: "pill" }, g.count + " ×"), " ", h("span", { class: "op" }, bdi(groupName(g))), list(g.first_of).length > 0 && h("span", { class: "pill bad" }, say("ov_first") + (ranges(list(g.first_of)) && " " + ranges(list(g.first_of)))),
    h("span", { class: "mute small block" }, list(r.causes).map(function (c, i) { return [i > 0 && "; ", tell(c)]; }), list(r.causes).length > 0 && " · ", visible(facts))), body);
}

// count is a number of elements, a dash where it is not known.
function count(n) { return n === null || n === undefined ? "–" : String(n); }

// recordParts are all about a record.
function recordParts(r) {
  var op = r.op || {}, row = rowOf(op.name), here = r.verdict === "produced here", facts = [op.type, r.rank && say("rank") + " " + r.rank, r.step && say("ov_step") + " " + r.step, r.time, !isScan() && r.acc_type].filter(Boolean).join(" · ");
  var lines = [[say("ov_record"), r.file], [say("ov_dump"), op.file], [say("ov_matched"), op.matched_by], [say("script"), op.script]].filter(function (x) { return x[1]; }), tensors = list(r.tensors);
  return [h("p", { class: "mute" }, bdi(facts), row >= 0 && [" · ", rowLink(row)]),
    h("p", null, h("b", { class: here ? "alert" : "" }, verdictOfRecord(r.verdict)), r.reason && [" · ", tell({ en: r.reason, zh: r.reason_zh || r.reason })]),
    list(r.causes).map(function (c) { return h("p", null, h("code", null, visible(c.mask)), " ", tell(c)); }),
    tensors.length > 0 && h("div", { class: "wrap", tabindex: 0, role: "group", "aria-label": say("table") }, h("table", { class: "t" }, h("thead", null, h("tr", null, [say("ov_tensor"), "dtype", say("ov_shape"), "NaN", "+inf", "-inf", say("ov_limit"), say("ov_min"), say("ov_max")].map(function (t, k) { return h("th", { class: k < 3 ? "l" : "", scope: "col" }, t); }))),
      h("tbody", null, tensors.map(function (t) {
        return h("tr", { class: t.bad ? "badrow" : "" }, h("td", { class: "l" }, visible(t.kind) + " " + t.index), h("td", { class: "l" }, visible(t.dtype)), h("td", { class: "l" }, "(" + list(t.shape).join(", ") + ")"),
          t.error ? h("td", { class: "l", colspan: 6 }, visible(t.error)) : [t.nan, t.pos_inf, t.neg_inf, t.saturated].map(count).concat(brief(t.min), brief(t.max)).map(function (x) { return h("td", null, visible(x)); }));
      })))),
    list(r.advice).map(function (a) { return h("p", null, "→ ", tell(a)); }),
    list(r.warnings).map(function (w) { return h("p", { class: "note" }, visible(w)); }),
    h("dl", { class: "lines" }, lines.map(function (x) { return h("div", null, h("dt", null, x[0]), h("dd", null, bdi(x[1]))); }))];
}

// documentTab is a document with a headline, rows and files that could not be read.
function documentTab(d, heads, right, row) {
  var rows = list(d.rows), problems = list(d.problems);
  return [h("section", { class: "card" }, h("h1", null, tell({ en: d.headline, zh: d.headline_zh || d.headline }))),
    rows.length > 0 && h("section", { class: "card" }, h("div", { class: "wrap", tabindex: 0, role: "group", "aria-label": say("table") }, h("table", { class: "t" }, h("thead", null, h("tr", null, heads.map(function (t, k) { return h("th", { class: k === right ? "" : "l" }, t); }))),
      h("tbody", null, rows.slice(0, LISTED).map(row)))), (rows.length > LISTED || d.left > 0) && h("p", { class: "mute" }, say("and_more", Math.max(0, rows.length - LISTED) + d.left))),
    problems.length > 0 && h("section", { class: "card" }, h("h2", null, say("ov_problems")), nameList(problems.map(function (p) { return [p.file, p.tensor, p.error || tell({ en: p.reason, zh: p.reason_zh || p.reason })].filter(Boolean).join(": "); })))];
}

// headroomTab lists operators by how far their numbers are from the limit of a type.
function headroomTab() {
  return documentTab(DATA.headroom, [say("col_status"), say("col_name"), say("hr_bits"), say("hr_where")], 2, headroomRow);
}

// CHECKPOINT are the statuses of tensors of checkpoints that are not equal.
var CHECKPOINT = { DIFFERENT: "FAIL", ONLY_A: "FAIL", ONLY_B: "FAIL", UNREAD: "FAIL", SCALED: "WARN", LORA: "WARN", UNKNOWN: "WARN" };

// checkpointsTab lists the tensors of two sets of weights.
function checkpointsTab() {
  return documentTab(DATA.checkpoints, [say("col_status"), "A", "B", say("ck_differ")], 3, function (r) {
    return h("tr", null, h("td", { class: "l" }, h("span", { class: "s s-" + (CHECKPOINT[r.status] || "PASS") }, visible(r.status))), h("td", { class: "l" }, bdi(r.a || "–"), h("div", { class: "mute small" }, visible(r.dtype + " (" + list(r.shape).join(", ") + ")"))),
      h("td", { class: "l" }, list(r.b).length ? list(r.b).map(function (b) { return h("div", null, bdi(b)); }) : "–", r.how && h("div", { class: "mute small" }, tell({ en: r.how, zh: r.how_zh || r.how }))), h("td", null, r.differing > 0 ? whole(r.differing) : "–"));
  });
}

function headroomRow(o) {
  var row = rowOf(o.op_name), at = o.at || {}, least = list(o.margins)[0], status = { OVERFLOWS: "FAIL", TIGHT: "WARN", OK: "PASS" }[o.status];
  return h("tr", { class: o.status === "OVERFLOWS" ? "badrow" : "" }, h("td", { class: "l" }, h("span", { class: "s s-" + (status || "SKIP") }, visible(o.status))),
    h("td", { class: "l" }, row >= 0 ? rowLink(row) : h("span", { class: "op" }, bdi(o.op_name)), " ", h("span", { class: "mute" }, visible([o.op_type, at.rank && say("rank") + " " + at.rank, at.step && say("ov_step") + " " + at.step].filter(Boolean).join(" · "))), o.reason && h("div", { class: "mute small" }, tell({ en: o.reason, zh: o.reason_zh || o.reason }))),
    h("td", null, least ? least.bits.toFixed(1) : "–"), h("td", { class: "l" }, visible(least ? least.where : "–")));
}

// determinismTab lists the tensors that differ between runs.
function determinismTab() {
  var d = DATA.determinism, rows = list(d.rows), first = d.first && d.first.replace(/:output:0$/, "");
  return [h("section", { class: "card" }, h("h1", null, d.differing > 0 ? say("det_differ", d.differing, d.tensors) : say("det_same", d.tensors)),
    first && h("p", { class: "lead" }, say("det_first") + say("colon"), rowOf(first) >= 0 ? rowLink(rowOf(first)) : h("b", null, bdi(first))),
    d.unread > 0 && h("p", { class: "alert" }, say("det_unread", d.unread)),
    h("p", { class: "mute" }, say("det_runs") + say("colon"), list(d.runs).map(function (r, i) { return [i > 0 && ", ", bdi(r)]; })),
    list(d.warnings).map(function (w) { return h("p", { class: "note" }, visible(w)); })),
  rows.length > 0 && h("section", { class: "card" }, h("div", { class: "wrap", tabindex: 0, role: "group", "aria-label": say("table") }, h("table", { class: "t" }, h("thead", null, h("tr", null, h("th", { class: "l" }, say("col_status")), h("th", { class: "l" }, say("col_name")), h("th", null, say("det_results")), h("th", { class: "l" }, say("det_places")), h("th", null, say("det_elements")), h("th", null, "max |d|"), h("th", null, "ULP"))),
    h("tbody", null, rows.slice(0, LISTED).map(determinismRow)))), (rows.length > LISTED || d.left > 0) && h("p", { class: "mute" }, say("and_more", Math.max(0, rows.length - LISTED) + d.left))),
  list(d.missing).length > 0 && h("section", { class: "card" }, h("h2", null, say("det_missing")), nameList(d.missing))];
}

function determinismRow(r) {
  var runs = list(r.runs).slice(1), row = rowOf(r.op), worst = function (key) {
    return runs.reduce(function (a, run) { var x = number(run[key]); return typeof x === "number" && !(x <= a) ? x : a; }, -1);
  };
  var name = r.op + (r.kind !== "output" || r.output ? ":" + r.kind + ":" + r.output : "") + (r.round ? "@" + r.round : ""), why = runs.map(function (x) { return x.why; }).filter(Boolean);
  return h("tr", null, h("td", { class: "l" }, statusBadge(SIGNS[r.status] ? r.status : "ERROR")), h("td", { class: "l" }, row >= 0 ? rowLink(row) : bdi(name), why.length > 0 && h("div", { class: "mute small" }, visible(why.join("; "))), r.cause && h("div", { class: "mute small" }, bdi(r.cause), say("colon"), tell({ en: r.note, zh: r.note_zh })), r.error && h("div", { class: "mute small" }, visible(r.error))),
    h("td", null, String(r.distinct)), h("td", { class: "l" }, say(r.places === "same" ? "p_same" : r.places === "scattered" ? "p_scattered" : "p_unknown")), h("td", null, runs.map(function (x) { return String(x.differ); }).join(", ")),
    h("td", null, worst("max_abs") < 0 ? "–" : brief(worst("max_abs"))), h("td", null, worst("max_ulp") < 0 ? "–" : brief(worst("max_ulp"))));
}

// checkTab shows a check, the findings between ranks, and operators without a verdict by reason.
function checkTab() {
  var ranks = RUN.ranks, between = list(ranks && ranks.findings), card = function (title, names) { return names.length > 0 && h("section", { class: "card" }, h("h2", null, say(title)), nameList(names)); };
  var parts = runTab();
  parts.splice(1, 0, between.length > 0 && h("section", { class: "card" }, h("h2", null, say("check_ranks")), h("ol", { class: "list" }, rankFinding(between[0], ranks.said[0], ranks.advice[0])),
    between.length > 1 && h("button", { type: "button", class: "link", onclick: function () { openTab("ranks"); } }, say("and_more", between.length - 1 + ranks.left))));
  return parts.concat(withoutCard(), card("check_problems", list(RUN.problems).map(function (p) { return p.file + ": " + p.error; })), card("warning_list", list(RUN.warnings).map(tell)));
}

// withoutCard folds the operators without a verdict by their reasons, the most frequent first.
function withoutCard() {
  var by = new Map();
  COLS.mark.forEach(function (mark, row) {
    if (mark === MARK.none) by.set(codeOf(row), (by.get(codeOf(row)) || []).concat(row));
  });
  var groups = Array.from(by).sort(function (a, b) { return b[1].length - a[1].length; });
  return h("section", { class: "card", id: "without", hidden: groups.length === 0 }, h("h2", null, say("check_undecided")), groups.map(function (g) {
    var types = Array.from(new Set(g[1].map(function (row) { return inTable(COLS.type, row); }))), body = h("div"), d = detail(g[1][0]);
    return h("details", { class: "group", ontoggle: function () { replace(body, rowList(g[1])); } }, h("summary", null, h("span", { class: "pill" }, g[1].length + " ×"), " ", codeTitle(g[0]), h("code", null, visible(g[0])),
      h("span", { class: "mute small block" }, [bdi(types.slice(0, 4).join(", ") + (types.length > 4 ? ", …" : "")), d && d.reasons.length > 0 && tell(d.reasons[0].t) && [" · ", tell(d.reasons[0].t)]])), body);
  }));
}

// perfTab ranks operators by their cycles, with what each is bound by.
function perfTab() {
  var d = DATA.perf, ops = list(d.operators), before = list(d.baseline_files).length > 0, problems = list(d.problems);
  var heads = ["#", say("col_name"), say("perf_cycles"), say("perf_share"), say("perf_class"), say("perf_data"), say("perf_compute"), say("perf_overlap")].concat(before ? [say("perf_change")] : []);
  return [h("section", { class: "card" }, h("h1", null, say("perf_count", ops.length + d.left, whole(d.total_mcu_cycle)), before && [" · ", say("perf_before", whole(d.baseline_total_mcu_cycle))]),
    h("p", { class: "mute" }, list(d.files).concat(before ? d.baseline_files : []).map(function (f, i) { return [i > 0 && ", ", bdi(f)]; })),
    list(d.notes).map(function (n) { return h("p", { class: "note" }, visible(n.text)); })),
  ops.length > 0 && h("section", { class: "card" }, h("div", { class: "wrap", tabindex: 0, role: "group", "aria-label": say("table") }, h("table", { class: "t perf" }, h("thead", null, h("tr", null, heads.map(function (t, k) { return h("th", { class: k === 1 || k === 4 ? "l" : "" }, t); }))),
    h("tbody", null, ops.slice(0, LISTED).map(function (o) { return perfRow(o, before); })))), (ops.length > LISTED || d.left > 0) && h("p", { class: "mute" }, say("and_more", Math.max(0, ops.length - LISTED) + d.left))),
  list(d.missing).length > 0 && h("section", { class: "card" }, h("h2", null, say("perf_missing")), nameList(d.missing)),
  problems.length > 0 && h("section", { class: "card" }, h("h2", null, say("perf_problems")), nameList(problems.map(function (p) { return list(p).filter(Boolean).join(" "); })))];
}

// whole is a count with its digits in groups; one that is not known is a dash.
function whole(x) { return typeof x === "number" ? String(x).replace(/\B(?=(\d{3})+$)/g, "\u202f") : "–"; }

function share(x) { return typeof x === "number" ? (100 * x).toFixed(1) + " %" : "–"; }

function perfRow(o, before) {
  var row = rowOf(o.name), d = o.derived || {}, change = typeof o.baseline_mcu_cycle === "number" && typeof o.mcu_cycle === "number" && o.baseline_mcu_cycle > 0 ? o.mcu_cycle / o.baseline_mcu_cycle - 1 : null;
  var cells = [whole(o.mcu_cycle), share(o.share_of_total), null, share(d.share_mte), share(d.share_compute), share(d.overlap)];
  return [h("tr", { class: "first" }, h("td", null, String(o.rank)),
    h("td", { class: "l" }, row >= 0 ? rowLink(row) : h("span", { class: "op" }, bdi(o.name))),
    cells.map(function (x, k) { return k === 2 ? h("td", { class: "l" }, visible(o.class), o.confidence in WORDS.en && h("span", { class: "mute" }, " · " + say(o.confidence))) : h("td", null, x); }),
    before && h("td", { class: o.status === "SLOWER" ? "alert" : "" }, visible(o.status || ""), change !== null && " " + (change >= 0 ? "+" : "") + share(change))),
  h("tr", null, h("td"), h("td", { class: "l mute small", colspan: cells.length + (before ? 2 : 1) }, [o.explanation].concat(list(o.advice_text)).map(function (t) { return h("div", null, tell(t)); })))];
}
