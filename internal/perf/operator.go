package perf

import (
	"cmp"
	"strconv"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/lists"
)

// Operator is an operator with the results of its analysis.
type Operator struct {
	*Row
	// Name is the name, as in the reference if a map has it. Occurrence numbers the operators of
	// that name from 1, At the operators of the tables from 0.
	Name       string
	Occurrence int
	At         int
	DerivedCounters
	Verdict
	// Advice lists findings beside the class, ordered by code.
	Advice []Advice
	// Rank is the position in the report, from 1. Share is the share of the total, Cumulative the
	// share of all operators up to this rank; nil without a total.
	Rank              int
	Share, Cumulative *float64
	// Cores describes its runs on the cores, Runs its repetitions; nil if unknown.
	Cores *Cores
	Runs  *Runs
	// Before is the row of the baseline, nil for none. Status is empty without a baseline.
	Before *Row
	Status Status
}

// occurrence returns the name and number of the operator.
func (o *Operator) occurrence() occurrence { return occurrence{o.Name, o.Occurrence} }

// BaselineCount returns a counter of the baseline, unknown without a baseline.
func (o *Operator) BaselineCount(c Column) Count {
	if o.Before == nil {
		return Count{}
	}
	return o.Before.Get(c)
}

// Growth returns the growth of mcu_cycle since the baseline; it may be negative.
func (o *Operator) Growth() Count {
	before, after := o.BaselineCount(MCU), o.Get(MCU)
	return Count{after.N - before.N, before.Known && after.Known}
}

// Codes returns the codes of the findings.
func (o *Operator) Codes() []string {
	return lists.Map(o.Advice, func(a Advice) string { return string(a.Code) })
}

// Regressions returns the codes of the findings that compare with the baseline.
func (o *Operator) Regressions() []Code {
	var all []Code
	for _, a := range o.Advice {
		if o.Before != nil && a.Code != Imbalance {
			all = append(all, a.Code)
		}
	}
	return all
}

// DerivedCounters holds sums of an operator's counters. A sum of an unknown counter is unknown.
type DerivedCounters struct {
	// Compute counts cycles in which VME or MME ran, Union cycles in which VME, MME or MTE ran.
	Compute, Union Count
	// ExposedData counts cycles of Union without maths, ExposedCompute cycles without moves, and
	// HiddenData cycles with both.
	ExposedData, ExposedCompute, HiddenData Count
	// DDRBytes counts the bytes of all DMA channels.
	DDRBytes Count
	// Inconsistent: two units overlap longer than one unit ran. Nil if unknown.
	Inconsistent *bool
}

// derive computes the derived numbers. A sum beyond int64 is an error.
func derive(c *Counters) (d DerivedCounters, err error) {
	bytes, ok := sumCounts(c.Get(dma0c0Byte), c.Get(dma0c1Byte), c.Get(dma1c0Byte), c.Get(dma1c1Byte))
	if d.DDRBytes = bytes; !ok {
		return DerivedCounters{}, lang.Errorf("the sum of the bytes of the DMA channels exceeds int64")
	}
	v, m, t := c.Get(VME), c.Get(MME), c.Get(MTE)
	vm, tm, vt, a := c.Get(PalVMEMME), c.Get(PalMTEMME), c.Get(PalVMEMTE), c.Get(PalTotal)
	if v.Known && m.Known && vm.Known {
		exclusive, ok := sumDifference([]int64{v.N, m.N}, []int64{vm.N})
		if !ok {
			return DerivedCounters{}, lang.Errorf("the sum of vme_cycle and mme_cycle exceeds int64")
		}
		d.Compute = count(max(v.N, m.N, exclusive))
	}
	if !d.Compute.Known || !t.Known || !tm.Known || !vt.Known || !a.Known {
		return d, nil
	}
	exclusive, ok := sumDifference([]int64{v.N, m.N, t.N, a.N}, []int64{vm.N, tm.N, vt.N})
	if !ok {
		return DerivedCounters{}, lang.Errorf("the sum of the cycles of VME, MME and MTE exceeds int64")
	}
	d.Union = count(max(d.Compute.N, t.N, exclusive))
	d.ExposedData = count(d.Union.N - d.Compute.N)
	d.ExposedCompute = count(d.Union.N - t.N)
	d.HiddenData = count(t.N - d.ExposedData.N)
	inconsistent := vm.N > min(v.N, m.N) || tm.N > min(t.N, m.N) || vt.N > min(v.N, t.N) || a.N > min(vm.N, tm.N, vt.N)
	d.Inconsistent = &inconsistent
	return d, nil
}

// shorter returns the shorter of moves and maths; both must be known.
func (o *Operator) shorter() int64 { return min(o.Get(MTE).N, o.Compute.N) }

// Quotient is a quotient of an operator's numbers.
type Quotient struct {
	// Name is the column, Doc its description.
	Name, Doc string
	num, den  func(o *Operator) Count
}

// ValueFor returns the quotient for an operator; nil if a number is unknown or the divisor is 0.
func (q *Quotient) ValueFor(o *Operator) *float64 { return q.num(o).Quotient(q.den(o)) }

