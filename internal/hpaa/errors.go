package hpaa

import (
	"fmt"

	"dumptool/internal/tensor"
)

// Code names the reason why a piece did not become part of an array, as the logs have
// it.
type Code string

// The codes. The first three are found while a piece is checked, the others where
// pieces are joined.
const (
	BadHex         Code = "BAD_HEX"
	SizeMismatch   Code = "SIZE_MISMATCH"
	ReadError      Code = "READ_ERROR"
	MissingPiece   Code = "MISSING_PIECE"
	DuplicatePiece Code = "DUPLICATE_PIECE"
	ConcatShape    Code = "CONCAT_SHAPE"
	// NotInModel is for names without a tensor of the reference that would give their
	// shape.
	NotInModel Code = "NOT_IN_MODEL"
	// WriteError is for arrays that could not be written.
	WriteError Code = "WRITE_ERROR"
)

// PieceError is the error of a piece.
type PieceError struct {
	// Code names the reason.
	Code Code `json:"code"`
	// Text says what was found, where, and what was wanted.
	Text string `json:"error"`
}

// Error is the text.
func (e *PieceError) Error() string { return e.Text }

// sizeError is the error of a piece that has another number of bytes than its shape.
func sizeError(found int64, dtype tensor.DType, shape tensor.Shape, want int64) *PieceError {
	return &PieceError{SizeMismatch, fmt.Sprintf("found %d bytes, want %d for %v of %s", found, want, shape, dtype)}
}

func readError(err error) *PieceError { return &PieceError{ReadError, err.Error()} }

func concatError(format string, args ...any) *PieceError {
	return &PieceError{ConcatShape, fmt.Sprintf(format, args...)}
}
