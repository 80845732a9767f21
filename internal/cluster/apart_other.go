//go:build !unix

package cluster

import "syscall"

// apart returns no special attributes for a process.
func apart() *syscall.SysProcAttr { return nil }
