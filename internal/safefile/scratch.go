package safefile

import (
	"os"
	"path/filepath"
)

// Scratch makes a file in $TMPDIR for what this process alone reads again. The file has no
// name, so that nothing is left of it however the process ends; where the system keeps the
// names of open files, remove deletes it, and the next process what a killed one has left.
// Only its owner may open it meanwhile.
func Scratch() (f *os.File, remove func() error, err error) {
	f, err = openTemp(filepath.Join(os.TempDir(), "dumptool"), 0o600)
	if err != nil {
		return nil, nil, err
	}
	if os.Remove(f.Name()) == nil {
		return f, f.Close, nil
	}
	return f, func() error {
		err := f.Close()
		if left := os.Remove(f.Name()); err == nil {
			err = left
		}
		return err
	}, nil
}
