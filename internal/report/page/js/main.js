
// What is shown: the state, its place in the address, and the page made of it.
var state = { lang: "en", theme: "", tab: "run", round: 0, row: null, metric: "mean_rel", only: "all", query: "", sort: "i", down: false, zoom: null, module: null, open: {}, overflow: { query: "", place: null }, side: "diff", inner: true, print: false };

// kept reads and writes what the browser keeps: some do not for files.
function kept(key, value) {
  try {
    if (value === undefined) return localStorage.getItem("dumptool." + key);
    localStorage.setItem("dumptool." + key, value);
  } catch (e) { /* nothing is kept */ }
  return null;
}

function begin() {
  if (DATA.v !== 1) return;
  var saved = kept("lang");
  state.lang = DATA.lang || (saved === "en" || saved === "zh" ? saved : /^zh/i.test(navigator.language) ? "zh" : "en");
  saved = kept("theme");
  state.theme = saved === "light" || saved === "dark" ? saved : "";
  state.tab = tabs()[0].key;
  readAddress();
  if (DATA.run) listenDrop();
  draw();
  window.addEventListener("hashchange", function () { readAddress(); draw(); });
  var width = window.innerWidth;
  window.addEventListener("resize", function () { if (window.innerWidth !== width) { width = window.innerWidth; drawMatrices(); drawTwoStrips(); drawStrip(); drawTable(); drawPanel(); } });
  window.addEventListener("beforeprint", function () { printing(true); });
  window.addEventListener("afterprint", function () { printing(false); });
  document.addEventListener("keydown", key);
}

// PRINTED is the most failing operators that are printed, a page each.
var PRINTED = 50;

// printing puts in place what is on paper: the table with its rows below each other, and a
// page for each of the first failing operators.
function printing(on) {
  state.print = on;
  if (!document.getElementById("rows")) return;
  drawTable();
  var old = document.getElementById("prints");
  if (old) old.remove();
  document.getElementById("panel").classList.toggle("instead", on);
  if (!on) return;
  var rows = rowsOfRound(state.round).filter(isBad);
  if (!rows.length) rows = state.row === null ? [] : [state.row];
  document.getElementById("main").append(h("div", { id: "prints" }, rows.slice(0, PRINTED).map(function (row) { return h("section", { class: "card panel" }, panelHead(row), panelBody(row, 1100)); }),
    rows.length > PRINTED && h("p", { class: "mute" }, say("and_more", rows.length - PRINTED))));
}

// KEYS are the keys of the page and what they do.
var KEYS = [["j / k", "key_bad"], ["/", "key_search"], ["↑ ↓", "key_rows"], ["← → ↑ ↓", "key_matrix"], ["Enter", "key_enter"], ["Esc", "key_escape"], ["?", "key_help"]];

// showHelp says what the keys do.
function showHelp() {
  var close = function () { dialog.close(); };
  var dialog = h("dialog", { id: "help", "aria-labelledby": "help-title", onclose: function () { dialog.remove(); } }, h("h2", { id: "help-title" }, say("keys")),
    h("dl", { class: "lines" }, KEYS.map(function (k) { return h("div", null, h("dt", null, h("kbd", null, k[0])), h("dd", null, say(k[1]))); })), h("button", { type: "button", class: "btn", onclick: close }, say("close")));
  document.body.append(dialog);
  dialog.showModal();
}

// startRow is the row that the panel begins with.
function startRow(round) {
  var find = RUN.rounds[round].find, rows = rowsOfRound(round);
  if (find.bad >= 0) return find.bad;
  var bad = rows.find(isBad);
  return bad !== undefined ? bad : rows.length ? rows[0] : null;
}

// readAddress takes from the address what is possible, and ignores all else.
function readAddress() {
  var asked = new URLSearchParams(location.hash.slice(1)), tab = asked.get("tab");
  if (tabs().some(function (t) { return t.key === tab; })) state.tab = tab;
  if (runOf(state.tab)) use(runOf(state.tab));
  asked.forEach(function (value, name) {
    if (name === "row" && RUN && /^\d{1,9}$/.test(value) && Number(value) < COUNT) {
      state.row = Number(value);
      state.round = COLS.round[state.row];
    }
    if (name === "lang" && (value === "en" || value === "zh")) state.lang = value;
    if (name === "theme" && (value === "light" || value === "dark")) state.theme = value;
    if (name === "only" && RUN && chipNames().includes(value)) state.only = value;
  });
}

