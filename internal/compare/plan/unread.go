package plan

import (
	"errors"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// Unread says that the tensors of a row could not be read.
func Unread(row *record.Row, err error) {
	row.Pair.Status, row.Err, row.Transport = record.Error, err, store.IsTransport(err)
	row.Pair.Reasons = append(row.Pair.Reasons, finding.Finding{Code: errorCode(err), Confidence: finding.High, Evidence: lang.Error(err)})
}

// errorCode names the reason of a pair that could not be read.
func errorCode(err error) finding.Code {
	var unsupported *tensor.UnsupportedType
	if errors.As(err, &unsupported) {
		return finding.UnsupportedDType
	}
	return finding.ReadError
}
