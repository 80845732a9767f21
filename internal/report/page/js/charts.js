
// The charts of the panel: own SVG, each with a label and a line that reads out what
// the pointer is on.
var CHART = { left: 44, right: 8, top: 16, height: 92, bottom: 18, width: 300 };

// chart is a figure: draw gets the SVG and its inner width, and returns what the pointer
// reads out at a place from 0 to 1 in x, and in y.
function chart(title, note, label, draw, tall) {
  var read = h("div", { class: "read" }, " "), height = CHART.top + (tall || CHART.height) + CHART.bottom;
  var svg = s("svg", { viewBox: "0 0 " + CHART.width + " " + height, role: "img", "aria-label": label || title });
  var inner = { x: CHART.left, y: CHART.top, w: CHART.width - CHART.left - CHART.right, h: tall || CHART.height };
  var readOut = draw(svg, inner);
  if (readOut) {
    svg.addEventListener("pointermove", function (event) {
      var box = svg.getBoundingClientRect(), scale = CHART.width / box.width;
      var x = ((event.clientX - box.left) * scale - inner.x) / inner.w, y = ((event.clientY - box.top) * scale - inner.y) / inner.h;
      read.textContent = x >= 0 && x < 1 && y >= 0 && y < 1 ? readOut(x, y) : " ";
    });
    svg.addEventListener("pointerleave", function () { read.textContent = " "; });
  }
  return h("figure", { class: "chart" }, h("figcaption", null, title, note && h("small", null, note)), svg, readOut && read);
}

function label(svg, x, y, text, anchor, kind) { svg.append(s("text", { class: kind || "tick", x: round2(x), y: round2(y), "text-anchor": anchor || "middle" }, text)); }
function line(svg, x1, y1, x2, y2, kind) { svg.append(s("line", { class: kind, x1: round2(x1), y1: round2(y1), x2: round2(x2), y2: round2(y2) })); }

// frame draws the axes of a chart with the texts at their ends.
function frame(svg, inner, xs, ys) {
  line(svg, inner.x, inner.y + inner.h, inner.x + inner.w, inner.y + inner.h, "axis");
  xs.forEach(function (t) { label(svg, inner.x + t[0] * inner.w, inner.y + inner.h + 13, t[1], t[0] <= 0.02 ? "start" : t[0] >= 0.98 ? "end" : "middle"); });
  ys.forEach(function (t) {
    line(svg, inner.x, inner.y + (1 - t[0]) * inner.h, inner.x + inner.w, inner.y + (1 - t[0]) * inner.h, "grid");
    label(svg, inner.x - 5, inner.y + (1 - t[0]) * inner.h + 4, t[1], "end");
  });
}

// bars is one path of bars of heights from 0 to 1.
function bars(inner, heights) {
  var step = inner.w / heights.length, gap = Math.min(1, step * 0.15), base = inner.y + inner.h, path = "";
  heights.forEach(function (x, i) {
    if (!(x > 0)) return;
    var tall = Math.max(1, Math.min(1, x) * inner.h);
    path += "M" + round2(inner.x + i * step + gap / 2) + " " + round2(base - tall) + "h" + round2(step - gap) + "V" + round2(base) + "h" + round2(gap - step) + "z";
  });
  return path;
}

