
// The panel: everything about one tensor.
function panelCard() { return h("section", { class: "card panel", id: "panel", tabindex: "-1" }); }

function drawPanel() {
  var panel = document.getElementById("panel");
  if (!panel) return;
  if (state.row === null) { replace(panel, h("p", { class: "mute" }, say("nothing"))); return; }
  replace(panel, panelHead(state.row), panelSteps(), panelBody(state.row, Math.max(240, panel.clientWidth - 40)));
  panel.scrollTop = 0;
}

// panelBody is all about a tensor below its name, in a panel of a width.
function panelBody(row, width) {
  var d = detail(row);
  return [d ? panelReasons(d) : null, COLS.total[row] < 0 && (!BY_STATISTICS || COLS.mark[row] === MARK.none) && h("p", null, say("not_compared")), panelLimits(row, d), panelNumbers(row, d), d && panelOperator(d),
    d && panelEvidence(d), panelStatistics(row, d), d && panelTokens(d), d && panelWhere(row, d), d && panelWindow(row), d && panelValues(row, d), d && panelWorst(d), panelMissing(row, d), d && panelTables(d),
    panelNear(row, width), panelCommands(row), d && panelFiles(d)];
}

function panelHead(row) {
  var facts = [say("of_tensors", placeOf(row), rowsOfRound(COLS.round[row]).length), inTable(COLS.type, row), inTable(COLS.shape, row), inTable(COLS.dt, row)].filter(Boolean);
  if (RUN.rounds.length > 1) facts.push(roundName(COLS.round[row]));
  return h("div", { class: "panelhead" }, h("h2", null, opName(row)), h("p", null, statusBadge(statusOf(row)), h("span", { class: "mute" }, " ", bdi(facts.join(" · ")))), otherLink(row));
}

// otherLink opens the operator of a row in the check beside a comparison, and the reverse.
function otherLink(row) {
  var run = isCheck() ? DATA.run : DATA.check, op = nameOf(row).replace(/:.*$/, ""), at = RUN.rounds[COLS.round[row]].at;
  if (!DATA.run || !run) return null;
  var other = run.cols.round.findIndex(function (round, i) {
    var there = run.rounds[round].at;
    return nameIn(run, i).replace(/:.*$/, "") === op && ["rank", "step"].every(function (c) { return !at[c] || !there[c] || at[c] === there[c]; });
  });
  return other >= 0 && h("p", null, h("button", { type: "button", class: "link", id: "other", onclick: function () { use(run); select(other, true); } }, say("other_run")));
}

// panelSteps are the buttons to the bad tensors before and after.
function panelSteps() {
  var button = function (id, by, sign) { return h("button", { type: "button", class: "btn", id: id, title: say(id), "aria-label": say(id), onclick: function () { stepBad(by); document.getElementById(id).focus(); } }, sign); };
  return h("div", { class: "panelsteps" }, button("previous", -1, "↑"), button("next", 1, "↓"));
}

function panelReasons(d) {
  return d.reasons.map(function (r, i) {
    var kind = i > 0 || r.k === "low" && ["LAYER_INPUT_BAD", "ACCUMULATED", "MODEL_NAN"].includes(r.c) ? " second" : "";
    return h("div", { class: "reason" + kind }, codeTitle(r.c), r.c && h("code", null, visible(r.c)), r.k && h("span", { class: "mute" }, " · " + say("confidence", say(r.k))), h("p", null, tell(r.t)));
  });
}

function panelLimits(row, d) {
  if (!d || !d.lim) return null;
  var text = say("limit", COLS.err[row], COLS.total[row], brief(d.lim.v[0]), brief(d.lim.v[1]), visible(d.lim.source));
  return h("p", { class: "mute" }, text, d.first && [" · ", say("first_error", "(" + d.first.at.join(", ") + ")", d.first.r, d.first.n)]);
}

// metricOf is a metric of a detail by its name.
function metricOf(d, name) { return d.m[RUN.metrics.indexOf(name)]; }

// KEY_NUMBERS are the numbers that a panel begins with.
var KEY_NUMBERS = [["mean_rel", "mean_rel_finite"], ["max_abs", "max_abs"], ["pearson", "pearson"], ["SQNR dB", "sqnr_db"], ["ULP max", "ulp_max"], ["rmse", "rmse"]];

