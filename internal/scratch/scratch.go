// Package scratch sets bytes aside that are needed again: in memory as long as they are
// few, then in a file without a name that lasts as long as the process.
package scratch

import (
	"fmt"
	"os"
)

const (
	// chunkSize is the unit in which bytes go to the file.
	chunkSize = 1 << 20
	// InMemory is the number of bytes that stay in memory.
	InMemory = 16 << 20
)

// File is a file without a name, where a folder for temporary files has room. It may be
// used by several goroutines at once.
type File struct {
	*os.File
	path string // where it could not be removed while it is open
}

// Create makes a file in the folder for temporary files, which $TMPDIR names.
func Create() (*File, error) {
	f, err := os.CreateTemp("", "dumptool-*")
	if err != nil {
		return nil, err
	}
	file := &File{File: f}
	if os.Remove(f.Name()) != nil { // systems that keep what is open
		file.path = f.Name()
	}
	return file, nil
}

// Close gives the file up.
func (f *File) Close() error {
	err := f.File.Close()
	if f.path != "" {
		_ = os.Remove(f.path) // nothing depends on it
	}
	return err
}

// Log is a sequence of bytes that grows at its end and is read anywhere. It is not safe
// for use by several goroutines at once.
type Log struct {
	// chunks are those in memory: the first ones, and the last one, which is not full.
	chunks [][]byte
	last   []byte
	size   int64
	file   *File
}

// Size is the number of bytes.
func (l *Log) Size() int64 { return l.size }

// Append adds bytes at the end and returns where they begin.
func (l *Log) Append(p []byte) (at int64, err error) {
	at = l.size
	for len(p) > 0 {
		if l.last == nil {
			l.last = make([]byte, 0, chunkSize)
		}
		n := min(len(p), chunkSize-len(l.last))
		l.last, p = append(l.last, p[:n]...), p[n:]
		l.size += int64(n)
		if len(l.last) == chunkSize {
			if err := l.put(); err != nil {
				return 0, err
			}
		}
	}
	return at, nil
}

// put puts a full chunk away.
func (l *Log) put() error {
	if len(l.chunks) < InMemory/chunkSize {
		l.chunks, l.last = append(l.chunks, l.last), nil
		return nil
	}
	if l.file == nil {
		f, err := Create()
		if err != nil {
			return fmt.Errorf("no room to set rows aside: %w (TMPDIR names another folder)", err)
		}
		l.file = f
	}
	if _, err := l.file.WriteAt(l.last, l.size-chunkSize-InMemory); err != nil {
		return fmt.Errorf("no room to set rows aside: %w (TMPDIR names another folder)", err)
	}
	l.last = l.last[:0]
	return nil
}

// ReadAt fills p with what stands at a place.
func (l *Log) ReadAt(p []byte, at int64) error {
	if at < 0 || at+int64(len(p)) > l.size {
		return fmt.Errorf("%d bytes at %d of %d bytes set aside", len(p), at, l.size)
	}
	for len(p) > 0 {
		var n int
		switch full := l.size - int64(len(l.last)); {
		case at < int64(len(l.chunks))*chunkSize:
			n = copy(p, l.chunks[at/chunkSize][at%chunkSize:])
		case at >= full:
			n = copy(p, l.last[at-full:])
		default:
			n = int(min(int64(len(p)), full-at))
			if _, err := l.file.ReadAt(p[:n], at-InMemory); err != nil {
				return fmt.Errorf("reading rows that were set aside: %w", err)
			}
		}
		p, at = p[n:], at+int64(n)
	}
	return nil
}

// Close gives the bytes up.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	*l = Log{}
	return err
}
