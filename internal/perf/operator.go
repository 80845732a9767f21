package perf

import (
	"cmp"
	"strconv"
	"strings"

	"dumptool/internal/lang"
)

// Operator is an operator with what was found out about it.
type Operator struct {
	*Row
	// Name is the name of the reference if a map has one, Occurrence the number, from 1,
	// among the operators of that name, At the place in the tables, from 0.
	Name       string
	Occurrence int
	At         int
	Derived
	Verdict
	// Advice is what can be done about it beside the class, in the order of the codes.
	Advice []Advice
	// Rank is the place in the order of the report, from 1. Share is the share of the
	// total, Cumulative that of the operators up to this one; nil without a total.
	Rank              int
	Share, Cumulative *float64
	// Cores is how it ran on the cores, Runs how often; nil where that is not known.
	Cores *Cores
	Runs  *Runs
	// Before is the operator of the baseline, nil for none. Status is empty without a
	// baseline.
	Before *Row
	Status Status
}

// at is the operator by its name and number.
func (o *Operator) at() occurrence { return occurrence{o.Name, o.Occurrence} }

// WasBefore is a counter of the baseline, unknown without one.
func (o *Operator) WasBefore(c Column) Count {
	if o.Before == nil {
		return Count{}
	}
	return o.Before.Get(c)
}

// Growth is by how many cycles mcu_cycle grew since the baseline, which may be negative.
func (o *Operator) Growth() Count {
	before, after := o.WasBefore(MCU), o.Get(MCU)
	return Count{after.N - before.N, before.Known && after.Known}
}

// Codes are those of the findings.
func (o *Operator) Codes() []string {
	var all []string
	for _, a := range o.Advice {
		all = append(all, string(a.Code))
	}
	return all
}

// Worse are the findings beside the baseline: those that need a row of it.
func (o *Operator) Worse() []Code {
	var all []Code
	for _, a := range o.Advice {
		if o.Before != nil && a.Code != Imbalance {
			all = append(all, a.Code)
		}
	}
	return all
}

// Derived are the numbers that follow from the counters of an operator by sums. One that
// needs an unknown counter is unknown.
type Derived struct {
	// Compute are the cycles in which VME or MME ran, Union those in which VME, MME or
	// MTE did.
	Compute, Union Count
	// ExposedData are the cycles of Union without maths, ExposedCompute those without
	// moves, and HiddenData the moves beside maths.
	ExposedData, ExposedCompute, HiddenData Count
	// DDRBytes are the bytes of all DMA channels.
	DDRBytes Count
	// Inconsistent says whether units overlap longer than one of them ran, nil for
	// unknown.
	Inconsistent *bool
}

// derive computes what follows from counters. A sum that no int64 holds is an error.
func derive(c *Counters) (d Derived, err error) {
	bytes, ok := total(c.Get(dma0c0Byte), c.Get(dma0c1Byte), c.Get(dma1c0Byte), c.Get(dma1c1Byte))
	if d.DDRBytes = bytes; !ok {
		return Derived{}, lang.Errorf("the DMA channels have more bytes than an int64 holds")
	}
	v, m, t := c.Get(VME), c.Get(MME), c.Get(MTE)
	vm, tm, vt, a := c.Get(PalVMEMME), c.Get(PalMTEMME), c.Get(PalVMEMTE), c.Get(PalTotal)
	if v.Known && m.Known && vm.Known {
		apart, ok := sum([]int64{v.N, m.N}, []int64{vm.N})
		if !ok {
			return Derived{}, lang.Errorf("vme_cycle and mme_cycle add up to more than an int64 holds")
		}
		d.Compute = count(max(v.N, m.N, apart))
	}
	if !d.Compute.Known || !t.Known || !tm.Known || !vt.Known || !a.Known {
		return d, nil
	}
	apart, ok := sum([]int64{v.N, m.N, t.N, a.N}, []int64{vm.N, tm.N, vt.N})
	if !ok {
		return Derived{}, lang.Errorf("the cycles of VME, MME and MTE add up to more than an int64 holds")
	}
	d.Union = count(max(d.Compute.N, t.N, apart))
	d.ExposedData = count(d.Union.N - d.Compute.N)
	d.ExposedCompute = count(d.Union.N - t.N)
	d.HiddenData = count(t.N - d.ExposedData.N)
	inconsistent := vm.N > min(v.N, m.N) || tm.N > min(t.N, m.N) || vt.N > min(v.N, t.N) || a.N > min(vm.N, tm.N, vt.N)
	d.Inconsistent = &inconsistent
	return d, nil
}