function panelNumbers(row, d) {
  if (COLS.total[row] < 0) return null;
  var all = [[say("errors"), percent(COLS.err[row], COLS.total[row])], [say("cosine"), cosine(COLS.cosd[row])]];
  if (isCheck()) all[1] = [say("col_score"), brief(COLS.score[row])];
  else if (d && d.m) KEY_NUMBERS.forEach(function (k) { all.push([k[0], brief(metricOf(d, k[1]))]); });
  else all.push(["mean_rel", brief(COLS.mean_rel[row])], ["max_abs", brief(COLS.max_abs[row])], ["ULP max", brief(COLS.ulp[row])]);
  return h("dl", { class: "keys" }, all.map(function (x) { return h("div", null, h("dt", null, x[0]), h("dd", null, x[1])); }));
}

function panelEvidence(d) {
  if (!d.ev) return null;
  var v = d.ev.v, cells = ["rms", "expected", "propagated", "own", "score"].map(function (name) { return h("div", null, h("dt", null, say("ev_" + name)), h("dd", null, brief(v[name]))); });
  return [h("h3", null, say("evidence")), h("dl", { class: "keys" }, cells), d.ev.fed && d.ev.fed.length > 0 && h("p", null, say("fed_by") + say("colon"), d.ev.fed.slice(0, 5).map(function (row, i) { return [i > 0 && ", ", rowLink(row)]; }))];
}

// panelStatistics shows what is known of a tensor without elements: what it was judged by,
// and the statistics of both sides.
function panelStatistics(row, d) {
  if (!BY_STATISTICS || COLS.total[row] >= 0) return null;
  var keys = [["col_ratio", COLS.ratio[row]], ["z", COLS.z[row]], ["lambda", d && d.lambda && d.lambda[0]], ["ev_expected", COLS.expected[row]], ["score", COLS.score[row]]];
  return [h("h3", null, say("statistics")), h("dl", { class: "keys" }, keys.map(function (k) { return h("div", null, h("dt", null, say(k[0])), h("dd", null, brief(k[1]))); })),
    d && d.stats && h("div", { class: "wrap", tabindex: 0, role: "group", "aria-label": say("table") }, h("table", { class: "t" }, h("thead", null, h("tr", null, h("th", { class: "l" }), h("th", null, say("reference")), h("th", null, say("npu")))),
      h("tbody", null, d.stats.map(function (x) { return h("tr", null, h("td", { class: "l" }, say("stat_" + x[0])), h("td", null, visible(x[1]) || "–"), h("td", null, x[1] === x[2] ? visible(x[2]) : h("b", null, visible(x[2]) || "–"))); }))))];
}

// panelOperator shows the attributes and the tensors of an operator that was computed again.
function panelOperator(d) {
  if (!d.in) return null;
  var head = function (t, k) { return h("th", { class: k < 3 ? "l" : "" }, t); };
  var shape = function (t) { return visible("(" + list(t.shape).join(", ") + ")" + (t.format ? " " + t.format : "")); };
  return [list(d.attrs).length > 0 && [h("h3", null, say("attributes")), h("dl", { class: "lines" }, d.attrs.map(function (a) { return h("div", null, h("dt", null, visible(a.n)), h("dd", null, bdi(a.v), h("span", { class: "mute" }, " · " + tell(a.s)))); }))],
    h("h3", null, say("tensors")), h("div", { class: "wrap", tabindex: 0, role: "group", "aria-label": say("table") }, h("table", { class: "t" }, h("thead", null, h("tr", null, [say("ov_tensor"), "dtype", say("ov_shape"), say("checked"), say("errors"), say("col_score"), say("rms_bound")].map(head))),
      h("tbody", null, d.in.concat(list(d.out)).map(function (t, i) {
        var numbers = i < d.in.length ? ["", "", "", ""] : t.checked ? [t.how in WORDS.en ? say(t.how) : visible(t.how), t.bad + " / " + t.checked, brief(t.worst_ratio), brief(t.rms_ratio)] : ["–", "–", "–", "–"];
        return h("tr", null, [t.name ? visible(t.name) : say(i < d.in.length ? "input" : "output", t.index), visible(t.dtype), [shape(t), t.from && [" · " + say("written_by") + " ", bdi(t.from)]]].concat(numbers).map(function (x, k) { return h("td", { class: k < 3 ? "l" : "" }, x); }));
      }))))];
}

