
// What ranks say of each other: of a comparison whose ranks are sharded otherwise than the
// reference, and of a check.
function rankReports() { return [DATA.run && DATA.run.ranks, DATA.check && DATA.check.ranks].filter(Boolean); }

function ranksTab() { return rankReports().map(rankCards); }

// rankCards are the cards of one report: findings, the matrix, where tensors lie.
function rankCards(d, index) {
  var findings = list(d.findings), notes = list(d.notes), e = d.events || {}, r = d.replicas || {};
  var facts = [say("ranks_world", d.world, d.steps) + (d.axes && d.axes.en ? say("colon") + tell(d.axes) : ""), say("ranks_events", e.checked || 0, e.wrong || 0, e.skipped || 0), say("ranks_replicas", r.sets || 0, r.wrong || 0, r.drift || 0),
    d.located && say("ranks_located", d.located.tensors, d.located.of)].filter(Boolean);
  return [h("section", { class: "card" }, h(index ? "h2" : "h1", null, findings.length ? tell(d.said[0]) : say("ranks_clean")),
    h("ul", { class: "list" }, facts.map(function (f) { return h("li", { class: "mute" }, f); }),
      list(e.reasons).map(function (x) { return h("li", { class: "mute small" }, say("ranks_skipped", x.count) + say("colon"), tell({ en: x.text, zh: x.text_zh || x.text })); }),
      notes.map(function (n, i) { return h("li", { class: "mute" }, h("b", null, visible(n.kind)), " ", tell(d.meant[i]), " · ", say("rank") + " " + ranges(list(n.ranks).map(String)), " · ", say("ranks_times", n.count)); }))),
  findings.length > 0 && h("section", { class: "card" }, h("h2", null, say("ranks_findings"), " ", h("span", { class: "pill bad" }, String(findings.length + d.left))),
    h("ol", { class: "list" }, findings.slice(0, LISTED).map(function (f, i) { return rankFinding(f, d.said[i], d.advice[i]); })), d.left + findings.length > LISTED && h("p", { class: "mute" }, say("and_more", d.left + Math.max(0, findings.length - LISTED)))),
  d.matrix && list(d.matrix.rows).length > 0 && rankMatrix(d.matrix, index),
  list(d.maps).length > 0 && rankMaps(d)];
}

// rankFinding is what is wrong with a rank, why, what it may have damaged, and what to do.
function rankFinding(f, said, advice) {
  var spread = f.spread && f.spread.tensors > 0 && say("ranks_spread", f.spread.tensors, ranges(list(f.spread.ranks).map(String)), ranges(list(f.spread.steps).map(String)));
  return h("li", null, h("b", null, tell(said)), " ", h("span", { class: "mute" }, visible(f.kind) + " · " + say("confidence", say(f.confidence))),
    h("div", { class: "small" }, tell({ en: f.evidence, zh: f.evidence_zh || f.evidence })),
    h("div", { class: "mute small" }, [say("rank") + " " + ranges(list(f.members).map(String)), spread, tell(advice)].filter(Boolean).join(" · "), f.script && [" · ", bdi(f.script)]));
}

// rankMatrix is what is wrong by rank and layer, in the first step in which anything is.
function rankMatrix(m, index) {
  var kinds = { x: "many", c: "many", "#": "some", ".": "pass" }, layers = list(m.layers).map(String);
  var rows = list(m.rows).map(function (row) {
    return { names: list(row.ranks).map(String), cells: layers.map(function (_, i) { var letter = String(row.cells).charAt(i); return kinds[letter] ? { letter: letter } : null; }) };
  });
  var title = say("ranks_matrix", visible(m.step)), legend = ["c", "x", "#", "."].map(function (k) { return k + " " + say("ranks_cell_" + { c: "comm", x: "origin", "#": "spread", ".": "clean" }[k]); }).join(" · ");
  return h("section", { class: "card" }, h("h2", null, title), matrix({ rows: rows, columns: layers }, {
    id: "rank-layers-" + index, label: title, hint: legend, row: say("rank"), column: say("ranks_layer"), chosen: null, none: say("ranks_no_layer"),
    kind: function (item) { return kinds[item.letter]; }, text: function (item) { return item.letter; }, same: function () { return false; },
    lines: function (item) { return [say("ranks_cell_" + { c: "comm", x: "origin", "#": "spread", ".": "clean" }[item.letter])]; }, choose: function () {}
  }));
}

// rankMaps lists where the tensors of roles lie in the reference.
function rankMaps(d) {
  var runs = function (a) {
    return Object.keys(a.runs || {}).sort(compareNatural).map(function (r) {
      return say("rank") + " " + r + say("colon") + list(a.runs[r]).slice(0, 6).map(function (x) { return x[0] === -2 ? say("ranks_padding", x[1]) : x[0] < 0 ? "?" : x[1] > 1 ? x[0] + "–" + (x[0] + x[1] - 1) : String(x[0]); }).join(", ") + (list(a.runs[r]).length > 6 ? ", …" : "");
    });
  };
  return h("section", { class: "card" }, h("h2", null, say("ranks_maps")), h("div", { class: "wrap", tabindex: 0, role: "group", "aria-label": say("ranks_maps") }, h("table", { class: "t" },
    h("thead", null, h("tr", null, [say("col_name"), say("ranks_kind"), say("ranks_where"), say("ranks_score")].map(function (t, k) { return h("th", { class: k === 3 ? "" : "l" }, t); }))),
    h("tbody", null, d.maps.slice(0, LISTED).map(function (m) {
      return h("tr", null, h("td", { class: "l" }, h("span", { class: "op" }, bdi(m.role)), h("div", { class: "mute small" }, bdi(m.tensor), list(m.steps).length > 0 && " · " + say("ov_step") + " " + list(m.steps).map(function (x) { return x[1] > x[0] ? x[0] + "–" + x[1] : String(x[0]); }).join(", "))), h("td", { class: "l" }, visible(m.kind)),
        h("td", { class: "l small" }, list(m.axes).map(function (a) { return h("div", null, say("ranks_axis", a.axis), " ", runs(a).join("; ")); })),
        h("td", null, number(m.score) === null ? "–" : brief(number(m.score)), h("div", { class: "mute small" }, say("confidence", say(m.confidence)))));
    })))), d.maps.length + d.left_maps > LISTED && h("p", { class: "mute" }, say("and_more", d.left_maps + Math.max(0, d.maps.length - LISTED))));
}