// Quotients lists the quotients: the share of the shorter of moves and maths that ran beside the
// other, shares of mcu_cycle and of the union, and bytes per cycle. For rows folded from several
// cores, bytes per cycle cover all cores.
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

// Class is the resource that limits an operator.
type Class string

// Values of Class.
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

// Classes returns all classes.
func Classes() []Class {
	return []Class{ClassData, ClassCompute, ClassBalanced, ClassSerial, ClassControl, ClassSync, ClassInconsistent, ClassIdle, ClassUnknown}
}

// Confidence is the confidence in a class.
type Confidence string

// The confidences; NoClass is for classes without a verdict.
const (
	High    Confidence = "high"
	Medium  Confidence = "medium"
	Low     Confidence = "low"
	NoClass Confidence = "none"
)

// Verdict is the class of an operator with its evidence.
type Verdict struct {
	Class      Class
	Confidence Confidence
	// Evidence lists the columns and derived numbers that decided, or the contradiction.
	Evidence []string
	// Unit is the busier unit, mme or vme, for class compute.
	Unit string
	// Text explains the class with its numbers and advice.
	Text lang.Sentence
}

// Evidence that is no column.
const (
	evidenceCompute    = "compute"
	evidenceOverlap    = "overlap"
	evidenceUnion      = "share_union"
	evidenceImpossible = "overlap exceeds a unit"
	evidenceWrapped    = "a unit is busy longer than mcu_cycle"
	evidenceIdle       = "mcu_cycle is 0"
)

// classColumns lists the counters that every class needs.
var classColumns = []Column{MCU, VME, MME, MTE, PalVMEMME, PalMTEMME, PalVMEMTE, PalTotal, SynWait}

// classify returns the class of an operator with derived numbers: the first case that holds.
func classify(o *Operator, th *Thresholds) Verdict {
	if unknown := o.SelectUnknown(classColumns...); len(unknown) > 0 {
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
	case th.Wait.isReached(o.Get(SynWait).N, mcu):
		return Verdict{Class: ClassSync, Confidence: Medium, Evidence: []string{SynWait.String()}}
	case !th.Half.isReached(o.Union.N, mcu):
		return Verdict{Class: ClassControl, Confidence: Medium, Evidence: []string{evidenceUnion}}
	}
	return classifyBalance(o, th)
}

