//go:build unix

package dumpconf

import "syscall"

// mayUseFolder reports whether this user may read and write a folder.
func mayUseFolder(path string) bool {
	const readWrite = 4 | 2 // R_OK | W_OK of access(2)
	return syscall.Access(path, readWrite) == nil
}