// axisChart shows how the errors spread along an axis; named is the title of an axis with a name.
function axisChart(axis, first, last, tile, named) {
  var shares = axis.e.map(number), means = axis.d.map(number), anyError = shares.some(function (x) { return x > 0; });
  var values = anyError ? shares : means, top = Math.max.apply(null, values.map(function (x) { return isFinite(x) ? x : 0; }).concat(0)) || 1;
  var note = say(anyError ? "axis_share" : "axis_abs") + (axis.f > 1 ? " · " + say("axis_fold", axis.f) : "");
  return chart(named || say("axis", axis.a, axis.n), note, null, function (svg, inner) {
    frame(svg, inner, [[0, "0"], [0.5, brief(Math.round(axis.n / 2))], [1, brief(axis.n)]], [[0, "0"], [1, anyError ? percent(top, 1) : brief(top)]]);
    if (first !== undefined) {
      var from = inner.x + first / axis.n * inner.w, to = inner.x + last / axis.n * inner.w;
      svg.append(s("rect", { class: "guilty", x: round2(from), y: inner.y, width: round2(to - from), height: inner.h }));
      label(svg, Math.max(inner.x + 26, Math.min(inner.x + inner.w - 26, (from + to) / 2)), inner.y - 4, "[" + first + ", " + last + ")", "middle", "strong");
      if (tile > 1 && axis.n / tile <= 64) for (var t = Math.ceil((first + 1) / tile) * tile; t < last; t += tile) line(svg, inner.x + t / axis.n * inner.w, inner.y, inner.x + t / axis.n * inner.w, inner.y + inner.h, "tile");
    }
    svg.append(s("path", { class: anyError ? "bars bad" : "bars", d: bars(inner, values.map(function (x) { return x === null ? 0 : isFinite(x) ? x / top : 1; })) }));
    return function (x) {
      var i = Math.min(values.length - 1, Math.floor(x * values.length)), a = i * axis.f, b = Math.min(axis.n, a + axis.f);
      return (b - a > 1 ? "[" + a + ", " + b + ")" : String(a)) + ": " + (shares[i] === null ? "–" : percent(shares[i], 1)) + ", |d| " + brief(means[i]);
    };
  });
}

// bytesOf are the bytes of a text in base64, where a 0 is followed by how many there are.
function bytesOf(text) {
  var packed = atob(text), bytes = [];
  for (var i = 0; i < packed.length; i++) {
    var byte = packed.charCodeAt(i), count = byte === 0 ? packed.charCodeAt(++i) : 1;
    while (count-- > 0) bytes.push(byte);
  }
  return bytes;
}

// cellPaths joins cells of bytes to a path for each of some steps: 0 is blank.
function cellPaths(svg, inner, bytes, columns, rows, steps, kind, upwards) {
  var paths = [], w = inner.w / columns, t = inner.h / rows;
  for (var i = 0; i < bytes.length; i++) {
    if (!bytes[i]) continue;
    var step = Math.min(steps - 1, Math.floor((bytes[i] - 1) * steps / 255)), row = Math.floor(i / columns);
    var y = inner.y + (upwards ? rows - 1 - row : row) * t;
    paths[step] = (paths[step] || "") + "M" + round2(inner.x + (i % columns) * w) + " " + round2(y) + "h" + round2(w + 0.1) + "v" + round2(t + 0.1) + "h" + round2(-w - 0.1) + "z";
  }
  paths.forEach(function (d, step) { svg.append(s("path", { class: kind + " step-" + Math.floor(step * 10 / steps), d: d })); });
}

// mapChart shows the mean difference over two axes, of a check the share of wrong elements; named is its title if the
// axes have names.
function mapChart(map, sizes, tile, named) {
  var flat = map.axes[0] === map.axes[1], rows = map.size[0], columns = map.size[1], shares = bytesOf(map.errors), ofShares = isCheck() && shares.some(Boolean), means = bytesOf(map.mean), bytes = ofShares ? shares : means, low = number(map.log[0]), high = number(map.log[1]);
  var title = named || (flat ? say("map_flat") : say("map", map.axes[0], map.axes[1]));
  var mean = function (b) { return b ? brief(Math.pow(10, low + (b - 1) / 254 * (high - low))) : "0"; };
  var end = function (k) { return flat ? (k ? columns : rows) : sizes[map.axes[k]] || map.size[k] * map.folds[k]; };
  var any = bytes.some(Boolean), note = ofShares ? say("map_shares") : any ? say("map_scale", brief(Math.pow(10, low)), brief(Math.pow(10, high))) : say("map_none");
  return chart(title, note, null, function (svg, inner) {
    frame(svg, inner, [[0, "0"], [1, brief(end(1))]], []);
    label(svg, inner.x - 5, inner.y + 9, "0", "end");
    label(svg, inner.x - 5, inner.y + inner.h, brief(end(0)), "end");
    svg.append(s("rect", { class: "frame", x: inner.x, y: inner.y, width: inner.w, height: inner.h }));
    cellPaths(svg, inner, bytes, columns, rows, 10, "heat", false);
    if (!flat && tile && tile.size > 1) [0, 1].forEach(function (k) {
      if (map.axes[k] !== tile.axis || end(k) / tile.size > 32) return;
      for (var t = tile.size; t < end(k); t += tile.size) {
        var at = t / (map.size[k] * map.folds[k]);
        if (k) line(svg, inner.x + at * inner.w, inner.y, inner.x + at * inner.w, inner.y + inner.h, "tile");
        else line(svg, inner.x, inner.y + at * inner.h, inner.x + inner.w, inner.y + at * inner.h, "tile");
      }
    });
    return function (x, y) {
      var row = Math.floor(y * rows), column = Math.floor(x * columns), i = row * columns + column;
      var span = function (k, at) { var a = at * map.folds[k], b = Math.min(end(k), a + map.folds[k]); return b - a > 1 ? "[" + a + ", " + b + ")" : String(a); };
      return (flat ? "" : say("map_cell", map.axes[0], span(0, row), map.axes[1], span(1, column)) + ": ") + "|d| " + mean(means[i]) + ", " + say("errors") + " " + percent(shares[i], 255);
    };
  }, Math.max(36, Math.min(150, rows * 6)));
}

