
// The modules of the tensors as a tree above the table, with the worst status and the count
// of each. Its operators are listed when a module is opened.
var TREE = { listed: 100 };

// within reports whether a module is another one or lies in it.
function within(module, path) { return path === module || path.startsWith(module + "\u001f"); }

// moduleTree is the tree of the modules of a round.
var trees = {};
function moduleTree(round) {
  if (trees[round]) return trees[round];
  var sums = new Map(), root = newModule("", "");
  rowsOfRound(round).forEach(function (row) {
    var at = COLS.mod.at[row];
    if (!sums.has(at)) sums.set(at, newModule("", COLS.mod.table[at]));
    addRow(sums.get(at), row, 1, Number(isBad(row)));
  });
  sums.forEach(function (sum) {
    var node = root, levels = sum.path === "" ? [] : sum.path.split("\u001f");
    addRow(root, sum.worst, sum.count, sum.bad);
    levels.forEach(function (name, i) {
      if (!node.children.has(name)) node.children.set(name, newModule(name, levels.slice(0, i + 1).join("\u001f")));
      node = node.children.get(name);
      addRow(node, sum.worst, sum.count, sum.bad);
    });
    node.own += sum.count;
  });
  return trees[round] = root;
}

function newModule(name, path) { return { name: name, path: path, children: new Map(), worst: -1, count: 0, bad: 0, own: 0 }; }

function addRow(node, worst, count, bad) {
  node.count += count;
  node.bad += bad;
  if (node.worst < 0 || COLS.mark[worst] > COLS.mark[node.worst]) node.worst = worst;
}

// drawTree shows the modules of the round; without any there is no tree.
function drawTree() {
  var box = document.getElementById("tree"), root = moduleTree(state.round);
  while (root.children.size === 1 && root.own === 0) root = root.children.values().next().value;
  box.hidden = root.children.size === 0;
  if (!box.hidden) replace(box, h("h2", null, say("modules")), moduleList(root, false));
}

function moduleList(node, operators) {
  var children = Array.from(node.children.values()).sort(function (a, b) { return compareNatural(a.name, b.name); });
  var rows = !operators || !node.own ? [] : rowsOfRound(state.round).filter(function (row) { return inTable(COLS.mod, row) === node.path; });
  return h("ul", null, children.map(moduleItem), rows.slice(0, TREE.listed).map(function (row) {
    return h("li", { class: "leaf" }, statusBadge(statusOf(row)), " ", h("button", { type: "button", class: "link", title: visible(nameOf(row)), onclick: function () { select(row); } }, bdi(shorten(nameParts(row)[1] || nameOf(row), 60))), h("span", { class: "mute small" }, " " + badness(row)));
  }), rows.length > TREE.listed && h("li", { class: "leaf mute small" }, say("and_more", rows.length - TREE.listed)));
}

function moduleItem(node) {
  var open = Boolean(state.open[node.path]), chosen = state.module === node.path;
  var again = function (kind) { var e = Array.from(document.querySelectorAll("#tree ." + kind)).find(function (e) { return e.dataset.module === node.path; }); if (e) e.focus(); };
  return h("li", null,
    h("button", { type: "button", class: "fold", "data-module": node.path, "aria-expanded": String(open), "aria-label": say(open ? "fold" : "unfold", visible(node.name)), onclick: function () { state.open[node.path] = !open; drawTree(); again("fold"); } }, open ? "▾" : "▸"),
    h("button", { type: "button", class: "modulename" + (chosen ? " chosen" : ""), "data-module": node.path, "aria-pressed": String(chosen), onclick: function () { zoomModule(chosen ? null : node.path); again("modulename"); } },
      bdi(node.name), " ", statusBadge(statusOf(node.worst)), h("span", { class: "mute small" }, " " + (node.bad ? say("module_bad", node.bad, node.count) : node.count === 1 ? say("module_one") : say("module_count", node.count)))),
    open && moduleList(node, true));
}

// zoomModule zooms strip and table to a module, null for all.
function zoomModule(path) {
  state.module = path;
  state.zoom = null;
  drawZoomed();
}

function drawZoomed() {
  drawStrip();
  drawStripBar();
  drawTree();
  drawTable();
}
