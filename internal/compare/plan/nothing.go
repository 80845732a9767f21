package plan

import (
	"dumptool/internal/batch"
	"dumptool/internal/lang"
)

// ErrNothing is wrapped by the error of a run that has nothing to compare.
var ErrNothing = lang.Errorf("nothing to compare")

// NothingError says why there is nothing to compare.
type NothingError struct {
	Why lang.Sentence
	// Others describe files of the run of other kinds.
	Others []batch.Message
}

// Nothingf returns a NothingError; arguments as for lang.Say.
func Nothingf(en string, args ...any) *NothingError {
	return &NothingError{Why: lang.Say(en, args...)}
}

// Error returns the reason.
func (e *NothingError) Error() string { return e.Outcome().Text.String() }

// Unwrap returns ErrNothing.
func (e *NothingError) Unwrap() error { return ErrNothing }

// Outcome returns the outcome of the comparison.
func (e *NothingError) Outcome() batch.Outcome {
	o := batch.Outcomef(batch.Nothing, "nothing to compare: %s", e.Why)
	o.Messages = e.Others
	return o
}
