
// The window of values: those of both sides and their differences around the place where the
// tensors differ most, as tables.

// floatsOf are the numbers of a text in base64.
function floatsOf(text) {
  var bytes = atob(text), view = new DataView(new ArrayBuffer(bytes.length)), numbers = [];
  for (var i = 0; i < bytes.length; i++) view.setUint8(i, bytes.charCodeAt(i));
  for (i = 0; i + 4 <= bytes.length; i += 4) numbers.push(view.getFloat32(i, true));
  return numbers;
}

// cellNumber is a number of at most three digits.
function cellNumber(x) {
  if (isNaN(x)) return "NaN";
  if (!isFinite(x)) return x > 0 ? "inf" : "-inf";
  var size = Math.abs(x);
  if (x === 0 || size >= 0.001 && size < 1e4) return String(Number(x.toPrecision(3)));
  return x.toExponential(1).replace("e+", "e").replace(".0e", "e");
}

// panelWindow shows one of the tables, and says where it is.
function panelWindow(row) {
  var p = pictures(row), w = p && p.window;
  if (!w) return null;
  var ref = floatsOf(w.ref), npu = floatsOf(w.npu), flat = w.row_axis === w.col_axis, shape = (inTable(COLS.shape, row).match(/\d+/g) || []).map(Number);
  var at = coordinates(w.place, shape), difference = npu.map(function (x, i) { return x === ref[i] || isNaN(x) && isNaN(ref[i]) ? 0 : Math.abs(x - ref[i]); });
  var sides = { diff: difference, npu: npu, ref: ref }, where = at.map(function (x, axis) { return axis === w.row_axis || axis === w.col_axis ? ":" : x; }).join(", ");
  var body = h("div", { class: "wrap window", tabindex: 0, role: "region", "aria-label": say("window") });
  var tabs = h("div", { class: "switch", role: "group", "aria-label": say("window") }, Object.keys(sides).map(function (side) {
    return h("button", { type: "button", class: "chip", "aria-pressed": String(state.side === side), onclick: function () { state.side = side; tabs.childNodes.forEach(function (b, i) { b.setAttribute("aria-pressed", String(Object.keys(sides)[i] === side)); }); show(); } }, say("window_" + side));
  }));
  var show = function () { replace(body, windowTable(w, flat, sides[state.side], difference, { ref: ref, npu: npu }, state.side, row)); };
  show();
  return [h("h3", null, say("window")), h("p", { class: "mute small" }, flat ? say("window_flat", at.join(", ")) : say("window_note", at.join(", "), where, w.row_axis, w.col_axis)), tabs, body, h("p", { class: "mute small" }, say("window_legend"))];
}

// coordinates are those of an offset in C order.
function coordinates(offset, shape) {
  var at = [];
  for (var i = shape.length - 1; i >= 0; i--) {
    at.unshift(offset % shape[i]);
    offset = Math.floor(offset / shape[i]);
  }
  return at;
}

function windowTable(w, flat, values, difference, both, side, row) {
  var largest = difference.reduce(function (a, x) { return isFinite(x) ? Math.max(a, x) : a; }, 0), smallest = difference.reduce(function (a, x) { return x > 0 && isFinite(x) ? Math.min(a, x) : a; }, largest);
  var step = function (i) {
    var x = difference[i];
    if (!isFinite(x)) return "odd";
    if (!(x > 0)) return "";
    return "heat-" + (largest > smallest ? Math.min(9, Math.floor(9.99 * (Math.log(x) - Math.log(smallest)) / (Math.log(largest) - Math.log(smallest)))) : 9);
  };
  var shape = (inTable(COLS.shape, row).match(/\d+/g) || []).map(Number), at = coordinates(w.place, shape);
  var columns = [], rows = [];
  for (var c = 0; c < w.cols; c++) columns.push(flat ? "+" + c : String(w.col + c));
  for (var r = 0; r < w.rows; r++) {
    var cells = [];
    for (c = 0; c < w.cols && r * w.cols + c < values.length; c++) {
      var i = r * w.cols + c, worst = flat ? w.col + i === w.place : w.row + r === at[w.row_axis] && w.col + c === at[w.col_axis];
      cells.push(h("td", { class: step(i) + (worst ? " worst" : ""), title: say("npu") + " " + valueOf32(both.npu[i]) + " · " + say("reference") + " " + valueOf32(both.ref[i]) }, worst && h("span", { class: "offscreen" }, say("window_worst") + " "), cellNumber(values[i])));
    }
    rows.push(h("tr", null, h("th", { scope: "row" }, String(flat ? w.col + r * w.cols : w.row + r)), cells));
  }
  return h("table", { class: "values" }, h("caption", { class: "offscreen" }, say("window_" + side)), h("thead", null, h("tr", null, h("td", null), columns.map(function (c) { return h("th", { scope: "col" }, c); }))), h("tbody", null, rows));
}

// valueOf32 is a number with the digits of float32.
function valueOf32(x) { return isNaN(x) ? "NaN" : String(isFinite(x) ? Number(x.toPrecision(7)) : x > 0 ? "inf" : "-inf"); }
