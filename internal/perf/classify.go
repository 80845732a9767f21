package perf

import "dumptool/internal/lang"

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