// shorter is the shorter of moves and maths, of counters that are known.
func (o *Operator) shorter() int64 { return min(o.Get(MTE).N, o.Compute.N) }

// Quotient is a number that follows from the counters of an operator by a division.
type Quotient struct {
	// Name is its column, Doc says what it is.
	Name, Doc string
	num, den  func(o *Operator) Count
}

// Of is the quotient for an operator; nil if one of the numbers is unknown, or the
// second is 0.
func (q *Quotient) Of(o *Operator) *float64 { return q.num(o).Of(q.den(o)) }

// Quotients are the quotients of counters: how much of the shorter of moves and maths
// ran beside the other, shares of mcu_cycle and of the union, and bytes per cycle. Where
// rows are put together of several cores, bytes per cycle are those of all cores.
func Quotients() []Quotient {
	counter := func(c Column) func(*Operator) Count { return func(o *Operator) Count { return o.Get(c) } }
	compute := func(o *Operator) Count { return o.Compute }
	union := func(o *Operator) Count { return o.Union }
	shorter := func(o *Operator) Count {
		if !o.Union.Known {
			return Count{}
		}
		return count(o.shorter())
	}
	return []Quotient{
		{"overlap", "The part of the shorter of moves and maths that ran beside the other.", func(o *Operator) Count { return o.HiddenData }, shorter},
		{"share_vme", "VME as a share of mcu_cycle.", counter(VME), counter(MCU)},
		{"share_mme", "MME as a share of mcu_cycle.", counter(MME), counter(MCU)},
		{"share_vec", "VEC as a share of mcu_cycle.", counter(Vec), counter(MCU)},
		{"share_syn", "SYN as a share of mcu_cycle.", counter(Syn), counter(MCU)},
		{"share_mte", "MTE as a share of mcu_cycle.", counter(MTE), counter(MCU)},
		{"share_compute", "VME or MME as a share of mcu_cycle.", compute, counter(MCU)},
		{"share_syn_wait", "Waiting for other cores as a share of mcu_cycle.", counter(SynWait), counter(MCU)},
		{"share_l1_conflict", "Bank conflicts at L1 as a share of mcu_cycle.", counter(L1Conflict), counter(MCU)},
		{"share_im_conflict", "Bank conflicts at IMB as a share of mcu_cycle.", counter(IMConflict), counter(MCU)},
		{"share_union", "VME, MME or MTE as a share of mcu_cycle.", union, counter(MCU)},
		{"union_vme", "VME as a share of union.", counter(VME), union},
		{"union_mme", "MME as a share of union.", counter(MME), union},
		{"union_mte", "MTE as a share of union.", counter(MTE), union},
		{"bpc_pld", "Bytes per cycle of pld.", counter(PLDByte), counter(pldCycle)},
		{"bpc_l12llb", "Bytes per cycle of l12llb.", counter(l12llbByte), counter(l12llbCycle)},
		{"bpc_llb2l1", "Bytes per cycle of llb2l1.", counter(llb2l1Byte), counter(llb2l1Cycle)},
		{"bpc_icmov", "Bytes per cycle of icmov.", counter(icmovByte), counter(icmovCycle)},
		{"bpc_dma0_c0", "Bytes per cycle of DMA 0, channel 0.", counter(dma0c0Byte), counter(dma0c0Cycle1)},
		{"bpc_dma0_c1", "Bytes per cycle of DMA 0, channel 1.", counter(dma0c1Byte), counter(dma0c1Cycle1)},
		{"bpc_dma1_c0", "Bytes per cycle of DMA 1, channel 0.", counter(dma1c0Byte), counter(dma1c0Cycle1)},
		{"bpc_dma1_c1", "Bytes per cycle of DMA 1, channel 1.", counter(dma1c1Byte), counter(dma1c1Cycle1)},
	}
}

// Class says what the cycles of an operator are bound by.
type Class string

