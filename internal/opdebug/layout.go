package opdebug

import "slices"

// wordSize is the size of every field outside the new layout's header.
const wordSize = 8

// field is one column of a layout: where a value is and what it is called.
type field struct {
	name   string
	alias  string // another name seen in JSON files
	offset int    // in the payload
	words  int
	hex    bool
	ref    func(*Area) *uint64 // nil for the status words
}

// get returns the field's i-th word, 0 when the area does not have it.
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

// end returns the offset after the last field.
func (l *layout) end() int {
	last := &l.fields[len(l.fields)-1]
	return last.offset + last.words*wordSize
}

// has reports whether the layout has a field of this name.
func (l *layout) has(name string) bool {
	return slices.ContainsFunc(l.fields, func(f field) bool { return f.name == name })
}

func number(name string, ref func(*Area) *uint64) field {
	return field{name: name, words: 1, ref: ref}
}

func address(name string, ref func(*Area) *uint64) field {
	return field{name: name, words: 1, hex: true, ref: ref}
}

func status(words int) field { return field{name: "status", words: words} }

// The fields, by the names of the CANN overflow data documentation.
var (
	modelID   = number("model_id", func(a *Area) *uint64 { return &a.ModelID })
	streamID  = number("stream_id", func(a *Area) *uint64 { return &a.StreamID })
	taskID    = number("task_id", func(a *Area) *uint64 { return &a.TaskID })
	taskType  = number("task_type", func(a *Area) *uint64 { return &a.TaskType })
	contextID = number("context_id", func(a *Area) *uint64 { return &a.ContextID })
	threadID  = number("thread_id", func(a *Area) *uint64 { return &a.ThreadID })
	cpuID     = number("cpu_id", func(a *Area) *uint64 { return &a.CPUID })
	coreID    = number("core_id", func(a *Area) *uint64 { return &a.CoreID })
	blockID   = number("block_id", func(a *Area) *uint64 { return &a.BlockID })
	channelID = number("channel_id", func(a *Area) *uint64 { return &a.ChannelID })

	pcStart    = address("pc_start", func(a *Area) *uint64 { return &a.PCStart })
	paraBase   = address("para_base", func(a *Area) *uint64 { return &a.ParaBase })
	kernelCode = address("kernel_code", func(a *Area) *uint64 { return &a.KernelCode })
	srcAddr    = address("src_addr", func(a *Area) *uint64 { return &a.SrcAddr })
	dstAddr    = address("dst_addr", func(a *Area) *uint64 { return &a.DstAddr })

	// The documentation's samples call the old layout's block_idx block_id.
	blockIdx = field{
		name: "block_idx", alias: "block_id", words: 1,
		ref: func(a *Area) *uint64 { return &a.BlockIdx },
	}
)

// layouts is the one table behind reading, writing and JSON. The old layout
// keeps the status apart from the information it belongs to.
var layouts = [...]layout{
	{DHA, slices.Concat(
		run(0, modelID, streamID, taskID, taskType, pcStart, paraBase),
		run(512, status(1)))},
	{L2, slices.Concat(
		run(128, modelID, streamID, taskID, taskType, pcStart, paraBase),
		run(768, status(1)))},
	{AICore, slices.Concat(
		run(256, modelID, streamID, taskID, taskType, pcStart, paraBase),
		run(1024, kernelCode, blockIdx, status(1)))},
	{AIC, coreFields(status(1))},
	{AIC, coreFields(status(4))},
	{AIV, coreFields(status(1))},
	{AIV, coreFields(status(4))},
	{AICPU, run(headerSize, modelID, streamID, taskID, taskType, contextID,
		cpuID, threadID, status(1))},
	{SDMA, run(headerSize, modelID, streamID, taskID, taskType, contextID,
		threadID, srcAddr, dstAddr, channelID, status(1))},
}

// coreFields returns the fields of an AIC or AIV entry.
func coreFields(status field) []field {
	return run(headerSize, modelID, streamID, taskID, taskType, contextID,
		threadID, pcStart, paraBase, coreID, blockID, status)
}

// run places fields one after another, from offset on.
func run(offset int, fields ...field) []field {
	for i := range fields {
		fields[i].offset = offset
		offset += fields[i].words * wordSize
	}
	return fields
}

// oldLayouts returns the layouts of the old generation's areas.
func oldLayouts() []layout { return layouts[:AIC] }

// findLayout returns the layout of a unit with so many status words; a unit
// without such a one has only one layout. It is nil for an unknown unit.
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

// areaLayout returns the layout that an area has, nil for an unknown unit.
func areaLayout(a *Area) *layout { return findLayout(a.Unit, len(a.Status)) }
