//go:build unix && !aix && !solaris

package safefile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// minLeftoverAge is the minimum age of a temporary file that counts as a leftover. Writers keep
// their lock until the file has its final name.
const minLeftoverAge = 0

// lock locks a file until it is closed. The error is errLocked if another process has the lock; any
// other error means that the file system has no locks.
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

// keepLock keeps the lock beyond closing the file, until release is called.
func keepLock(f *os.File) (release func()) {
	duplicate := -1
	if conn, err := f.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) {
			if n, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err == nil {
				duplicate = n
			}
		})
	}
	return func() {
		if duplicate >= 0 {
			_ = unix.Close(duplicate) // the file itself was closed before
		}
	}
}
