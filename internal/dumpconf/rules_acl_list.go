package dumpconf

import "strings"

// aclListRules check the items of dump_list.
func aclListRules() []rule {
	return []rule{
		{"ACL062", Error, "EP0001", stageList, "an empty model_name or layer with dump_op_switch off",
			"%s is empty; fill it, or remove the key to mean all",
			func(c *check, r *reporter) {
				if c.acl.OpSwitch() {
					return
				}
				for _, it := range c.acl.DumpList.Value {
					if m := it.ModelName; m.OK && m.Value == "" && !r.full() {
						r.at(m.valueSpot(), "model_name")
					}
					if l := it.Layer; l.OK && len(l.Value) == 0 && !r.full() {
						r.at(l.valueSpot(), "layer")
					}
				}
			}},
		{"ACL063", Warning, "", stageLint, "a model_name with folder or suffix",
			"model_name %s matches no model: give the name without folder and suffix",
			func(c *check, r *reporter) {
				for _, it := range c.acl.DumpList.Value {
					m := it.ModelName
					if (strings.HasSuffix(m.Value, ".om") || strings.Contains(m.Value, "/")) && !r.full() {
						f := r.at(m.valueSpot(), show(m.Value))
						f.Suggestion = strings.TrimSuffix(m.Value[strings.LastIndexByte(m.Value, '/')+1:], ".om")
					}
				}
			}},
		{"ACL064", Warning, "", stageLint, "a model_name that occurs twice",
			"model_name %s must be unique; it is already that of line %d",
			func(c *check, r *reporter) {
				seen := make(map[string]Setting[string])
				for _, it := range c.acl.DumpList.Value {
					m := it.ModelName
					if m.Value == "" || r.full() {
						continue
					}
					first, again := seen[m.Value]
					if !again {
						seen[m.Value] = m
						continue
					}
					line, _ := c.doc.Position(first.Node.Start)
					f := r.at(m.valueSpot(), show(m.Value), line)
					f.Related = c.related(first.Node.Start, first.Node.End, "the first")
				}
			}},
		{"ACL065", Warning, "", stageLint, "items with and without model_name",
			"an item without model_name applies to all models, also to those that are named in other items",
			func(c *check, r *reporter) {
				named := false
				for _, it := range c.acl.DumpList.Value {
					named = named || it.ModelName.Present()
				}
				for _, it := range c.acl.DumpList.Value {
					if named && !it.ModelName.Present() && !r.full() {
						r.at(it.keySpot())
					}
				}
			}},
		{"ACL066", Warning, "", stageLint, "an empty name in layer or watcher_nodes",
			"an empty name matches nothing; remove it",
			func(c *check, r *reporter) {
				c.acl.eachName(func(s Setting[string], _ map[string]bool) {
					if s.Value == "" && !r.full() {
						r.at(s.valueSpot())
					}
				})
			}},
		{"ACL068", Warning, "", stageLint, "a name with blanks around it, or given twice, in layer or watcher_nodes",
			"name %s %s",
			func(c *check, r *reporter) {
				c.acl.eachName(func(s Setting[string], before map[string]bool) {
					switch trimmed := strings.TrimSpace(s.Value); {
					case s.Value == "" || r.full():
					case trimmed != s.Value:
						r.at(s.valueSpot(), show(s.Value), "has blanks around it and never matches").Suggestion = trimmed
					case before[s.Value]:
						r.at(s.valueSpot(), show(s.Value), "is listed twice")
					}
				})
			}},
		{"ACL069", Warning, "", stageLint, "blanks around a model_name or a name of a blacklist",
			"name %s has blanks around it and never matches",
			func(c *check, r *reporter) {
				blank := func(s Setting[string]) {
					if trimmed := strings.TrimSpace(s.Value); s.OK && trimmed != s.Value && !r.full() {
						r.at(s.valueSpot(), show(s.Value)).Suggestion = trimmed
					}
				}
				for _, it := range c.acl.DumpList.Value {
					blank(it.ModelName)
				}
				c.acl.eachBlacklistEntry(func(e ACLBlacklistEntry) { blank(e.Name) })
			}},
		{"ACL083", Warning, "", stageLint, "inputs and outputs of all operators of all models at all steps, as tensors",
			`this dumps all tensors of all models at every step, which is very large; consider dump_data "stats", layer or dump_step`,
			func(c *check, r *reporter) {
				a := c.acl
				if a.Mode() != "all" || a.Stats() || a.DumpStep.Value != "" || a.OpSwitch() || a.Overflow() || a.DumpScene.Value != "" {
					return
				}
				for _, it := range a.DumpList.Value {
					if !it.ModelName.Present() && !it.Layer.Present() && !it.OpnameRange.Present() {
						r.at(it.keySpot())
						return
					}
				}
			}},
	}
}

// eachName calls do with every name of layer and watcher_nodes, and with the
// names before it in the same array.
func (a *ACL) eachName(do func(s Setting[string], before map[string]bool)) {
	for _, it := range a.DumpList.Value {
		for _, names := range [][]Setting[string]{it.Layer.Value, it.WatcherNodes.Value} {
			before := make(map[string]bool)
			for _, s := range names {
				if s.OK {
					do(s, before)
					before[s.Value] = true
				}
			}
		}
	}
}
