package dumpconf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"dumptool/internal/guard"
	"dumptool/internal/safefile"
)

// ReadFile reads a configuration, or stdin for the name Stdin, until ctx is done. Of a
// file that is larger than runtimes read it returns a little more than they would.
// Errors name the file.
func ReadFile(ctx context.Context, name string, stdin io.Reader) ([]byte, error) {
	var text []byte
	// Reading cannot be interrupted: it goes on alone when ctx is done.
	done := make(chan error, 1)
	guard.Go(func() (err error) {
		text, err = readLimited(name, stdin)
		return err
	}, func(err error) { done <- err })
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case err := <-done:
		return text, err
	}
}

func readLimited(name string, stdin io.Reader) ([]byte, error) {
	if name == Stdin {
		text, err := io.ReadAll(io.LimitReader(stdin, MaxSize+1))
		if err != nil {
			return nil, fmt.Errorf("cannot read stdin: %w", err)
		}
		return text, nil
	}
	f, err := safefile.Open(name)
	if err != nil {
		return nil, safefile.WithPath(name, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, safefile.WithPath(name, err)
	}
	return text, nil
}

// StatFolder says what a folder for dumps is like for this user. Runtimes write to local
// ones only.
func StatFolder(path string) PathState {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return PathNoAccess
	case err != nil:
		return PathMissing
	case !info.IsDir():
		return PathNotDir
	case !mayUseFolder(path):
		return PathNoAccess
	}
	return PathUsable
}

// InContainer reports whether this process runs in a container of Docker or
// Podman.
func InContainer() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return false
}
