package store

import (
	"fmt"
	"io/fs"
	"os"
)

// local is an open local file. It can be read from its beginning too, as pipes and
// terminals can only.
type local struct {
	*os.File
	info fs.FileInfo
}

func openLocal(path string) (Source, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close() // it was opened for reading
		return nil, err
	}
	return &local{file, info}, nil
}

// Size implements Source.
func (l *local) Size() int64 { return l.info.Size() }

// ID implements Source.
func (l *local) ID() string {
	return fmt.Sprintf("%s %d %d", l.Name(), l.info.Size(), l.info.ModTime().UnixNano())
}
