//go:build aix || solaris || (!unix && !windows)

package safefile

import (
	"errors"
	"os"
)

// settled is how old a temporary file is at least before it counts as left behind.
const settled = 0

// lock locks a file, where the system can.
func lock(*os.File) error { return errors.ErrUnsupported }

// keepLock keeps the lock of a file that is closed, where there is one.
func keepLock(*os.File) (release func()) { return func() {} }
