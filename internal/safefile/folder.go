package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"dumptool/internal/store"
)

// CheckWritable finds out, before hours of work, whether files of these names
// can be written to dir, which need not exist. It leaves nothing behind.
func CheckWritable(dir string, names ...string) error {
	if store.Remote(dir) {
		for _, name := range names[:min(1, len(names))] { // one object stands for all
			if err := store.CheckWritable(store.Join(dir, name)); err != nil {
				return fmt.Errorf("cannot write to %w", err)
			}
		}
		return nil
	}
	at := dir
	for {
		_, err := os.Stat(at)
		if err == nil {
			break
		}
		if parent := filepath.Dir(at); errors.Is(err, fs.ErrNotExist) && parent != at {
			at, names = parent, []string{".dumptool"}
			continue
		}
		return fmt.Errorf("cannot write to %s: %w", dir, err)
	}
	for _, name := range names {
		f, err := Create(filepath.Join(at, name))
		if err != nil {
			return fmt.Errorf("cannot write to %s: %w", dir, err)
		}
		f.Abort()
	}
	return nil
}
