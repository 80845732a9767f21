package opdebug

import "strings"

const (
	opType = "Opdebug"      // of OpDebug dumps, as the first part of their names
	opName = "Node_OpDebug" // of OpDebug dumps, in names and headers
)

// The least and the most numbers in a file name: task and time stamp; task,
// stream, time stamp, task type, context, thread and device.
const minNumbers, maxNumbers = 2, 7

// IsOpDebugName reports whether a file name without folders is that of an
// OpDebug dump: Opdebug.Node_OpDebug. in any letter case, then the numbers of
// a dump name. Producers and documentation differ in the letter case and in
// whether there is a stream id. Names of files made from a dump, which have
// more behind the numbers, are not meant.
func IsOpDebugName(base string) bool {
	parts := strings.Split(base, ".")
	numbers := len(parts) - 2
	if numbers < minNumbers || numbers > maxNumbers {
		return false
	}
	if !strings.EqualFold(parts[0], opType) || !IsOpDebugOpName(parts[1]) {
		return false
	}
	for _, p := range parts[2:] {
		if p == "" || strings.Trim(p, "0123456789") != "" {
			return false
		}
	}
	return true
}

// IsOpDebugOpName reports whether the operator name in a dump's header is
// that of OpDebug dumps, in any letter case. It tells a renamed file.
func IsOpDebugOpName(name string) bool { return strings.EqualFold(name, opName) }
