package dumpdir

import (
	"errors"
	"io"
	"os"

	"dumptool/internal/batch"
	"dumptool/internal/foreign"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

// OtherFiles say what the files of a run are that holds no tensors; nothing about a
// single file, whose error says it.
func (r *Run) OtherFiles() []batch.Message {
	var found foreign.Files
	for _, f := range r.Files {
		if r.Single || f.Err != nil || f.Role == Table {
			continue
		}
		if head, err := readHead(f.Path()); err == nil {
			found.Add(f.Path(), head)
		}
	}
	var all []batch.Message
	for _, s := range found.Sentences() {
		all = append(all, batch.Infof("%s", "%s", s))
	}
	return all
}

// UnreadMessages say that a file cannot be read, and why no reader takes a file of
// another program.
func UnreadMessages(path string, err error) []batch.Message {
	all := []batch.Message{batch.Errorf("%v", "%v", safefile.WithPath(path, err))}
	if other, ok := errors.AsType[*tensorfile.ForeignError](err); ok && other.Err != nil {
		all = append(all, batch.Debug("no reader takes it", "file", path, "why", other.Err))
	}
	return all
}

// readHead reads the beginning of a file.
func readHead(path string) ([]byte, error) {
	if info, err := store.Stat(path); err != nil || !info.Mode().IsRegular() { // a pipe would block
		return nil, os.ErrInvalid
	}
	in, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, foreign.HeadBytes))
}
