package dumpconf

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

var msprobeRules = []rule{
	{id: "MP001", severity: Error, checks: "a task that msprobe does not know", message: asSaid,
		run: (*reporter).values},
	{id: "MP002", severity: Error, checks: "a level that msprobe does not know", message: asSaid,
		run: (*reporter).values},
	{id: "MP003", severity: Error, checks: "a rank beyond the number of ranks",
		message: Text{EN: "there is no rank %d among %d ranks (--world-size), which count from 0", ZH: "没有 rank %d：共 %d 个 rank(--world-size)，从 0 计数"},
		run: func(r *reporter) {
			size := r.opt.WorldSize
			for _, s := range r.listed(r.msprobe.Rank, nil) {
				r.when(size > 0 && s.To >= size, s.at, s.To, size)
			}
		}},
	{id: "MP004", severity: Error, checks: "ranks or steps that are no list of numbers and ranges", message: asSaid,
		run: func(r *reporter) {
			for _, s := range []Setting[struct{}]{r.msprobe.Rank, r.msprobe.Step} {
				r.listed(s, func(at span, found any) {
					r.at(at, lang.Sayf("%s must be a list of numbers and of ranges such as [0, \"3-5\"], found %s", "%s 必须是由数字和范围组成的列表，如 [0, \"3-5\"]，实际为%s", lastOf(s.Path), found))
				})
			}
		}},
	{id: "MP005", severity: Warning, checks: "both list and scope are set",
		message: Text{EN: "list and scope are both set, and only one of them counts; leave one of them empty", ZH: "同时设置了 list 和 scope，只有一个生效；请将其中一个留空"},
		run: func(r *reporter) {
			for _, task := range r.msprobe.Tasks {
				list, scope := lookup[struct{}](task, "list"), lookup[struct{}](task, "scope")
				both := list.Present() && scope.Present() && len(list.Node.Elems) > 0 && len(scope.Node.Elems) > 0
				r.when(both, scope.keySpan())
			}
		}},
	{id: "MP006", severity: Warning, checks: "dump_path is missing or not absolute",
		guess: true, message: asSaid,
		run: func(r *reporter) {
			r.mistyped()
			p, root := r.msprobe.DumpPath, r.msprobe.Root
			switch {
			case root.Present() && p.lacks():
				r.at(p.spanIn(root), Text{EN: "dump_path is missing: msprobe then wants the path in the script", ZH: "缺少 dump_path：msprobe 此时要求在脚本中给出路径"})
			case p.OK && p.Node.Kind == jsonpos.String && !path.IsAbs(p.Value):
				r.at(p.valueSpan(), lang.Sayf("dump_path %s is relative: it depends on where the script is started", "dump_path %s 是相对路径，取决于脚本的启动目录", show(p.Value)))
			}
		}},
	{id: "MP007", severity: Warning, checks: "a key that msprobe does not know",
		guess: true, message: Text{EN: "msprobe does not know the key %s%s", ZH: "msprobe 不支持键 %s%s"},
		run: func(r *reporter) {
			for _, s := range r.read.unknown {
				r.unknownKey(s, s.in.table.names())
			}
		}},
}

// listedRange is an element of a list of ranks or steps.
type listedRange struct {
	at       span
	From, To uint64
}

// listed returns the elements of a list of ranks or steps; wrong, which may be nil,
// is called for what is none.
func (r *reporter) listed(s Setting[struct{}], wrong func(at span, found any)) []listedRange {
	if wrong == nil {
		wrong = func(span, any) {}
	}
	switch {
	case !s.Present() || s.Node.Kind == jsonpos.Invalid:
		return nil
	case s.Node.Kind != jsonpos.Array:
		wrong(s.valueSpan(), s.Node.Kind)
		return nil
	}
	var all []listedRange
	for i, node := range s.Node.Elems {
		at := span{fmt.Sprintf("%s[%d]", s.Path, i), node.Start, node.End}
		from, to, ok := parseRange(node)
		switch {
		case node.Kind == jsonpos.Invalid:
		case !ok && node.Kind == jsonpos.String:
			wrong(at, show(node.Text))
		case !ok:
			wrong(at, shorten(string(r.doc.Source()[node.Start:node.End])))
		default:
			all = append(all, listedRange{at, from, to})
		}
	}
	return all
}

// parseRange reads a number, or a string a-b.
func parseRange(node *jsonpos.Value) (from, to uint64, ok bool) {
	first, last, isRange := node.Text, node.Text, false
	switch node.Kind {
	case jsonpos.Number:
	case jsonpos.String:
		if first, last, isRange = strings.Cut(node.Text, "-"); !isRange {
			return 0, 0, false
		}
	default:
		return 0, 0, false
	}
	from, err := strconv.ParseUint(first, 10, 64)
	to, err2 := strconv.ParseUint(last, 10, 64)
	return from, to, err == nil && err2 == nil && from <= to
}
