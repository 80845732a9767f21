//go:build unix

package safefile

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, socket, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "s"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := net.Listen("unix", socket); err != nil {
		t.Fatal(err)
	} else {
		defer l.Close()
	}
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		pipe: "open " + pipe + ": is a named pipe, want a regular file", link: "a named pipe", socket: "a socket",
		"/dev/zero": "a device", "/dev/tty": "a device", filepath.Join(dir, "none"): "no such file", dir + "/": "is a directory",
	} {
		data, err := ReadFile(path)
		if len(data) > 0 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: read %q, error %v, want %q", path, data, err, want)
		}
	}
}

func TestOpenTakes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		w.WriteString("piped")
		w.Close()
	}()
	for path, want := range map[string]string{
		file: "text", os.DevNull: "", "/dev/fd/" + strconv.Itoa(int(r.Fd())): "piped",
	} {
		if data, err := ReadFile(path); err != nil || string(data) != want {
			t.Errorf("%s: read %q, error %v, want %q", path, data, err, want)
		}
	}
}
