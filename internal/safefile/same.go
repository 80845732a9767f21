package safefile

import (
	"fmt"
	"os"
	"path/filepath"

	"dumptool/internal/store"
)

// OverwriteError says that an output would replace an input.
type OverwriteError struct {
	Output, Input string
}

// Error implements error.
func (e *OverwriteError) Error() string {
	if e.Output == e.Input {
		return fmt.Sprintf("output %s is also an input", e.Output)
	}
	return fmt.Sprintf("output %s is also the input %s", e.Output, e.Input)
}

// CheckOutput returns an *OverwriteError when output is the same file as one
// of inputs.
func CheckOutput(output string, inputs ...string) error {
	for _, input := range inputs {
		if SameFile(output, input) {
			return &OverwriteError{Output: output, Input: input}
		}
	}
	return nil
}

// SameFile reports whether a and b name one file: directly, through a relative
// path, a symbolic link or a hard link. Two names that do not exist yet are
// the same when they have one base name in the same folder. Remote files are the same
// when bucket and key are: that a bucket has two names cannot be seen.
func SameFile(a, b string) bool {
	if store.Remote(a) || store.Remote(b) {
		a, errA := store.Abs(a)
		b, errB := store.Abs(b)
		return errA == nil && errB == nil && a == b
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	switch {
	case errA == nil && errB == nil:
		return os.SameFile(infoA, infoB)
	case errA == nil || errB == nil:
		return false
	}
	if filepath.Base(a) != filepath.Base(b) {
		return false
	}
	dirA, dirB := filepath.Dir(a), filepath.Dir(b)
	infoA, errA = os.Stat(dirA)
	infoB, errB = os.Stat(dirB)
	if errA != nil && errB != nil {
		return dirA == dirB
	}
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
