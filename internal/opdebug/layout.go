package opdebug

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/lang"
)

// wordSize is the size of every field outside the new layout's header.
const wordSize = 8

// field is one field of a layout, with its place and names.
type field struct {
	name   string
	alias  string // alternative name in JSON files
	offset int    // in the payload
	words  int
	hex    bool
	ref    func(*Area) *uint64 // nil for the status words
}

// get returns the field's i-th word, 0 if the area lacks it.
func (f *field) get(a *Area, i int) uint64 {
	if f.ref != nil {
		return *f.ref(a)
	}
	if i < len(a.Status) {
		return a.Status[i]
	}
	return 0
}

// set stores the field's i-th word.
func (f *field) set(a *Area, i int, v uint64) {
	if f.ref != nil {
		*f.ref(a) = v
		return
	}
	a.Status[i] = v
}

// layout is the list of an area's fields. The status is always the last one.
type layout struct {
	unit   Unit
	fields []field
}

// newArea returns an area with room for the layout's status words.
func (l *layout) newArea() Area {
	return Area{Unit: l.unit, Status: make([]uint64, l.statusWords())}
}

// statusWords returns the number of status words.
func (l *layout) statusWords() int { return l.fields[len(l.fields)-1].words }

// dataLen returns the size of all fields: data_len in the new layout.
func (l *layout) dataLen() int {
	n := 0
	for i := range l.fields {
		n += l.fields[i].words * wordSize
	}
	return n
}

// endOffset returns the offset after the last field.
func (l *layout) endOffset() int {
	last := &l.fields[len(l.fields)-1]
	return last.offset + last.words*wordSize
}

// has reports whether the layout has a field of this name.
func (l *layout) has(name string) bool {
	return slices.ContainsFunc(l.fields, func(f field) bool { return f.name == name })
}

func numberField(name string, ref func(*Area) *uint64) field {
	return field{name: name, words: 1, ref: ref}
}

func addressField(name string, ref func(*Area) *uint64) field {
	return field{name: name, words: 1, hex: true, ref: ref}
}

func statusField(words int) field { return field{name: "status", words: words} }

// The fields, by the names of the CANN overflow data documentation.
var (
	modelID   = numberField("model_id", func(a *Area) *uint64 { return &a.ModelID })
	streamID  = numberField("stream_id", func(a *Area) *uint64 { return &a.StreamID })
	taskID    = numberField("task_id", func(a *Area) *uint64 { return &a.TaskID })
	taskType  = numberField("task_type", func(a *Area) *uint64 { return &a.TaskType })
	contextID = numberField("context_id", func(a *Area) *uint64 { return &a.ContextID })
	threadID  = numberField("thread_id", func(a *Area) *uint64 { return &a.ThreadID })
	cpuID     = numberField("cpu_id", func(a *Area) *uint64 { return &a.CPUID })
	coreID    = numberField("core_id", func(a *Area) *uint64 { return &a.CoreID })
	blockID   = numberField("block_id", func(a *Area) *uint64 { return &a.BlockID })
	channelID = numberField("channel_id", func(a *Area) *uint64 { return &a.ChannelID })

	pcStart    = addressField("pc_start", func(a *Area) *uint64 { return &a.PCStart })
	paraBase   = addressField("para_base", func(a *Area) *uint64 { return &a.ParaBase })
	kernelCode = addressField("kernel_code", func(a *Area) *uint64 { return &a.KernelCode })
	srcAddr    = addressField("src_addr", func(a *Area) *uint64 { return &a.SrcAddr })
	dstAddr    = addressField("dst_addr", func(a *Area) *uint64 { return &a.DstAddr })

	// The documentation's samples call the old layout's block_idx block_id.
	blockIdx = field{
		name: "block_idx", alias: "block_id", words: 1,
		ref: func(a *Area) *uint64 { return &a.BlockIdx },
	}
)

