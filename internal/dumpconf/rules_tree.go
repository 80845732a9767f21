package dumpconf

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
)

// mindSporeTreeRules compare a configuration with the dump that it has made.
var mindSporeTreeRules = []rule{
	{id: "MS070", severity: Error, checks: "an iteration that was asked for is not there", guess: true,
		message: Text{EN: "iteration %s asked for, %s dumped: %s", ZH: "要求迭代 %s，实际 dump 了 %s：%s"},
		ms: ofTree(func(m *MindSpore, t *Tree, r *reporter) {
			var dumped any = lang.Sayf("none", "无")
			if len(t.Steps) > 0 {
				dumped = lang.Ranges(t.Steps)
			}
			for _, p := range m.Steps {
				if missing := missingSteps(p, t.Steps); missing != "" && m.debugMode() == 0 {
					r.at(stepSpan(p, m.at("iteration")), missing, dumped, t.whyMissing(p, missing))
				}
			}
		})},
	{id: "MS071", severity: Error, checks: "a device that was asked for has no dumps", guess: true,
		message: Text{EN: "%s asked for, nothing dumped", ZH: "要求 dump %s，没有任何数据"},
		ms: ofTree(func(m *MindSpore, t *Tree, r *reporter) {
			devices := m.at("support_device").Elems
			asked := valuesOf(devices)
			other := func(rank string) bool { return !slices.Contains(asked, rank) }
			// Ranks of several hosts are no devices.
			if !t.RanksKnown || m.debugMode() != 0 || slices.ContainsFunc(t.Ranks, other) {
				return
			}
			for _, s := range devices {
				r.when(s.OK && len(t.Ranks) > 0 && !slices.Contains(t.Ranks, s.Value), s.valueSpan(), deviceName(s.Uint))
			}
		})},
	{id: "MS072", severity: Info, checks: "inputs or outputs alone were dumped", guess: true, message: asSaid,
		ms: ofTree(func(m *MindSpore, _ *Tree, r *reporter) {
			s := m.at("input_output")
			r.when(s.Uint == 2, s.valueSpan(), lang.Sayf("only outputs were dumped (input_output 2): for an input take the output of its producer, which dumptool find names", "只 dump 了输出(input_output 2)：输入请取其上游算子的输出，可用 dumptool find 查看"))
			r.when(s.Uint == 1, s.valueSpan(), lang.Sayf("only inputs were dumped (input_output 1): for an output take the input of its consumer, which dumptool find names", "只 dump 了输入(input_output 1)：输出请取其下游算子的输入，可用 dumptool find 查看"))
		})},
	{id: "MS073", severity: Error, checks: "an operator of kernels has no dump", guess: true,
		message: Text{EN: "kernels entry %s: %s", ZH: "kernels 中的 %s：%s"},
		ms: ofTree(func(m *MindSpore, t *Tree, r *reporter) {
			for i, s := range m.at("kernels").Elems {
				if s.OK && m.at("dump_mode").Uint == 1 && m.debugMode() == 0 && len(t.Known) > 0 {
					if fault := t.kernelFault(m.Kernels[i]); !fault.IsZero() {
						r.at(s.valueSpan(), show(s.Value), fault)
					}
				}
			}
		})},
	{id: "MS074", severity: Info, checks: "statistics alone were dumped", guess: true,
		message: Text{EN: "statistics only: no tensor files are expected", ZH: "只有统计信息：不会有张量文件"},
		ms: ofTree(func(m *MindSpore, _ *Tree, r *reporter) {
			r.when(m.at("saved_data").Value == "statistic", m.at("saved_data").valueSpan())
		})},
	{id: "MS075", severity: Info, checks: "operators that overflow alone were dumped", guess: true,
		message: Text{EN: "only overflowing operators are kept: missing operators did not overflow", ZH: "只保留溢出的算子：没有数据的算子未发生溢出"},
		ms: ofTree(func(m *MindSpore, _ *Tree, r *reporter) {
			r.when(m.debugMode() != 0, m.at("op_debug_mode").valueSpan())
		})},
	{id: "MS076", severity: Error, checks: "nearly all operators have dumps, or nearly none", guess: true,
		message: Text{EN: "%d of %d operators of the execution order were not dumped: %s", ZH: "执行序中有 %[1]d 个算子(共 %[2]d 个)没有 dump 数据：%[3]s"},
		ms: ofTree(func(m *MindSpore, t *Tree, r *reporter) {
			missing, all := t.undumped(t.Order), len(t.Order)
			// What lies between was chosen in ways that do not show here.
			few, many := len(missing)*20 < all, len(missing)*20 > all*19
			r.when(m.dumpsAll() && len(missing) > 0 && (few || many), m.at("dump_mode").valueSpan(), len(missing), all, lang.FirstNames(missing))
		})},
	{id: "MS077", severity: Error, checks: "names of operators are too long for files", guess: true,
		message: Text{EN: "file name too long: set reserve_class_name_in_scope=False (%s: %s)", ZH: "文件名过长：请设置 reserve_class_name_in_scope=False(%s：%s)"},
		ms: ofTree(func(m *MindSpore, t *Tree, r *reporter) {
			long := slices.DeleteFunc(t.undumped(t.Order), func(name string) bool { return !isTooLong(name) })
			r.when(m.dumpsAll() && len(long) > 0 && !t.Mapped, m.at("dump_mode").valueSpan(), lang.CountText(len(long), "operator", "个算子"), lang.FirstNames(long))
		})},
	{id: "MS078", severity: Info, checks: "a graph that was saved has no dumps", guess: true,
		message: Text{EN: "graph %s was not executed, or its operators are in the folder of its root graph", ZH: "图 %s 没有执行，或其算子在根图的目录中"},
		ms: ofTree(func(m *MindSpore, t *Tree, r *reporter) {
			for _, g := range t.Graphs {
				r.when(len(t.Dumped) > 0 && !slices.Contains(t.Dumped, g), m.Common.keySpan(), g)
			}
		})},
}

