
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

// axisChart shows how the errors spread along an axis.
function axisChart(axis, first, last, tile) {
  var shares = axis.e.map(number), means = axis.d.map(number), anyError = shares.some(function (x) { return x > 0; });
  var values = anyError ? shares : means, top = Math.max.apply(null, values.map(function (x) { return isFinite(x) ? x : 0; }).concat(0)) || 1;
  var note = say(anyError ? "axis_share" : "axis_abs") + (axis.f > 1 ? " · " + say("axis_fold", axis.f) : "");
  return chart(say("axis", axis.a, axis.n), note, null, function (svg, inner) {
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
