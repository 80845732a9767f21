package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"dumptool/internal/dumpconf"
	"dumptool/internal/safefile"
)

// readConfig reads a configuration, or stdin for "-". Of a file that is larger
// than runtimes read it returns a little more than they would.
func (a *app) readConfig(ctx context.Context, name string) ([]byte, error) {
	type content struct {
		text []byte
		err  error
	}
	// Reading cannot be interrupted: it goes on alone when ctx is done.
	done := make(chan content, 1)
	go func() {
		var c content
		c.text, c.err = readLimited(name, a.streams.In)
		done <- c
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case c := <-done:
		return c.text, c.err
	}
}

func readLimited(name string, stdin io.Reader) ([]byte, error) {
	if name == stdinArg {
		text, err := io.ReadAll(io.LimitReader(stdin, dumpconf.MaxSize+1))
		if err != nil {
			return nil, fmt.Errorf("cannot read stdin: %w", err)
		}
		return text, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, dumpconf.MaxSize+1))
}

// configName names a file in messages.
func configName(name string) string {
	if name == stdinArg {
		return "<stdin>"
	}
	return name
}

// unreadable says why a configuration could not be read.
func unreadable(name string, err error) string {
	if name == stdinArg {
		return err.Error()
	}
	return withPath(name, err)
}

// rewriteConfig replaces the text of a file, which keeps its owner and its
// permissions. It refuses what the user may not write to, and files with more
// names than one, of which only this one would get the new text.
func rewriteConfig(name string, text []byte) error {
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(target)
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() {
		if err := mayRewrite(target, info); err != nil {
			return err
		}
	}
	f, err := safefile.Create(target)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := copyOwner(f.OS(), info); err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Commit()
}

// mayRewrite returns an error when a regular file must not be replaced.
func mayRewrite(name string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o222 == 0 {
		return errors.New("the file is read-only; it is not changed")
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if n := links(info); n > 1 {
		return fmt.Errorf("the file has %d names (hard links), which a new file would part; it is not changed", n)
	}
	return nil
}

// copyOwner gives a new file the owner and the permissions of another.
func copyOwner(f *os.File, info fs.FileInfo) error {
	if uid, gid, ok := ownerIDs(info); ok {
		mine, err := f.Stat()
		if err != nil {
			return err
		}
		if u, g, ok := ownerIDs(mine); ok && (u != uid || g != gid) {
			if err := f.Chown(uid, gid); err != nil {
				return errors.New("the file belongs to another user or group, which a new file cannot keep; it is not changed")
			}
		}
	}
	return f.Chmod(info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky))
}

// statFolder says what a folder for dumps is like for this user.
func statFolder(path string) dumpconf.PathState {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return dumpconf.PathNoAccess
	case err != nil:
		return dumpconf.PathMissing
	case !info.IsDir():
		return dumpconf.PathNotDir
	case !mayUseFolder(path):
		return dumpconf.PathNoAccess
	}
	return dumpconf.PathUsable
}

// inContainer reports whether this process runs in a container of Docker or
// Podman.
func inContainer() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return false
}