// remember puts what is shown into the address, without a new entry in the history.
function remember() {
  var parts = [];
  if (state.tab !== tabs()[0].key) parts.push("tab=" + state.tab);
  if (state.row !== null) parts.push("row=" + state.row);
  if (state.only !== "all") parts.push("only=" + state.only);
  try { history.replaceState(null, "", "#" + parts.join("&")); } catch (e) { /* not for files, in some browsers */ }
}

function draw() {
  if (runOf(state.tab)) use(runOf(state.tab));
  document.documentElement.lang = state.lang === "zh" ? "zh-CN" : "en";
  if (state.theme) document.documentElement.setAttribute("data-theme", state.theme);
  document.getElementById("skip").textContent = say("skip");
  drawTop();
  var main = document.getElementById("main"), tab = tabs().find(function (t) { return t.key === state.tab; });
  matrices = [];
  replace(main, h("div", { id: "tab-" + tab.key, role: "tabpanel", "aria-labelledby": "to-" + tab.key }, tab.make()));
  drawMatrices();
  drawTwoStrips();
  drawGroups();
  if (tab.key === ownTab()) fillRun();
}

function drawTop() {
  var all = tabs();
  var nav = h("nav", { role: "tablist" }, all.map(function (t) {
    var count = t.count(), on = t.key === state.tab;
    return h("button", { type: "button", role: "tab", id: "to-" + t.key, "aria-selected": String(on), "aria-controls": "tab-" + t.key, tabindex: on ? 0 : -1, onclick: function () { openTab(t.key); },
      onkeydown: function (event) {
        var by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!by) return;
        openTab(all[(all.indexOf(t) + by + all.length) % all.length].key);
        document.getElementById("to-" + state.tab).focus();
      } }, say("tab_" + t.key), count > 0 && h("span", { class: "pill bad" }, String(count)));
  }));
  replace(document.getElementById("top"), h("div", { class: "brand" }, h("b", null, "dumptool"), h("span", { class: "run" }, bdi(DATA.title))), nav,
    h("div", { class: "tools" },
      h("button", { type: "button", id: "lang", title: say("lang_title"), onclick: function () { state.lang = state.lang === "zh" ? "en" : "zh"; kept("lang", state.lang); draw(); } }, say("other_lang")),
      DATA.run && h("button", { type: "button", id: "second", title: say("before_choose"), "aria-label": say("before_choose"), onclick: chooseSecond }, "⇄"),
      h("button", { type: "button", id: "keys", title: say("keys"), "aria-label": say("keys"), onclick: showHelp }, "?"),
      h("button", { type: "button", id: "theme", title: say("theme"), "aria-label": say("theme"), onclick: switchTheme }, "◐")));
}

function switchTheme() {
  var dark = state.theme ? state.theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  state.theme = dark ? "light" : "dark";
  kept("theme", state.theme);
  document.documentElement.setAttribute("data-theme", state.theme);
}

function openTab(key) {
  state.tab = key;
  remember();
  draw();
}

// ownTab is the tab of the shown run.
function ownTab() { return isCheck() ? "check" : "run"; }

// runTab is the comparison: verdict, strip, table and panel.
function runTab() {
  return [verdictCard(), RUN.rounds.length > 1 && roundsCard(), stripCard(), h("div", { class: "split" }, tableCard(), panelCard())];
}

function fillRun() {
  drawStripBar();
  drawStrip();
  drawTree();
  drawTable();
  drawPanel();
  if (state.row !== null) reveal(state.row);
  drawRows();
}

function roundName(i) {
  var at = RUN.rounds[i].at, name = [at.rank && say("rank") + " " + at.rank, at.step && say("step") + " " + at.step, at.graph && "graph " + at.graph, at.model].filter(Boolean).join(" · ");
  return name || RUN.rounds[i].name || "#" + i;
}

