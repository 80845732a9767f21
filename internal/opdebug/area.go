package opdebug

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Unit is the part of the device that an area of a record is about.
type Unit uint8

// The units of the old layout, then those of the new layout in the order of
// their acc_type numbers.
const (
	DHA    Unit = iota // atomic add through DHA
	L2                 // atomic add through the L2 cache
	AICore             // AI Core
	AIC                // cube core, acc_type 0
	AIV                // vector core, acc_type 1
	AICPU              // AI CPU, acc_type 2
	SDMA               // system DMA, acc_type 3
)

// unitNames spells the units as the JSON form does.
var unitNames = [...]string{
	DHA:    "DHA Atomic Add",
	L2:     "L2 Atomic Add",
	AICore: "AI Core",
	AIC:    "AIC",
	AIV:    "AIV",
	AICPU:  "AICPU",
	SDMA:   "SDMA",
}

// String returns the unit's name as the JSON form spells it.
func (u Unit) String() string {
	if int(u) < len(unitNames) {
		return unitNames[u]
	}
	return "Unit(" + strconv.Itoa(int(u)) + ")"
}

// MarshalText implements encoding.TextMarshaler.
func (u Unit) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *Unit) UnmarshalText(text []byte) error {
	i := slices.Index(unitNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("%.40q is no unit of a device, want one of %s", text, strings.Join(unitNames[:], ", "))
	}
	*u = Unit(i)
	return nil
}

// Area is what a record says about one unit. Which fields apply depends on
// the unit: Fields lists them, the others are zero.
type Area struct {
	Unit       Unit
	ModelID    uint64
	StreamID   uint64
	TaskID     uint64
	TaskType   uint64
	ContextID  uint64 // new layout; NoID when the task has none
	ThreadID   uint64 // new layout; NoID when the task has none
	CPUID      uint64 // AICPU
	PCStart    uint64 // DHA, L2, AICore, AIC, AIV
	ParaBase   uint64 // DHA, L2, AICore, AIC, AIV
	KernelCode uint64 // AICore
	BlockIdx   uint64 // AICore: the first block that overflowed
	CoreID     uint64 // AIC, AIV
	BlockID    uint64 // AIC, AIV
	SrcAddr    uint64 // SDMA
	DstAddr    uint64 // SDMA
	ChannelID  uint64 // SDMA
	// Status holds the status words: four in the entries of AIC and AIV that
	// version 1 of the new layout brought, otherwise one.
	Status []uint64
}

// Overflowed reports whether any status word is not zero.
func (a *Area) Overflowed() bool {
	for _, w := range a.Status {
		if w != 0 {
			return true
		}
	}
	return false
}

// Context returns the FFTS+ context and thread ids. ok is false when the
// layout has no such fields or one of them is NoID; 0 is an id like others.
func (a *Area) Context() (context, thread uint64, ok bool) {
	l := areaLayout(a)
	if l == nil || !l.has("context_id") || a.ContextID == NoID || a.ThreadID == NoID {
		return 0, 0, false
	}
	return a.ContextID, a.ThreadID, true
}

// Field is one named value of an area.
type Field struct {
	Name   string   // as in the JSON form
	Offset int      // in the payload
	Hex    bool     // an address, shown in hex
	Values []uint64 // one value, or four status words
}

// Fields returns the fields that apply to the area, in file order.
func (a *Area) Fields() []Field {
	l := areaLayout(a)
	if l == nil {
		return nil
	}
	out := make([]Field, len(l.fields))
	for i := range l.fields {
		f := &l.fields[i]
		values := make([]uint64, f.words)
		for j := range values {
			values[j] = f.get(a, j)
		}
		out[i] = Field{Name: f.name, Offset: f.offset, Hex: f.hex, Values: values}
	}
	return out
}
