package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Targets of comparing trees in object storage.
const (
	objectsTarget       = 2.5 // as a multiple of the same comparison of files
	objectsMemoryTarget = 160 << 20
)

// gateway is the server for object storage that the tests build.
const gateway = ".tools/versitygw"

// Access keys of the server.
const (
	accessKey = "AKIAIOSFODNN4F2Q"
	secretKey = "of-the-bench"
)

// objects compares a comparison of trees in object storage on this machine with the same comparison of files.
func (b *bench) objects(ctx context.Context) (err error) {
	const name = "compare of s3://, -j 8"
	program, err := filepath.Abs(gateway)
	if err != nil {
		return err
	}
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		b.report(result{job: name, measured: "-", target: fmt.Sprintf("<= %g x", objectsTarget), verdict: "-", note: "left out: no " + gateway + ", which make test-s3 builds"})
		return nil
	}
	n := fit(b.size)
	dumps, golden := dumpTree(b.dir, n), goldenTree(b.dir, n)
	data := filepath.Join(b.scratch, "objects")
	for tree, key := range map[string]string{dumps: "dumps", golden: "golden"} {
		if err := linkTree(tree, filepath.Join(data, "bench", key)); err != nil {
			return err
		}
		if err := warm(tree); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	endpoint, ended, err := serve(ctx, program, data)
	if err != nil {
		return err
	}
	defer func() { stop(); <-ended }()
	remote := []string{"AWS_ENDPOINT_URL_S3=" + endpoint, "AWS_ACCESS_KEY_ID=" + accessKey, "AWS_SECRET_ACCESS_KEY=" + secretKey,
		b.binary, "compare", "-j", "8", "--cpu", "s3://bench/golden", "--npu", "s3://bench/dumps"}
	var there, here []sample
	for range b.runs {
		s, err := measure(ctx, "env", remote...)
		if err != nil {
			return err
		}
		l, err := measure(ctx, b.binary, "compare", "-j", "8", "--cpu", golden, "--npu", dumps)
		if err != nil {
			return err
		}
		there, here = append(there, s), append(here, l)
	}
	memory := memoryResult(name, there, objectsMemoryTarget)
	memory.note = "files: " + mib(peak(here))
	b.report(speedResult(name, there, "files", here, objectsTarget), memory)
	return nil
}

// linkTree hard-links the files of a tree into another folder.
func linkTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, below), 0o755)
		}
		return os.Link(path, filepath.Join(to, below))
	})
}

// serve starts a server that offers the subfolders of a folder as buckets, and waits until it accepts connections.
// The server ends with ctx; then ended is closed.
func serve(ctx context.Context, program, folder string) (endpoint string, ended <-chan struct{}, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return "", nil, err
	}
	cmd := command(ctx, program, "--quiet", "--keep-alive", "--port", address, "posix", folder)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+accessKey, "ROOT_SECRET_KEY="+secretKey)
	var messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &messages, &messages
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // fails, since a signal stops the server
		close(done)
	}()
	for range 100 {
		if c, err := net.Dial("tcp", address); err == nil {
			return "http://" + address, done, c.Close()
		}
		select {
		case <-done:
			return "", nil, fmt.Errorf("%s: %s", cmd, messages.Bytes())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return "", nil, fmt.Errorf("%s takes no connections", cmd)
}
