package safefile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"dumptool/internal/lang"
)

// errLocked is the error of lock for a file that another one has locked.
var errLocked = lang.Errorf("the file is locked")

// forgotten is how old a temporary file is, where files cannot be locked, before it
// counts as left behind.
const forgotten = 24 * time.Hour

// host stands in temporary names for this machine since it was started: a hash of its
// name and, where there is one, the number of the start.
var host = sync.OnceValue(func() string {
	name, _ := os.Hostname() // without it all machines of one start are one
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	sum := sha256.Sum256([]byte(name + "\n" + strings.TrimSpace(string(boot))))
	return hex.EncodeToString(sum[:4])
})

// process stands in the temporary names of this process.
var process = sync.OnceValue(func() string { return fmt.Sprintf("%s-%d", host(), os.Getpid()) })

// cleaned has a *sync.Once for each folder that files were created in.
var cleaned sync.Map

// cleanOnce removes, when the process creates its first file in a folder, what killed
// processes left there.
func cleanOnce(dir string) {
	once, known := cleaned.Load(dir)
	if !known {
		once, _ = cleaned.LoadOrStore(dir, new(sync.Once))
	}
	once.(*sync.Once).Do(func() { clean(dir) })
}

// clean removes the temporary files of a folder whose writers ran on this machine and are
// no more. Nothing depends on it: what cannot be removed stays.
func clean(dir string) {
	f, err := os.Open(filepath.Clean(dir)) // Clean makes . of an empty one
	if err != nil {
		return
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(1024)
		for _, name := range names {
			if isOurs(name) {
				removeLeft(filepath.Join(dir, name))
			}
		}
		if err != nil || len(names) == 0 {
			return
		}
	}
}

// isOurs reports whether a name is one that tempName made on this machine.
func isOurs(name string) bool {
	stem, ok := strings.CutSuffix(name, ".tmp")
	dot := strings.LastIndexByte(stem, '.')
	return ok && dot > 0 && name[0] == '.' && strings.HasPrefix(stem[dot+1:], host()+"-")
}

// removeLeft removes a temporary file that nobody writes any more: one whose lock is free.
func removeLeft(path string) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < settled {
		return
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	err = lock(f)
	free := err == nil || !errors.Is(err, errLocked) && time.Since(info.ModTime()) > forgotten
	if free && settled == 0 {
		_ = os.Remove(path) // while we have the lock: a writer that begins takes another name
	}
	_ = f.Close()
	if free && settled > 0 {
		_ = os.Remove(path) // files that are open cannot be removed there
	}
}

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
