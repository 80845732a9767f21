
// The strip: the error of every tensor in execution order.
var STRIP = { left: 60, right: 10, flag: 20, lane: 16, height: 150, below: 14, decades: 12, powers: 32, least: 3 };

// baseRows are the rows of the round that are in the chosen module, stripRows those of them
// that the strip shows: within the zoom.
function baseRows() {
  var rows = rowsOfRound(state.round);
  return state.module === null ? rows : rows.filter(function (row) { return within(state.module, inTable(COLS.mod, row)); });
}

function stripRows() {
  var rows = baseRows();
  return state.zoom ? rows.slice(state.zoom[0], state.zoom[1]) : rows;
}

// grouped joins neighbours so that no mark is narrower than least pixels. The worst of
// them is drawn: that of the largest mark, then of the largest value.
function grouped(rows, width, valueOf, marks) {
  var step = width / rows.length, size = step < STRIP.least ? Math.ceil(STRIP.least / step) : 1, groups = [];
  for (var i = 0; i < rows.length; i += size) {
    var best = rows[i];
    for (var k = i + 1; k < Math.min(i + size, rows.length); k++) if (worse(rows[k], best, valueOf, marks)) best = rows[k];
    groups.push({ row: best, first: i, last: Math.min(i + size, rows.length) - 1, x: STRIP.left + (i + Math.min(i + size, rows.length)) / 2 * step });
  }
  return groups;
}

function worse(a, b, valueOf, marks) {
  if (marks[a] !== marks[b]) return marks[a] > marks[b];
  return height(valueOf(a)) > height(valueOf(b));
}

// height orders values: undefined, numbers, then what is not finite.
function height(x) { return x === null ? -1 : isFinite(x) ? Math.abs(x) : Infinity; }

// scaleOf is the scale of the strip: decades of the values that are drawn, of logarithms
// of ratios powers of two on both sides of 1.
function scaleOf(groups, valueOf, metric) {
  var low = Infinity, high = -Infinity;
  if (metric === "ratio") {
    var most = groups.reduce(function (most, g) { var v = valueOf(g.row); return v === null || !isFinite(v) ? most : Math.max(most, Math.abs(v)); }, 1);
    most = Math.min(Math.ceil(most), STRIP.powers);
    return { low: -most, high: most, ratio: true };
  }
  groups.forEach(function (g) {
    var v = valueOf(g.row);
    if (v === null || !isFinite(v) || v <= 0) return;
    low = Math.min(low, v);
    high = Math.max(high, v);
  });
  if (high < low) return { low: -1, high: 0 };
  var top = Math.ceil(Math.log10(high)), bottom = Math.floor(Math.log10(low));
  if (top === bottom) top++;
  return { low: Math.max(bottom, top - STRIP.decades), high: top };
}

var strip = { svg: null, groups: [], width: 0 };