// The classes.
const (
	ClassUnknown      Class = "unknown"      // a counter is missing
	ClassIdle         Class = "idle"         // mcu_cycle is 0
	ClassInconsistent Class = "inconsistent" // the counters contradict each other
	ClassSync         Class = "sync"         // cores wait for each other
	ClassControl      Class = "control"      // neither moves nor maths fill the time
	ClassData         Class = "data"         // moves
	ClassCompute      Class = "compute"      // maths
	ClassBalanced     Class = "balanced"     // neither leads
	ClassSerial       Class = "serial"       // moves and maths wait for each other
)

// Classes are all classes.
func Classes() []Class {
	return []Class{ClassData, ClassCompute, ClassBalanced, ClassSerial, ClassControl, ClassSync, ClassInconsistent, ClassIdle, ClassUnknown}
}

// Confidence says how certain a class is.
type Confidence string

// The confidences; classes that say that nothing can be said have none.
const (
	High    Confidence = "high"
	Medium  Confidence = "medium"
	Low     Confidence = "low"
	NoClass Confidence = "none"
)

// Verdict is the class of an operator and what it rests on.
type Verdict struct {
	Class      Class
	Confidence Confidence
	// Evidence are the columns and derived numbers that decided, or what contradicts
	// itself.
	Evidence []string
	// Unit is the unit that is busier, mme or vme, of class compute.
	Unit string
	// Says explains the class with its numbers and says what helps.
	Says lang.Sentence
}

// The evidence that is no column.
const (
	evidenceCompute    = "compute"
	evidenceOverlap    = "overlap"
	evidenceUnion      = "share_union"
	evidenceImpossible = "overlap exceeds a unit"
	evidenceWrapped    = "a unit is busy longer than mcu_cycle"
	evidenceIdle       = "mcu_cycle is 0"
)

// needed are the counters without which an operator has no class.
var needed = []Column{MCU, VME, MME, MTE, PalVMEMME, PalMTEMME, PalVMEMTE, PalTotal, SynWait}

// classify finds the class of an operator, whose derived numbers are set: the first that
// holds.
func classify(o *Operator, th *Thresholds) Verdict {
	if unknown := o.Unknown(needed...); len(unknown) > 0 {
		v := Verdict{Class: ClassUnknown, Confidence: NoClass}
		for _, c := range unknown {
			v.Evidence = append(v.Evidence, c.String())
		}
		return v
	}
	mcu := o.Get(MCU).N
	wrapped := max(o.Get(VME).N, o.Get(MME).N, o.Get(MTE).N) > mcu
	switch {
	case mcu == 0:
		return Verdict{Class: ClassIdle, Confidence: NoClass, Evidence: []string{evidenceIdle}}
	case *o.Inconsistent || wrapped:
		v := Verdict{Class: ClassInconsistent, Confidence: NoClass}
		if *o.Inconsistent {
			v.Evidence = append(v.Evidence, evidenceImpossible)
		}
		if wrapped {
			v.Evidence = append(v.Evidence, evidenceWrapped)
		}
		return v
	case th.Wait.atLeast(o.Get(SynWait).N, mcu):
		return Verdict{Class: ClassSync, Confidence: Medium, Evidence: []string{SynWait.String()}}
	case !th.Half.atLeast(o.Union.N, mcu):
		return Verdict{Class: ClassControl, Confidence: Medium, Evidence: []string{evidenceUnion}}
	}
	return balance(o, th)
}

// balance finds which of moves and maths an operator is bound by.
func balance(o *Operator, th *Thresholds) Verdict {
	mcu, moves, maths := o.Get(MCU).N, o.Get(MTE).N, o.Compute.N
	unit := "mme"
	if o.Get(VME).N > o.Get(MME).N {
		unit = "vme"
	}
	both := []string{MTE.String(), evidenceCompute}
	data := Verdict{Class: ClassData, Confidence: High, Evidence: both}
	compute := Verdict{Class: ClassCompute, Confidence: High, Evidence: []string{evidenceCompute, MTE.String(), unit}, Unit: unit}
	busyMoves, busyMaths := th.Busy.atLeast(moves, mcu), th.Busy.atLeast(maths, mcu)
	dataLeads, computeLeads := th.Lead.atLeast(moves, maths), th.Lead.atLeast(maths, moves)
	switch shorter := o.shorter(); {
	case busyMoves && dataLeads:
		return data
	case busyMaths && computeLeads:
		return compute
	case busyMoves && busyMaths:
		return Verdict{Class: ClassBalanced, Confidence: Medium, Evidence: both}
	case th.Small.atLeast(shorter, mcu) && !th.Half.atLeast(o.HiddenData.N, shorter):
		return Verdict{Class: ClassSerial, Confidence: Medium, Evidence: []string{evidenceOverlap}}
	case dataLeads:
		data.Confidence = Low
		return data
	case computeLeads:
		compute.Confidence = Low
		return compute
	}
	return Verdict{Class: ClassBalanced, Confidence: Low, Evidence: both}
}