// densityChart shows the pairs of values, with the line of equality and the limits.
function densityChart(joint, limits) {
  var low = number(joint.range[0]), high = number(joint.range[1]), bytes = bytesOf(joint.cells), n = joint.n, atol = limits && number(limits[0]), rtol = limits && number(limits[1]);
  return chart(say("density"), say("density_note", joint.max), null, function (svg, inner) {
    var x = function (v) { return inner.x + (high > low ? (v - low) / (high - low) : 0.5) * inner.w; }, y = function (v) { return inner.y + (high > low ? 1 - (Math.max(low, Math.min(high, v)) - low) / (high - low) : 0.5) * inner.h; };
    frame(svg, inner, [[0, brief(low)], [0.5, say("cpu")], [1, brief(high)]], []);
    label(svg, inner.x - 5, inner.y + 9, brief(high), "end");
    label(svg, inner.x - 5, inner.y + inner.h / 2 + 4, "NPU", "end");
    label(svg, inner.x - 5, inner.y + inner.h, brief(low), "end");
    svg.append(s("rect", { class: "frame", x: inner.x, y: inner.y, width: inner.w, height: inner.h }));
    cellPaths(svg, inner, bytes, n, n, 8, "dense", true);
    var above = "", below = "";
    for (var i = 0; limits && i <= 80; i++) {
      var r = low + (high - low) * i / 80, width = atol + rtol * Math.abs(r);
      above += (i ? "L" : "M") + round2(x(r)) + " " + round2(y(r + width));
      below += (i ? "L" : "M") + round2(x(r)) + " " + round2(y(r - width));
    }
    svg.append(s("path", { class: "band-limit", d: above + below }));
    line(svg, x(low), y(low), x(high), y(high), "equal");
    return function (px, py) {
      var column = Math.floor(px * n), row = n - 1 - Math.floor(py * n), b = bytes[row * n + column], width = (high - low) / n;
      var count = b ? Math.round(Math.pow(joint.max, (b - 1) / 254)) : 0;
      return say("cpu") + " " + brief(low + (column + 0.5) * width) + ", NPU " + brief(low + (row + 0.5) * width) + ": " + say("about", brief(count));
    };
  }, 200);
}

// logTicks are ticks of log10(count + 1).
function logTicks(most) {
  var top = Math.log10(most + 1) || 1, ticks = [[0, "0"]];
  for (var d = 0; d <= 15; d++) {
    var at = Math.log10(Math.pow(10, d) + 1) / top;
    if (at <= 1) ticks.push([at, d < 4 ? String(Math.pow(10, d)) : "1e" + d]);
  }
  while (ticks.length > 5) ticks = ticks.filter(function (_, i) { return i === 0 || i % 2; });
  return ticks;
}

function most(counts) { return counts.reduce(function (a, b) { return Math.max(a, b); }, 1); }

