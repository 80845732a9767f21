package safefile

import (
	"io/fs"
	"os"
	"path/filepath"

	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// Replace replaces the data of an existing file, or of the target of a link, and keeps owner and
// permissions. It refuses read-only files, and files with several hard links, of which only this
// name would get the new data. Remote files keep no attributes.
func Replace(path string, data []byte) error {
	if store.IsRemote(path) {
		return WriteFile(path, data)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "replace", Path: path, Err: lang.Errorf("not a regular file")}
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if err := checkReplaceable(target, info); err != nil {
		return err
	}
	f, err := Create(target)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := copyOwner(f.out.(*tempFile), info); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// checkReplaceable returns an error if a file must not be replaced.
func checkReplaceable(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o222 == 0 {
		return lang.Errorf("the file is read-only; it is not changed")
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if n := hardLinkCount(info); n > 1 {
		return lang.Errorf("the file has %d names (hard links), which a new file would separate; it is not changed", n)
	}
	return nil
}

// copyOwner copies owner and permissions of another file.
func copyOwner(f *tempFile, info fs.FileInfo) error {
	if uid, gid, ok := ownerIDs(info); ok {
		mine, err := f.Stat()
		if err != nil {
			return err
		}
		if u, g, ok := ownerIDs(mine); ok && (u != uid || g != gid) {
			if err := f.Chown(uid, gid); err != nil {
				return lang.Errorf("the file belongs to another user or group, which a new file cannot keep; it is not changed")
			}
		}
	}
	return f.Chmod(info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky))
}

// OverwriteError is the error of an output that would replace an input.
type OverwriteError struct {
	Output, Input string
}

// Error implements error.
func (e *OverwriteError) Error() string { return e.Text().String() }

// Text is the error in both languages.
func (e *OverwriteError) Text() lang.Text {
	if e.Output == e.Input {
		return lang.Say("output %s is also an input", e.Output).Text()
	}
	return lang.Say("output %s is also the input %s", e.Output, e.Input).Text()
}

// CheckOutput returns an *OverwriteError if output is the same file as one of inputs.
func CheckOutput(output string, inputs ...string) error {
	for _, input := range inputs {
		if IsSameFile(output, input) {
			return &OverwriteError{Output: output, Input: input}
		}
	}
	return nil
}

// IsSameFile reports whether a and b name one file, also by a relative path, a symbolic link or a
// hard link. Two names that do not exist yet are the same if they have one base name in the same
// folder. Remote files are the same if bucket and key are equal; two names of one bucket are not
// detected.
func IsSameFile(a, b string) bool {
	if store.IsRemote(a) || store.IsRemote(b) {
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
