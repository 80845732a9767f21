package convert

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// failedListName is the file in the output folder that lists what failed.
const failedListName = "convert_failed_file_list.txt"

// ledger is what a run writes besides the tensors: what failed, and which names
// it shortened.
type ledger struct {
	failed    []string
	shortened map[string][]dumpdir.Renamed // by folder
}

func (l *ledger) add(r *Result) {
	if line, ok := failedLine(r); ok {
		l.failed = append(l.failed, line)
	}
	for _, row := range r.Rows {
		if row.Original == "" || row.Err != nil {
			continue
		}
		l.shorten(store.Dir(row.Path), dumpdir.Renamed{Stored: store.Base(row.Path), Original: row.Original})
	}
}

// shorten adds a shortened name of a folder.
func (l *ledger) shorten(dir string, name dumpdir.Renamed) {
	if l.shortened == nil {
		l.shortened = map[string][]dumpdir.Renamed{}
	}
	l.shortened[dir] = append(l.shortened[dir], name)
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
	path := store.Join(out, failedListName)
	if len(l.failed) == 0 {
		if err := store.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
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
		all = errors.Join(all, dumpdir.AddMapping(dir, names))
	}
	return all
}