function drawStrip() {
  var box = document.getElementById("strip");
  if (!box) return;
  var rows = stripRows(), width = Math.max(240, box.clientWidth), inner = width - STRIP.left - STRIP.right;
  var valueOf = METRICS[state.metric], groups = grouped(rows, inner, valueOf, COLS.mark), scale = scaleOf(groups, valueOf, state.metric);
  var top = STRIP.flag + STRIP.lane, base = top + STRIP.height;
  var y = function (v) {
    if (!scale.ratio && v <= 0) return base;
    return base - Math.max(0, Math.min(1, ((scale.ratio ? v : Math.log10(v)) - scale.low) / (scale.high - scale.low))) * STRIP.height;
  };
  var bad = RUN.rounds[state.round].find.bad, flag = groupOf(groups, rows, bad);
  var svg = s("svg", { width: width, height: base + STRIP.below, viewBox: "0 0 " + width + " " + (base + STRIP.below), role: "img",
    "aria-label": say("strip_label", rows.length, bad < 0 ? say("strip_none") : visible(COLS.name[bad])) });
  var paint = function (tag, attributes) { svg.append(s(tag, attributes)); };
  if (flag) paint("rect", { class: "after", x: flag.x, y: top, width: width - STRIP.right - flag.x, height: STRIP.height });
  var every = Math.ceil((scale.high - scale.low) / 5);
  for (var d = scale.low; d <= scale.high; d++) {
    if ((scale.ratio ? d : d - scale.low) % every) continue;
    var at = base - (d - scale.low) / (scale.high - scale.low) * STRIP.height;
    paint("line", { class: "grid", x1: STRIP.left, x2: width - STRIP.right, y1: at, y2: at });
    svg.append(s("text", { class: "tick", x: STRIP.left - 6, y: at + 4, "text-anchor": "end" }, scale.ratio ? ratioText(d) : decade(d)));
  }
  svg.append(s("text", { class: "tick", transform: "translate(11 " + (top + STRIP.height) / 2 + ") rotate(-90)", "text-anchor": "middle" }, fitted(say("m_" + state.metric), top + STRIP.height, "11px")));
  paint("line", { class: "axis", x1: STRIP.left, x2: width - STRIP.right, y1: base, y2: base });
  if (groups.some(function (g) { var v = valueOf(g.row); return v !== null && !isFinite(v); }))
    svg.append(s("text", { class: "tick", x: STRIP.left - 6, y: STRIP.flag + 11, "text-anchor": "end" }, say("lane")));
  var slot = groups.length ? inner / groups.length : inner, paths = stripPaths(groups, valueOf, y, base, scale.ratio ? y(0) : base, slot, COLS.mark, STRIP.flag + STRIP.lane / 2);
  Object.keys(paths).forEach(function (name) { if (paths[name]) paint("path", { class: "mark " + name, d: paths[name] }); });
  var selected = groupOf(groups, rows, state.row);
  if (selected) paint("line", { class: "selected", x1: selected.x, x2: selected.x, y1: STRIP.flag, y2: base + 8 });
  if (flag) drawFlag(svg, flag, bad, width, base);
  strip.groups = groups;
  strip.width = width;
  strip.rows = rows;
  replace(box, svg);
  drawRibbon(rows, width);
}

function decade(d) { return d >= -2 && d <= 2 ? String(Number(Math.pow(10, d).toPrecision(1))) : "1e" + d; }

// ratioText is a power of two as people write a ratio.
function ratioText(d) { return d >= 0 ? "×" + brief(Math.pow(2, d)) : "÷" + brief(Math.pow(2, -d)); }

// stripPaths are the marks by their kinds, a path for each; bars begin at zero, and what is
// not finite is in a lane.
function stripPaths(groups, valueOf, y, base, zero, slot, marks, lane) {
  var paths = { pale: "", good: "", hollow: "", square: "", tick: "", badtick: "", needle: "", diamond: "" };
  var half = Math.max(0.8, Math.min(4, slot * 0.3)), dot = Math.max(1.4, Math.min(3.2, slot * 0.35));
  groups.forEach(function (g) {
    var v = valueOf(g.row), mark = marks[g.row], x = round2(g.x);
    if (v === null) {
      paths[mark >= MARK.bad ? "badtick" : "tick"] += "M" + round2(x - half) + " " + (base + 3) + "h" + round2(2 * half) + "v6h" + round2(-2 * half) + "z";
      return;
    }
    var at = round2(isFinite(v) ? y(v) : lane);
    var from = isFinite(v) ? round2(zero) : at + 4;
    if (mark === MARK.origin) {
      paths.needle += bar(x, Math.max(half, 1.2), at, from);
      paths.diamond += "M" + x + " " + round2(at - 6) + "l5 6l-5 6l-5 -6z";
    } else if (mark === MARK.bad) paths.pale += bar(x, half, at, from);
    else if (mark === MARK.warn) paths.square += "M" + round2(x - dot) + " " + round2(at - dot) + "h" + round2(2 * dot) + "v" + round2(2 * dot) + "h" + round2(-2 * dot) + "z";
    else paths[mark === MARK.rounding ? "hollow" : "good"] += circle(x, at, dot);
  });
  return paths;
}

function round2(x) { return Math.round(x * 100) / 100; }
function bar(x, half, from, to) { return "M" + round2(x - half) + " " + from + "h" + round2(2 * half) + "V" + to + "h" + round2(-2 * half) + "z"; }
function circle(x, y, r) { return "M" + round2(x - r) + " " + y + "a" + r + " " + r + " 0 1 0 " + 2 * r + " 0a" + r + " " + r + " 0 1 0 " + -2 * r + " 0z"; }

