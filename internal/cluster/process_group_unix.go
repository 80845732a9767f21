//go:build unix

package cluster

import "syscall"

// ownProcessGroup returns attributes that protect a process from interrupts of the terminal.
func ownProcessGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