function chooseRound(i) {
  var top = document.getElementById("rounds").scrollTop;
  state.round = i;
  state.zoom = state.module = null;
  state.only = "all";
  state.row = startRow(i);
  remember();
  draw();
  var again = document.getElementById("rounds");
  again.scrollTop = top;
  again.focus({ preventScroll: true });
}

function stripCard() {
  var box = h("div", { class: "strip", id: "strip" }), names = metricNames();
  listenStrip(box);
  var select = h("select", { id: "metric", "aria-label": say("metric"), onchange: function () { state.metric = select.value; drawStrip(); } }, names.map(function (name) { return h("option", { value: name, selected: name === state.metric }, say("m_" + name)); }));
  var marks = [5, 4, 2, 3, 1, 0].filter(function (mark) { return COLS.mark.includes(mark); });
  return h("section", { class: "card stripcard" }, h("div", { class: "bar" }, h("h2", { class: "grow" }, say(RUN.rounds[state.round].known ? "strip_title" : "strip_names")), names.length > 1 && h("label", null, say("metric") + " ", select)),
    h("div", { class: "bar crumbs", id: "crumbs" }), box, h("div", { id: "ribbon", class: "ribbon" }),
    h("div", { class: "legend" }, marks.map(function (mark) { return h("span", null, legendMark(mark), say("mark_" + mark)); })));
}

function legendMark(mark) {
  var svg = s("svg", { width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" }), add = function (kind, d) { svg.append(s("path", { class: "mark " + kind, d: d })); };
  if (mark === 5) { add("needle", bar(7, 1.5, 5, 14)); add("diamond", "M7 0l4 5l-4 5l-4 -5z"); }
  if (mark === 4) add("pale", bar(7, 2, 2, 14));
  if (mark === 3) add("square", "M4 4h6v6h-6z");
  if (mark === 2) add("hollow", circle(7, 7, 3.2));
  if (mark === 1) add("good", circle(7, 7, 3.2));
  if (mark === 0) add("tick", "M3 5h8v5h-8z");
  return svg;
}

function drawStripBar() {
  var zoomed = state.zoom || state.module !== null;
  replace(document.getElementById("crumbs"), zoomed ? [h("button", { type: "button", class: "btn", id: "whole", onclick: unzoom }, say("whole")), state.module !== null && h("b", null, bdi(shorten(state.module.split("\u001f").join("/"), 60))),
    state.zoom && h("span", { class: "mute small" }, say("strip_shown", state.zoom[0] + 1, state.zoom[1], baseRows().length))] : h("span", { class: "mute small" }, say("strip_hint")));
}

function unzoom() { zoomModule(null); }

// select shows a row in the panel. With open the comparison is opened for it, and the
// panel comes into sight.
function select(row, open) {
  state.row = row;
  if (COLS.round[row] !== state.round) { state.round = COLS.round[row]; state.zoom = state.module = null; state.only = "all"; open = true; state.tab = ""; }
  remember();
  if (state.tab !== ownTab()) { state.tab = ownTab(); remember(); draw(); }
  else {
    drawStrip();
    drawRows();
    reveal(row);
    drawPanel();
  }
  if (open) document.getElementById("panel").scrollIntoView({ block: "nearest" });
}

// stepBad goes to the next bad row of the round, or to the one before.
function stepBad(by) {
  var rows = rowsOfRound(state.round), at = state.row === null ? -1 : placeOf(state.row);
  for (var i = at + by; i >= 0 && i < rows.length; i += by) if (isBad(rows[i])) { select(rows[i]); return; }
}

function key(event) {
  var typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "?" && !typing && !document.getElementById("help")) showHelp();
  if (state.tab !== ownTab()) return;
  if (event.key === "Escape") {
    if (typing && event.target.id === "search" && state.query) { event.target.value = state.query = ""; drawTable(); }
    else if (typing) event.target.blur();
    else if (state.zoom || state.module !== null) unzoom();
  } else if (typing) return;
  else if (event.key === "/") {
    event.preventDefault();
    document.getElementById("search").focus();
  } else if (event.key === "j") stepBad(1);
  else if (event.key === "k") stepBad(-1);
}

begin();
