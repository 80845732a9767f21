package dumpconf

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

type statistic struct{ acl, mindSpore string }

// aclStatistics are the statistics of the ACL runtime, and what MindSpore calls
// them.
var aclStatistics = []statistic{
	{"Max", "max"}, {"Min", "min"}, {"Avg", "avg"}, {"Nan", "nan count"},
	{"Negative Inf", "negative inf count"}, {"Positive Inf", "positive inf count"}, {"L2norm", "l2norm"},
}

// fromMindSpore reads what a MindSpore file asks for, as MindSpore itself
// translates it for the ACL runtime.
func (t *translation) fromMindSpore(m *MindSpore) error {
	if m.at("support_device").isEmpty() {
		return nil // the dump is off
	}
	w, iteration, saved := &t.want, m.at("iteration"), m.at("saved_data")
	w.path = m.at("path").Value
	t.keepIf(!m.savesStatistics(), m.at("statistic_category"))
	t.note(m.at("support_device"), NoCounterpart, "note.devices")
	switch mode := m.debugMode(); {
	case mode == 4:
		w.kind, w.scene = dumpException, "aic_err_brief_dump"
		t.keep(iteration, saved)
		return nil
	case mode > 0:
		w.kind = dumpOverflow
		t.keepIf(iteration.Value == "all", iteration)
		return nil
	case m.at("dump_mode").Uint == 2:
		return errors.New("dump_mode 2 has no counterpart: only MindSpore knows which operators set_dump marked")
	}
	w.kind, w.mode, w.steps = dumpOps, m.mode(), validSteps(m.Steps)
	t.keep(iteration, saved)
	switch {
	case len(m.Steps) > 0 && len(w.steps) == 0:
		return fmt.Errorf("iteration %s matches no step, there is nothing to translate", show(iteration.Value))
	case len(w.steps) < len(m.Steps): // what matches nothing is dropped
		t.note(iteration, Approximated, "note.empty-steps")
	}
	if m.at("dump_mode").Uint == 1 {
		t.kernels(m)
	}
	if saved.Value == "full" {
		t.note(saved, Approximated, "note.tensors-only")
	}
	if w.stats = saved.Value == "statistic"; w.stats {
		t.statistics(m)
	}
	return nil
}

// kernels takes operators over that are given by name.
func (t *translation) kernels(m *MindSpore) {
	var lost []string
	for _, k := range m.Kernels {
		switch {
		case k.Kind == KernelName && !k.Unclosed:
			t.want.ops = append(t.want.ops, k.Pattern)
		case k.Pattern != "":
			lost = append(lost, k.Text)
		}
	}
	t.want.ops = unique(t.want.ops)
	switch {
	case len(lost) == 0:
	case len(t.want.ops) == 0:
		t.noteAs("layer", Approximated, "note.names-only-all", names(lost))
	default:
		t.noteAs("layer", Approximated, "note.names-only", names(lost))
	}
}

// statistics takes over which statistics are saved.
func (t *translation) statistics(m *MindSpore) {
	category := m.at("statistic_category")
	t.keep(category)
	var lost []string
	for _, item := range valuesOf(category.Elems) {
		if i := slices.IndexFunc(aclStatistics, func(s statistic) bool { return s.mindSpore == item }); i >= 0 {
			t.want.which = append(t.want.which, aclStatistics[i].acl)
		} else {
			lost = append(lost, item)
		}
	}
	t.want.which = unique(t.want.which)
	if lost != nil {
		t.note(category, Approximated, "note.left-out", names(lost))
	}
	if !category.Present() {
		t.note(m.at("saved_data"), Approximated, "note.default-statistics")
	}
}

