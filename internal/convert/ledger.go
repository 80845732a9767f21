package convert

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/safefile"
)

// failedListName is the file in the output folder that lists what failed.
const failedListName = "convert_failed_file_list.txt"

// ledger is what a run writes besides the tensors: what failed, and which names
// it shortened.
type ledger struct {
	failed    []string
	shortened map[string][]shortened // by folder
}

// shortened is a file whose name would have been too long.
type shortened struct{ stored, original string }

func (l *ledger) add(r *Result) {
	if line, ok := failedLine(r); ok {
		l.failed = append(l.failed, line)
	}
	for _, row := range r.Rows {
		if row.Original == "" || row.Err != nil {
			continue
		}
		if l.shortened == nil {
			l.shortened = map[string][]shortened{}
		}
		dir, name := filepath.Split(row.Path)
		l.shortened[dir] = append(l.shortened[dir], shortened{name, row.Original})
	}
}

// failedLine is the line of a file in the list of failures: its path, then each
// failed tensor as ,input:0 or ,output:0.
func failedLine(r *Result) (string, bool) {
	var line strings.Builder
	line.WriteString(strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(r.Job.Path()))
	failed := failure(r.Err)
	for _, row := range r.Rows {
		switch {
		case !failure(row.Err):
			continue
		case row.Name != "":
			fmt.Fprintf(&line, ",%q", row.Name)
		default:
			fmt.Fprintf(&line, ",%s:%d", row.Kind, row.Index)
		}
		failed = true
	}
	return line.String(), failed
}

// writeFailed writes the list of this run's failures; without any it removes
// the list of an earlier run.
func (l *ledger) writeFailed(out string) error {
	path := filepath.Join(out, failedListName)
	if len(l.failed) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := safefile.MkdirAll(out); err != nil {
		return err
	}
	return safefile.WriteFile(path, []byte(strings.Join(l.failed, "\n")+"\n"))
}

// writeMappings adds lines to the mapping.csv of folders. Lines that are there
// already stay.
func (l *ledger) writeMappings() error {
	var all error
	for dir, names := range l.shortened {
		all = errors.Join(all, writeMapping(filepath.Join(dir, dumpdir.MappingName), names))
	}
	return all
}

// readWhole reads a file of lines. Another run may be writing to it: a line that has
// no end yet is read again, until it has one or does not grow.
func readWhole(path string) ([]byte, error) {
	for size := -1; ; time.Sleep(10 * time.Millisecond) {
		data, err := os.ReadFile(path)
		if err != nil || len(data) == size || len(data) == 0 || data[len(data)-1] == '\n' {
			return data, err
		}
		size = len(data)
	}
}

func writeMapping(path string, names []shortened) error {
	old, err := readWhole(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	known, err := dumpfmt.ReadMapping(bytes.NewReader(old))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var added []byte
	slices.SortFunc(names, func(a, b shortened) int { return strings.Compare(a.stored, b.stored) })
	for _, n := range names {
		if have, ok := known.Original(n.stored); !ok || have != n.original {
			added = append(added, dumpfmt.MappingLine(n.stored, n.original)...)
		}
	}
	if len(added) == 0 {
		return nil
	}
	if len(old) > 0 && old[len(old)-1] != '\n' {
		added = append([]byte{'\n'}, added...)
	}
	// One write at the end, so that runs at the same time do not lose lines.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(added)
	return errors.Join(err, f.Close())
}
