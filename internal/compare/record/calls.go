package record

import "dumptool/internal/format/msprobe"

// CallPair is a call of the NPU's run of msprobe with its values, and those of the
// reference that belong to them. It is not in compare.json.
type CallPair struct {
	At    At
	API   string
	Stack []string // the lines of the script, the innermost first
	// Values are in the order of the call.
	Values []ValuePair
}

// ValuePair is a value of a call; Ref is nil where the reference has none.
type ValuePair struct {
	NPU, Ref *msprobe.Leaf
	// Row is the index of the row that compared the tensors, -1 where none did.
	Row int
}
