package filename

import (
	"crypto/md5"
	"encoding/hex"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// dumpForm is the grammar of dump names, after the public documentation of the Ascend toolkit and
// the dump code of its runtime.
const dumpForm = `{op_type}.{op_name}.{task_id}[.{stream_id}].{timestamp}[.{task_type}.{context_id}.{thread_id}[.{device_id}]]
exception_info.{stream_id}.{task_id}[.{core_type}.{core_id}].{timestamp}`

// The operator of overflow records, in names and in headers, in any letter case.
const (
	OpDebugType = "Opdebug"
	OpDebugName = "Node_OpDebug"
)

// exceptionType begins the names of exception dumps, which have no op_name and the ids in reverse
// order.
const exceptionType = "exception_info"

// timestampDigits is the minimum number of digits of a timestamp, and the maximum of a task or
// stream id.
const timestampDigits = 10

// Dump are the fields in the name of a dump file.
type Dump struct {
	OpType    string
	OpName    string // empty for exception dumps
	TaskID    uint64
	StreamID  uint64
	HasStream bool
	// CoreType and CoreID are set for exception dumps of a kernel.
	CoreType  uint64
	CoreID    uint64
	HasCore   bool
	Timestamp uint64 // microseconds; exception dumps write a date instead
	// TaskType, ContextID and ThreadID are set for sliced operators.
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

// setDump sets the fields of the name of a dump, and reports whether it is one.
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

// parseRecord parses the names of overflow records that are not valid dump names: too few or too
// many numbers, or no timestamp. Producers differ from their documentation there.
func parseRecord(stem, ext string) (Info, bool) {
	const minNumbers, maxNumbers = 2, 7
	if head := OpDebugType + "." + OpDebugName + "."; ext != "" || len(stem) < len(head) || !strings.EqualFold(stem[:len(head)], head) {
		return Info{}, false
	}
	parts := strings.Split(stem, ".")
	if numbers := len(parts) - 2; numbers < minNumbers || numbers > maxNumbers {
		return Info{}, false
	}
	n := Info{OpType: parts[0], OpName: parts[1]}
	for _, p := range parts[2:] {
		if !isDigits(p) {
			return Info{}, false
		}
	}
	return n, true
}

// parseDump parses the name of a dump from the right, so that operator names may contain dots.
//
// The timestamp is the number with the most digits, at least ten, with a valid count of numbers on
// both sides; of equally long ones the first.
func parseDump(base string) (d Dump, ok bool) {
	var room [usualParts]string
	var numberRoom [usualParts]uint64
	parts := appendParts(room[:0], base)
	numbers := appendNumbers(numberRoom[:0], parts)
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

// setThread sets the fields after the timestamp.
func (d *Dump) setThread(tail []uint64) {
	if len(tail) < 3 {
		return
	}
	d.TaskType, d.ContextID, d.ThreadID, d.HasThread = tail[0], tail[1], tail[2], true
	if len(tail) > 3 {
		d.DeviceID, d.HasDevice = tail[3], true
	}
}

// setException sets the fields before the timestamp of an exception dump.
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

// setOp sets the fields before the timestamp: parts, the last of which are ids. Beyond two ids,
// leading numbers belong to the operator's name.
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

// String returns the file name, which parses back to the same Dump.
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

// usualParts is the maximum number of parts of a name, except for operators with many dots.
const usualParts = 16

// appendParts splits a name at its dots and appends the parts.
func appendParts(parts []string, name string) []string {
	for part := range strings.SplitSeq(name, ".") {
		parts = append(parts, part)
	}
	return parts
}

// appendNumbers appends the trailing numbers of the parts.
func appendNumbers(numbers []uint64, parts []string) []uint64 {
	for _, p := range slices.Backward(parts) {
		v, ok := parsePrinted(p)
		if !ok {
			break
		}
		numbers = append(numbers, v)
	}
	slices.Reverse(numbers)
	return numbers
}

// findTimestamp returns the index of the timestamp in the trailing numbers of a name that has head
// parts before them, -1 for none.
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

// specialCharacters are the characters of operator names that become _ in file names.
const specialCharacters = `/.:\ `

// Normalise returns an operator's name as in file names: _ replaces / . : \ and blanks.
func Normalise(op string) string {
	if !strings.ContainsAny(op, specialCharacters) {
		return op
	}
	b := []byte(op)
	for i, c := range b {
		b[i] = normalised(c)
	}
	return string(b)
}

func normalised(c byte) byte {
	if strings.IndexByte(specialCharacters, c) >= 0 {
		return '_'
	}
	return c
}

// SameNormalised reports whether two names are equal after Normalise.
func SameNormalised(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i] != b[i] && normalised(a[i]) != normalised(b[i]) {
			return false
		}
	}
	return true
}

// Index maps names of operators to numbers: exact names, else normalised names.
type Index struct {
	exact, loose map[string]int
}

// conflict marks a normalised name that several names share.
const conflict = -1

// Add assigns number i to a name unless it has a number, and returns its number.
func (x *Index) Add(op string, i int) (number int, added bool) {
	if old, found := x.exact[op]; found {
		return old, false
	}
	if x.exact == nil {
		x.exact, x.loose = make(map[string]int), make(map[string]int)
	}
	x.exact[op] = i
	loose, number := Normalise(op), i
	if _, found := x.loose[loose]; found {
		number = conflict
	}
	x.loose[loose] = number
	return i, true
}

// Find returns the number of the first of the names in the index, exact names before normalised
// names.
func (x *Index) Find(ops ...string) (int, bool) {
	for _, op := range ops {
		if i, ok := x.exact[op]; ok {
			return i, true
		}
	}
	for _, op := range ops {
		if i, ok := x.loose[Normalise(op)]; ok && i != conflict && op != "" {
			return i, true
		}
	}
	return 0, false
}

// Safe turns a name from a file into one path component that cannot lead out of the output folder.
func Safe(name string) string {
	forbidden := "/\\"
	if runtime.GOOS == "windows" {
		forbidden = `/\<>:"|?*`
	}
	// By bytes: names need not be UTF-8.
	safe := []byte(name)
	for i, b := range safe {
		if b < ' ' || b == 0x7f || strings.IndexByte(forbidden, b) >= 0 {
			safe[i] = '_'
		}
	}
	if strings.Trim(name, ".") == "" {
		return strings.Repeat("_", max(1, len(name)))
	}
	return string(safe)
}

// MaxBytes is the maximum length of a file name (NAME_MAX of Linux).
const MaxBytes = 255

// Short returns the replacement for a name that is too long, as msaccucmp: the hex digits of the
// version 3 UUID of the name in the DNS namespace, with the extension kept.
func Short(name string) string {
	namespace := []byte{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}
	sum := md5.Sum(append(namespace, name...)) // RFC 9562, section 5.3
	sum[6] = sum[6]&0x0f | 0x30
	sum[8] = sum[8]&0x3f | 0x80
	return hex.EncodeToString(sum[:]) + filepath.Ext(name)
}
