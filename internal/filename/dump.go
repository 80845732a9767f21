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

// parseDump takes the name of a dump apart, from the right, so that dots in an
// operator's name do no harm.
//
// The timestamp is the number with the most digits, ten at least, that leaves
// a possible count of numbers on both sides; the first of these.
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

// usualParts is how many parts names have at most, but those of operators with many dots.
const usualParts = 16

// appendParts appends what stands between the dots of a name.
func appendParts(parts []string, name string) []string {
	for part := range strings.SplitSeq(name, ".") {
		parts = append(parts, part)
	}
	return parts
}

// appendNumbers appends the numbers that the parts end with.
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

// special are the characters of operators' names that file names have _ for.
const special = `/.:\ `

// Normalise returns an operator's name as file names have it: _ for / . : \ and
// blanks.
func Normalise(op string) string {
	if !strings.ContainsAny(op, special) {
		return op
	}
	b := []byte(op)
	for i, c := range b {
		b[i] = normalised(c)
	}
	return string(b)
}

func normalised(c byte) byte {
	if strings.IndexByte(special, c) >= 0 {
		return '_'
	}
	return c
}

// SameNormalised reports whether two names are equal as file names have them.
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

// Index finds a number by the name of an operator: as it is written, else
// normalised.
type Index struct {
	exact, loose map[string]int
}

// conflict is the number of a normalised name that several names share.
const conflict = -1

// Add gives a name the number i, unless it has one, and returns the number that
// it has.
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

// Find returns the number of the first of the names that has one; exact names
// count before normalised ones.
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

// Safe makes one path component of a name that comes from a file: it can
// name a file in the output folder and nothing else.
func Safe(name string) string {
	forbidden := "/\\"
	if runtime.GOOS == "windows" {
		forbidden = `/\<>:"|?*`
	}
	// Byte by byte: names need not be UTF-8.
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

// MaxBytes is what a file name must stay below (NAME_MAX of Linux).
const MaxBytes = 255

// Short returns the name a file gets instead of one that is too long: the
// hex digits of the version 3 UUID of the name in the DNS namespace, with the
// extension kept, as msaccucmp names such files.
func Short(name string) string {
	namespace := []byte{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}
	sum := md5.Sum(append(namespace, name...)) // RFC 9562, section 5.3
	sum[6] = sum[6]&0x0f | 0x30
	sum[8] = sum[8]&0x3f | 0x80
	return hex.EncodeToString(sum[:]) + filepath.Ext(name)
}
