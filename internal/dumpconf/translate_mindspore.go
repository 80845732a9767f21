package dumpconf

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/lang"
)

// fromMindSpore reads what a MindSpore file asks for, as MindSpore itself
// translates it for the ACL runtime.
func (t *translation) fromMindSpore(m *MindSpore) error {
	if m.SupportDevice.OK && len(m.SupportDevice.Value) == 0 {
		return nil // the dump is off
	}
	w := &t.want
	w.path, w.net = m.Path.Value, m.NetName.Value
	t.immaterial(m)
	switch mode := m.DebugMode(); {
	case mode == 4:
		w.kind, w.scene = dumpException, "aic_err_brief_dump"
		t.keep(m.DumpMode, m.InputOutput, m.Iteration, m.SavedData, m.KernelNames)
		return nil
	case mode > 0:
		w.kind = dumpOverflow
		t.keep(m.DumpMode, m.InputOutput, m.KernelNames)
		t.keepIf(m.Iteration.Value == "all", m.Iteration)
		return nil
	case m.DumpMode.Value == 2:
		return errors.New("dump_mode 2 has no counterpart: only MindSpore knows which operators set_dump marked")
	}
	w.kind = dumpOps
	w.mode = m.mode()
	t.keep(m.DumpMode, m.InputOutput)
	if err := t.iteration(m); err != nil {
		return err
	}
	t.kernels(m)
	t.savedData(m)
	return nil
}

// immaterial passes over what does not change what is dumped: where the files
// are, how they are written, and values that are the default.
func (t *translation) immaterial(m *MindSpore) {
	t.keep(m.Path, m.NetName, m.FileFormat, m.StatCalcMode, m.DeviceStatPrecisionMode,
		m.OpDebugMode, m.SampleNum, m.AsyncOpDebugMode, m.Enable, m.TransFlag, m.AsyncEnable)
	for _, s := range []Setting[uint64]{m.OverflowNumber, m.InitialIteration, m.SampleMode} {
		t.keepIf(s.Value == 0, s)
	}
	t.keepIf(!m.SaveKernelArgs.Value, m.SaveKernelArgs)
	t.keepIf(m.SavedData.Value == "tensor", m.SavedData)
	t.keepIf(!m.savesStatistics(), m.StatisticCategory)
	t.note(m.SupportDevice, NoCounterpart, "note.devices")
}

// iteration takes the steps over. Pieces that match nothing are dropped.
func (t *translation) iteration(m *MindSpore) error {
	t.keep(m.Iteration)
	if m.Iteration.Value == "all" || !m.Iteration.OK {
		return nil
	}
	t.want.steps = validSteps(m.Steps)
	switch {
	case len(t.want.steps) == 0:
		return fmt.Errorf("iteration %s matches no step, there is nothing to translate", show(m.Iteration.Value))
	case len(t.want.steps) < len(m.Steps):
		t.note(m.Iteration, Approximated, "note.empty-steps")
	}
	return nil
}

// kernels takes operators over that are given by name.
func (t *translation) kernels(m *MindSpore) {
	t.keep(m.KernelNames)
	if m.DumpMode.Value != 1 {
		return // kernels is not used
	}
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
		t.note(m.KernelNames, Approximated, "note.names-only-all", names(lost))
	default:
		t.note(m.KernelNames, Approximated, "note.names-only", names(lost))
	}
}

// savedData takes over what is saved.
func (t *translation) savedData(m *MindSpore) {
	t.keep(m.SavedData)
	if m.SavedData.Value == "full" {
		t.note(m.SavedData, Approximated, "note.tensors-only")
	}
	if t.want.stats = m.SavedData.Value == "statistic"; !t.want.stats {
		return
	}
	t.keep(m.StatisticCategory)
	var lost []string
	for _, item := range valuesOf(m.StatisticCategory.Value) {
		if i := slices.IndexFunc(aclStatistics, func(s statistic) bool { return s.mindSpore == item }); i >= 0 {
			t.want.which = append(t.want.which, aclStatistics[i].acl)
		} else {
			lost = append(lost, item)
		}
	}
	t.want.which = unique(t.want.which)
	if lost != nil {
		t.note(m.StatisticCategory, Approximated, "note.left-out", names(lost))
	}
	if !m.StatisticCategory.Present() {
		t.note(m.SavedData, Approximated, "note.default-statistics")
	}
}

