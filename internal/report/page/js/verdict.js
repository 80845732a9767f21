
// The card of the verdict: what is wrong, where it begins, and buttons to what was found.

// verdictWord is the word of the verdict, which its line begins with.
function verdictWord(headline) {
  var text = typeof headline === "string" ? headline : headline.en, word = /^[A-Z]+(?: [A-Z]+)*/.exec(text);
  return word ? word[0] : "";
}

function verdictCard() {
  var word = verdictWord(RUN.headline), text = tell(RUN.headline), stamp = text.startsWith(word) ? word : text.replace(/[:：].*$/, ""), right = word === "PASS" || word === "OK";
  var kind = right ? (RUN.cols.mark.includes(MARK.warn) ? "warn" : "ok") : ["FAIL", "ERROR", "WRONG"].includes(word) ? "bad" : "warn";
  var sign = { ok: "✓", warn: right ? "✓" : "▲", bad: "✕" }[kind], find = RUN.rounds[state.round].find;
  text = text.slice(stamp.length).replace(/^\s*[:：]\s*/, "");
  return h("section", { class: "card verdict" }, h("div", { class: "stamp " + kind }, h("span", { "aria-hidden": "true" }, sign + " "), stamp),
    h("div", { class: "answer" }, h("h1", null, parted(text)), firstBadLines(find), headFacts(),
      RUN.interrupted && h("p", { class: "note" }, say("interrupted")), RUN.failed_fast && h("p", { class: "note" }, say("failed_fast")),
      !RUN.rounds[state.round].known && COUNT > 0 && h("p", { class: "note" }, say("no_order")),
      RUN.warnings && RUN.warnings.length > 0 && !isCheck() && h("p", { class: "note" }, h("button", { type: "button", class: "link", onclick: function () { openTab("about"); } }, say("warnings", RUN.warnings.length))), cards(find), copyReport(find.bad)));
}

// copyReport is a button that copies what a report of a bug needs.
function copyReport(row) {
  var button = h("button", { type: "button", class: "btn", id: "copy-report", onclick: function () { copy(reportText(row), button); } }, say("copy_report"));
  return !state.print && h("p", null, button);
}

// reportText is the verdict, the first bad row with its evidence, and the commands.
function reportText(row) {
  var lines = [tell(RUN.headline)], d = row < 0 ? null : detail(row);
  if (row >= 0) lines.push("#" + placeOf(row) + " " + [visible(nameOf(row)), inTable(COLS.type, row), inTable(COLS.shape, row), inTable(COLS.dt, row), roundName(COLS.round[row])].filter(Boolean).join(" · "));
  if (d) lines = lines.concat(d.reasons.map(function (r) { return [visible(r.c), tell(r.t)].filter(Boolean).join(": "); }), visible(d.script || ""));
  if (row >= 0) lines.push("$ " + shellLine(detailCommand(row)));
  return lines.concat("$ " + shellLine(["dumptool", isCheck() ? "check" : "compare"].concat(RUN.args)), visible(RUN.tool)).filter(Boolean).join("\n") + "\n";
}

// headFacts are what else there is to know of the verdict.
function headFacts() {
  return RUN.facts && h("dl", { class: "lines" }, RUN.facts.map(function (f) {
    return h("div", null, h("dt", null, tell(f.label)), h("dd", null, f.lines.map(function (line) { var text = tell(line); return h("p", null, /^\{/.test(text) ? h("code", null, text) : bdi(text)); })));
  }));
}

function firstBadLines(find) {
  if (find.bad < 0) return null;
  var d = detail(find.bad), facts = ["#" + placeOf(find.bad), inTable(COLS.type, find.bad), inTable(COLS.shape, find.bad)].filter(Boolean);
  var effects = [COLS.total[find.bad] > 0 && say("errors_share", percent(COLS.err[find.bad], COLS.total[find.bad])), find.inherited > 0 && say("inherit", find.inherited), find.outputs_bad && say("outputs_bad")].filter(Boolean);
  return [h("p", { class: "lead" }, say("first_bad") + say("colon"), h("button", { type: "button", class: "link", onclick: function () { select(find.bad, true); } }, opName(find.bad)), h("span", { class: "mute" }, " ", bdi(facts.join(" · ")))),
    h("p", null, d && d.reasons.length > 0 && [codeTitle(d.reasons[0].c), h("code", null, visible(d.reasons[0].c)), " "], h("span", { class: "mute" }, effects.join(" · "))),
    d && d.reasons.length > 0 && h("p", null, tell(d.reasons[0].t)),
    d && d.script && h("p", { class: "script" }, say("script") + say("colon"), h("code", null, bdi(d.script)))];
}

// cards are buttons to what was found.
function cards(find) {
  var all = [];
  var add = function (title, row, note) {
    if (row >= 0) all.push(h("button", { type: "button", class: "fact", onclick: function () { select(row, true); } }, h("span", null, title), h("b", null, h("bdi", null, parted(shortName(row, 40)))), h("small", null, "#" + placeOf(row) + (note ? " · " + note : ""))));
  };
  add(say("first_bad"), find.bad);
  if (find.damaged !== find.bad) add(say("first_damaged"), find.damaged);
  (find.origins || []).slice(0, 3).forEach(function (row) { if (row !== find.bad && row !== find.damaged) add(say("origins"), row); });
  add(say("last_good"), find.good);
  if (find.suspects && find.suspects.length) add(say("suspects"), find.suspects[0], find.suspects.length > 1 ? "+" + (find.suspects.length - 1) : "");
  add(say("first_nan"), find.nan);
  if (find.overflow !== find.nan) add(say("first_overflow"), find.overflow);
  add(say("largest_jump"), find.jump, say("jump_factor", brief(one(find.factor))));
  if (find.bad < 0 && (BY_STATISTICS || isCheck())) {
    var highest = -1;
    rowsOfRound(state.round).forEach(function (row) { if (METRICS.score(row) > 0 && (highest < 0 || METRICS.score(row) > METRICS.score(highest))) highest = row; });
    if (highest >= 0) add(say("worst_score", brief(COLS.score[highest])), highest);
  } else if (find.bad < 0) {
    var worst = -1, of = METRICS.share;
    rowsOfRound(state.round).forEach(function (row) { if (of(row) > 0 && (worst < 0 || of(row) > of(worst))) worst = row; });
    if (worst >= 0) add(say("worst_margin", percent(COLS.err[worst], COLS.total[worst]), ""), worst);
  }
  all.push(h("button", { type: "button", class: "fact", onclick: function () { if (isCheck()) document.getElementById("without").scrollIntoView(); else openTab("about"); } }, h("span", null, say("coverage")), h("b", null, percent(RUN.compared, RUN.reference)), h("small", null, say("coverage_of", RUN.compared, RUN.reference) + (isCheck() ? ", " + say("bytes_of", share(RUN.share)) : ""))));
  return h("div", { class: "facts" }, all);
}
