package record

import "dumptool/internal/tensor"

// Source is a tensor that an operator reads.
type Source struct {
	Op     string `json:"op"`     // the operator that makes it
	Output int    `json:"output"` // which output of it, -1 if that is not known
}

// Flow is what operators read, by their name. An operator with an empty list is
// known to have no inputs; of one that is not in it nothing is known.
type Flow map[string][]Source

// InputRead identifies a tensor that an operator reads by its elements, where the other side
// has none to compare it with.
type InputRead struct {
	Input int  `json:"input"` // the index
	NPU   bool `json:"npu"`   // whose side it is of
	// DType is the element type, Shape that in host order.
	DType string       `json:"dtype"`
	Shape tensor.Shape `json:"shape"`
	// CRC is the CRC-32C of the elements as they are stored, in C order; Constant is set
	// where all are equal.
	CRC      uint32 `json:"crc32c"`
	Constant bool   `json:"constant"`
}
