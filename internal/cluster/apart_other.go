//go:build !unix

package cluster

import "syscall"

// apart starts a process as any other.
func apart() *syscall.SysProcAttr { return nil }
