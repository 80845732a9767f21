//go:build linux || darwin || freebsd

package store

import "golang.org/x/sys/unix"

// room is how many bytes the user may still write to the file system of a folder; false
// where nobody knows.
func room(dir string) (int64, bool) {
	var at unix.Statfs_t
	if unix.Statfs(dir, &at) != nil {
		return 0, false
	}
	return int64(at.Bavail) * int64(at.Bsize), true //nolint:unconvert // their types differ between systems
}
