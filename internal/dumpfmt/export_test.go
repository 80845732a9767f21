package dumpfmt

import (
	"bytes"

	"dumptool/internal/dumpfmt/dumppb"
)

// What tests see of the inside.
const (
	MaxMapping      = maxMapping
	MaxMappingLines = maxMappingLines
	MemoryBudget    = memoryBudget
)

// TLVDType is tlvDType.
var TLVDType = tlvDType

// Skeleton is a skeleton.
type Skeleton = skeleton

// Walk makes the skeleton of a header.
func Walk(header []byte) (*Skeleton, error) {
	return walk(newScanner(bytes.NewReader(header), int64(len(header))), int64(len(header)), walkOptions{})
}

// Message is what the header says.
func (sk *skeleton) Message() *dumppb.DumpData { return sk.msg }

// Bytes returns the tensor bytes of the i-th message in a field of the header.
func (sk *skeleton) Bytes(header []byte, field, i int) []byte {
	sp := sk.spans[field][i]
	return header[sp.off : sp.off+sp.n]
}