function rowLink(row) {
  return h("button", { type: "button", class: "link", onclick: function () { select(row, true); } }, bdi(shortName(row, 60)), " #" + placeOf(row));
}

// guiltyOf is where the reasons say that errors gather: an axis and a run of it.
function guiltyOf(d) {
  for (var i = 0; i < d.reasons.length; i++) {
    var f = d.reasons[i].f;
    if (f && f.axis >= 0 && f.end > f.first) return f;
  }
  return null;
}

function panelWhere(row, d) {
  var guilty = guiltyOf(d), p = pictures(row), sizes = {};
  (inTable(COLS.shape, row).match(/\d+/g) || []).forEach(function (n, axis) { sizes[axis] = Number(n); });
  var axes = (d.axes || []).filter(function (a) { return a.n > 1; });
  if (guilty) axes.sort(function (a, b) { return (b.a === guilty.axis) - (a.a === guilty.axis) || a.a - b.a; });
  var charts = axes.map(function (a) {
    if (guilty && a.a === guilty.axis) return axisChart(a, guilty.first, guilty.end, guilty.tile);
    for (var box = list(guilty && guilty.box), i = 0; i < box.length; i += 3) if (box[i] === a.a) return axisChart(a, box[i + 1], box[i + 2]); // axis, first, end
    return axisChart(a);
  });
  if (p && p.maps) p.maps.forEach(function (m) { charts.push(mapChart(m, sizes, guilty && { axis: guilty.axis, size: guilty.tile })); });
  if (!charts.length) return null;
  var odd = Object.keys(d.cls || {}).reduce(function (sum, name) { return sum + d.cls[name]; }, 0);
  return [h("h3", null, say("where")), odd > 0 && h("p", { class: "alert" }, say("odd", brief(odd))), h("div", { class: "charts" }, charts)];
}

// panelValues are the charts of the values. Where nearly all of them are in a small part
// of their range, that part is shown first.
function panelValues(row, d) {
  var p = pictures(row), charts = [], inner = p && p.inner && state.inner;
  if (p && p.joint) charts.push(densityChart(inner && p.inner_joint || p.joint, d.lim && d.lim.v));
  if (p && p.values) charts.push(valuesChart(inner || p.values));
  if (p && p.ulp && p.ulp.length) charts.push(ulpChart(p.ulp));
  if (d.abs) charts.push(magnitudeChart(say("abs_chart"), d.abs, number(d.lim.v[0])));
  if (d.rel) charts.push(magnitudeChart(say("rel_chart"), d.rel, number(d.lim.v[1])));
  if (!charts.length) return null;
  var change = function () { state.inner = !state.inner; drawPanel(); };
  return [h("h3", null, say("values"), p && p.inner && [" ", h("button", { type: "button", class: "btn", id: "inner", "aria-pressed": String(Boolean(inner)), onclick: change }, say(inner ? "whole_range" : "inner_range"))]), p && p.sampled && h("p", { class: "mute small" }, say("of_sample", p.sampled)), h("div", { class: "charts" }, charts)];
}

// panelTokens shows how the probabilities of tokens differ by sequence and position.
function panelTokens(d) {
  if (!d.tok) return null;
  var sizes = { 0: d.tok.axes[0].n, 1: d.tok.axes[1].n }, charts = d.tok.axes.map(function (a, k) { return axisChart(a, undefined, undefined, 0, say(k ? "tokens_positions" : "tokens_sequences", a.n)); });
  if (d.tok.map) charts.unshift(mapChart(d.tok.map, sizes, null, say("tokens_map")));
  return [h("h3", null, say("tokens")), h("p", null, tell(d.tok.t)), h("p", { class: "mute small" }, say("tokens_note")), h("div", { class: "charts" }, charts)];
}