// toMindSpore writes a MindSpore file.
func (t *translation) toMindSpore() (*jsonpos.Value, error) {
	w := &t.want
	if w.kind == dumpException {
		return nil, errors.New("an exception dump is not translated to MindSpore: its op_debug_mode 4 is a mode of its own, which ignores most settings")
	}
	t.noteAs("model_name", NoCounterpart, "note.models")
	if w.kind == dumpOps {
		t.noteAs("dump_op_switch", Approximated, "note.graphs-only")
	}
	kernels := t.kernelEntries()
	mode, iteration, debug := "0", "all", "0"
	if len(kernels) > 0 && w.kind != dumpOverflow {
		mode = "1"
	}
	if len(w.steps) > 0 {
		iteration = strings.Join(w.steps, "|")
	}
	if w.kind == dumpOverflow {
		debug = "3"
	}
	root := jsonObject()
	c := add(root, "common_dump_settings", jsonObject())
	add(c, "dump_mode", jsonWord(mode))
	add(c, "path", jsonString(t.mindSporePath()))
	add(c, "net_name", jsonString(t.netName()))
	add(c, "iteration", jsonString(iteration))
	if w.stats {
		add(c, "saved_data", jsonString("statistic"))
	}
	add(c, "input_output", jsonWord(strconv.Itoa(max(0, slices.Index(inputOutput, w.mode)))))
	add(c, "kernels", jsonArray(kernels, jsonString))
	add(c, "support_device", jsonArray(t.devices(), jsonWord))
	if !t.opt.TargetVersion.Before(sinceMS12) {
		add(c, "op_debug_mode", jsonWord(debug))
	}
	if w.stats {
		add(c, "statistic_category", jsonArray(mindSporeStatistics(w.which), jsonString))
	}
	switch { // who dumps
	case t.opt.frameworkDumps():
		e := add(root, "e2e_dump_settings", jsonObject())
		add(e, "enable", jsonWord("true"))
		add(e, "trans_flag", jsonWord("true"))
		t.set("e2e_dump_settings", "note.e2e-block")
	case t.opt.TargetVersion.Before(sinceMS12):
		a := add(root, "async_dump_settings", jsonObject())
		add(a, "enable", jsonWord("true"))
		add(a, "op_debug_mode", jsonWord(debug))
	case w.stats:
		add(c, "file_format", jsonString("npy"))
		t.set("common_dump_settings.file_format", "note.npy")
	}
	return root, nil
}

// mindSporeStatistics are statistics in the words of MindSpore; without choice
// those that graph engine and ACL runtime compute.
func mindSporeStatistics(acl []string) []string {
	var out []string
	for _, s := range aclStatistics {
		if slices.Contains(acl, s.acl) || acl == nil && s.acl != "L2norm" {
			out = append(out, s.mindSpore)
		}
	}
	return out
}

// mindSporePath is the folder, when MindSpore takes it.
func (t *translation) mindSporePath() string {
	p := t.want.path
	switch {
	case p == "":
		return t.pathOrPlaceholder("common_dump_settings.path")
	case strings.HasPrefix(p, "/") && !notInPath().MatchString(p):
		return p
	}
	t.noteAs("dump_path", NoCounterpart, "note.ms-path", folderPlaceholder)
	return folderPlaceholder
}

// netName is the model's name, when there is one.
func (t *translation) netName() string {
	if len(t.want.models) == 1 {
		if n := notInName().ReplaceAllString(t.want.models[0], "_"); n != "" {
			t.set("common_dump_settings.net_name", "note.net-name")
			return n
		}
	}
	t.set("common_dump_settings.net_name", "note.placeholder", "my_net")
	return "my_net"
}

func (t *translation) devices() []string {
	if len(t.opt.Devices) > 0 {
		return numbers(t.opt.Devices)
	}
	t.set("common_dump_settings.support_device", "note.all-devices")
	return []string{"0", "1", "2", "3", "4", "5", "6", "7"}
}

// inPattern is what stands for itself in a regular expression of MindSpore.
var inPattern = lang.Pattern(`[^A-Za-z0-9_/:=@%,-]`)

// kernelEntries writes names of operators so that MindSpore takes them as full
// names: what does not look like one becomes a regular expression.
func (t *translation) kernelEntries() []string {
	var out []string
	loose := false
	for _, name := range t.want.ops {
		k := ParseKernel(name)
		if k.Kind == KernelName && k.Pattern == name && !k.Unclosed {
			out = append(out, name)
			continue
		}
		loose = loose || inPattern().MatchString(strings.ReplaceAll(name, ".", ""))
		pattern := inPattern().ReplaceAllStringFunc(name, func(s string) string {
			if s == "." {
				return "[.]"
			}
			return "."
		})
		out = append(out, "name-regex("+pattern+")")
	}
	switch {
	case loose:
		t.noteAs("layer", Approximated, "note.scope-names-loose")
	case len(out) > 0:
		t.noteAs("layer", Approximated, "note.scope-names")
	}
	return unique(out)
}
