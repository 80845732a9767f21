//go:build unix && !aix && !solaris

package safefile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// settled is how old a temporary file is at least before it counts as left behind. A
// writer keeps its lock until the file has its final name.
const settled = 0

// lock locks a file until it is closed. The error is errLocked where another one has the
// lock, and any other one where the file system has none.
func lock(f *os.File) error {
	err := errors.ErrUnsupported
	conn, failed := f.SyscallConn()
	if failed != nil {
		return failed
	}
	failed = conn.Control(func(fd uintptr) {
		for err = unix.EINTR; errors.Is(err, unix.EINTR); {
			err = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB)
		}
	})
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return errors.Join(failed, err)
}

// keepLock keeps the lock of a file that is closed, until release is called.
func keepLock(f *os.File) (release func()) {
	again := -1
	if conn, err := f.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) {
			if n, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err == nil {
				again = n
			}
		})
	}
	return func() {
		if again >= 0 {
			_ = unix.Close(again) // what was written has been closed before
		}
	}
}
