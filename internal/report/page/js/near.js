
// The neighbourhood of a tensor: what it reads and what reads it, two operators up and two
// down, by the data flow that the verdict used.
var NEAR = { most: 3, tall: 38, gap: 26, space: 8, widest: 210, pad: 6 };

// panelNear draws the neighbourhood where the data flow is known, else it lists the tensors
// before and after in execution order.
function panelNear(row, width) {
  var flow = flowOf(row);
  if (flow.reads.length || flow.readBy.length) return [h("h3", null, say("neighbourhood")), nearDrawing(row, width), nearList(row, "reads", flow.reads), nearList(row, "read_by", flow.readBy)];
  var rows = rowsOfRound(COLS.round[row]), at = placeOf(row);
  return [h("h3", null, say("neighbourhood")), h("p", { class: "mute small" }, say("flow_unknown")), nearList(row, RUN.rounds[COLS.round[row]].known ? "neighbours" : "neighbours_names", rows.slice(Math.max(0, at - 2), at + 4))];
}

function nearList(row, title, near) {
  return near.length > 0 && [h("h4", null, say(title)), h("div", { class: "near" }, near.slice(0, LISTED_NEAR).map(function (other) {
    return h("button", { type: "button", "aria-current": other === row ? "true" : null, onclick: function () { select(other); } }, h("span", { class: "mute" }, "#" + placeOf(other)), statusBadge(statusOf(other)), h("span", { class: "name", title: visible(nameOf(other)) }, h("bdi", null, parted(shortName(other, 48)))), h("span", { class: "n" }, badness(other)));
  }), near.length > LISTED_NEAR && h("span", { class: "mute small" }, say("and_more", near.length - LISTED_NEAR)))];
}

var LISTED_NEAR = 12;

// nearLayers are the rows of the drawing from the top: each has the rows that are drawn and
// how many more there are.
function nearLayers(row) {
  var around = function (rows, next) {
    var all = new Set();
    rows.forEach(function (r) { next(r).forEach(function (x) { all.add(x); }); });
    return Array.from(all);
  };
  var reads = function (r) { return flowOf(r).reads; }, readBy = function (r) { return flowOf(r).readBy; };
  var shown = function (rows) {
    rows.sort(function (a, b) { return COLS.mark[b] - COLS.mark[a] || a - b; });
    return { rows: rows.slice(0, NEAR.most).sort(function (a, b) { return a - b; }), more: Math.max(0, rows.length - NEAR.most) };
  };
  var up = shown(reads(row).slice()), down = shown(readBy(row).slice()), far = function (layer, next) { return shown(around(layer.rows, next).filter(function (x) { return x !== row && !layer.rows.includes(x); })); };
  return [far(up, reads), up, { rows: [row], more: 0 }, down, far(down, readBy)].filter(function (layer) { return layer.rows.length; });
}

function nearDrawing(row, width) {
  var layers = nearLayers(row), boxes = new Map(), tall = layers.length * (NEAR.tall + NEAR.gap) - NEAR.gap + 4;
  var svg = s("svg", { width: width, height: tall, viewBox: "0 0 " + width + " " + tall, role: "group", "aria-label": say("neighbourhood"), class: "flow" });
  layers.forEach(function (layer, l) {
    var n = layer.rows.length, room = layer.more ? 46 : 0, wide = Math.min(NEAR.widest, (width - room - (n - 1) * NEAR.space) / n), left = (width - room - n * wide - (n - 1) * NEAR.space) / 2;
    layer.rows.forEach(function (r, i) { boxes.set(r, { x: left + i * (wide + NEAR.space), y: 2 + l * (NEAR.tall + NEAR.gap), w: wide, layer: l }); });
    if (layer.more) svg.append(s("text", { class: "tick", x: width - 4, y: 2 + l * (NEAR.tall + NEAR.gap) + NEAR.tall / 2 + 4, "text-anchor": "end" }, "+" + layer.more));
  });
  boxes.forEach(function (to, r) {
    flowOf(r).reads.forEach(function (from) {
      var a = boxes.get(from);
      if (!a || a.layer >= to.layer) return;
      var x = round2(a.x + a.w / 2), y = a.y + NEAR.tall, u = round2(to.x + to.w / 2), v = to.y, bend = round2((v - y) / 2);
      svg.append(s("path", { class: "feeds" + (isBad(from) ? " bad" : ""), d: "M" + x + " " + y + "C" + x + " " + (y + bend) + " " + u + " " + (v - bend) + " " + u + " " + (v - 4) }), s("path", { class: "arrow" + (isBad(from) ? " bad" : ""), d: "M" + (u - 3.5) + " " + (v - 5) + "h7l-3.5 5z" }));
    });
  });
  boxes.forEach(function (box, r) { svg.append(nearBox(r, box, r === row)); });
  return svg;
}

// nearBox is an operator: its name, status and error.
function nearBox(row, box, chosen) {
  var kind = STATUS_KINDS[statusOf(row)] || "none", choose = function () { if (!chosen) select(row); };
  var g = s("g", { class: "nearbox " + kind + (chosen ? " chosen" : ""), role: "button", tabindex: 0, "aria-label": visible(nameOf(row)) + ", " + statusOf(row) + ", " + badness(row), "aria-current": chosen ? "true" : null,
    onclick: choose, onpointerleave: hideTip, onpointermove: function (event) { showTip(event.clientX, event.clientY, [[h("b", null, "#" + placeOf(row) + " "), bdi(nameOf(row))], statusOf(row) + " · " + badness(row)]); },
    onkeydown: function (event) { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); } } },
  s("rect", { x: round2(box.x), y: box.y, width: round2(box.w), height: NEAR.tall, rx: 6 }));
  var put = function (y, text, kind, font) { g.append(s("text", { class: kind, x: round2(box.x + NEAR.pad), y: box.y + y }, fitted(visible(text), box.w - 2 * NEAR.pad, font))); };
  put(15, nameOf(row).slice(beginning(COLS.round[row]).length), "strong", "600 11px");
  put(30, [(SIGNS[statusOf(row)] || "–") + " " + statusOf(row), badness(row)].join(" · "), "tick", "11px");
  return g;
}