// classifyBalance classifies an operator by moves and maths.
func classifyBalance(o *Operator, th *Thresholds) Verdict {
	mcu, moveCycles, maths := o.Get(MCU).N, o.Get(MTE).N, o.Compute.N
	unit := "mme"
	if o.Get(VME).N > o.Get(MME).N {
		unit = "vme"
	}
	both := []string{MTE.String(), evidenceCompute}
	data := Verdict{Class: ClassData, Confidence: High, Evidence: both}
	compute := Verdict{Class: ClassCompute, Confidence: High, Evidence: []string{evidenceCompute, MTE.String(), unit}, Unit: unit}
	busyMoves, busyMaths := th.Busy.isReached(moveCycles, mcu), th.Busy.isReached(maths, mcu)
	dataLeads, computeLeads := th.Lead.isReached(moveCycles, maths), th.Lead.isReached(maths, moveCycles)
	switch shorter := o.shorter(); {
	case busyMoves && dataLeads:
		return data
	case busyMaths && computeLeads:
		return compute
	case busyMoves && busyMaths:
		return Verdict{Class: ClassBalanced, Confidence: Medium, Evidence: both}
	case th.Small.isReached(shorter, mcu) && !th.Half.isReached(o.HiddenData.N, shorter):
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

// Advice is a finding about an operator, with numbers and advice.
type Advice struct {
	Code Code
	Text lang.Sentence
}

// percent formats a share.
func percent(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return shortNumber(float64(part)/float64(whole)*100) + " %"
}

// shortNumber formats x with at most one decimal.
func shortNumber(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

// factorText formats a factor.
func factorText(x float64) string { return "x " + strconv.FormatFloat(x, 'f', 2, 64) }

// growthFactor formats after/before with a leading blank; empty if before is 0.
func growthFactor(after, before int64) string {
	if before == 0 {
		return ""
	}
	return " (" + factorText(float64(after)/float64(before)) + ")"
}

// bytesText formats a number of bytes.
func bytesText(n int64) lang.Text {
	const step = 1024
	if n < step {
		return lang.CountText(int(n), "byte")
	}
	x, unit := float64(n)/step, 0
	for x >= step && unit < len("KMGTPE")-1 {
		x, unit = x/step, unit+1
	}
	text := strconv.FormatFloat(x, 'f', 1, 64) + " " + "KMGTPE"[unit:unit+1] + "iB"
	return lang.Text{EN: text, ZH: text}
}

func adviseRepeatedMoves(o *Operator) Advice {
	before, after := o.Before.Get(PLDByte).N, o.Get(PLDByte).N
	return Advice{RepeatedMoves, lang.Say("pld moved %s, %s before%s: repeated moves; change schedule or tiling", bytesText(after), bytesText(before), growthFactor(after, before))}
}

// buffers maps the codes of bank conflicts to the buffers.
var buffers = map[Code]string{L1Conflicts: "L1", IMBConflicts: "IMB"}

func adviseConflictGrowth(o *Operator, code Code, c Column) Advice {
	before, after := o.Before.Get(c).N, o.Get(c).N
	return Advice{code, lang.Say("bank conflicts at %[1]s take %[2]d cycles, %[3]d before%[4]s: smaller %[1]s tiles", buffers[code], after, before, growthFactor(after, before))}
}

func adviseConflicts(o *Operator, code Code, c Column) Advice {
	n, mcu := o.Get(c).N, o.Get(MCU).N
	return Advice{code, lang.Say("bank conflicts at %[1]s take %[2]d of %[3]d cycles (%[4]s): smaller %[1]s tiles", buffers[code], n, mcu, percent(n, mcu))}
}

func adviseImbalance(o *Operator) Advice {
	c := o.Cores
	return Advice{Imbalance, lang.Say("core %d takes %d cycles, the mean of %d cores is %s (%s): split the work evenly", c.Slowest, c.Cycles, c.NumKnown, shortNumber(c.Mean()), factorText(*c.Imbalance()))}
}

// unitNames maps units of class compute to their spelling in the manual.
var unitNames = map[string]string{"mme": "MME", "vme": "VME"}

// explain explains the class of an operator with the deciding numbers and advice.
func explain(o *Operator) lang.Sentence {
	if o.Class == ClassUnknown {
		return lang.Say("unknown: no %s", strings.Join(o.Evidence, ", "))
	}
	mcu, moveCycles, maths, union := o.Get(MCU).N, o.Get(MTE).N, o.Compute.N, o.Union.N
	ofMCU := func(n int64) string { return percent(n, mcu) }
	both := lang.Say("moves take %s, VME and MME %s", ofMCU(moveCycles), ofMCU(maths))
	switch o.Class {
	case ClassIdle:
		return lang.Say("mcu_cycle is 0: it did not run, or was not counted")
	case ClassInconsistent:
		return lang.Say("VME %d, MME %d, MTE %d of %d cycles, together VME+MME %d, MTE+MME %d, VME+MTE %d, all %d: counters wrapped (32 bits) or cover other work than mcu_cycle; not analysed",
			o.Get(VME).N, o.Get(MME).N, moveCycles, mcu, o.Get(PalVMEMME).N, o.Get(PalMTEMME).N, o.Get(PalVMEMTE).N, o.Get(PalTotal).N)
	case ClassSync:
		wait := o.Get(SynWait).N
		return lang.Say("waits for other cores in %d of %d cycles (%s): uneven split; look at the per-core files", wait, mcu, ofMCU(wait))
	case ClassControl:
		ofUnion := func(n int64) string { return percent(n, union) }
		return lang.Say("moves, VME and MME fill %s of mcu_cycle (%s, %s and %s of that): scalar code, instruction issue, cache misses (dcache %s, icache %s) or small shapes; fuse or batch",
			ofMCU(union), ofUnion(moveCycles), ofUnion(o.Get(VME).N), ofUnion(o.Get(MME).N), cmp.Or(o.Get(DCacheMiss).String(), "-"), cmp.Or(o.Get(ICacheMiss).String(), "-"))
	case ClassData:
		return lang.Say("%s; %d of %d cycles only move data: fewer or larger moves, reuse in L1, double buffering", both, o.ExposedData.N, mcu)
	case ClassCompute:
		busier, cycles := unitNames[o.Unit], o.Get(MME).N
		if o.Unit == "vme" {
			cycles = o.Get(VME).N
		}
		return lang.Say("%s, most in %s (%s): tile shapes that fill the unit, fp16, fewer VME passes", both, busier, ofMCU(cycles))
	case ClassSerial:
		shorter := o.shorter()
		return lang.Say("%s, and only %s of the shorter part overlaps: full overlap would save up to %d of %d cycles; use double buffering", both, percent(o.HiddenData.N, shorter), shorter-o.HiddenData.N, mcu)
	}
	if o.Confidence == Medium {
		return lang.Say("%s: near the ridge of the roofline, reduce both data movement and computation", both)
	}
	return lang.Say("%s: neither data movement nor computation dominates", both)
}

// hints is short advice by class.
var hints = map[Class]lang.Text{
	ClassSync:    {EN: "split evenly"},
	ClassControl: {EN: "fuse or batch"},
	ClassData:    {EN: "fewer or larger moves"},
	ClassCompute: {EN: "tile shapes, fp16"},
	ClassSerial:  {EN: "double buffering"},
}

// Hint returns short advice: the codes of the findings, else the hint of the class; empty for none.
func (o *Operator) Hint() lang.Text {
	if text := strings.Join(o.Codes(), ", "); text != "" {
		return lang.Text{EN: text, ZH: text}
	}
	return hints[o.Class]
}
