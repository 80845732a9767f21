package dumpconf

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
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
		keep(t, m.DumpMode, m.InputOutput)
		keep(t, m.Iteration, m.SavedData)
		keep(t, m.KernelNames)
		return nil
	case mode > 0:
		w.kind = dumpOverflow
		keep(t, m.DumpMode, m.InputOutput)
		keep(t, m.KernelNames)
		if m.Iteration.Value == "all" {
			keep(t, m.Iteration)
		}
		return nil
	case m.DumpMode.Value == 2:
		return errors.New("dump_mode 2 has no counterpart: only MindSpore knows which operators set_dump marked")
	}
	w.kind = dumpOps
	w.mode = m.mode()
	keep(t, m.DumpMode, m.InputOutput)
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
	keep(t, m.Path, m.NetName, m.FileFormat, m.StatCalcMode, m.DeviceStatPrecisionMode)
	keep(t, m.OpDebugMode, m.SampleNum, m.AsyncOpDebugMode)
	keep(t, m.Enable, m.TransFlag, m.AsyncEnable)
	for _, s := range []Setting[uint64]{m.OverflowNumber, m.InitialIteration, m.SampleMode} {
		if s.Value == 0 {
			keep(t, s)
		}
	}
	if !m.SaveKernelArgs.Value {
		keep(t, m.SaveKernelArgs)
	}
	if m.SavedData.Value == "tensor" {
		keep(t, m.SavedData)
	}
	if !m.savesStatistics() {
		keep(t, m.StatisticCategory)
	}
	note(t, m.SupportDevice, NoCounterpart, both("devices cannot be chosen: every device dumps", "无法按设备选择：所有设备都会 dump"))
}

// iteration takes the steps over. Pieces that match nothing are dropped.
func (t *translation) iteration(m *MindSpore) error {
	keep(t, m.Iteration)
	if m.Iteration.Value == "all" || !m.Iteration.OK {
		return nil
	}
	t.want.steps = validSteps(m.Steps)
	switch {
	case len(t.want.steps) == 0:
		return fmt.Errorf("iteration %s matches no step, there is nothing to translate", show(m.Iteration.Value))
	case len(t.want.steps) < len(m.Steps):
		note(t, m.Iteration, Approximated, both("pieces that match no step are left out", "去掉了不匹配任何迭代的部分"))
	}
	return nil
}

// kernels takes operators over that are given by name.
func (t *translation) kernels(m *MindSpore) {
	keep(t, m.KernelNames)
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
		note(t, m.KernelNames, Approximated, both("operators can be given by full name only; without %s all operators are dumped", "只能按全名指定算子；去掉 %s 后 dump 所有算子", names(lost)))
	default:
		note(t, m.KernelNames, Approximated, both("operators can be given by full name only; %s is left out", "只能按全名指定算子；去掉了 %s", names(lost)))
	}
}

// savedData takes over what is saved.
func (t *translation) savedData(m *MindSpore) {
	keep(t, m.SavedData)
	switch m.SavedData.Value {
	case "full":
		note(t, m.SavedData, Approximated, both("tensors only: statistics and tensors exclude each other", "只 dump 张量：统计信息与张量不能同时 dump"))
		return
	case "statistic":
		t.want.stats = true
	default:
		return
	}
	keep(t, m.StatisticCategory)
	var lost []string
	for _, item := range valuesOf(m.StatisticCategory.Value) {
		found := false
		for _, s := range aclStatistics {
			if s.mindSpore == item {
				t.want.which, found = append(t.want.which, s.acl), true
			}
		}
		if !found {
			lost = append(lost, item)
		}
	}
	t.want.which = unique(t.want.which)
	if lost != nil {
		note(t, m.StatisticCategory, Approximated, both("left out: %s", "去掉了 %s", names(lost)))
	}
	if !m.StatisticCategory.Present() {
		note(t, m.SavedData, Approximated, both("the statistics are those that the runtime computes by default", "统计项为运行时的缺省项"))
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
		note(t, a.DumpOpSwitch, Approximated, both("operators of graphs are dumped; those that are called one by one in dynamic graph mode are not", "dump 图中的算子；动态图模式下的单算子调用不会 dump"))
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
		c.set("path", jsonText(p))
	}
	c.set("net_name", jsonText(t.netName()))
	iteration := "all"
	if len(w.steps) > 0 {
		iteration = strings.Join(w.steps, "|")
	}
	c.set("iteration", jsonText(iteration))
	if w.stats {
		c.set("saved_data", jsonText("statistic"))
	}
	c.set("input_output", jsonRaw(inputOutputOf(w)))
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
		t.set("e2e_dump_settings", both("written by the framework, converted to host layout", "由框架写出，并转换为主机侧格式"))
	case t.opt.TargetVersion.Before(sinceMS12):
		a := root.child("async_dump_settings")
		a.set("enable", jsonRaw("true"))
		a.set("op_debug_mode", jsonRaw(debug))
	case t.want.stats:
		common.set("file_format", jsonText("npy"))
		t.set("common_dump_settings.file_format", both("npy, which statistics need", "npy，统计信息需要该格式"))
	}
}