// layouts is the only table for reading, writing and JSON. The old layout stores the status
// separately from the other fields of an area.
var layouts = [...]layout{
	{DHA, slices.Concat(
		placeFields(0, modelID, streamID, taskID, taskType, pcStart, paraBase),
		placeFields(512, statusField(1)))},
	{L2, slices.Concat(
		placeFields(128, modelID, streamID, taskID, taskType, pcStart, paraBase),
		placeFields(768, statusField(1)))},
	{AICore, slices.Concat(
		placeFields(256, modelID, streamID, taskID, taskType, pcStart, paraBase),
		placeFields(1024, kernelCode, blockIdx, statusField(1)))},
	{AIC, coreFields(statusField(1))},
	{AIC, coreFields(statusField(4))},
	{AIV, coreFields(statusField(1))},
	{AIV, coreFields(statusField(4))},
	{AICPU, placeFields(headerSize, modelID, streamID, taskID, taskType, contextID,
		cpuID, threadID, statusField(1))},
	{SDMA, placeFields(headerSize, modelID, streamID, taskID, taskType, contextID,
		threadID, srcAddr, dstAddr, channelID, statusField(1))},
}

// coreFields returns the fields of an AIC or AIV entry.
func coreFields(status field) []field {
	return placeFields(headerSize, modelID, streamID, taskID, taskType, contextID,
		threadID, pcStart, paraBase, coreID, blockID, status)
}

// placeFields places fields one after another, from offset on.
func placeFields(offset int, fields ...field) []field {
	for i := range fields {
		fields[i].offset = offset
		offset += fields[i].words * wordSize
	}
	return fields
}

// oldLayouts returns the layouts of the old generation's areas.
func oldLayouts() []layout { return layouts[:AIC] }

// findLayout returns the layout of a unit with a number of status words, else the unit's first
// layout; nil for an unknown unit.
func findLayout(unit Unit, statusWords int) *layout {
	var first *layout
	for i := range layouts {
		l := &layouts[i]
		if l.unit != unit {
			continue
		}
		if l.statusWords() == statusWords {
			return l
		}
		if first == nil {
			first = l
		}
	}
	return first
}

// areaLayout returns the layout of an area, nil for an unknown unit.
func areaLayout(a *Area) *layout { return findLayout(a.Unit, len(a.Status)) }

// Unit is the part of the device that an area of a record describes.
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
		return lang.Errorf("%.40q is no unit of a device, want one of %s", text, strings.Join(unitNames[:], ", "))
	}
	*u = Unit(i)
	return nil
}

// Area is a record's data on one unit. The unit determines the fields that apply: Fields lists
// them; other fields are zero.
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
	// Status holds the status words: four in AIC and AIV entries of version 1 of the new layout,
	// otherwise one.
	Status []uint64
}

// HasOverflow reports whether any status word is not zero.
func (a *Area) HasOverflow() bool {
	return slices.ContainsFunc(a.Status, func(w uint64) bool { return w != 0 })
}

// Context returns the FFTS+ context and thread ids. ok is false if the layout lacks the fields or
// one of them is NoID; 0 is a valid id.
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

// Span is a range of a payload.
type Span struct {
	Offset int
	Data   []byte
}

// String returns the offsets of the first and the last byte.
func (s Span) String() string {
	return fmt.Sprintf("0x%x to 0x%x", s.Offset, s.Offset+len(s.Data)-1)
}

// undecodedSpans returns the non-zero ranges of payload, from offset pos on, that no field of the
// layouts covers: at most one between two neighbouring fields. No range crosses the offset cut.
func undecodedSpans(payload []byte, ls []layout, pos, cut int) []Span {
	var covered []Span
	for i := range ls {
		for _, f := range ls[i].fields {
			covered = append(covered, Span{f.offset, payload[f.offset:][:f.words*wordSize]})
		}
	}
	slices.SortFunc(covered, func(a, b Span) int { return a.Offset - b.Offset })
	var out []Span
	for _, c := range covered {
		out = appendNonZero(out, payload, pos, c.Offset)
		pos = c.Offset + len(c.Data)
	}
	cut = min(max(cut, pos), len(payload))
	out = appendNonZero(out, payload, pos, cut)
	return appendNonZero(out, payload, cut, len(payload))
}

// appendNonZero appends payload[from:to] without the zeros at both ends, unless nothing is left.
func appendNonZero(out []Span, payload []byte, from, to int) []Span {
	data := bytes.TrimLeft(payload[from:to], "\x00")
	if len(data) == 0 {
		return out
	}
	return append(out, Span{to - len(data), bytes.Clone(bytes.TrimRight(data, "\x00"))})
}
