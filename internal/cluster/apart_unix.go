//go:build unix

package cluster

import "syscall"

// apart starts a process that the keyboard of the terminal does not interrupt.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
