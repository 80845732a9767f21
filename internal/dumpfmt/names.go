package dumpfmt

import (
	"strconv"
	"strings"
)

// Names of dump files, after the naming rule in the public documentation of
// the Ascend toolkit and the dump code of its runtime:
//
//	{op_type}.{op_name}.{task_id}[.{stream_id}].{timestamp}[.{task_type}.{context_id}.{thread_id}[.{device_id}]]
//	exception_info.{stream_id}.{task_id}[.{core_type}.{core_id}].{timestamp}

// The parts of the name of an overflow record, in any letter case.
const (
	opDebugType = "Opdebug"
	opDebugName = "Node_OpDebug"
)

// exceptionType begins the name of an exception dump: no op_name, and the ids
// in reverse order.
const exceptionType = "exception_info"

// timestampDigits is how many digits a timestamp has at least; a task or
// stream id has at most as many.
const timestampDigits = 10

// Name is what the name of a dump file says.
type Name struct {
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

// SplitParts splits the base name of a file at its dots.
func SplitParts(base string) []string { return strings.Split(base, ".") }

// ParseName takes the base name of a dump file apart, from the right, so that
// dots in an operator's name do no harm. ok is false when it is no such name.
//
// The timestamp is the number with the most digits, ten at least, that leaves
// a possible count of numbers on both sides; the first of these.
func ParseName(base string) (n Name, ok bool) {
	if strings.ContainsAny(base, "/\x00") {
		return Name{}, false
	}
	parts := SplitParts(base)
	numbers := trailingNumbers(parts)
	head := parts[:len(parts)-len(numbers)]
	stamp := findTimestamp(parts[len(head):], len(head))
	if stamp < 0 {
		return Name{}, false
	}
	n.Timestamp = numbers[stamp]
	n.setThread(numbers[stamp+1:])
	if len(head) == 1 && strings.EqualFold(head[0], exceptionType) {
		ok = n.setException(head[0], numbers[:stamp])
	} else {
		ok = n.setOp(parts[:len(head)+stamp], numbers[:stamp])
	}
	if !ok {
		return Name{}, false
	}
	return n, true
}

// setThread sets what follows the timestamp.
func (n *Name) setThread(tail []uint64) {
	if len(tail) < 3 {
		return
	}
	n.TaskType, n.ContextID, n.ThreadID, n.HasThread = tail[0], tail[1], tail[2], true
	if len(tail) > 3 {
		n.DeviceID, n.HasDevice = tail[3], true
	}
}

// setException sets what is left of the timestamp of an exception dump.
func (n *Name) setException(opType string, ids []uint64) bool {
	if len(ids) != 2 && len(ids) != 4 {
		return false
	}
	n.OpType, n.StreamID, n.HasStream, n.TaskID = opType, ids[0], true, ids[1]
	if len(ids) == 4 {
		n.CoreType, n.CoreID, n.HasCore = ids[2], ids[3], true
	}
	return true
}

// setOp sets what is left of the timestamp: parts, the last of which are ids.
// With more than two numbers there the first belong to the operator's name.
func (n *Name) setOp(parts []string, ids []uint64) bool {
	count := min(2, len(ids), len(parts)-2)
	if count < 1 {
		return false
	}
	ids = ids[len(ids)-count:]
	parts = parts[:len(parts)-count]
	n.TaskID = ids[0]
	if count == 2 {
		n.StreamID, n.HasStream = ids[1], true
	}
	n.OpType, n.OpName = parts[0], strings.Join(parts[1:], ".")
	return n.OpType != "" && n.OpName != ""
}

// String returns the file name. ParseName of it gives the Name back.
func (n Name) String() string {
	var b strings.Builder
	b.WriteString(n.OpType)
	add := func(v uint64) {
		b.WriteByte('.')
		b.WriteString(strconv.FormatUint(v, 10))
	}
	if n.OpName == "" {
		add(n.StreamID)
		add(n.TaskID)
		if n.HasCore {
			add(n.CoreType)
			add(n.CoreID)
		}
	} else {
		b.WriteString("." + n.OpName)
		add(n.TaskID)
		if n.HasStream {
			add(n.StreamID)
		}
	}
	add(n.Timestamp)
	if n.HasThread {
		add(n.TaskType)
		add(n.ContextID)
		add(n.ThreadID)
		if n.HasDevice {
			add(n.DeviceID)
		}
	}
	return b.String()
}

// IsOpDebug reports whether the name is that of an overflow record.
func (n Name) IsOpDebug() bool {
	return strings.EqualFold(n.OpType, opDebugType) && strings.EqualFold(n.OpName, opDebugName)
}

// trailingNumbers returns the numbers that the parts end with.
func trailingNumbers(parts []string) []uint64 {
	first := len(parts)
	for first > 0 && isNumber(parts[first-1]) {
		first--
	}
	numbers := make([]uint64, 0, len(parts)-first)
	for _, p := range parts[first:] {
		v, _ := strconv.ParseUint(p, 10, 64)
		numbers = append(numbers, v)
	}
	return numbers
}

// isNumber reports whether s is a decimal number as a writer prints it: no
// sign, no leading zero, 64 bits at most.
func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 64)
	return err == nil && (s == "0" || s[0] >= '1' && s[0] <= '9')
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
