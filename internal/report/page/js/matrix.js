
// The matrix: a cell for every rank and step. Neighbouring rows of equal cells are one.
var MATRIX = { label: 84, tall: 18, least: 9, most: 28, head: 16, apart: 6 };

// compareNatural orders texts with the numbers in them as numbers.
function compareNatural(a, b) {
  var x = String(a).match(/\d+|\D+/g) || [], y = String(b).match(/\d+|\D+/g) || [];
  for (var i = 0; i < Math.min(x.length, y.length); i++) {
    if (x[i] === y[i]) continue;
    return /^\d/.test(x[i]) && /^\d/.test(y[i]) && Number(x[i]) - Number(y[i]) || (x[i] < y[i] ? -1 : 1);
  }
  return x.length - y.length;
}

// ranges lists numbers and other texts in their order, runs of numbers put together.
function ranges(values) {
  var all = values.slice().sort(compareNatural), parts = [];
  for (var i = 0, k; i < all.length; i = k) {
    for (k = i + 1; k < all.length && /^\d+$/.test(all[k - 1]) && Number(all[k]) === Number(all[k - 1]) + 1; k++);
    parts.push(k - i > 1 ? all[i] + "–" + all[k - 1] : all[i]);
  }
  return parts.join(", ");
}

// gridOf puts items into rows by what rowOf says of them, and into columns by columnOf.
// Neighbouring rows whose cells have equal keys are folded to the first.
function gridOf(items, rowOf, columnOf, keyOf) {
  var unique = function (of) { return Array.from(new Set(items.map(of))).sort(compareNatural); };
  var names = unique(rowOf), columns = unique(columnOf), at = new Map(), place = new Map();
  columns.forEach(function (c, i) { place.set(c, i); });
  items.forEach(function (item) {
    var row = rowOf(item);
    if (!at.has(row)) at.set(row, new Array(columns.length).fill(null));
    if (at.get(row)[place.get(columnOf(item))] === null) at.get(row)[place.get(columnOf(item))] = item;
  });
  var rows = [];
  names.forEach(function (name) {
    var cells = at.get(name), key = cells.map(function (c) { return c === null ? "" : keyOf(c); }).join("\u001f"), before = rows[rows.length - 1];
    if (before && before.key === key) before.names.push(name);
    else rows.push({ names: [name], cells: cells, key: key });
  });
  return { rows: rows, columns: columns };
}

// matrix is a matrix of items in a grid. what has its label, and for an item its kind, the
// words that stand for it and the text in its cell; choose is called for one.
function matrix(grid, what) {
  var box = h("div", { class: "matrix" }), read = h("p", { class: "mute small", role: "status" }, what.hint), cursor = null;
  var ringAt = function (svg, kind, at, wide) {
    if (at) svg.append(s("rect", { class: kind, x: MATRIX.label + at[1] * wide + 0.75, y: MATRIX.head + at[0] * MATRIX.tall + 0.75, width: wide - 1.5, height: MATRIX.tall - 1.5, rx: 2 }));
  };
  var find = function (item) {
    for (var r = 0; r < grid.rows.length; r++) for (var c = 0; c < grid.columns.length; c++) if (grid.rows[r].cells[c] !== null && what.same(grid.rows[r].cells[c], item, grid.rows[r])) return [r, c];
    return null;
  };
  var widthOfCell = function () { return Math.max(MATRIX.least, Math.min(MATRIX.most, Math.floor((box.clientWidth - MATRIX.label - 4) / grid.columns.length))); };
  var lines = function (at) {
    var row = grid.rows[at[0]], item = row.cells[at[1]];
    var place = [what.row + " " + ranges(row.names), what.column + " " + grid.columns[at[1]]].map(visible).join(" · ");
    return item === null ? [place, what.none || say("matrix_none")] : [place].concat(what.lines(item));
  };
  var tell = function (at) { replace(read, lines(at).map(function (line, i) { return [i > 0 && " · ", line]; })); };
  var paint = function () {
    var wide = widthOfCell(), width = MATRIX.label + wide * grid.columns.length + 1, height = MATRIX.head + MATRIX.tall * grid.rows.length + 1;
    var svg = s("svg", { width: width, height: height, viewBox: "0 0 " + width + " " + height, "aria-hidden": "true" }), paths = {}, signs = {};
    svg.append(s("text", { class: "tick", x: 0, y: 11 }, visible(what.row + " \\ " + what.column)));
    var longest = grid.columns.reduce(function (a, name) { return Math.max(a, widthOf(shorten(visible(name), 8), "11px")); }, 0), every = Math.ceil((longest + MATRIX.apart) / wide);
    grid.columns.forEach(function (name, c) { if (c % every === 0) svg.append(s("text", { class: "tick", x: MATRIX.label + (c + 0.5) * wide, y: 11, "text-anchor": "middle" }, shorten(visible(name), 8))); });
    grid.rows.forEach(function (row, r) {
      var y = MATRIX.head + r * MATRIX.tall;
      svg.append(s("text", { class: "tick", x: MATRIX.label - 6, y: y + 13, "text-anchor": "end" }, fitted(visible(ranges(row.names)), MATRIX.label - 8, "11px")));
      row.cells.forEach(function (item, c) {
        if (item === null) return;
        var kind = what.kind(item), x = MATRIX.label + c * wide, middle = x + wide / 2;
        paths[kind] = (paths[kind] || "") + "M" + (x + 1) + " " + (y + 1) + "h" + (wide - 2) + "v" + (MATRIX.tall - 2) + "h" + (2 - wide) + "z";
        if (what.text) { if (widthOf(what.text(item), "11px") < wide) svg.append(s("text", { class: "celltext " + kind, x: middle, y: y + 13, "text-anchor": "middle" }, what.text(item))); }
        else signs[kind] = (signs[kind] || "") + matrixSign(kind, middle, y + MATRIX.tall / 2);
      });
    });
    Object.keys(paths).forEach(function (kind) { svg.prepend(s("path", { class: "cell " + kind, d: paths[kind] })); });
    Object.keys(signs).forEach(function (kind) { if (signs[kind]) svg.append(s("path", { class: "sign " + kind, d: signs[kind] })); });
    ringAt(svg, "ring", what.chosen === null ? null : find(what.chosen), wide);
    if (cursor && document.activeElement === box) ringAt(svg, "cursor", cursor, wide);
    replace(box, svg);
    return wide;
  };
  var under = function (event) {
    var frame = box.firstChild.getBoundingClientRect(), r = Math.floor((event.clientY - frame.top - MATRIX.head) / MATRIX.tall), c = Math.floor((event.clientX - frame.left - MATRIX.label) / widthOfCell());
    return r >= 0 && c >= 0 && r < grid.rows.length && c < grid.columns.length ? [r, c] : null;
  };
  var choose = function (at) { if (at && grid.rows[at[0]].cells[at[1]] !== null) what.choose(grid.rows[at[0]].cells[at[1]], grid.rows[at[0]]); };
  build(box, { id: what.id, tabindex: 0, role: "application", "aria-label": what.label, "aria-roledescription": say("matrix_role"),
    onpointermove: function (event) { var at = under(event); if (at) { showTip(event.clientX, event.clientY, lines(at)); tell(at); } else hideTip(); },
    onpointerleave: hideTip,
    onclick: function (event) { choose(under(event)); },
    onfocus: function () { cursor = cursor || what.chosen !== null && find(what.chosen) || [0, 0]; paint(); tell(cursor); },
    onblur: paint,
    onkeydown: function (event) {
      var by = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(cursor); }
      if (!by) return;
      event.preventDefault();
      cursor = [Math.max(0, Math.min(grid.rows.length - 1, cursor[0] + by[0])), Math.max(0, Math.min(grid.columns.length - 1, cursor[1] + by[1]))];
      var wide = paint();
      box.scrollTop = Math.max(Math.min(box.scrollTop, MATRIX.head + cursor[0] * MATRIX.tall - 20), MATRIX.head + (cursor[0] + 2) * MATRIX.tall - box.clientHeight);
      box.scrollLeft = Math.max(Math.min(box.scrollLeft, cursor[1] * wide), MATRIX.label + (cursor[1] + 1) * wide - box.clientWidth);
      tell(cursor);
    } }, []);
  matrices.push(paint);
  return [box, read];
}

