
// The table: all rows of the round, filtered and sorted. Only the rows in sight are in
// the document.
var COLUMNS = [];

function columnsOfTable() {
  var errors = { key: "err", of: METRICS.share, text: badness }, score = { key: "score", of: METRICS.score, text: function (row) { return brief(COLS.score[row]); } };
  var own = isCheck() ? [errors, score] : BY_STATISTICS ? [
    { key: "ratio", of: function (row) { var x = METRICS.ratio(row); return x === null ? null : Math.abs(x); }, text: function (row) { return brief(COLS.ratio[row]); } },
    { key: "z", of: METRICS.z, text: function (row) { return brief(COLS.z[row]); } },
    { key: "expected", of: function (row) { return number(COLS.expected[row]); }, text: function (row) { return brief(COLS.expected[row]); } },
    score
  ] : [
    errors,
    { key: "mean_rel", of: METRICS.mean_rel, text: function (row) { return brief(COLS.mean_rel[row]); } },
    { key: "max_abs", of: METRICS.max_abs, text: function (row) { return brief(COLS.max_abs[row]); } },
    { key: "cosd", of: METRICS.cosd, text: function (row) { return cosine(COLS.cosd[row]); } }
  ];
  return [
    { key: "i", of: function (row) { return row; } },
    { key: "status", of: function (row) { return -COLS.mark[row] * 100 + COLS.status[row]; }, left: true },
    { key: "name", of: function (row) { return COLS.name[row]; }, left: true }
  ].concat(own);
}

var table = { rows: [], shown: [] };

function rowHeight() { return window.innerWidth <= 640 ? 52 : 40; }

// words of a search that a row has to have, all of them.
var haystacks = [];
function haystack(row) {
  if (!haystacks[row]) haystacks[row] = (COLS.name[row] + "\n" + inTable(COLS.type, row) + "\n" + codeOf(row) + "\n" + statusOf(row)).toLowerCase();
  return haystacks[row];
}

// filtered are the rows that the chips and the search leave, in the order wanted.
function filtered() {
  var words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  var rows = stripRows().filter(function (row) {
    return chipHas(state.only, row) && words.every(function (word) { return haystack(row).includes(word); });
  });
  var column = COLUMNS.find(function (c) { return c.key === state.sort; });
  if (state.sort !== "i" || state.down) {
    var values = new Map(rows.map(function (row) { return [row, column.of(row)]; }));
    rows.sort(function (a, b) { return compareValues(values.get(a), values.get(b), state.down) || a - b; });
  }
  return rows;
}

// compareValues puts undefined values last, and what is not finite above all numbers.
function compareValues(a, b, down) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "string") return (down ? -1 : 1) * (a < b ? -1 : a > b ? 1 : 0);
  a = isNaN(a) ? Infinity : a;
  b = isNaN(b) ? Infinity : b;
  return a === b ? 0 : (down ? -1 : 1) * (a < b ? -1 : 1);
}

function chipHas(only, row) {
  if (only === "all") return true;
  if (only === "origin") return COLS.mark[row] === MARK.origin;
  return statusOf(row) === only;
}

// chipNames are the chips that any row of the round has.
function chipNames() {
  var rows = rowsOfRound(state.round);
  return ["all", "origin"].concat(RUN.statuses).filter(function (only) {
    return only === "all" || !(isCheck() && only === "origin") && rows.some(function (row) { return chipHas(only, row); });
  });
}

function drawChips() {
  var rows = stripRows();
  replace(document.getElementById("chips"), chipNames().map(function (only) {
    var count = rows.filter(function (row) { return chipHas(only, row); }).length;
    var label = only === "all" ? say("all") : only === "origin" ? h("span", { class: "s s-FAIL" }, h("span", { "aria-hidden": "true" }, "◆ "), say("damaged")) : statusBadge(only);
    return h("button", { class: "chip", type: "button", "data-only": only, "aria-pressed": String(state.only === only), onclick: function () { chooseChip(only); } }, label, h("b", null, String(count)));
  }));
}

function chooseChip(only) {
  state.only = only;
  remember();
  drawTable();
}

function tableCard() {
  var input = h("input", { id: "search", type: "search", placeholder: say("search"), "aria-label": say("search_label"), value: state.query, autocomplete: "off", spellcheck: "false",
    oninput: function () { state.query = input.value; drawTable(); } });
  var scroll = h("div", { class: "scroll", id: "scroll", role: "rowgroup", tabindex: 0, onscroll: drawRows }, h("div", { class: "rows", id: "rows" }));
  return h("section", { class: "card tablecard", id: "table", tabindex: "-1" },
    h("div", { class: "tree", id: "tree", role: "group", "aria-label": say("modules"), hidden: true }),
    h("div", { class: "chips", id: "chips" }),
    h("div", { class: "bar" }, input, h("span", { class: "grow" }), h("span", { class: "mute small", id: "shown", role: "status" })),
    beginning(state.round) && h("p", { class: "mute small begin" }, say("beginning") + " ", h("b", null, bdi(beginning(state.round)))),
    h("div", { role: "grid", id: "grid", class: BY_STATISTICS ? "few" : isCheck() ? "checked" : null, tabindex: "0", "aria-label": say("col_name"), onkeydown: gridKey, oncopy: copyNames },
      h("div", { class: "head", role: "row", "aria-rowindex": "1", id: "head" }), scroll));
}

