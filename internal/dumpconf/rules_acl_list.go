package dumpconf

import (
	"iter"
	"slices"
	"strings"
)

// aclListRules check the items of dump_list.
var aclListRules = []rule{
	{id: "ACL062", severity: Error, code: "EP0001", stage: stageList, checks: "an empty model_name or layer with dump_op_switch off",
		guess: true, message: Text{EN: "%s is empty; fill it, or remove the key to mean all", ZH: "%s 为空；请填写，或删除该键表示全部"},
		acl: func(a *ACL, r *reporter) {
			for _, it := range a.DumpList.Value {
				r.when(!a.OpSwitch() && it.ModelName.isEmpty(), it.ModelName.valueSpan(), "model_name")
				r.when(!a.OpSwitch() && it.Layer.isEmpty(), it.Layer.valueSpan(), "layer")
			}
		}},
	{id: "ACL063", severity: Warning, checks: "a model_name with folder or suffix",
		message: Text{EN: "model_name %s matches no model: give the name without folder and suffix", ZH: "model_name %s 不匹配任何模型：应填写不含目录和后缀的名称"},
		mind:    Text{EN: "matches no model: the name has a folder or suffix", ZH: "名称含目录或后缀，不匹配任何模型"},
		acl: func(a *ACL, r *reporter) {
			for _, it := range a.DumpList.Value {
				m := it.ModelName
				if strings.HasSuffix(m.Value, ".om") || strings.Contains(m.Value, "/") {
					f := r.at(m.valueSpan(), show(m.Value))
					f.Suggestion = strings.TrimSuffix(m.Value[strings.LastIndexByte(m.Value, '/')+1:], ".om")
				}
			}
		}},
	{id: "ACL064", severity: Warning, checks: "a model_name that occurs twice",
		message: Text{EN: "model_name %s must be unique; it is already that of line %d", ZH: "model_name %s 必须唯一，第 %d 行已使用"},
		acl: func(a *ACL, r *reporter) {
			seen := make(map[string]Setting[string])
			for _, it := range a.DumpList.Value {
				m := it.ModelName
				first, again := seen[m.Value]
				switch {
				case m.Value == "" || again && r.full():
				case !again:
					seen[m.Value] = m
				default:
					line, _ := r.doc.Position(first.Node.Start)
					r.at(m.valueSpan(), show(m.Value), line).Related = r.related(first.Node.Start, first.Node.End, Text{EN: "the first", ZH: "首次出现"})
				}
			}
		}},
	{id: "ACL065", severity: Warning, checks: "items with and without model_name",
		guess: true, message: Text{EN: "an item without model_name applies to all models, also to those that are named in other items", ZH: "没有 model_name 的项作用于所有模型，包括其他项中的模型"},
		mind: Text{EN: "the item has no model_name and so applies to all models, also to those of other items", ZH: "该项没有 model_name，会作用于所有模型，包括其他项中的模型"},
		acl: func(a *ACL, r *reporter) {
			named := slices.ContainsFunc(a.DumpList.Value, func(it ACLItem) bool { return it.ModelName.Present() })
			for _, it := range a.DumpList.Value {
				r.when(named && !it.ModelName.Present(), it.keySpan())
			}
		}},
	{id: "ACL066", severity: Warning, checks: "an empty name in layer or watcher_nodes",
		message: Text{EN: "an empty name matches nothing; remove it", ZH: "空名称不匹配任何算子，请删除"},
		ignored: Text{EN: "an empty name matches nothing", ZH: "空名称不匹配任何算子"},
		acl: func(a *ACL, r *reporter) {
			for s := range a.names() {
				r.when(s.Value == "", s.valueSpan())
			}
		}},
	{id: "ACL068", severity: Warning, checks: "a name with blanks around it, or given twice, in layer or watcher_nodes",
		message: Text{EN: "name %s %s", ZH: "名称 %s %s"},
		mind:    Text{EN: "the name has blanks around it, or is there twice", ZH: "名称首尾有空格或重复"},
		acl: func(a *ACL, r *reporter) {
			for s, again := range a.names() {
				switch trimmed := strings.TrimSpace(s.Value); {
				case s.Value == "":
				case trimmed != s.Value:
					r.at(s.valueSpan(), show(s.Value), Text{EN: "has blanks around it and never matches", ZH: "首尾有空格，不会匹配"}).suggest(trimmed)
				case again:
					r.at(s.valueSpan(), show(s.Value), Text{EN: "is listed twice", ZH: "重复"})
				}
			}
		}},
	{id: "ACL069", severity: Warning, checks: "blanks around a model_name or a name of a blacklist",
		message: Text{EN: "name %s has blanks around it and never matches", ZH: "名称 %s 首尾有空格，不会匹配"},
		acl: func(a *ACL, r *reporter) {
			for _, it := range a.DumpList.Value {
				r.blanks(it.ModelName)
			}
			for e := range a.blacklisted() {
				r.blanks(e.Name)
			}
		}},
	{id: "ACL083", severity: Warning, checks: "inputs and outputs of all operators of all models at all steps, as tensors",
		guess: true, message: Text{EN: `this dumps all tensors of all models at every step, which is very large; consider dump_data "stats", layer or dump_step`, ZH: `会在每个 step dump 所有模型的全部张量，数据量很大；建议使用 dump_data "stats"、layer 或 dump_step`},
		acl: func(a *ACL, r *reporter) {
			i := slices.IndexFunc(a.DumpList.Value, func(it ACLItem) bool {
				return !it.ModelName.Present() && !it.Layer.Present() && !it.OpnameRange.Present()
			})
			if i >= 0 && a.Mode() == "all" && !a.Stats() && a.DumpStep.Value == "" && !a.OpSwitch() && !a.Overflow() && a.DumpScene.Value == "" {
				r.at(a.DumpList.Value[i].keySpan())
			}
		}},
}

// names are the names of layer and watcher_nodes, and whether they are in the same
// array before.
func (a *ACL) names() iter.Seq2[Setting[string], bool] {
	return func(yield func(Setting[string], bool) bool) {
		for _, it := range a.DumpList.Value {
			for _, names := range [][]Setting[string]{it.Layer.Value, it.WatcherNodes.Value} {
				seen := make(map[string]bool)
				for _, s := range names {
					if s.OK && !yield(s, seen[s.Value]) {
						return
					}
					seen[s.Value] = seen[s.Value] || s.OK
				}
			}
		}
	}
}

// blanks reports a string with blanks around it.
func (r *reporter) blanks(s Setting[string]) {
	if trimmed := strings.TrimSpace(s.Value); trimmed != s.Value {
		r.at(s.valueSpan(), show(s.Value)).suggest(trimmed)
	}
}
