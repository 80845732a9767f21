
// The card of the verdict: what is wrong, where it begins, and buttons to what was found.

// verdictWord is the word of the verdict, which its line begins with.
function verdictWord(headline) {
  var text = typeof headline === "string" ? headline : headline.en, word = /^[A-Z]+(?: [A-Z]+)*/.exec(text);
  return word ? word[0] : "";
}

function verdictCard() {
  var word = verdictWord(RUN.headline), text = tell(RUN.headline).slice(word.length).replace(/^\s*[:：]\s*/, "");
  var kind = word === "PASS" ? (RUN.cols.mark.includes(MARK.warn) ? "warn" : "ok") : word === "FAIL" || word === "ERROR" ? "bad" : "warn";
  var sign = { ok: "✓", warn: word === "PASS" ? "✓" : "▲", bad: "✕" }[kind], find = RUN.rounds[state.round].find;
  return h("section", { class: "card verdict" }, h("div", { class: "stamp " + kind }, h("span", { "aria-hidden": "true" }, sign + " "), word),
    h("div", { class: "answer" }, h("h1", null, parted(text)), firstBadLines(find), headFacts(),
      RUN.interrupted && h("p", { class: "note" }, say("interrupted")), RUN.failed_fast && h("p", { class: "note" }, say("failed_fast")),
      !RUN.rounds[state.round].known && COUNT > 0 && h("p", { class: "note" }, say("no_order")),
      RUN.warnings && RUN.warnings.length > 0 && h("p", { class: "note" }, h("button", { type: "button", class: "link", onclick: function () { openTab("about"); } }, say("warnings", RUN.warnings.length))), cards(find)));
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
    d && d.reasons.length > 0 && h("p", null, tell(d.reasons[0].t))];
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
  add(say("first_overflow"), find.overflow);
  add(say("largest_jump"), find.jump, say("jump_factor", brief(one(find.factor))));
  if (find.bad < 0 && BY_STATISTICS) {
    var highest = -1;
    rowsOfRound(state.round).forEach(function (row) { if (METRICS.score(row) > 0 && (highest < 0 || METRICS.score(row) > METRICS.score(highest))) highest = row; });
    if (highest >= 0) add(say("worst_score", brief(COLS.score[highest])), highest);
  } else if (find.bad < 0) {
    var worst = -1, share = METRICS.share;
    rowsOfRound(state.round).forEach(function (row) { if (share(row) > 0 && (worst < 0 || share(row) > share(worst))) worst = row; });
    if (worst >= 0) add(say("worst_margin", percent(COLS.err[worst], COLS.total[worst]), ""), worst);
  }
  all.push(h("button", { type: "button", class: "fact", onclick: function () { openTab("about"); } }, h("span", null, say("coverage")), h("b", null, percent(RUN.compared, RUN.reference)), h("small", null, say("coverage_of", RUN.compared, RUN.reference))));
  return h("div", { class: "facts" }, all);
}
