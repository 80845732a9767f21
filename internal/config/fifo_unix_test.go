//go:build unix

package config

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipe: a pipe with the name of a configuration does not block.
func TestPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), FileName)
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, opt := range []Options{{File: path}, {User: filepath.Dir(path)}} {
		if _, err := Load(opt); err == nil || !strings.Contains(err.Error(), path+": is a named pipe, want a regular file") {
			t.Errorf("Load = %v", err)
		}
	}
}