// panelMissing says why a row has no pictures, and which command draws them.
function panelMissing(row, d) {
  if (COLS.total[row] < 0 || pictures(row) || isCheck() && d) return null;
  if (!d && statusOf(row) !== "PASS") return [h("p", { class: "mute" }, say("no_detail")), command(detailCommand(row))];
  return h("p", { class: "mute" }, say(statusOf(row) === "PASS" ? "no_pictures_pass" : "no_pictures"));
}

function panelWorst(d) {
  if (!d.w) return null;
  return [h("h3", null, say("worst")), h("div", { class: "wrap", tabindex: 0, role: "group", "aria-label": say("table") }, h("table", { class: "t" }, h("thead", null, h("tr", null, [say("place"), say("cpu"), "NPU", "|d|", say("relative")].map(function (t, i) { return h("th", { class: i ? "" : "l" }, t); }))),
    h("tbody", null, d.w.map(function (e) { return h("tr", null, h("td", { class: "l" }, (e.o ? say("output", e.o) + " " : "") + "(" + list(e.at).join(", ") + ")"), h("td", null, e.r), h("td", null, e.n), h("td", null, brief(e.d[0])), h("td", null, brief(e.d[1]))); }))))];
}

// namedMetrics are those that are defined.
function namedMetrics(d) {
  var all = {};
  RUN.metrics.forEach(function (name, i) { if (d.m[i] !== null && d.m[i] !== undefined) all[name] = d.m[i]; });
  return all;
}

// pairsTable is a table of names and numbers.
function pairsTable(numbers) {
  return h("div", { class: "cols" }, Object.keys(numbers).map(function (name) { return h("div", { class: "pair" }, h("span", null, name), h("b", null, brief(numbers[name]))); }));
}

function panelTables(d) {
  var all = [];
  if (d.std) all.push(h("h3", null, say("standard") + " " + visible(RUN.standard)), h("table", { class: "t" }, h("tbody", null, d.std.map(function (c) { return h("tr", null, h("td", { class: "l" }, c.ok ? "✓" : "✕", " ", visible(c.name)), h("td", null, brief(c.v[0]) + " " + c.rel + " " + brief(c.v[1]))); }))));
  if (d.cls && Object.keys(d.cls).length) all.push(h("h3", null, say("classes")), pairsTable(d.cls));
  if (d.m) all.push(h("details", null, h("summary", null, say("numbers")), pairsTable(namedMetrics(d))));
  return all;
}

// printed is a text as the output of printf: lang.ShellWord says why.
function printed(text) {
  var octal = function (c) { return Array.from(new TextEncoder().encode(c), function (b) { return "\\" + ("00" + b.toString(8)).slice(-3); }).join(""); };
  return "\"$(printf '" + Array.from(text, function (c, i) { return hides(c) || "'\"`\\%!".includes(c) || i === 0 && c === "-" ? octal(c) : c; }).join("") + "')\"";
}

