package find

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/lang"
)

// hints are what a root knows that may help where nothing is found.
type hints struct {
	lines  map[int32]bool // with operators, of the script that was asked for
	names  map[string]bool
	frames int
	nodes  int
	// foreign is a file of the tree whose operator has a number that no graph has.
	foreign bool
}

// maxNames is how many names are kept for hints.
const maxNames = 20000

func (h *hints) collect(s *search, r *root, graphs []*loaded) {
	h.lines, h.names = make(map[int32]bool), make(map[string]bool)
	ids := make(map[string]bool)
	name := func(names ...string) {
		for _, one := range names {
			if len(h.names) < maxNames {
				h.names[strings.Clone(one)] = true
			}
		}
	}
	for _, g := range graphs {
		h.nodes += len(g.Nodes)
		for i := range g.Nodes {
			n := &g.Nodes[i]
			for _, f := range g.Frames(n) {
				h.frames++
				if s.query.Kind == Line && !g.IsBlock(f) && s.query.matchesPath(g.Text(f.Path)) {
					h.lines[f.Line] = true
				}
			}
			ids[n.ID()] = true
			name(n.Type, lastPart(n.Name))
		}
		for i := range g.Params {
			name(g.Params[i].Name)
		}
	}
	if len(graphs) == 0 {
		return
	}
	for _, f := range r.files {
		if id, ok := identify(f.Name, ""); ok {
			if at := strings.LastIndex(id.op, "-op"); at >= 0 && !ids[id.op[at+len("-op"):]] {
				h.foreign = true
				return
			}
		}
	}
}

// nearestLines is how many lines a hint names.
const nearestLines = 5

func (s *search) addHints(a *Answer, found []*rootResult) {
	all := hints{lines: make(map[int32]bool), names: make(map[string]bool)}
	for _, r := range found {
		h := &r.hints
		all.frames, all.nodes, all.foreign = all.frames+h.frames, all.nodes+h.nodes, all.foreign || h.foreign
		maps.Copy(all.lines, h.lines)
		maps.Copy(all.names, h.names)
	}
	if all.nodes == 0 {
		return
	}
	add := func(en, zh string, args ...any) {
		a.Notes, a.hints = append(a.Notes, lang.Sayf(en, zh, args...)), a.hints+1
	}
	switch {
	case (a.Kind == Line || a.Kind == Code) && all.frames == 0:
		add("the graph was saved without call stacks", "保存的图不含调用栈")
	case len(all.lines) > 0:
		add("%s has operators at lines %s", "%s 在这些行有算子：%s", path.Base(s.query.path), s.query.nearest(all.lines))
	}
	if a.Kind != Line && a.Kind != Node && a.Kind != Order {
		if near := lang.NearestOf(s.query.Text, slices.Collect(maps.Keys(all.names)), 3); len(near) > 0 {
			add("did you mean %s?", "是否想找 %s？", strings.Join(near, ", "))
		}
	}
	if all.foreign {
		add("op ids change between runs: take the graphs of the same run", "算子 id 每次运行都不同：请使用同一次运行的图")
	}
}

// nearest lists the lines nearest to those that were asked for, in their order.
func (q *Query) nearest(lines map[int32]bool) string {
	all := slices.Collect(maps.Keys(lines))
	distance := func(line int32) int64 { return max(int64(q.from)-int64(line), int64(line)-int64(q.to)) }
	slices.SortFunc(all, func(a, b int32) int { return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(a, b)) })
	all = all[:min(len(all), nearestLines)]
	slices.Sort(all)
	texts := make([]string, len(all))
	for i, line := range all {
		texts[i] = strconv.Itoa(int(line))
	}
	return strings.Join(texts, ", ")
}

// Outcome is how the search ended.
func (a *Answer) Outcome() batch.Outcome { return a.withMessages(a.ended()) }

// ChosenOutcome is how the search for dumps ended: there is nothing to do where it has
// found none.
func (a *Answer) ChosenOutcome() batch.Outcome {
	switch {
	case len(a.chosen) > 0:
		return a.withMessages(batch.Outcome{})
	case len(a.Results) > 0:
		return a.withMessages(batch.Outcomef(batch.Nothing, "%q was found, but no dump that is surely of it", "找到了 %q，但没有确定属于它的 dump", a.Query))
	case a.Graphs > 0:
		return a.withMessages(batch.Outcomef(batch.Nothing, "nothing found for %q", "没有找到 %q", a.Query))
	}
	return a.Outcome()
}

func (a *Answer) withMessages(o batch.Outcome) batch.Outcome {
	say := func(notes []lang.Sentence) {
		for _, note := range notes {
			o.Messages = append(o.Messages, batch.Message{Text: note})
		}
	}
	notes := len(a.Notes) - a.hints
	say(a.Notes[:notes])
	for _, u := range a.Unreadable {
		if u.Offset != nil {
			o.Messages = append(o.Messages, batch.Warnf("%s: %s, at byte %d", "%s: %s，位于字节 %d", u.Path, u.Error, *u.Offset))
		} else {
			o.Messages = append(o.Messages, batch.Warnf("%s: %s", "%s: %s", u.Path, u.Error))
		}
	}
	say(a.Notes[notes:])
	return o
}

func (a *Answer) ended() batch.Outcome {
	switch {
	case len(a.Unreadable) > 0 && len(a.Results) == 0:
		return batch.Outcomef(batch.Incomplete, "nothing found for %q, but %s could not be read completely", "没有找到 %q，但%s未能完整读取", a.Query, lang.CountText(len(a.Unreadable), "file", "个文件"))
	case len(a.Unreadable) > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read completely", "%s未能完整读取", lang.CountText(len(a.Unreadable), "file", "个文件"))
	case len(a.Results) > 0 && a.Graphs == 0:
		return batch.Outcome{Messages: []batch.Message{batch.Infof("no graph files below the folder: found by what the dumps say of themselves", "目录下没有图文件：按 dump 自身的信息查找")}}
	case a.Graphs == 0:
		return batch.Outcomef(batch.Nothing, "no graph files below the folder", "目录下没有图文件").
			WithHint("MindSpore saves them to {path}/rank_N/graphs (dump) or by MS_DEV_SAVE_GRAPHS=2", "MindSpore 将图保存在 {path}/rank_N/graphs（dump），或设置 MS_DEV_SAVE_GRAPHS=2 后保存")
	case len(a.Results) == 0:
		return batch.Outcomef(batch.Nothing, "nothing found for %q", "没有找到 %q", a.Query)
	}
	return batch.Outcome{}
}