// matrices draw those of the tab, which need to know their width.
var matrices = [];
function drawMatrices() { matrices.forEach(function (paint) { paint(); }); }

// matrixSign is what a cell has beside its colour: a cross where it is bad, a triangle where
// it passes with a warning, a ring for rounding, a dot where it passes.
function matrixSign(kind, x, y) {
  switch (kind) {
  case "bad": return "M" + (x - 3.5) + " " + (y - 3.5) + "l7 7m0 -7l-7 7";
  case "warn": return "M" + x + " " + (y - 3.5) + "l4 7h-8z";
  case "rounding": return circle(x, y, 3);
  case "pass": return circle(x, y, 1.2);
  }
  return "M" + (x - 3) + " " + y + "h6";
}

// STATUS_KINDS are the kinds of cells by status: what is not among them was not compared.
var STATUS_KINDS = { FAIL: "bad", ERROR: "bad", SHAPE_MISMATCH: "bad", DTYPE_MISMATCH: "bad", AMBIGUOUS: "bad", WARN: "warn", PARTIAL: "warn", ROUNDING: "rounding", PASS: "pass", WRONG: "bad", CRASHED: "bad", MISFIT: "warn", LOW: "rounding", OK: "pass" };

// roundsCard chooses one of several rounds.
function roundsCard() {
  var all = RUN.rounds.map(function (_, i) { return i; }), bad = all.filter(function (i) { return STATUS_KINDS[RUN.rounds[i].status] === "bad"; }).length;
  var at = function (i) { return RUN.rounds[i].at; }, ranks = all.some(function (i) { return at(i).rank; });
  var grid = gridOf(all,
    function (i) { return [at(i).rank, at(i).graph && "graph " + at(i).graph, at(i).model].filter(Boolean).join(" ") || (at(i).step ? "–" : roundName(i)); },
    function (i) { return at(i).step || "–"; },
    function (i) { var find = RUN.rounds[i].find; return RUN.rounds[i].status + " " + (find.bad >= 0 ? nameOf(find.bad) : ""); });
  var title = say("rounds_title", bad, RUN.rounds.length);
  return h("section", { class: "card" }, h("h2", null, title), matrix(grid, {
    id: "rounds", label: title, hint: say("matrix_hint"), row: ranks ? say("rank") : say("round"), column: say("step"), chosen: state.round,
    kind: function (i) { return STATUS_KINDS[RUN.rounds[i].status] || "none"; },
    same: function (cell, i, row) { return cell === i || row.names.length > 1 && at(cell).step === at(i).step && row.names.includes(at(i).rank); },
    lines: function (i) { var find = RUN.rounds[i].find; return [statusBadge(RUN.rounds[i].status), find.bad >= 0 && h("span", null, say("first_bad") + say("colon") + "#" + placeOf(find.bad) + " ", bdi(shortName(find.bad, 60)))].filter(Boolean); },
    choose: chooseRound
  }), h("p", { class: "mute small" }, say("round") + say("colon"), h("b", null, bdi(roundName(state.round)))));
}
