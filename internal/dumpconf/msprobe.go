package dumpconf

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// msprobeTasks lists the tasks of msprobe, each with settings under its name.
var msprobeTasks = []string{"statistics", "tensor", "acc_check", "run_ut", "overflow_check", "free_benchmark", "grad_probe", "structure",
	"exception_dump"}

// The keys of msprobe's config.json. Only keys that users get wrong are checked: msprobe reads the
// file itself and writes its own acl.json. All tasks share one table of settings, because releases
// moved keys between tasks.
var (
	msprobeRoot = keyTable{description: Text{EN: "the top level"}, keys: append(append([]Key{
		{Name: "task", Type: TypeString, Values: msprobeTasks, rule: "MP001", Doc: Text{EN: "whole tensors or their statistics"}},
		{Name: "level", Type: TypeString, Values: []string{"L0", "L1", "L2", "mix", "debug"}, rule: "MP002",
			Doc: Text{EN: "modules (L0), calls (L1), modules and calls (mix), kernels of a call (L2)"}},
		{Name: "dump_path", Type: TypeString, rule: "MP006", Doc: Text{EN: "folder for the dump files"}, Question: Text{EN: "Folder for the dump files?"}},
		{Name: "rank", Type: TypeAny, Doc: Text{EN: "ranks to dump, such as 0,4-6; all when empty"}},
		{Name: "step", Type: TypeAny, Doc: Text{EN: "steps to dump, such as 0,3-5, counted from 0; all when empty"},
			Question: Text{EN: "Steps to dump, such as 0,3-5 (empty: all)?"}},
	}, namedKeys(Key{Type: TypeAny}, "enable_dataloader", "async_dump", "precision", "acl_config", "extra_info", "seed", "is_deterministic",
		"bench_path", "dump_enable", "consistent_check", "risk_level")...), namedKeys(Key{Type: TypeObject, members: &msprobeTask}, msprobeTasks...)...)}
	msprobeTask = keyTable{description: Text{EN: "the settings of a task"}, keys: append([]Key{
		{Name: "scope", Type: TypeAny, Doc: Text{EN: "first and last call or module to dump, by their full names"}},
		{Name: "list", Type: TypeAny, Doc: Text{EN: "calls to dump, by full names or parts of them; all when empty"},
			Question: Text{EN: "Calls to dump, by names or parts of them, with commas between (empty: all)?"}},
		{Name: "data_mode", Type: TypeAny, Values: []string{"all", "forward", "backward", "input", "output"}, Doc: Text{EN: "passes and sides to dump"}},
	}, namedKeys(Key{Type: TypeAny}, "tensor_list", "bench_path", "diff_nums", "backward_input", "file_format",
		"summary_mode", "device", "overflow_nums", "check_mode", "white_list", "black_list", "error_data_path", "is_online", "online_run_ut",
		"online_run_ut_recompute", "nfs_path", "host", "port", "rank_list", "tls_path", "is_benchmark_log", "grad_level", "param_list", "bounds",
		"fuzz_device", "pert_mode", "handler_type", "fuzz_level", "fuzz_stage", "if_preheat", "preheat_step", "max_sample")...)}
)

func msprobeProfile() Profile {
	root, task := msprobeRoot.field, msprobeTask.field
	return Profile{
		Name: "msprobe", About: Text{EN: "msprobe: calls and modules of PyTorch or MindSpore"}, Schema: SchemaMsprobe,
		next: []string{"next.msprobe", "next.msprobe-reference", "next.msprobe-large"},
		Fields: []Field{root("task", "tensor").withValues("statistics", "tensor"), root("dump_path").withPlaceholder(folderPlaceholder), root("rank").asStrings().withEmptyDefault(),
			root("step", "0").asStrings(), root("level", "mix"), task("scope").asStrings().withEmptyDefault(), task("list").asStrings().withEmptyDefault(), task("data_mode", "all").asStrings()},
	}
}

// namedKeys returns keys that differ only in their names.
func namedKeys(k Key, names ...string) []Key {
	keys := make([]Key, len(names))
	for i, name := range names {
		keys[i] = k
		keys[i].Name = name
	}
	return keys
}

