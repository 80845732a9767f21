package safefile

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// minLeftoverAge is the minimum age of a temporary file that counts as a leftover. Windows cannot
// rename open files, so a writer gives up its lock just before the rename.
const minLeftoverAge = time.Minute

// lock locks a file until it is closed. The error is errLocked if another process has the lock; any
// other error means that the file system has no locks. The locked byte lies beyond the end of any
// file, so that others may read the file.
func lock(f *os.File) error {
	at := windows.Overlapped{Offset: 0xffff_fffe, OffsetHigh: 0x7fff_ffff}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errLocked
	}
	return err
}

// keepLock does nothing: Windows cannot rename open files.
func keepLock(*os.File) (release func()) { return func() {} }
