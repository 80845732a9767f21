//go:build !linux

package safefile

import "os"

// reserve does nothing on this system.
func reserve(*os.File, int64) {}
