//go:build aix || solaris || (!unix && !windows)

package safefile

import (
	"errors"
	"os"
)

// minLeftoverAge is the minimum age of a temporary file that counts as a leftover.
const minLeftoverAge = 0

// lock does nothing: there are no file locks on this system.
func lock(*os.File) error { return errors.ErrUnsupported }

// keepLock does nothing without locks.
func keepLock(*os.File) (release func()) { return func() {} }
