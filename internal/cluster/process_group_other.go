//go:build !unix

package cluster

import "syscall"

// ownProcessGroup returns no special attributes for a process.
func ownProcessGroup() *syscall.SysProcAttr { return nil }
