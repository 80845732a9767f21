//go:build unix

package cluster

import "syscall"

// apart returns attributes that protect a process from interrupts of the terminal.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
