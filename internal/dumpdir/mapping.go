package dumpdir

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// Renamed is a file that is stored under another name than its own.
type Renamed struct{ Stored, Original string }

// AddMapping adds lines to the mapping.csv of a folder. Lines that are there already
// stay.
func AddMapping(dir string, names []Renamed) error {
	path := store.Join(dir, MappingName)
	old, err := readWhole(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	known, err := dumpfmt.ReadMapping(bytes.NewReader(old))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var added []byte
	slices.SortFunc(names, func(a, b Renamed) int { return strings.Compare(a.Stored, b.Stored) })
	for _, n := range names {
		if have, ok := known.Original(n.Stored); !ok || have != n.Original {
			added = append(added, dumpfmt.MappingLine(n.Stored, n.Original)...)
		}
	}
	if len(added) == 0 {
		return nil
	}
	if len(old) > 0 && old[len(old)-1] != '\n' {
		added = append([]byte{'\n'}, added...)
	}
	if store.Remote(path) { // grows only as a whole
		return safefile.WriteFile(path, append(old, added...))
	}
	// One write at the end, so that runs at the same time do not lose lines.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666) //nolint:forbidigo // a local file is appended to
	if err != nil {
		return err
	}
	_, err = f.Write(added)
	return errors.Join(err, f.Close())
}

// readWhole reads a file of lines. Another run may be writing to it: a line that has
// no end yet is read again, until it has one or does not grow.
func readWhole(path string) ([]byte, error) {
	for size := -1; ; time.Sleep(10 * time.Millisecond) {
		data, err := safefile.ReadFile(path)
		if err != nil || store.Remote(path) || len(data) == size || len(data) == 0 || data[len(data)-1] == '\n' {
			return data, err
		}
		size = len(data)
	}
}