function singleQuoted(word) { return "'" + word.replace(/'/g, "'\\''") + "'"; }

// quote is a word of a command line for a POSIX shell, as lang.ShellWord.
function quote(word) {
  if (/^[-A-Za-z0-9_./:=+@%,]+$/.test(word) && word[0] !== "=") return word;
  return hides(word) ? printed(word) : singleQuoted(word);
}

// shellLine is a command for a POSIX shell, as lang.ShellLine.
function shellLine(words) {
  var lossy = words.some(function (w) { return w.endsWith("\n"); });
  return lossy ? "eval " + printed(words.map(singleQuoted).join(" ")) : words.map(quote).join(" ");
}

// exactName and opsText are dumpdir.ExactName and dumpdir.OpsText.
function exactName(name) { return name.startsWith("re:") || /[*?]/.test(name) ? "re:" + name.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&") : name; }

function opsText(name) {
  var element = exactName(name);
  return element.trim() !== element || /[,\n]|^[[(@]/.test(element) ? "[" + JSON.stringify(element) + "]" : element;
}

// RUN_FLAGS are those that say which data is compared, by which limits.
var REPORT_FLAGS = /^--(format|show-graph|max-bins|min-bins|diff-cnt|diff-order|extra-columns|hpaa-version|bom|topn|baseline|update-baseline|fail-fast|pictures|junit|fail-on|min-coverage)\b/;

// roundArguments are the arguments of the run for the round of a row alone.
function roundArguments(row) {
  var at = RUN.rounds[COLS.round[row]].at;
  return RUN.args.filter(function (a) { return !REPORT_FLAGS.test(a) && !/^--(rank|step|ops|op)=/.test(a); }).concat(at.rank ? "--rank=" + at.rank : [], at.step ? "--step=" + at.step : []);
}

function tensorName(row) { return COLS.op[row] || COLS.name[row]; }

function visibleOp(row) { return (COLS.op[row] || COLS.name[row]).replace(/:(in|out)put:\d+$/, ""); }

// byPeers reports whether only all operators of a kind together have the formula of one.
function byPeers(row) { return isCheck() && list((detail(row) || {}).notes).includes("FORMULA_OF_PEERS"); }

function detailCommand(row) {
  if (isCheck()) return ["dumptool", "check"].concat(byPeers(row) ? RUN.args : roundArguments(row).concat("--ops=" + opsText(COLS.name[row])));
  return ["dumptool", "compare", "detail", "--op=" + exactName(tensorName(row))].concat(roundArguments(row));
}

function command(words) {
  var text = shellLine(words);
  var button = h("button", { type: "button", onclick: function () { copy(text, button); } }, say("copy"));
  return h("div", { class: "cmd" }, h("code", null, text.startsWith("eval ") ? text : words.map(function (w, i) { return [i > 0 && " ", h("span", null, visible(quote(w)))]; })), button);
}

// copy puts a text into the clipboard, where the browser lets a file do so.
function copy(text, button) {
  var done = function () { button.textContent = say("copied"); };
  var byHand = function () {
    var area = h("textarea", { class: "offscreen" });
    area.value = text;
    document.body.append(area);
    area.select();
    try { if (document.execCommand("copy")) done(); } catch (e) { /* the text can still be marked */ }
    area.remove();
  };
  if (navigator.clipboard && navigator.clipboard.writeText) navigator.clipboard.writeText(text).then(done, byHand);
  else byHand();
}

function panelCommands(row) {
  if (state.print || BY_STATISTICS && COLS.total[row] < 0) return null; // nothing is copied from paper; or there are no elements to look at
  var detailed = detailCommand(row);
  if (isCheck()) return !byPeers(row) && [h("h3", null, say("commands")), h("p", { class: "mute small" }, say("cmd_extract")), command(detailed.concat("--extract", "repro"))];
  return [h("h3", null, say("commands")), h("p", { class: "mute small" }, say("cmd_detail")), command(detailed), h("p", { class: "mute small" }, say("cmd_out")), command(detailed.concat("-out", "op" + row)),
    h("p", { class: "mute small" }, say("cmd_page")), command(["dumptool", "compare"].concat(roundArguments(row), "--ops=" + opsText(visibleOp(row)), "--pictures=all", "--format=html", "-out", "op" + row))];
}

// link is a file beside the page: never an address with a scheme.
function link(name) { return h("a", { href: "./" + name.split("/").map(encodeURIComponent).join("/") }, bdi(name)); }

function panelFiles(d) {
  var lines = [[say("reference"), d.ref], [say("npu"), d.npu], [say("npu") + " op", d.npu_op], [say("paired_by"), d.rule], [say("script"), d.script], [say("shapes"), d.shapes && d.shapes.join(" / ")], ["error", d.err]];
  var pairs = lines.filter(function (x) { return x[1]; }).map(function (x) { return h("div", null, h("dt", null, x[0]), h("dd", null, bdi(x[1]))); });
  (d.notes || []).forEach(function (n) { pairs.push(h("div", null, h("dt", null, say("notes")), h("dd", null, tell(n)))); });
  if (d.files) pairs.push(h("div", null, h("dt", null, say("beside")), h("dd", null, d.files.map(function (f, i) { return [i > 0 && ", ", link(f)]; }))));
  return pairs.length > 0 && [h("h3", null, say("files")), h("dl", { class: "lines" }, pairs)];
}
