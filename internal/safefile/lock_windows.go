package safefile

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// settled is how old a temporary file is at least before it counts as left behind. Files
// that are open get no other name here, so that a writer has no lock at the very end.
const settled = time.Minute

// lock locks a file until it is closed. The error is errLocked where another one has the
// lock, and any other one where the file system has none. What is locked is a byte that no
// file has: others may read the file.
func lock(f *os.File) error {
	at := windows.Overlapped{Offset: 0xffff_fffe, OffsetHigh: 0x7fff_ffff}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errLocked
	}
	return err
}

// keepLock keeps the lock of a file that is closed, which only other systems do.
func keepLock(*os.File) (release func()) { return func() {} }
