
// Elements are made by name and never of markup, so that no text of the data can be
// taken for any.
var SVG = "http://www.w3.org/2000/svg";

function h(tag, attributes) { return build(document.createElement(tag), attributes, Array.prototype.slice.call(arguments, 2)); }
function s(tag, attributes) { return build(document.createElementNS(SVG, tag), attributes, Array.prototype.slice.call(arguments, 2)); }

function build(element, attributes, children) {
  for (var name in attributes || {}) {
    var value = attributes[name];
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  children.forEach(function (child) {
    if (Array.isArray(child)) append(element, child);
    else if (child !== null && child !== undefined && child !== false && child !== "") element.append(child);
  });
}

function replace(element) {
  element.textContent = "";
  append(element, Array.prototype.slice.call(arguments, 1));
}

// hides reports whether a text has a character without a visible form of its own.
function hides(text) { return /[\p{C}\u2028\u2029]/u.test(text); }

// visible writes as \u.... what has no visible form or turns the direction of text.
function visible(text) {
  return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, function (c) {
    return "\\u" + ("000" + c.charCodeAt(0).toString(16)).slice(-4);
  });
}

// bdi is a name of the data, whose direction does not change what stands around it.
function bdi(text) { return h("bdi", null, visible(text)); }

// parted is a text whose lines may end behind the parts of names, not within numbers.
function parted(text) {
  return visible(text).split(/([\/_]+|[.:]+(?!\d))(?=[^\/._:\s])/).map(function (part, i) { return i % 2 ? [part, h("wbr")] : part; });
}

// shorten cuts the middle out of a name: words without a number first, then what stands
// before the numbers of others, those nearest to the last word first. The number of a layer
// stays.
function shorten(text, most) {
  if (text.length <= most) return text;
  if (most < 12) return middle(text, most);
  var parts = text.match(/[^\/._]+[\/._]*|[\/._]+/g), last = parts.length - 1;
  var joined = function () { return parts.join("").replace(/…[…\/._]*…/g, "…"); };
  var passes = [function (part) { return /\d/.test(part) ? part : "…"; }, function (part) { return part.replace(/[^\d\/._…]+/g, "…"); }];
  for (var p = 0; p < passes.length; p++) for (var i = last - 1; i >= 0; i--) {
    parts[i] = passes[p](parts[i]);
    if (joined().length <= most) return joined();
  }
  var first = parts.slice(0, last).find(function (part) { return /\d/.test(part); }) || "", room = most - first.length;
  return room > 8 ? first + middle(parts[last], room) : middle(joined(), most);
}

// middle cuts the middle out of a text.
function middle(text, most) {
  if (text.length <= most) return text;
  var end = Math.floor((most - 1) * 0.6);
  return text.slice(0, most - 1 - end) + "…" + text.slice(text.length - end);
}

// widthOf measures a text of a chart.
var ruler = document.createElement("canvas").getContext("2d"), family = "";
function widthOf(text, font) {
  family = family || getComputedStyle(document.body).fontFamily;
  ruler.font = font + " " + family;
  return ruler.measureText(text).width;
}

// fitted shortens a text to a width; it is empty where not even the shortest fits.
function fitted(text, width, font) {
  var size = widthOf(text, font);
  if (size <= width) return text;
  for (var most = Math.min(text.length - 1, Math.ceil(text.length * width / size) + 4); most > 1; most--) {
    var short = shorten(text, most);
    if (widthOf(short, font) <= width) return short;
  }
  return "";
}

// say is a word of the page in its language, with what is put in.
function say(key) {
  var words = WORDS[state.lang], text = isCheck() && words["c_" + key] || isScan() && words["s_" + key] || words[key], values = arguments;
  return text.replace(/\{(\d)\}/g, function (_, i) { return String(values[Number(i) + 1]); });
}

// tell is a text of the data, which may have both languages.
function tell(text) {
  if (text === null || text === undefined) return "";
  return visible(typeof text === "string" ? text : text[state.lang]);
}

// codeTitle is what a reason code means.
function codeTitle(code) {
  var words = [CODES, RUN && RUN.meanings || {}].find(function (all) { return all.hasOwnProperty(code); });
  return words && tell(words[code]) ? h("b", null, tell(words[code]), " ") : null;
}

var SIGNS = { FAIL: "✕", ERROR: "✕", SHAPE_MISMATCH: "✕", DTYPE_MISMATCH: "✕", AMBIGUOUS: "▲", WARN: "▲", PARTIAL: "▲", ROUNDING: "○", PASS: "✓", WRONG: "✕", CRASHED: "✕", MISFIT: "▲", LOW: "○", OK: "✓" };

function statusBadge(status) {
  return h("span", { class: "s s-" + status }, h("span", { "aria-hidden": "true" }, (SIGNS[status] || "–") + " "), status);
}

// opName is an operator, with its path in another tone.
function opName(row) {
  var parts = nameParts(row);
  return h("span", { class: "op" }, h("bdi", null, parts[0] && h("span", { class: "path" }, parted(parts[0])), parted(parts[1])));
}

var tipElement = document.getElementById("tip");

function showTip(x, y, lines) {
  replace(tipElement, lines.map(function (line) { return h("div", null, line); }));
  tipElement.classList.add("on");
  var box = tipElement.getBoundingClientRect();
  tipElement.style.left = Math.max(4, Math.min(x + 12, window.innerWidth - box.width - 8)) + "px";
  tipElement.style.top = (y + 18 + box.height > window.innerHeight ? y - box.height - 10 : y + 18) + "px";
}

function hideTip() { tipElement.classList.remove("on"); }
