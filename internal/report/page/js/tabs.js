
// The tabs beside the comparison, each where there is data for it.
var TABS = [
  { key: "run", has: function () { return RUN; }, count: function () { return RUN.cols.mark.filter(function (m) { return m >= MARK.bad; }).length; }, make: runTab },
  { key: "baseline", has: function () { return RUN && RUN.baseline; }, count: function () { return changed(1).length + changed(2).length; }, make: baselineTab },
  { key: "about", has: function () { return RUN; }, count: function () { return RUN.warnings ? RUN.warnings.length : 0; }, make: aboutTab }
];

function tabs() { return TABS.filter(function (t) { return t.has(); }); }

function changed(change) {
  var rows = [];
  COLS.chg.forEach(function (c, row) { if (c === change) rows.push(row); });
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
  return h("ul", { class: "list" }, rows.slice(0, LISTED).map(function (row) { return h("li", null, statusBadge(statusOf(row)), " ", rowLink(row), " ", h("span", { class: "mute" }, percent(COLS.err[row], COLS.total[row]))); }),
    rows.length > LISTED && h("li", { class: "mute" }, say("and_more", rows.length - LISTED)));
}

function nameList(names) {
  return h("ul", { class: "list" }, names.slice(0, LISTED).map(function (n) { return h("li", null, bdi(n)); }), names.length > LISTED && h("li", { class: "mute" }, say("and_more", names.length - LISTED)));
}

function aboutTab() {
  var lines = [[say("tool"), RUN.tool], [say("arguments"), RUN.args && RUN.args.map(quote).join(" ")], [say("profile"), say("profile_text", RUN.profile, RUN.tol, RUN.nan)],
    [say("verdict"), RUN.standard ? say("standard_of", RUN.standard) : RUN.verdict && say("v_" + RUN.verdict) + (tell(RUN.why) && " (" + tell(RUN.why) + ")")],
    [say("effective"), RUN.effective], [say("order"), tell(RUN.order)], [say("inputs"), tell(RUN.graph) || say("inputs_unknown")], [say("coverage"), say("coverage_of", RUN.compared, RUN.reference)]];
  var lists = ["ref_only", "npu_only", "skipped", "unread", "superseded", "rounds", "unused"].map(function (key) {
    var names = RUN.coverage[key === "unused" ? "unused_op_config" : key] || [];
    return names.length > 0 && h("section", { class: "card" }, h("h2", null, say("list_" + key) + " ", h("span", { class: "pill" }, String(names.length))), nameList(names));
  });
  return [h("section", { class: "card" }, h("dl", { class: "lines" }, lines.filter(function (x) { return x[1]; }).map(function (x) { return h("div", null, h("dt", null, x[0]), h("dd", null, bdi(x[1]))); }))),
    RUN.warnings && RUN.warnings.length > 0 && h("section", { class: "card" }, h("h2", null, say("warning_list")), h("ul", { class: "list" }, RUN.warnings.map(function (w) { return h("li", null, tell(w)); }))), lists];
}