// Advice is a finding about an operator, with its numbers and what helps.
type Advice struct {
	Code Code
	Says lang.Sentence
}

// percent prints a share.
func percent(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return short(float64(part)/float64(whole)*100) + " %"
}

// short prints at most one decimal.
func short(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

// times prints a factor.
func times(x float64) string { return "x " + strconv.FormatFloat(x, 'f', 2, 64) }

// factor prints how many times a number is another one, with a blank in front; nothing
// where that one is 0.
func factor(after, before int64) string {
	if before == 0 {
		return ""
	}
	return " (" + times(float64(after)/float64(before)) + ")"
}

// bytesText prints a number of bytes.
func bytesText(n int64) lang.Text {
	const step = 1024
	if n < step {
		return lang.CountText(int(n), "byte", "字节")
	}
	x, unit := float64(n)/step, 0
	for x >= step && unit < len("KMGTPE")-1 {
		x, unit = x/step, unit+1
	}
	text := strconv.FormatFloat(x, 'f', 1, 64) + " " + "KMGTPE"[unit:unit+1] + "iB"
	return lang.Text{EN: text, ZH: text}
}

func repeatedMoves(o *Operator) Advice {
	before, after := o.Before.Get(PLDByte).N, o.Get(PLDByte).N
	return Advice{RepeatedMoves, lang.Sayf("pld moved %s, %s before%s: repeated moves; change schedule or tiling",
		"pld 搬移 %s，之前 %s%s：存在重复搬移，请调整 schedule 或 tiling", bytesText(after), bytesText(before), factor(after, before))}
}

// buffers are the names of the buffers with bank conflicts.
var buffers = map[Code]string{L1Conflicts: "L1", IMBConflicts: "IMB"}

func conflictsGrew(o *Operator, code Code, c Column) Advice {
	before, after := o.Before.Get(c).N, o.Get(c).N
	return Advice{code, lang.Sayf("bank conflicts at %[1]s take %[2]d cycles, %[3]d before%[4]s: smaller %[1]s tiles",
		"%[1]s 的 bank 冲突占 %[2]d 周期，之前 %[3]d%[4]s：将 tiling 的 %[1]s 切分参数调小", buffers[code], after, before, factor(after, before))}
}

func conflicts(o *Operator, code Code, c Column) Advice {
	n, mcu := o.Get(c).N, o.Get(MCU).N
	return Advice{code, lang.Sayf("bank conflicts at %[1]s take %[2]d of %[3]d cycles (%[4]s): smaller %[1]s tiles",
		"%[1]s 的 bank 冲突占 %[3]d 周期中的 %[2]d（%[4]s）：将 tiling 的 %[1]s 切分参数调小", buffers[code], n, mcu, percent(n, mcu))}
}

func imbalance(o *Operator) Advice {
	c := o.Cores
	return Advice{Imbalance, lang.Sayf("core %d takes %d cycles, the mean of %d cores is %s (%s): split the work evenly",
		"核 %d 用 %d 周期，%d 个核的平均为 %s（%s）：请均匀切分", c.Slowest, c.Cycles, c.Known, short(c.Mean()), times(*c.Imbalance()))}
}

// unitNames are the units of class compute as the manual writes them.
var unitNames = map[string]string{"mme": "MME", "vme": "VME"}

// explain says why an operator is of its class, with the numbers that decided, and what
// helps.
func explain(o *Operator) lang.Sentence {
	if o.Class == ClassUnknown {
		return lang.Sayf("unknown: no %s", "未知：缺少 %s", strings.Join(o.Evidence, ", "))
	}
	mcu, moves, maths, union := o.Get(MCU).N, o.Get(MTE).N, o.Compute.N, o.Union.N
	ofMCU := func(n int64) string { return percent(n, mcu) }
	both := lang.Sayf("moves take %s, VME and MME %s", "搬移占 %s，VME 与 MME 占 %s", ofMCU(moves), ofMCU(maths))
	switch o.Class {
	case ClassIdle:
		return lang.Sayf("mcu_cycle is 0: it did not run, or was not counted", "mcu_cycle 为 0：未运行或未计数")
	case ClassInconsistent:
		return lang.Sayf("VME %d, MME %d, MTE %d of %d cycles, together VME+MME %d, MTE+MME %d, VME+MTE %d, all %d: counters wrapped (32 bits) or are sums over other things than mcu_cycle; not analysed",
			"VME %d、MME %d、MTE %d，共 %d 周期；并行 VME+MME %d、MTE+MME %d、VME+MTE %d、三者 %d：计数器回绕（32 位），或与 mcu_cycle 的统计范围不同；不作分析",
			o.Get(VME).N, o.Get(MME).N, moves, mcu, o.Get(PalVMEMME).N, o.Get(PalMTEMME).N, o.Get(PalVMEMTE).N, o.Get(PalTotal).N)
	case ClassSync:
		wait := o.Get(SynWait).N
		return lang.Sayf("waits for other cores in %d of %d cycles (%s): uneven split; look at the per-core files",
			"%[2]d 周期中有 %[1]d（%[3]s）在等待其他核：切分不均，请查看各核的文件", wait, mcu, ofMCU(wait))
	case ClassControl:
		ofUnion := func(n int64) string { return percent(n, union) }
		return lang.Sayf("moves, VME and MME fill %s of mcu_cycle (%s, %s and %s of that): scalar code, instruction issue, cache misses (dcache %s, icache %s) or small shapes; fuse or batch",
			"搬移、VME 与 MME 只占 mcu_cycle 的 %s（其中各占 %s、%s、%s）：标量代码、指令发射、缓存未命中（dcache %s，icache %s）或形状太小；请融合或增大 batch",
			ofMCU(union), ofUnion(moves), ofUnion(o.Get(VME).N), ofUnion(o.Get(MME).N), cmp.Or(o.Get(DCacheMiss).String(), "-"), cmp.Or(o.Get(ICacheMiss).String(), "-"))
	case ClassData:
		return lang.Sayf("%s; %d of %d cycles only move data: fewer or larger moves, reuse in L1, double buffering",
			"%s；%[3]d 周期中有 %[2]d 只在搬移数据：减少或合并搬移、在 L1 中复用、双缓冲", both, o.ExposedData.N, mcu)
	case ClassCompute:
		busier, cycles := unitNames[o.Unit], o.Get(MME).N
		if o.Unit == "vme" {
			cycles = o.Get(VME).N
		}
		return lang.Sayf("%s, most in %s (%s): tile shapes that fill the unit, fp16, fewer VME passes",
			"%s，主要是 %s（%s）：选用能填满单元的切分、fp16、减少 VME 次数", both, busier, ofMCU(cycles))
	case ClassSerial:
		shorter := o.shorter()
		return lang.Sayf("%s, and overlap for %s of the shorter one: with full overlap up to %d of %d cycles would go; double buffering",
			"%s，较短者只有 %s 与另一者并行：完全并行时最多可省 %[4]d 周期中的 %[3]d；双缓冲", both, percent(o.HiddenData.N, shorter), shorter-o.HiddenData.N, mcu)
	}
	if o.Confidence == Medium {
		return lang.Sayf("%s: near the ridge, both have to shrink", "%s：接近屋脊点，两者都需减少", both)
	}
	return lang.Sayf("%s: neither leads", "%s：均不占优", both)
}

// hints are what helps against the classes, in a few words.
var hints = map[Class]lang.Text{
	ClassSync:    {EN: "split evenly", ZH: "均匀切分"},
	ClassControl: {EN: "fuse or batch", ZH: "融合或增大 batch"},
	ClassData:    {EN: "fewer or larger moves", ZH: "减少或合并搬移"},
	ClassCompute: {EN: "tile shapes, fp16", ZH: "切分形状、fp16"},
	ClassSerial:  {EN: "double buffering", ZH: "双缓冲"},
}

// Hint says what helps in a few words: the codes of the findings, else what the class
// calls for; empty where there is nothing to say.
func (o *Operator) Hint() lang.Text {
	if text := strings.Join(o.Codes(), ", "); text != "" {
		return lang.Text{EN: text, ZH: text}
	}
	return hints[o.Class]
}
