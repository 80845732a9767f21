
// The ribbon below the strip: the modules of the tensors, up to three levels, in the
// same places. A click zooms.
var RIBBON = { levels: 3, height: 17, gap: 2, least: 5, label: 20 };

// segmentsOf are runs of rows with the same module down to a level. Runs too narrow to
// be seen are joined.
function segmentsOf(rows, level, step) {
  var segments = [], current = null;
  rows.forEach(function (row, i) {
    var path = modulesOf(row), key = path.length > level ? path.slice(0, level + 1).join("\u001f") : null;
    if (current && current.key === key) current.to = i + 1;
    else {
      current = { key: key, name: key === null ? "" : path[level], from: i, to: i + 1, joined: false };
      var before = segments[segments.length - 1];
      if (key !== null && before && before.key !== null && (before.to - before.from) * step < RIBBON.least) {
        before.to = i + 1;
        before.key = key;
        before.joined = true;
        before.name = "";
        current = before;
      } else segments.push(current);
    }
    current.mark = Math.max(current.mark || 0, COLS.mark[row]);
  });
  return segments.filter(function (x) { return x.key !== null; });
}

// firstLevel is the level below what all shown rows have in common.
function firstLevel(rows) {
  var common = rows.length ? modulesOf(rows[0]) : [];
  for (var i = 1; i < rows.length && common.length; i++) {
    var path = modulesOf(rows[i]), n = 0;
    while (n < common.length && n < path.length && common[n] === path[n]) n++;
    common = common.slice(0, n);
  }
  return Math.max(0, common.length - 1);
}

function drawRibbon(rows, width) {
  var box = document.getElementById("ribbon"), inner = width - STRIP.left - STRIP.right, step = inner / Math.max(1, rows.length);
  var first = firstLevel(rows), levels = [];
  for (var l = first; l < first + RIBBON.levels; l++) {
    var segments = segmentsOf(rows, l, step);
    if (segments.length) levels.push(segments);
  }
  var tall = levels.length * (RIBBON.height + RIBBON.gap);
  if (!tall) { replace(box); return; }
  var svg = s("svg", { width: width, height: tall, viewBox: "0 0 " + width + " " + tall, role: "group" });
  var reached = false;
  levels.forEach(function (segments, level) {
    segments.forEach(function (segment) {
      svg.append(segmentElement(segment, level, step, !reached));
      reached = true;
    });
  });
  replace(box, svg);
}

// moduleLabel is a module of msprobe without the words that all of them have.
function moduleLabel(name) { return name.replace(/^(?:Module|Cell)\.(?=.)/, "").replace(/(.)\.(?:forward|backward)(?:\.\d+)?$/, "$1"); }

function segmentElement(segment, level, step, reachable) {
  var x = STRIP.left + segment.from * step, wide = Math.max(1, (segment.to - segment.from) * step - 1), y = level * (RIBBON.height + RIBBON.gap);
  var offset = state.zoom ? state.zoom[0] : 0, from = offset + segment.from, to = offset + segment.to;
  var label = wide < RIBBON.label ? "" : fitted(segment.joined ? "…" : visible(moduleLabel(segment.name)), wide - 6, (segment.mark === MARK.origin ? "600" : "400") + " 11px");
  var zoom = function () {
    zoomTo(from, to);
    var again = document.querySelector("#ribbon .module");
    if (again) again.focus();
  };
  var element = s("g", { class: "module mark-" + segment.mark, role: "button", tabindex: reachable ? 0 : -1, "data-from": from, "data-to": to,
    "aria-label": visible(segment.name || segment.key.split("\u001f").pop()) + ", " + say("mark_" + segment.mark),
    onclick: zoom, onpointerleave: hideTip,
    onpointermove: function (event) { showTip(event.clientX, event.clientY, [bdi(segment.key.split("\u001f").join("/")), say("strip_shown", from + 1, to, baseRows().length)]); },
    onkeydown: function (event) {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); zoom(); }
      else if (event.key === "ArrowRight" || event.key === "ArrowDown") moveFocus(element, "nextElementSibling", event);
      else if (event.key === "ArrowLeft" || event.key === "ArrowUp") moveFocus(element, "previousElementSibling", event);
    } },
    s("rect", { x: round2(x), y: y, width: round2(wide), height: RIBBON.height, rx: 3 }));
  if (label) element.append(s("text", { x: round2(x + wide / 2), y: y + 12.5, "text-anchor": "middle" }, label));
  return element;
}

function moveFocus(element, to, event) {
  event.preventDefault();
  var next = element[to];
  if (!next) return;
  element.setAttribute("tabindex", -1);
  next.setAttribute("tabindex", 0);
  next.focus();
}