// ofTree is a rule for configurations that lie in a dump.
func ofTree(check func(m *MindSpore, t *Tree, r *reporter)) func(*MindSpore, *reporter) {
	return func(m *MindSpore, r *reporter) {
		if r.opt.Tree != nil {
			check(m, r.opt.Tree, r)
		}
	}
}

// dumpsAll reports whether every operator is to be dumped.
func (m *MindSpore) dumpsAll() bool {
	return m.at("dump_mode").OK && m.at("dump_mode").Uint == 0 && m.debugMode() == 0
}

// whyMissing says why the steps of a piece that are missing were not dumped.
func (t *Tree) whyMissing(p lang.Step, missing string) lang.Sentence {
	if len(t.Ran) > 0 {
		seen := slices.Concat(t.Ran, t.Steps)
		slices.SortFunc(seen, lang.CompareNatural)
		switch missingSteps(p, slices.Compact(seen)) {
		case "":
			return lang.Sayf("it ran, by ms_global_execution_order, and was not dumped", "按 ms_global_execution_order 已执行，但未 dump")
		case missing:
			return lang.Sayf("it did not run, by ms_global_execution_order", "按 ms_global_execution_order 未执行")
		}
	}
	return lang.Sayf("the run ended before, or dataset_sink_mode", "运行提前结束，或开启了 dataset_sink_mode")
}

// missingSteps lists the steps of a piece that were not dumped, which are given in their
// order; empty for none.
func missingSteps(p lang.Step, dumped []string) string {
	if !p.Valid() {
		return ""
	}
	var parts []string
	add := func(from, to uint64) {
		switch {
		case from == to:
			parts = append(parts, strconv.FormatUint(from, 10))
		case from < to:
			parts = append(parts, fmt.Sprintf("%d-%d", from, to))
		}
	}
	next := p.From
	for _, text := range dumped {
		step, err := strconv.ParseUint(text, 10, 64)
		if err != nil || step < next || step > p.To {
			continue
		}
		if step > next {
			add(next, step-1)
		}
		if step == p.To {
			return lang.FirstNames(parts)
		}
		next = step + 1
	}
	add(next, p.To)
	return lang.FirstNames(parts)
}

// kernelFault says what is missing of the operators that an entry of kernels means.
func (t *Tree) kernelFault(k Kernel) lang.Sentence {
	matches := k.matcher()
	if matches == nil {
		return lang.Sentence{} // a rule of its own says that it is malformed
	}
	if !slices.ContainsFunc(t.Known, matches) && !slices.ContainsFunc(t.Order, matches) {
		near := lang.NearestOf(k.Pattern, t.Known, 3)
		if len(near) == 0 {
			return lang.Sayf("not in the graph", "不在图中")
		}
		return lang.Sayf("not in the graph; nearest are %s", "不在图中；最接近的是 %s", strings.Join(near, ", "))
	}
	wanted := slices.DeleteFunc(slices.Clone(t.expected()), func(name string) bool { return !matches(name) })
	missing := t.undumped(wanted)
	switch {
	case len(missing) == 0 && len(wanted) > 0:
		return lang.Sentence{}
	case len(wanted) <= 1:
		return lang.Sayf("in the graph, not dumped", "在图中，没有 dump 数据")
	}
	return lang.Sayf("in the graph, %d of %d not dumped: %s", "在图中，%[1]d 个(共 %[2]d 个)没有 dump 数据：%[3]s", len(missing), len(wanted), lang.FirstNames(missing))
}

// matcher returns what tells whether an entry means an operator, by its full name; nil
// for one that cannot be told.
func (k Kernel) matcher() func(name string) bool {
	switch k.Kind {
	case KernelName:
		return func(name string) bool { return name == k.Pattern }
	case KernelRegex:
		if len(k.Pattern) > longestRegex {
			return nil
		}
		re, err := regexp.Compile("^(?:" + k.Pattern + ")$")
		if err != nil {
			return nil
		}
		return re.MatchString
	}
	if k.Pattern == "" {
		return nil
	}
	part := strings.ToLower(k.Pattern)
	return func(name string) bool {
		opType, _, _ := strings.Cut(lastSegment(name), "-")
		return strings.Contains(strings.ToLower(opType), part)
	}
}

// isTooLong reports whether file systems have no room for the name of a dump of an
// operator.
func isTooLong(name string) bool {
	const longest = 255 // bytes
	shortest := typeOf(lastSegment(name)) + "." + filename.Normalise(name) + ".0.0.1700000000000000.input.0.DefaultFormat.npy"
	return len(shortest) > longest
}