// valuesChart shows the values of both sides in one grid.
function valuesChart(values) {
  var low = number(values.range[0]), high = number(values.range[1]), n = values.ref.length, top = Math.max(most(values.ref), most(values.npu)), scale = Math.log10(top + 1);
  var tall = function (c) { return Math.log10(c + 1) / scale; };
  return chart(say("values_chart"), say("values_note"), null, function (svg, inner) {
    frame(svg, inner, [[0, brief(low)], [1, brief(high)]], logTicks(top));
    svg.append(s("path", { class: "bars cpu", d: bars(inner, values.ref.map(tall)) }));
    var base = inner.y + inner.h, outline = "M" + inner.x + " " + base;
    values.npu.forEach(function (c, i) { outline += "V" + round2(base - tall(c) * inner.h) + "H" + round2(inner.x + (i + 1) / n * inner.w); });
    svg.append(s("path", { class: "outline", d: outline + "V" + base }));
    return function (x) {
      var i = Math.floor(x * n), width = (high - low) / n;
      return "[" + brief(low + i * width) + ", " + brief(low + (i + 1) * width) + "): " + say("cpu") + " " + values.ref[i] + ", NPU " + values.npu[i];
    };
  }, 120);
}

// ulpChart shows the distances in units of the last place.
function ulpChart(counts) {
  var last = counts.length - 1, top = most(counts), scale = Math.log10(top + 1);
  while (last > 3 && !counts[last]) last--;
  var shown = counts.slice(0, last + 1), n = shown.length, tall = function (c) { return Math.log10(c + 1) / scale; };
  var edge = function (k) { return k < 2 ? String(k) : k < 14 ? String(Math.pow(2, k - 1)) : "2^" + (k - 1); };
  return chart(say("ulp_chart"), say("ulp_note"), null, function (svg, inner) {
    var step = Math.ceil(n / 6), ticks = shown.map(function (_, k) { return [(k + 0.5) / n, edge(k)]; }).filter(function (_, k) { return k % step === 0; });
    frame(svg, inner, [], logTicks(top));
    ticks.forEach(function (t) { label(svg, inner.x + t[0] * inner.w, inner.y + inner.h + 13, t[1]); });
    svg.append(s("path", { class: "bars same", d: bars(inner, shown.map(function (c, k) { return k ? 0 : tall(c); })) }), s("path", { class: "bars", d: bars(inner, shown.map(function (c, k) { return k ? tall(c) : 0; })) }));
    return function (x) {
      var k = Math.min(n - 1, Math.floor(x * n));
      return (k < 2 ? edge(k) : "[" + edge(k) + ", " + edge(k + 1) + ")") + " ULP: " + shown[k];
    };
  });
}

// halfOctave is the lower edge of a bin of magnitudes.
function halfOctave(k) { var octave = Math.floor(k / 2); return Math.pow(2, octave) * (k - 2 * octave ? 1.5 : 1); }

// magnitudeChart shows |d| or |d|/|r|, zeros first, and the limit.
function magnitudeChart(title, m, limit) {
  var counts = [m.zeros, 0].concat(m.counts), n = counts.length, top = most(counts), scale = Math.log10(top + 1), red = m.counts.map(function (_, i) { return limit > 0 && halfOctave(m.first + i) >= limit; });
  var tall = function (c) { return Math.log10(c + 1) / scale; }, pick = function (bad) { return counts.map(function (c, i) { return i > 1 && red[i - 2] ? (bad ? tall(c) : 0) : bad ? 0 : tall(c); }); };
  return chart(title, say("magnitude_note"), null, function (svg, inner) {
    var step = Math.max(2, Math.ceil(m.counts.length / 4));
    frame(svg, inner, [], logTicks(top));
    label(svg, inner.x + 0.5 / n * inner.w, inner.y + inner.h + 13, "0");
    for (var i = step; i < m.counts.length - step / 3; i += step) label(svg, inner.x + (i + 2) / n * inner.w, inner.y + inner.h + 13, brief(Number(halfOctave(m.first + i).toPrecision(2))));
    svg.append(s("path", { class: "bars", d: bars(inner, pick(false)) }), s("path", { class: "bars bad", d: bars(inner, pick(true)) }));
    var at = (Math.log2(limit) * 2 - m.first + 2) / n;
    if (limit > 0 && at > 0 && at <= 1) line(svg, inner.x + at * inner.w, inner.y, inner.x + at * inner.w, inner.y + inner.h, "limit");
    return function (x) {
      var k = Math.min(n - 1, Math.floor(x * n));
      return k === 0 ? "0: " + m.zeros : k === 1 ? "" : "[" + brief(halfOctave(m.first + k - 2)) + ", " + brief(halfOctave(m.first + k - 1)) + "): " + counts[k];
    };
  });
}
