package safefile

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"unicode/utf8"
)

const (
	// maxPrefix bounds the part of the base name that a temporary name
	// repeats. It keeps temporary names far below the 255 bytes of most file
	// systems and the 143 of encrypted ones, whatever the final name.
	maxPrefix = 64
	// maxTries bounds the search for a free name; with 128 random bits the
	// second try is unheard of.
	maxTries = 100
)

// openTemp creates a new file beside path and locks it: a lock that is free tells later
// processes that the file is left behind. Its mode is what the umask leaves of one.
func openTemp(path string, mode os.FileMode) (*os.File, error) {
	dir, base := filepath.Split(path)
	cleanOnce(dir)
	for try := 1; ; try++ {
		name := dir + tempName(base)
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if err == nil {
			if try == maxTries || holds(f) {
				return f, nil
			}
			_ = f.Close() // another process is removing it
			_ = os.Remove(name)
		} else if !errors.Is(err, os.ErrExist) || try == maxTries {
			return nil, err
		}
	}
}

// holds locks a new file and reports whether it is still there: another process may have
// taken it, before it was locked, for one that is left behind. Where files cannot be
// locked it goes without.
func holds(f *os.File) bool {
	if err := lock(f); err != nil {
		return !errors.Is(err, errLocked)
	}
	info, err := f.Stat()
	return err != nil || links(info) > 0
}

// tempName returns a hidden name that says which file it belongs to, and which process of
// which machine writes it.
func tempName(base string) string {
	return "." + prefix(base, maxPrefix) + "." + process() + "-" + rand.Text() + ".tmp"
}

// prefix returns at most n bytes of s without splitting a character.
func prefix(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// temp is a file under a temporary name.
type temp struct {
	*os.File
	path  string // its final name
	isNew bool   // it may not replace another file
}

// Commit implements store.Writer.
func (t *temp) Commit() error {
	release := keepLock(t.File)
	defer release()
	err := t.Close()
	if err != nil {
		err = named("close", t.path, err)
	} else if err = t.rename(); err != nil {
		err = named("create", t.path, err)
	}
	if err != nil {
		t.remove()
	}
	return err
}

// rename gives the file its final name. One that may not replace another gets it as a
// second name first, which fails where there is one; where files have one name only, it
// is looked before.
func (t *temp) rename() error {
	if t.isNew {
		err := os.Link(t.Name(), t.path)
		if err == nil {
			t.remove()
			return nil
		}
		if _, statError := os.Lstat(t.path); statError == nil {
			return os.ErrExist
		}
	}
	return os.Rename(t.Name(), t.path)
}

// Abort implements store.Writer.
func (t *temp) Abort() {
	_ = t.Close() // what it could not write is given up anyway
	t.remove()
}

// remove deletes the temporary file. Its error has no reader: the caller has a
// better one already, or has given the file up.
func (t *temp) remove() { _ = os.Remove(t.Name()) }
