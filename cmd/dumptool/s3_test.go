package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/rogpeppe/go-internal/testscript"

	"dumptool/internal/store"
)

// s3Bucket is the bucket of the tests. A server named by the environment has this bucket, empty.
const s3Bucket = "dumptool-test"

// s3Server is a server to run scripts with.
type s3Server struct {
	name string
	env  []string
	objects
}

type objects struct{ store.Objects }

// TestObjectStorage runs testdata/s3/*.txtar with a server in this process, and with the server
// named by TEST_S3_ENDPOINT.
func TestObjectStorage(t *testing.T) {
	t.Parallel()
	backend := s3mem.New()
	if err := backend.CreateBucket(s3Bucket); err != nil {
		t.Fatal(err)
	}
	fake := httptest.NewServer(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	t.Cleanup(fake.Close)
	servers := []s3Server{{name: "gofakes3", env: []string{
		"AWS_ENDPOINT_URL_S3=" + fake.URL, "AWS_ACCESS_KEY_ID=AKIAIOSFODNN4F2Q", "AWS_SECRET_ACCESS_KEY=not a secret",
	}}}
	if endpoint := os.Getenv("TEST_S3_ENDPOINT"); endpoint != "" {
		servers = append(servers, s3Server{name: "server", env: []string{
			"AWS_ENDPOINT_URL_S3=" + endpoint, "AWS_ACCESS_KEY_ID=" + os.Getenv("AWS_ACCESS_KEY_ID"), "AWS_SECRET_ACCESS_KEY=" + os.Getenv("AWS_SECRET_ACCESS_KEY"),
		}})
	}
	for _, srv := range servers {
		t.Run(srv.name, func(t *testing.T) {
			t.Parallel()
			srv.run(t)
		})
	}
}

// run runs the scripts. Each has its own folder in the bucket, s3://$BUCKET/....
func (srv *s3Server) run(t *testing.T) {
	t.Helper()
	srv.env = append(srv.env, "AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
	var err error
	srv.Objects, err = store.NewS3(store.S3Settings{Getenv: func(name string) string {
		for _, v := range srv.env {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	testdata, err := filepath.Abs(filepath.Join("..", "..", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/s3",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			folder := s3Bucket + "/" + filepath.Base(env.WorkDir)
			env.Vars = append(env.Vars, srv.env...)
			env.Vars = append(env.Vars, "BUCKET="+folder, "DATA="+testdata, "XDG_CONFIG_HOME="+env.WorkDir+"/.config", "LC_ALL=C")
			env.Defer(func() { srv.clean(t, filepath.Base(env.WorkDir)+"/") })
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"put": srv.put, "get": srv.get, "status": runForStatus},
	})
}

// key returns the key of a path s3://bucket/key.
func key(path string) string { return strings.TrimPrefix(path, "s3://"+s3Bucket+"/") }

// put uploads "put FILE|FOLDER s3://...".
func (o objects) put(ts *testscript.TestScript, _ bool, args []string) {
	root := ts.MkAbs(args[0])
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		below, _ := filepath.Rel(root, path)
		to := key(args[1])
		if below != "." {
			to += "/" + filepath.ToSlash(below)
		}
		w, err := o.Create(s3Bucket, to, false)
		if err != nil {
			return err
		}
		defer w.Abort()
		if _, err := w.Write(data); err != nil {
			return err
		}
		return w.Commit()
	}))
}

// get downloads "get s3://... FOLDER".
func (o objects) get(ts *testscript.TestScript, _ bool, args []string) {
	prefix := key(args[0]) + "/"
	found, _, err := o.List(s3Bucket, prefix, false)
	ts.Check(err)
	for _, object := range found {
		src, err := o.Open(s3Bucket, object)
		ts.Check(err)
		data, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
		ts.Check(err)
		ts.Check(src.Close())
		path := filepath.Join(ts.MkAbs(args[1]), filepath.FromSlash(strings.TrimPrefix(object.Key, prefix)))
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o777))
		ts.Check(os.WriteFile(path, data, 0o666))
	}
}

// clean removes the files of a script.
func (o objects) clean(t *testing.T, prefix string) {
	t.Helper()
	found, _, err := o.List(s3Bucket, prefix, false)
	if err != nil {
		t.Error(err)
	}
	for _, object := range found {
		if err := o.Remove(s3Bucket, object.Key); err != nil {
			t.Error(err)
		}
	}
}

// TestLogOfLibraries: the log output of net/http is an ordinary debug message. A server that
// answers twice provokes one.
func TestLogOfLibraries(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for in := bufio.NewReader(conn); ; {
					if _, err := http.ReadRequest(in); err != nil {
						return
					}
					const busy = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
					if _, err := io.WriteString(conn, busy+busy); err != nil {
						return
					}
				}
			}()
		}
	}()
	for _, options := range [][]string{{"--log-format=json", "--verbose"}, {"--log-format=json"}, {}} {
		cmd := exec.Command("dumptool", append(options, "inspect", "s3://bucket/x", "--s3-no-sign", "--s3-retry-time=1s", "--s3-endpoint", "http://"+listener.Addr().String())...)
		cmd.Env = append(os.Environ(), "AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE="+os.DevNull)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err == nil {
			t.Error("a server that is always busy was read")
		}
		unsolicited := 0
		for line := range bytes.Lines(stderr.Bytes()) {
			var record struct{ Level, Msg string }
			if len(options) > 0 {
				if err := json.Unmarshal(line, &record); err != nil || record.Msg == "" {
					t.Errorf("%q: %s: %v", options, line, err)
				}
			}
			if bytes.Contains(line, []byte("Unsolicited response")) {
				if unsolicited++; record.Level != "DEBUG" {
					t.Errorf("%q: %s", options, line)
				}
			}
		}
		if (unsolicited > 0) != (len(options) == 2) {
			t.Errorf("%q: %d messages of net/http\n%s", options, unsolicited, stderr.String())
		}
	}
}
