package filename

import (
	"strconv"
	"strings"
)

// dumpForm is the naming rule of dumps, after the public documentation of the
// Ascend toolkit and the dump code of its runtime.
const dumpForm = `{op_type}.{op_name}.{task_id}[.{stream_id}].{timestamp}[.{task_type}.{context_id}.{thread_id}[.{device_id}]]
exception_info.{stream_id}.{task_id}[.{core_type}.{core_id}].{timestamp}`

// The operator of overflow records, in names and in headers, in any letter case.
const (
	OpDebugType = "Opdebug"
	OpDebugName = "Node_OpDebug"
)

// exceptionType begins the name of an exception dump: no op_name, and the ids
// in reverse order.
const exceptionType = "exception_info"

// timestampDigits is how many digits a timestamp has at least; a task or
// stream id has at most as many.
const timestampDigits = 10

// Dump is what the name of a dump file says.
type Dump struct {
	OpType    string
	OpName    string // empty for exception dumps
	TaskID    uint64
	StreamID  uint64
	HasStream bool
	// CoreType and CoreID belong to exception dumps of a kernel.
	CoreType  uint64
	CoreID    uint64
	HasCore   bool
	Timestamp uint64 // microseconds; exception dumps write a date instead
	// TaskType, ContextID and ThreadID belong to sliced operators.
	TaskType  uint64
	ContextID uint64
	ThreadID  uint64
	HasThread bool
	DeviceID  uint64
	HasDevice bool
}

func parseDumpFile(stem, ext string) (n Info, ok bool) {
	return n, ext == "" && n.setDump(stem)
}

// setDump sets what the name of a dump says, and reports whether it is one.
func (n *Info) setDump(name string) bool {
	d, ok := parseDump(name)
	if !ok {
		return false
	}
	n.Dump, n.HasDump = d, true
	n.OpType, n.OpName, n.Timestamp = d.OpType, d.OpName, d.Timestamp
	if d.HasThread {
		n.Slice = strconv.FormatUint(d.ThreadID, 10)
	}
	return true
}

// parseRecord parses the names of overflow records that are not those of dumps:
// they have too few or too many numbers, or no timestamp. Producers and their
// documentation differ there.
func parseRecord(stem, ext string) (Info, bool) {
	const minNumbers, maxNumbers = 2, 7
	parts := strings.Split(stem, ".")
	if numbers := len(parts) - 2; ext != "" || numbers < minNumbers || numbers > maxNumbers {
		return Info{}, false
	}
	n := Info{OpType: parts[0], OpName: parts[1]}
	for _, p := range parts[2:] {
		if !isDigits(p) {
			return Info{}, false
		}
	}
	return n, n.IsOpDebug()
}

// parseDump takes the name of a dump apart, from the right, so that dots in an
// operator's name do no harm.
//
// The timestamp is the number with the most digits, ten at least, that leaves
// a possible count of numbers on both sides; the first of these.
func parseDump(base string) (d Dump, ok bool) {
	parts := strings.Split(base, ".")
	numbers := trailingNumbers(parts)
	head := parts[:len(parts)-len(numbers)]
	stamp := findTimestamp(parts[len(head):], len(head))
	if stamp < 0 {
		return Dump{}, false
	}
	d.Timestamp = numbers[stamp]
	d.setThread(numbers[stamp+1:])
	if len(head) == 1 && strings.EqualFold(head[0], exceptionType) {
		ok = d.setException(head[0], numbers[:stamp])
	} else {
		ok = d.setOp(parts[:len(head)+stamp], numbers[:stamp])
	}
	if !ok {
		return Dump{}, false
	}
	return d, true
}

// setThread sets what follows the timestamp.
func (d *Dump) setThread(tail []uint64) {
	if len(tail) < 3 {
		return
	}
	d.TaskType, d.ContextID, d.ThreadID, d.HasThread = tail[0], tail[1], tail[2], true
	if len(tail) > 3 {
		d.DeviceID, d.HasDevice = tail[3], true
	}
}

// setException sets what is left of the timestamp of an exception dump.
func (d *Dump) setException(opType string, ids []uint64) bool {
	if len(ids) != 2 && len(ids) != 4 {
		return false
	}
	d.OpType, d.StreamID, d.HasStream, d.TaskID = opType, ids[0], true, ids[1]
	if len(ids) == 4 {
		d.CoreType, d.CoreID, d.HasCore = ids[2], ids[3], true
	}
	return true
}

// setOp sets what is left of the timestamp: parts, the last of which are ids.
// With more than two numbers there the first belong to the operator's name.
func (d *Dump) setOp(parts []string, ids []uint64) bool {
	count := min(2, len(ids), len(parts)-2)
	if count < 1 {
		return false
	}
	ids = ids[len(ids)-count:]
	parts = parts[:len(parts)-count]
	d.TaskID = ids[0]
	if count == 2 {
		d.StreamID, d.HasStream = ids[1], true
	}
	d.OpType, d.OpName = parts[0], strings.Join(parts[1:], ".")
	return d.OpType != "" && d.OpName != ""
}

// String returns the file name. Parse of it gives the Dump back.
func (d Dump) String() string {
	b := []byte(d.OpType)
	add := func(numbers ...uint64) {
		for _, v := range numbers {
			b = strconv.AppendUint(append(b, '.'), v, 10)
		}
	}
	if d.OpName == "" {
		add(d.StreamID, d.TaskID)
		if d.HasCore {
			add(d.CoreType, d.CoreID)
		}
	} else {
		b = append(append(b, '.'), d.OpName...)
		add(d.TaskID)
		if d.HasStream {
			add(d.StreamID)
		}
	}
	add(d.Timestamp)
	if d.HasThread {
		add(d.TaskType, d.ContextID, d.ThreadID)
		if d.HasDevice {
			add(d.DeviceID)
		}
	}
	return string(b)
}

// trailingNumbers returns the numbers that the parts end with.
func trailingNumbers(parts []string) []uint64 {
	var numbers []uint64
	first := len(parts)
	for first > 0 && isNumber(parts[first-1]) {
		first--
	}
	for _, p := range parts[first:] {
		v, _ := strconv.ParseUint(p, 10, 64)
		numbers = append(numbers, v)
	}
	return numbers
}

// findTimestamp returns the index of the timestamp in the numbers that end a
// name of which head parts stand before them, -1 if there is none.
func findTimestamp(numbers []string, head int) int {
	best := -1
	for i, s := range numbers {
		after := len(numbers) - i - 1
		possible := i > 0 && head+i >= 3 && (after == 0 || after == 3 || after == 4)
		if possible && len(s) >= timestampDigits && (best < 0 || len(s) > len(numbers[best])) {
			best = i
		}
	}
	return best
}