function drawHead() {
  replace(document.getElementById("head"), COLUMNS.map(function (c, i) {
    var sorted = state.sort === c.key;
    return h("div", { role: "columnheader", class: "c-" + c.key, "aria-colindex": i + 1, "aria-sort": sorted ? (state.down ? "descending" : "ascending") : "none" },
      h("button", { type: "button", class: sorted ? "sorted" : "", "data-sort": c.key, onclick: function () { sortBy(c); } }, say("col_" + c.key), sorted && (state.down ? " ↓" : " ↑")));
  }));
}

// sortBy sorts by a column: numbers begin with the largest.
function sortBy(c) {
  if (state.sort === c.key) state.down = !state.down;
  else {
    state.sort = c.key;
    state.down = !c.left && c.key !== "i";
  }
  drawTable();
}

function drawTable() {
  if (!document.getElementById("grid")) return;
  table.rows = filtered();
  drawChips();
  drawHead();
  document.getElementById("shown").textContent = say("shown", table.rows.length, rowsOfRound(state.round).length) + (RUN.no_picture > 0 ? " · " + say("drawn", RUN.drawn - RUN.no_picture, RUN.drawn) : "");
  document.getElementById("grid").setAttribute("aria-rowcount", table.rows.length + 1);
  document.getElementById("grid").setAttribute("aria-colcount", COLUMNS.length);
  document.getElementById("rows").style.height = table.rows.length * rowHeight() + "px";
  drawRows();
}

// drawRows puts the rows in sight in their places, in print the first of them.
function drawRows() {
  var scroll = document.getElementById("scroll"), tall = rowHeight(), most = 200;
  if (!scroll) return;
  var name = document.querySelector("#head .c-name");
  table.room = (name && name.clientWidth || scroll.clientWidth - 190) - 6;
  var first = Math.max(0, Math.floor(scroll.scrollTop / tall) - 6), last = Math.min(table.rows.length, first + Math.ceil((scroll.clientHeight || 600) / tall) + 12);
  if (state.print) { first = 0; last = Math.min(most, table.rows.length); }
  var elements = [];
  for (var k = first; k < last; k++) elements.push(rowElement(k, tall));
  if (!table.rows.length) elements.push(h("p", { class: "mute none" }, say("no_rows")));
  if (state.print && last < table.rows.length) elements.push(h("p", { class: "mute none" }, say("and_more", table.rows.length - last)));
  replace(document.getElementById("rows"), elements);
}

function rowElement(k, tall) {
  var row = table.rows[k], first = RUN.rounds[state.round].find.bad === row;
  var element = h("div", { class: "row" + (first ? " first" : ""), role: "row", "aria-rowindex": k + 2, "aria-selected": String(row === state.row), "data-row": row,
    onclick: function () { select(row); } },
    h("div", { role: "gridcell", class: "c-i" }, String(placeOf(row))),
    h("div", { role: "gridcell", class: "c-status" }, statusBadge(statusOf(row))),
    nameCell(row),
    COLUMNS.filter(function (c) { return c.text; }).map(function (c) { return h("div", { role: "gridcell", class: "c-" + c.key }, c.text(row)); }));
  if (!state.print) element.style.top = k * tall + "px";
  return element;
}

// nameCell is the last part of a name above its path, both cut to the column, without what
// all names begin with.
function nameCell(row) {
  var parts = nameParts(row), tensor = /:((?:input|output|parameter):\d+)$/.exec(parts[1]), change = COLS.chg[row], room = state.print ? 1000 : table.room;
  var last = visible(tensor ? parts[1].slice(0, tensor.index) : parts[1]), path = visible(parts[0].slice(beginning(COLS.round[row]).length).replace(/[._\/]+$/, ""));
  var start = tensor ? tensor[1] + " · " : "", below = path || parts[0] === "" ? path || inTable(COLS.type, row) : inTable(COLS.type, row);
  return h("div", { role: "gridcell", class: "c-name", title: visible(COLS.name[row]) },
    h("span", { class: "line" }, h("b", null, h("bdi", null, fitted(last, change > 0 ? room - 60 : room, "600 13px"))), change > 0 && h("span", { class: "pill chg-" + change }, say("chg_" + change))),
    h("span", { class: "path" }, h("bdi", null, fitted(start + below, room, "11.5px"))));
}

// copyNames copies names whole where rows of the table were marked.
function copyNames(event) {
  var marked = window.getSelection(), rows = Array.from(document.querySelectorAll("#rows .row")).filter(function (e) { return marked.containsNode(e.querySelector(".c-name"), true); });
  if (!rows.length || !event.clipboardData) return;
  event.clipboardData.setData("text/plain", rows.length === 1 && marked.containsNode(rows[0].querySelector(".c-name"), true) ? COLS.name[rows[0].dataset.row] : rows.map(function (e) {
    return Array.from(e.children).map(function (cell) { return cell.matches(".c-name") ? COLS.name[e.dataset.row] : cell.textContent; }).join("\t");
  }).join("\n"));
  event.preventDefault();
}

// reveal scrolls the table to a row.
function reveal(row) {
  var scroll = document.getElementById("scroll"), at = table.rows.indexOf(row), tall = rowHeight();
  if (at < 0 || !scroll) return;
  if (at * tall < scroll.scrollTop || (at + 1) * tall > scroll.scrollTop + scroll.clientHeight)
    scroll.scrollTop = Math.max(0, at * tall - scroll.clientHeight / 3);
}

function gridKey(event) {
  var by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
  if (!by || event.target.tagName === "INPUT") return;
  event.preventDefault();
  var at = table.rows.indexOf(state.row), to = Math.max(0, Math.min(table.rows.length - 1, at < 0 ? 0 : at + by));
  if (table.rows.length) select(table.rows[to]);
}
