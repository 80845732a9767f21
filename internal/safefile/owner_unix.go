//go:build unix

package safefile

import (
	"io/fs"
	"syscall"
)

// hardLinkCount returns the number of hard links of a file.
func hardLinkCount(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink) //nolint:unconvert // other systems have other types
	}
	return 1
}

// ownerIDs returns the user id and the group id of a file.
func ownerIDs(info fs.FileInfo) (uid, gid int, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(s.Uid), int(s.Gid), true
}