var msprobeRules = []rule{
	{id: "MP001", severity: Error, checks: "a task that msprobe does not know", message: sentenceMessage,
		run: (*reporter).reportValues},
	{id: "MP002", severity: Error, checks: "a level that msprobe does not know", message: sentenceMessage,
		run: (*reporter).reportValues},
	{id: "MP003", severity: Error, checks: "a rank beyond the number of ranks",
		message: Text{EN: "there is no rank %d among %d ranks (--world-size), which count from 0"},
		run: func(r *reporter) {
			size := r.opt.WorldSize
			for _, s := range r.parseRanges("rank") {
				r.reportIf(s.wrong == nil && size > 0 && s.last >= size, s.span, s.last, size)
			}
		}},
	{id: "MP004", severity: Error, checks: "ranks or steps that are no list of numbers and ranges", message: sentenceMessage,
		run: func(r *reporter) {
			for _, key := range []string{"rank", "step"} {
				for _, s := range r.parseRanges(key) {
					r.reportIf(s.wrong != nil, s.span, lang.Say("%s must be a list of numbers and of ranges such as [0, \"3-5\"], found %s", key, s.wrong))
				}
			}
		}},
	{id: "MP005", severity: Warning, checks: "both list and scope are set",
		message: Text{EN: "list and scope are both set, and only one of them takes effect; make one of them empty"},
		run: func(r *reporter) {
			for _, name := range msprobeTasks {
				task := r.msprobe.child(name)
				list, scope := task.setting("list"), task.setting("scope")
				both := list.Present() && scope.Present() && len(list.Node.Elems) > 0 && len(scope.Node.Elems) > 0
				r.reportIf(both, scope.keySpan())
			}
		}},
	{id: "MP006", severity: Warning, checks: "dump_path is missing or not absolute",
		guess: true, message: sentenceMessage,
		run: func(r *reporter) {
			r.reportTypes()
			root := r.msprobe
			p := root.setting("dump_path")
			switch {
			case root.Present() && p.isAbsentOrEmpty():
				r.report(p.spanIn(root), Text{EN: "dump_path is missing: msprobe then needs the path in the script"})
			case p.OK && p.Node.Kind == jsonpos.String && !path.IsAbs(p.Value):
				r.report(p.valueSpan(), lang.Say("dump_path %s is relative: it depends on where the script is started", quoteShort(p.Value)))
			}
		}},
	{id: "MP007", severity: Warning, checks: "a key that msprobe does not know",
		guess: true, message: Text{EN: "msprobe does not support the key %s%s"},
		run: func(r *reporter) {
			for _, s := range r.read.unknown {
				r.reportUnknownKey(s, s.object.table.names())
			}
		}},
}

// rangeItem is an element of a list of ranks or steps.
type rangeItem struct {
	span  span
	last  uint64
	wrong any // found value that is no number and no range; nil if valid
}

// parseRanges returns the elements of a list of ranks or steps.
func (r *reporter) parseRanges(key string) []rangeItem {
	s := r.msprobe.setting(key)
	switch {
	case !s.Present() || s.Node.Kind == jsonpos.Invalid:
		return nil
	case s.Node.Kind != jsonpos.Array:
		return []rangeItem{{span: s.valueSpan(), wrong: s.Node.Kind}}
	}
	var all []rangeItem
	for i, node := range s.Node.Elems {
		last, ok := parseRange(node)
		one := rangeItem{span: span{fmt.Sprintf("%s[%d]", s.Path, i), node.Start, node.End}, last: last}
		switch {
		case node.Kind == jsonpos.Invalid:
			continue
		case !ok && node.Kind == jsonpos.String:
			one.wrong = quoteShort(node.Text)
		case !ok:
			one.wrong = shorten(string(r.Doc.Source()[node.Start:node.End]))
		}
		all = append(all, one)
	}
	return all
}

// parseRange parses a number, or a string a-b, and returns the end of the range.
func parseRange(node *jsonpos.Value) (last uint64, ok bool) {
	from, to := node.Text, node.Text
	switch node.Kind {
	case jsonpos.Number:
	case jsonpos.String:
		if from, to, ok = strings.Cut(node.Text, "-"); !ok {
			return 0, false
		}
	default:
		return 0, false
	}
	first, err := strconv.ParseUint(from, 10, 64)
	last, err2 := strconv.ParseUint(to, 10, 64)
	return last, err == nil && err2 == nil && first <= last
}