func inputOutputOf(w *wanted) string {
	switch {
	case w.kind == dumpOverflow || w.mode == "all":
		return "0"
	case w.mode == "input":
		return "1"
	default:
		return "2"
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
	if strings.HasPrefix(p, "/") && !notInPath.MatchString(p) {
		return p
	}
	if p == "" {
		return t.pathOrPlaceholder("common_dump_settings.path")
	}
	text := both(`MindSpore takes absolute paths of letters, digits, "/", "-" and "_" only; the placeholder %s stands for it`,
		`MindSpore 只接受由字母、数字、"/"、"-"、"_" 组成的绝对路径，以占位值 %s 代替`, folderPlaceholder)
	if a := t.r.ACL; a != nil {
		note(t, a.DumpPath, NoCounterpart, text)
	} else {
		note(t, t.r.Engine.Path, NoCounterpart, text)
	}
	return folderPlaceholder
}

// netName is the model's name, when there is one.
func (t *translation) netName() string {
	if len(t.want.models) == 1 {
		if n := notInName.ReplaceAllString(t.want.models[0], "_"); n != "" {
			t.set("common_dump_settings.net_name", both("named after the model", "取自模型名"))
			return n
		}
	}
	t.set("common_dump_settings.net_name", both("replace the placeholder %s", "请替换占位值 %s", "my_net"))
	return "my_net"
}

func (t *translation) devices() jsonArray {
	ids := numbers(t.opt.Devices)
	if len(ids) == 0 {
		ids = []string{"0", "1", "2", "3", "4", "5", "6", "7"}
		t.set("common_dump_settings.support_device", both("devices 0 to 7: the source dumps on every device", "设备 0 到 7：源配置不限制设备"))
	}
	a := make(jsonArray, len(ids))
	for i, id := range ids {
		a[i] = jsonRaw(id)
	}
	return a
}

// inPattern is what stands for itself in a regular expression of MindSpore.
var inPattern = regexp.MustCompile(`[^A-Za-z0-9_/:=@%,-]`)

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
		loose = loose || inPattern.MatchString(strings.ReplaceAll(name, ".", ""))
		pattern := inPattern.ReplaceAllStringFunc(name, func(s string) string {
			if s == "." {
				return "[.]"
			}
			return "."
		})
		out = append(out, "name-regex("+pattern+")")
	}
	if len(out) > 0 {
		text := both("names of operators in MindSpore are full scope names; check them against its graph files", "MindSpore 的算子名为完整 scope 名，请与其图文件核对")
		if loose {
			text = both("%s; unusual characters became . in a regular expression", "%s；特殊字符在正则表达式中以 . 代替", text)
		}
		t.opsNote(text)
	}
	return unique(out)
}

// opsNote notes something on the keys that name operators.
func (t *translation) opsNote(text Text) {
	if a := t.r.ACL; a != nil {
		for _, it := range a.DumpList.Value {
			note(t, it.Layer, Approximated, text)
		}
		return
	}
	if t.r.Engine != nil {
		note(t, t.r.Engine.Layer, Approximated, text)
	}
}