// toMindSpore writes a MindSpore file.
func (t *translation) toMindSpore() (*jsonObject, error) {
	w := &t.want
	if w.kind == dumpException {
		return nil, errors.New("an exception dump is not translated to MindSpore: its op_debug_mode 4 is a mode of its own, which ignores most settings")
	}
	t.modelsLost()
	if a := t.r.ACL; a != nil && w.kind == dumpOps {
		t.note(a.DumpOpSwitch, Approximated, "note.graphs-only")
	}
	root := &jsonObject{}
	c := root.child("common_dump_settings")
	kernels := t.kernelEntries()
	mode := "0"
	if len(kernels) > 0 && w.kind != dumpOverflow {
		mode = "1"
	}
	c.set("dump_mode", jsonRaw(mode))
	if p := t.mindSporePath(); p != "" {
		c.set("path", p)
	}
	c.set("net_name", t.netName())
	iteration := "all"
	if len(w.steps) > 0 {
		iteration = strings.Join(w.steps, "|")
	}
	c.set("iteration", iteration)
	if w.stats {
		c.set("saved_data", "statistic")
	}
	c.set("input_output", jsonRaw(strconv.Itoa(max(0, slices.Index(inputOutput, w.mode)))))
	c.set("kernels", texts(kernels))
	c.set("support_device", t.devices())
	debug := "0"
	if w.kind == dumpOverflow {
		debug = "3"
	}
	if !t.opt.TargetVersion.Before(sinceMS12) {
		c.set("op_debug_mode", jsonRaw(debug))
	}
	if w.stats {
		c.set("statistic_category", texts(mindSporeStatistics(w.which)))
	}
	t.blocks(root, c, debug)
	return root, nil
}

// blocks writes what says who dumps.
func (t *translation) blocks(root, common *jsonObject, debug string) {
	switch {
	case t.opt.frameworkDumps():
		e := root.child("e2e_dump_settings")
		e.set("enable", jsonRaw("true"))
		e.set("trans_flag", jsonRaw("true"))
		t.set("e2e_dump_settings", "note.e2e-block")
	case t.opt.TargetVersion.Before(sinceMS12):
		a := root.child("async_dump_settings")
		a.set("enable", jsonRaw("true"))
		a.set("op_debug_mode", jsonRaw(debug))
	case t.want.stats:
		common.set("file_format", "npy")
		t.set("common_dump_settings.file_format", "note.npy")
	}
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
	if strings.HasPrefix(p, "/") && !notInPath().MatchString(p) {
		return p
	}
	if p == "" {
		return t.pathOrPlaceholder("common_dump_settings.path")
	}
	if a := t.r.ACL; a != nil {
		t.note(a.DumpPath, NoCounterpart, "note.ms-path", folderPlaceholder)
	} else {
		t.note(t.r.Engine.Path, NoCounterpart, "note.ms-path", folderPlaceholder)
	}
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

func (t *translation) devices() jsonArray {
	ids := numbers(t.opt.Devices)
	if len(ids) == 0 {
		ids = []string{"0", "1", "2", "3", "4", "5", "6", "7"}
		t.set("common_dump_settings.support_device", "note.all-devices")
	}
	return arrayOf(ids, func(id string) jsonRaw { return jsonRaw(id) })
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
		t.opsNote("note.scope-names-loose")
	case len(out) > 0:
		t.opsNote("note.scope-names")
	}
	return unique(out)
}

// opsNote notes something on the keys that name operators.
func (t *translation) opsNote(key string, args ...any) {
	if a := t.r.ACL; a != nil {
		for _, it := range a.DumpList.Value {
			t.note(it.Layer, Approximated, key, args...)
		}
		return
	}
	if t.r.Engine != nil {
		t.note(t.r.Engine.Layer, Approximated, key, args...)
	}
}