// drawFlag names the first bad tensor where there is room beside its line.
function drawFlag(svg, flag, bad, width, base) {
  svg.append(s("line", { class: "flagline", id: "flag", "data-row": bad, x1: flag.x, x2: flag.x, y1: 6, y2: base }));
  svg.append(s("path", { class: "flagmark", d: "M" + round2(flag.x) + " 4h8v8h-8z" }));
  var name = visible(shortName(bad, 60)), right = width - flag.x - 16, left = flag.x - 8;
  var texts = [say("flag", placeOf(bad), name), say("flag", placeOf(bad), shorten(name, 24)), "#" + placeOf(bad)];
  for (var i = 0; i < texts.length; i++) {
    var size = widthOf(texts[i], "700 12px");
    if (size > right && size > left && i < texts.length - 1) continue;
    var toRight = size <= right || right >= left;
    svg.append(s("text", { class: "flagtext", x: toRight ? flag.x + 12 : flag.x - 5, y: 13, "text-anchor": toRight ? "start" : "end" }, texts[i]));
    return;
  }
}

function groupOf(groups, rows, row) {
  var at = row === null || row < 0 ? -1 : rows.indexOf(row);
  if (at < 0) return null;
  for (var i = 0; i < groups.length; i++) if (at >= groups[i].first && at <= groups[i].last) return groups[i];
  return null;
}

// groupAt is the group under a place of the strip.
function groupAt(x) {
  var inner = strip.width - STRIP.left - STRIP.right, rows = strip.rows.length;
  var at = Math.floor((x - STRIP.left) / inner * rows);
  for (var i = 0; i < strip.groups.length; i++) if (at <= strip.groups[i].last) return at < 0 ? null : strip.groups[i];
  return null;
}

// listenStrip lets the pointer show, choose and zoom.
function listenStrip(box) {
  var start = null, band = null;
  var place = function (event) { return event.clientX - box.getBoundingClientRect().left; };
  box.addEventListener("pointerdown", function (event) {
    if (event.button !== 0) return;
    start = place(event);
  });
  box.addEventListener("pointermove", function (event) {
    var x = place(event), g = groupAt(x);
    if (start !== null && Math.abs(x - start) > 6) {
      if (!band) { band = h("div", { class: "band" }); box.append(band); box.setPointerCapture(event.pointerId); }
      band.style.left = Math.min(x, start) + "px";
      band.style.width = Math.abs(x - start) + "px";
      hideTip();
    } else if (g) showTip(event.clientX, event.clientY, rowTip(g));
    else hideTip();
  });
  box.addEventListener("pointerup", function (event) {
    var x = place(event), from = start;
    start = null;
    if (band) {
      band.remove();
      band = null;
      var a = groupAt(Math.max(STRIP.left, Math.min(x, from))), b = groupAt(Math.min(strip.width - STRIP.right - 1, Math.max(x, from)));
      if (a && b) zoomTo((state.zoom ? state.zoom[0] : 0) + a.first, (state.zoom ? state.zoom[0] : 0) + b.last + 1);
    } else if (from !== null) {
      var g = groupAt(x);
      if (g) select(g.row);
    }
  });
  box.addEventListener("pointercancel", function () { start = null; if (band) band.remove(); band = null; });
  box.addEventListener("pointerleave", hideTip);
}

function rowTip(g) {
  var row = g.row, v = METRICS[state.metric](row);
  var lines = [[h("b", null, "#" + placeOf(row) + " "), bdi(nameOf(row))], [statusOf(row), codeOf(row) && " · " + codeOf(row), v !== null && " · " + say("m_" + state.metric) + " " + brief(v)]];
  if (g.last > g.first) lines.push(say("strip_shown", g.first + 1, g.last + 1, strip.rows.length));
  return lines;
}

function zoomTo(from, to) {
  var rows = baseRows();
  state.zoom = to - from < 1 || from <= 0 && to >= rows.length ? null : [from, to];
  drawZoomed();
}
