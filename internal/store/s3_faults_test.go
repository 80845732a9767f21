package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"dumptool/internal/lang"
)

// faults is a proxy that injects faults in front of a server.
type faults struct {
	testServer
	requests atomic.Int64
	// before may answer in place of the server and then returns true.
	before hook[func(n int64, w http.ResponseWriter, r *http.Request) bool]
	// after changes a response.
	after hook[func(n int64, resp *http.Response) error]

	mu    sync.Mutex
	lines []string // the requests
}

// calm ends all faults.
func (f *faults) calm() {
	f.before.set(nil)
	f.after.set(nil)
}

// hook is a function that a test may replace while requests are in flight.
type hook[F any] struct{ now atomic.Pointer[F] }

func (h *hook[F]) set(f F) { h.now.Store(&f) }

// get returns the function, the zero value before one was set.
func (h *hook[F]) get() (f F) {
	if p := h.now.Load(); p != nil {
		f = *p
	}
	return f
}

// log returns the requests since the last call.
func (f *faults) log() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines := f.lines
	f.lines = nil
	return lines
}

type requestNumber struct{}

// newFaults starts a proxy in front of a server in this process.
func newFaults(t *testing.T) *faults {
	t.Helper()
	f := &faults{testServer: fakeServer(t)}
	behind, err := url.Parse(f.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(behind)
	proxy.ModifyResponse = func(resp *http.Response) error {
		after := f.after.get()
		if after == nil {
			return nil
		}
		return after(resp.Request.Context().Value(requestNumber{}).(int64), resp)
	}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := f.requests.Add(1)
		f.mu.Lock()
		f.lines = append(f.lines, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Range"))
		f.mu.Unlock()
		if before := f.before.get(); before != nil && before(n, w, r) {
			return
		}
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestNumber{}, n)))
	}))
	t.Cleanup(srv.Close)
	f.endpoint = srv.URL
	return f
}

// refuse answers with an error of S3.
func refuse(w http.ResponseWriter, status int, code string) bool {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>of the test</Message></Error>", code)
	return true
}

// begin connects to the proxy, makes a bucket and puts an object in it.
func (f *faults) begin(t *testing.T, size int, change ...func(*S3Settings)) (s *s3, bucket string, data []byte) {
	t.Helper()
	s = f.connect(t, change...)
	bucket = s.bucket(t)
	data = pattern(size)
	s.mustPut(t, bucket, "run/x", data)
	f.log()
	t.Cleanup(f.calm) // before the bucket is removed
	return s, bucket, data
}

// smallBlocks makes several blocks of little data.
func smallBlocks(set *S3Settings) { set.Block, set.Cache = minBlock, 4*minBlock }

// TestRetries fails each request a few times in a row. Failures are counted per request: several
// requests are in flight, and a common count could hit one of them each time.
func TestRetries(t *testing.T) {
	for name, fault := range map[string]func(f *faults, try func(*http.Request) int){
		"busy": func(f *faults, try func(*http.Request) int) {
			f.before.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
				return try(r)%3 != 0 && refuse(w, http.StatusServiceUnavailable, "SlowDown")
			})
		},
		"no xml": func(f *faults, try func(*http.Request) int) {
			f.before.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
				bad := try(r)%2 != 0
				if bad {
					http.Error(w, "bad gateway", http.StatusBadGateway)
				}
				return bad
			})
		},
		"cut bodies": func(f *faults, try func(*http.Request) int) {
			f.after.set(func(_ int64, resp *http.Response) error {
				if resp.Request.Method == http.MethodGet && try(resp.Request)%3 != 0 {
					resp.Body = io.NopCloser(io.LimitReader(resp.Body, resp.ContentLength/2))
				}
				return nil
			})
		},
		"lost connections": func(f *faults, try func(*http.Request) int) {
			f.before.set(func(_ int64, _ http.ResponseWriter, r *http.Request) bool {
				if try(r)%2 != 0 {
					panic(http.ErrAbortHandler)
				}
				return false
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFaults(t)
			s, bucket, data := f.begin(t, 2<<20+123, smallBlocks)
			var mu sync.Mutex
			tries := map[string]int{}
			fault(f, func(r *http.Request) int {
				mu.Lock()
				defer mu.Unlock()
				_, end, _ := strings.Cut(r.Header.Get("Range"), "-") // a read that continues has the same end
				request := r.Method + r.URL.RequestURI() + end
				tries[request]++
				return tries[request]
			})
			got := readAll(t, s.mustOpen(t, bucket, "run/x"))
			if !bytes.Equal(got, data) {
				t.Error("other bytes came back")
			}
			if objects, _, err := s.List(bucket, "", false); err != nil || len(objects) != 1 {
				t.Errorf("List = %+v, %v", objects, err)
			}
			s.mustPut(t, bucket, "run/y", data)
			f.calm()
			if got := readAll(t, s.mustOpen(t, bucket, "run/y")); !bytes.Equal(got, data) {
				t.Error("other bytes were written")
			}
		})
	}
}

// TestNoRetries checks which requests are not repeated.
func TestNoRetries(t *testing.T) {
	for status, want := range map[int]string{
		400: "cannot read run/x: 400 Wrong: of the test",
		401: "access denied (401 Wrong) to read run/x - key AKIA..OURS from the environment, endpoint URL, path style (--s3-endpoint)",
		403: "access denied (403 Wrong) to read run/x - key AKIA..OURS from the environment, endpoint URL, path style (--s3-endpoint)",
		404: "404 Wrong",
		412: "cannot read run/x: 412 Wrong: of the test",
	} {
		f := newFaults(t)
		s, bucket, _ := f.begin(t, 100)
		f.before.set(func(_ int64, w http.ResponseWriter, _ *http.Request) bool { return refuse(w, status, "Wrong") })
		_, err := s.Open(bucket, Object{Key: "run/x", Size: -1})
		f.before.set(nil)
		if want = strings.ReplaceAll(want, "URL", s.endpoint); err == nil || err.Error() != want {
			t.Errorf("%d: %v, want %s", status, err, want)
		}
		if requests := f.log(); len(requests) != 1 {
			t.Errorf("%d: requests %q, want one", status, requests)
		}
		if errors.Is(err, fs.ErrPermission) != (status == 401 || status == 403) || errors.Is(err, fs.ErrNotExist) != (status == 404) {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// TestTriesEnd checks that retries end after a time, and after a number of tries if only this
// request fails.
func TestTriesEnd(t *testing.T) {
	f := newFaults(t)
	s, bucket, _ := f.begin(t, 100, func(set *S3Settings) { set.RetryTime = 300 * time.Millisecond })
	f.before.set(func(_ int64, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", "0")
		return refuse(w, http.StatusServiceUnavailable, "SlowDown")
	})
	start := time.Now()
	_, err := s.Head(bucket, "run/x")
	f.before.set(nil)
	if err == nil || !strings.Contains(err.Error(), "503") || !IsTransport(err) {
		t.Errorf("error %v", err)
	}
	if requests := f.log(); len(requests) < maxFailures || time.Since(start) < s.set.RetryTime {
		t.Errorf("%d requests in %v", len(requests), time.Since(start))
	}
	// If one object fails while others succeed, retries end earlier.
	f = newFaults(t)
	s, bucket, _ = f.begin(t, 100, func(set *S3Settings) { set.RetryTime = time.Hour })
	s.mustPut(t, bucket, "run/y", nil)
	var others atomic.Int64
	f.before.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/x") {
			others.Add(1)
			return false
		}
		for until := others.Load() + 3; others.Load() < until; { // the second one has begun since and ended
			time.Sleep(time.Millisecond)
		}
		return refuse(w, http.StatusInternalServerError, "InternalError")
	})
	f.log()
	served := make(chan error)
	ended := make(chan struct{})
	go func() {
		var err error
		for err == nil {
			_, err = s.Head(bucket, "run/y")
			select {
			case <-ended:
				served <- err
				return
			default:
			}
		}
		served <- err
	}()
	_, err = s.Head(bucket, "run/x")
	close(ended)
	if other := <-served; err == nil || !IsTransport(err) || other != nil {
		t.Errorf("error %v; of others %v", err, other)
	}
	tries := 0
	for _, line := range f.log() {
		if strings.Contains(line, "/x") {
			tries++
		}
	}
	if tries != maxTries {
		t.Errorf("%d tries, want %d", tries, maxTries)
	}
	f.before.set(nil)
	// An interrupted run does not wait.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s = f.connect(t, func(set *S3Settings) { set.Context = ctx })
	f.before.set(func(_ int64, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", "30")
		return refuse(w, http.StatusServiceUnavailable, "SlowDown")
	})
	start = time.Now()
	_, err = s.Head(bucket, "run/x")
	f.before.set(nil)
	if err == nil || errors.Is(err, context.Canceled) || time.Since(start) > 10*time.Second {
		t.Errorf("interrupted: %v after %v", err, time.Since(start))
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "99999": maxRetryAfter, "-1": 0, "x": 0, "Fri, 31 Dec 1999 23:59:59 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestCutBodyIsContinued checks that received bytes are not requested again.
func TestCutBodyIsContinued(t *testing.T) {
	f := newFaults(t)
	s, bucket, data := f.begin(t, headSize+minBlock, smallBlocks)
	src := s.mustOpen(t, bucket, "run/x")
	f.log()
	const cut = 100000
	f.after.set(func(_ int64, resp *http.Response) error {
		resp.Body = io.NopCloser(io.LimitReader(resp.Body, cut))
		return nil
	})
	got := make([]byte, minBlock)
	if _, err := src.ReadAt(got, headSize); err != nil || !bytes.Equal(got, data[headSize:]) {
		t.Fatalf("ReadAt: %v", err)
	}
	var want []string
	for off := headSize; off < len(data); off += cut {
		want = append(want, fmt.Sprintf("GET /%s/run/x bytes=%d-%d", bucket, off, len(data)-1))
	}
	if requests := f.log(); strings.Join(requests, "\n") != strings.Join(want, "\n") {
		t.Errorf("requests %q, want %q", requests, want)
	}
}

// TestWrongAnswers checks that invalid responses are errors, not data.
func TestWrongAnswers(t *testing.T) {
	set := func(name, value string) func(int64, *http.Response) error {
		return func(_ int64, resp *http.Response) error {
			resp.Header.Set(name, value)
			return nil
		}
	}
	for name, tt := range map[string]struct {
		after func(int64, *http.Response) error
		want  string
	}{
		"other range":   {set("Content-Range", "bytes 0-9/400000"), `the server's answer is wrong: Content-Range "bytes 0-9/400000" for bytes from 65536 on`},
		"no range":      {set("Content-Range", ""), `the server's answer is wrong: Content-Range ""`},
		"unknown size":  {set("Content-Range", "bytes 65536-69999/*"), "the server's answer is wrong"},
		"negative size": {set("Content-Range", "bytes 65536-69999/-5"), "the server's answer is wrong"},
		"other size":    {set("Content-Range", "bytes 65536-69999/400001"), "the object changed while it was read (400000 bytes when listed, 400001 now)"},
		"other ETag":    {set("ETag", `"71de0000"`), "the object changed while it was read (ETag 9"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFaults(t)
			s, bucket, _ := f.begin(t, 400000)
			src := s.mustOpen(t, bucket, "run/x")
			f.after.set(tt.after)
			n, err := src.ReadAt(make([]byte, 10), headSize)
			f.after.set(nil)
			if err == nil || n != 0 {
				t.Fatalf("%d bytes, %v", n, err)
			}
			if want := strings.Replace(tt.want, "ETag 9", "ETag "+src.(*s3Object).etag[:4], 1); !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%v reads as an end of the object", err)
			}
			if got, err := src.ReadAt(make([]byte, 10), headSize); got != 10 || err != nil {
				t.Errorf("afterwards: %d bytes, %v", got, err)
			}
		})
	}
}

// TestServerIgnoresIfMatch checks that a changed object is detected even if the server ignores the
// condition.
func TestServerIgnoresIfMatch(t *testing.T) {
	f := newFaults(t)
	s, bucket, _ := f.begin(t, 400000)
	f.before.set(func(_ int64, _ http.ResponseWriter, r *http.Request) bool {
		r.Header.Del("If-Match")
		return false
	})
	src := s.mustOpen(t, bucket, "run/x")
	other := pattern(400001)[1:]
	s.mustPut(t, bucket, "run/x", other)
	if _, err := src.ReadAt(make([]byte, 10), headSize); !errors.Is(err, errChanged) {
		t.Errorf("error %v, want %v", err, errChanged)
	}
	f.before.set(nil)
	if err := s.Remove(bucket, "run/x"); err != nil {
		t.Fatal(err)
	}
	if _, err := src.ReadAt(make([]byte, 10), headSize); err == nil {
		t.Error("a removed object is read")
	}
}

// TestPages checks listings of many pages.
func TestPages(t *testing.T) {
	f := newFaults(t)
	s, bucket, _ := f.begin(t, 1)
	var want []string
	for i := range 23 {
		key := fmt.Sprintf("run/%d/%02d", i%4, i)
		s.mustPut(t, bucket, key, []byte{1})
		want = append(want, key)
	}
	want = append(want, "run/x")
	f.log()
	maxKeys := regexp.MustCompile(`max-keys=1000`)
	f.before.set(func(_ int64, _ http.ResponseWriter, r *http.Request) bool {
		r.URL.RawQuery = maxKeys.ReplaceAllString(r.URL.RawQuery, "max-keys=2")
		return false
	})
	objects, _, err := s.List(bucket, "", false)
	f.before.set(nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(got, o.Key)
	}
	sortedKeys := append([]string(nil), want...)
	slices.Sort(sortedKeys)
	if strings.Join(got, " ") != strings.Join(sortedKeys, " ") {
		t.Errorf("got %q, want %q", got, sortedKeys)
	}
	if n := len(f.log()); n < 12 {
		t.Errorf("%d requests: were there pages?", n)
	}
}

// TestPagesForEver checks that endless listings end with an error.
func TestPagesForEver(t *testing.T) {
	for name, test := range map[string]struct {
		page func(n int64) string // page n, which announces another one
		want string
	}{
		"same token": {func(int64) string {
			return `<NextContinuationToken>t</NextContinuationToken><NextKeyMarker>k</NextKeyMarker>`
		}, "leads back to an earlier one"},
		"tokens in a circle": {func(n int64) string {
			return fmt.Sprintf(`<Contents><Key>run/%[1]d</Key></Contents><Upload><Key>run/%[1]d</Key></Upload>
				<NextContinuationToken>%[2]d</NextContinuationToken><NextUploadIdMarker>%[2]d</NextUploadIdMarker>`, n, n%3)
		}, "leads back to an earlier one"},
		"empty pages": {func(n int64) string {
			return fmt.Sprintf(`<NextContinuationToken>%d</NextContinuationToken><NextUploadIdMarker>%[1]d</NextUploadIdMarker>`, n)
		}, "nothing new"},
		"the same page": {func(n int64) string {
			return fmt.Sprintf(`<Contents><Key>run</Key></Contents><Upload><Key>run</Key><UploadId>1</UploadId></Upload>
				<NextContinuationToken>%d</NextContinuationToken><NextUploadIdMarker>%[1]d</NextUploadIdMarker>`, n)
		}, "nothing new"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFaults(t)
			s, bucket, _ := f.begin(t, 1)
			f.before.set(func(n int64, w http.ResponseWriter, r *http.Request) bool {
				if n > 1000 {
					t.Error("a thousand pages were asked for")
					return refuse(w, http.StatusForbidden, "AccessDenied")
				}
				kind := "ListBucketResult"
				if r.URL.Query().Has("uploads") {
					kind = "ListMultipartUploadsResult"
				}
				fmt.Fprintf(w, `<%s><IsTruncated>true</IsTruncated>%s</%[1]s>`, kind, test.page(n))
				return true
			})
			list := second(s.List(bucket, "", false))
			_, anything := s.HasPrefix(bucket, "run/none/")
			_, uploads := s.unfinishedUploads(bucket, "")
			f.before.set(nil)
			for doing, err := range map[string]error{"List": list, "Any": anything, "uploads": uploads} {
				if !errors.Is(err, errBadAnswer) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: error %v, want %s", doing, err, test.want)
				}
			}
		})
	}
}

// TestLongAnswers checks that the length of responses without data is limited, and that of data is
// not.
func TestLongAnswers(t *testing.T) {
	for name, piece := range map[string]string{
		"long name":  strings.Repeat("n", 1<<20),
		"many names": strings.Repeat("<Contents/><Upload/>", 1<<16),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFaults(t)
			s, bucket, _ := f.begin(t, 1)
			const most = 256 << 20
			var sent atomic.Int64
			f.before.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
				begin := "<ListBucketResult><Name>"
				switch {
				case r.URL.Query().Has("uploads") && r.Method == http.MethodPost:
					begin = "<InitiateMultipartUploadResult><Bucket>"
				case r.URL.Query().Has("uploads"):
					begin = "<ListMultipartUploadsResult><Bucket>"
				}
				fmt.Fprint(w, begin)
				if piece[0] == '<' {
					fmt.Fprint(w, strings.Replace(begin[strings.LastIndexByte(begin, '<'):], "<", "</", 1))
				}
				for n := 0; n < most; n += len(piece) {
					m, err := io.WriteString(w, piece)
					if sent.Add(int64(m)); err != nil {
						break
					}
				}
				return true
			})
			w, err := s.Create(bucket, "new", false)
			if err != nil {
				t.Fatal(err)
			}
			list := second(s.List(bucket, "", false))
			_, anything := s.HasPrefix(bucket, "run/none/")
			_, uploads := s.unfinishedUploads(bucket, "")
			_, write := w.Write(make([]byte, 3*partSize)) // starts a multipart upload
			if write == nil {
				write = w.Commit()
			}
			f.before.set(nil)
			w.Abort()
			for doing, err := range map[string]error{"List": list, "Any": anything, "uploads": uploads, "Write": write} {
				if !errors.Is(err, errBadAnswer) {
					t.Errorf("%s: error %v, want %v", doing, err, errBadAnswer)
				}
			}
			if n := sent.Load(); n > most {
				t.Errorf("%d MiB of answers were taken", n>>20)
			}
		})
	}
	f := newFaults(t)
	s, bucket, data := f.begin(t, maxDocument+1)
	if got := readAll(t, s.mustOpen(t, bucket, "run/x")); !bytes.Equal(got, data) {
		t.Errorf("%d bytes of %d were read, or others", len(got), len(data))
	}
}

// TestComplete checks failures of the request that completes an upload.
func TestComplete(t *testing.T) {
	isComplete := func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") }
	for name, tt := range map[string]struct {
		harm  func(f *faults)
		want  string        // part of the error, empty for none
		tries time.Duration // 0: until success
	}{
		"200 with an error": {harm: func(f *faults) {
			var failed atomic.Bool
			f.before.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
				return isComplete(r) && failed.CompareAndSwap(false, true) && refuse(w, http.StatusOK, "InternalError")
			})
		}},
		"always 200 with an error": {harm: func(f *faults) {
			f.before.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
				return isComplete(r) && refuse(w, http.StatusOK, "InternalError")
			})
		}, want: "200 InternalError: of the test", tries: 200 * time.Millisecond},
		"lost answer": {harm: func(f *faults) {
			f.after.set(func(_ int64, resp *http.Response) error {
				if isComplete(resp.Request) && resp.StatusCode == http.StatusOK {
					return errors.New("lost")
				}
				if resp.Request.Method == http.MethodHead && resp.Header.Get("ETag") != "" {
					resp.Header.Set("ETag", `"00000000000000000000000000000000-2"`) // the ETag that the server sends otherwise
				}
				return nil
			})
		}},
		"lost answer, other object": {harm: func(f *faults) {
			f.after.set(func(_ int64, resp *http.Response) error {
				if isComplete(resp.Request) && resp.StatusCode == http.StatusOK {
					return errors.New("lost")
				}
				return nil
			})
		}, want: "404 NoSuchUpload"},
		"refused": {harm: func(f *faults) {
			f.before.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
				return isComplete(r) && refuse(w, http.StatusForbidden, "AccessDenied")
			})
		}, want: "access denied (403 AccessDenied) to write run/big"},
		"part refused": {harm: func(f *faults) {
			f.before.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
				return r.Method == http.MethodPut && r.URL.Query().Get("partNumber") == "2" && refuse(w, http.StatusForbidden, "AccessDenied")
			})
		}, want: "access denied (403 AccessDenied) to write run/big"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFaults(t)
			s, bucket, _ := f.begin(t, 1, func(set *S3Settings) { set.RetryTime = cmp.Or(tt.tries, time.Minute) })
			tt.harm(f)
			data := pattern(partSize + 9)
			w, err := s.Create(bucket, "run/big", false)
			if err == nil {
				_, err = w.Write(data)
			}
			if err == nil {
				err = w.Commit()
			}
			f.calm()
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %s", err, tt.want)
				}
				if left, err := s.unfinishedUploads(bucket, ""); err != nil || len(left) > 0 {
					t.Errorf("uploads left: %+v, %v", left, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := readAll(t, s.mustOpen(t, bucket, "run/big")); !bytes.Equal(got, data) {
				t.Errorf("other %d bytes came back", len(got))
			}
		})
	}
}

// TestNew checks that an object does not replace another one if another process is faster, or the
// server does not support the condition.
func TestNew(t *testing.T) {
	isHead := func(r *http.Request) bool { return r.Method == http.MethodHead }
	places := func(r *http.Request) bool {
		return r.Method == http.MethodPut && !r.URL.Query().Has("partNumber") || r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
	}
	other := []byte("of another process")
	for name, tt := range map[string]struct {
		there bool // the other process has written an object
		harm  func(f *faults)
		want  string // the error, or part of the object
		notes int
	}{
		"seen before": {true, func(*faults) {}, errExists.Error(), 0},
		"may not be seen": {false, func(f *faults) {
			f.before.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
				return isHead(r) && refuse(w, http.StatusForbidden, "AccessDenied")
			})
		}, "", 0},
		"comes in between": {true, func(f *faults) {
			f.before.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
				switch {
				case isHead(r):
					return refuse(w, http.StatusNotFound, "NoSuchKey")
				case places(r) && r.Header.Get("If-None-Match") == "*":
					return refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
				}
				return false
			})
		}, errExists.Error(), 0},
		"not implemented": {false, func(f *faults) {
			f.before.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
				return places(r) && r.Header.Get("If-None-Match") != "" && refuse(w, http.StatusNotImplemented, "NotImplemented")
			})
		}, "", 1},
		"not implemented, seen before": {true, func(f *faults) {
			f.before.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
				return places(r) && refuse(w, http.StatusNotImplemented, "NotImplemented")
			})
		}, errExists.Error(), 0},
		"ignored, seen before": {true, func(f *faults) {
			f.before.set(func(_ int64, _ http.ResponseWriter, r *http.Request) bool {
				r.Header.Del("If-None-Match")
				return false
			})
		}, errExists.Error(), 0},
		"lost answer": {false, func(f *faults) {
			var lost atomic.Bool
			f.before.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
				return places(r) && lost.Load() && refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
			})
			f.after.set(func(_ int64, resp *http.Response) error {
				if places(resp.Request) && resp.StatusCode == http.StatusOK && lost.CompareAndSwap(false, true) {
					return errors.New("lost")
				}
				if isHead(resp.Request) && resp.ContentLength > partSize {
					resp.Header.Set("ETag", `"00000000000000000000000000000000-2"`) // the ETag that the server sends otherwise
				}
				return nil
			})
		}, "", 0},
	} {
		for _, size := range []int{10, partSize + 1} {
			t.Run(fmt.Sprintf("%s, %d bytes", name, size), func(t *testing.T) {
				notes := 0
				f := newFaults(t)
				s, bucket, _ := f.begin(t, 1, func(set *S3Settings) { set.Note = func(lang.Sentence) { notes++ } })
				if tt.there {
					s.mustPut(t, bucket, "new", other)
				}
				tt.harm(f)
				data := pattern(size)
				err := s.create(bucket, "new", data, true)
				f.calm()
				want := data
				if tt.there {
					want = other
				}
				if (err == nil) == (tt.want != "") || err != nil && (err.Error() != tt.want || !errors.Is(err, fs.ErrExist)) {
					t.Errorf("error %v, want %q", err, tt.want)
				}
				if got := readAll(t, s.mustOpen(t, bucket, "new")); !bytes.Equal(got, want) {
					t.Errorf("other %d bytes are there", len(got))
				}
				if notes != tt.notes {
					t.Errorf("%d notes, want %d", notes, tt.notes)
				}
				if size < partSize {
					return
				}
				if left, err := s.unfinishedUploads(bucket, ""); err != nil || len(left) > 0 {
					t.Errorf("uploads left: %+v, %v", left, err)
				}
			})
		}
	}
}

// TestStaleOfWholeKeys checks the listing of uploads on a server that treats a prefix as a whole
// key.
func TestStaleOfWholeKeys(t *testing.T) {
	f := newFaults(t)
	s, bucket, _ := f.begin(t, 1)
	for _, key := range []string{"run/a", "other/b"} {
		w, err := s.Create(bucket, key, false)
		if err == nil {
			_, err = w.Write(make([]byte, partSize))
		}
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
	}
	refused := false
	f.before.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !r.URL.Query().Has("uploads") {
			return false
		}
		if r.URL.Query().Get("prefix") == "" {
			return refused && refuse(w, http.StatusForbidden, "AccessDenied")
		}
		fmt.Fprint(w, `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>`)
		return true
	})
	if got, err := s.unfinishedUploads(bucket, "run/"); err != nil || len(got) != 1 || got[0].Key != "run/a" {
		t.Errorf("uploads %+v, %v", got, err)
	}
	refused = true
	if got, err := s.unfinishedUploads(bucket, "run/"); err != nil || len(got) != 0 {
		t.Errorf("refused: uploads %+v, %v", got, err)
	}
}

// TestMissingAtOnce checks that a missing object takes one request.
func TestMissingAtOnce(t *testing.T) {
	f := newFaults(t)
	s, bucket, _ := f.begin(t, 1)
	const times = 40
	for range times {
		if _, err := s.Head(bucket, "none"); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if log := f.log(); len(log) != times {
		t.Errorf("%d requests", len(log))
	}
}

// TestAny checks that a folder is found by one small page, or by the first page that is not empty.
func TestAny(t *testing.T) {
	f := newFaults(t)
	s, bucket, _ := f.begin(t, 1)
	s.mustPut(t, bucket, "run/y", nil)
	UseObjects(func() (Objects, error) { return s, nil })
	defer current.Store(nil)
	f.log()
	if info, err := Stat("s3://" + bucket + "/run"); err != nil || !info.IsDir() {
		t.Errorf("Stat: %v, %v", info, err)
	}
	if log := f.log(); len(log) != 2 || !strings.Contains(log[1], "max-keys=1&") {
		t.Errorf("requests %q", log)
	}
	pages := []string{
		`<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>`,
		`<IsTruncated>true</IsTruncated><NextContinuationToken>u</NextContinuationToken><Contents><Key>run/z</Key></Contents>`,
	}
	f.before.set(func(n int64, w http.ResponseWriter, r *http.Request) bool {
		i := 0
		if r.URL.Query().Get("continuation-token") != "" {
			i = len(pages) - 1
		}
		fmt.Fprint(w, "<ListBucketResult>"+pages[i]+"</ListBucketResult>")
		return true
	})
	if found, err := s.HasPrefix(bucket, "run/"); err != nil || !found {
		t.Errorf("an empty page first: %v, %v", found, err)
	}
}

// TestPlainBodies checks that parts are sent without chunk signatures.
func TestPlainBodies(t *testing.T) {
	f := newFaults(t)
	s, bucket, _ := f.begin(t, 1)
	f.before.set(func(_ int64, _ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		size, _ := strconv.Atoi(r.Header.Get("Content-Length"))
		if r.Header.Get("Content-Encoding") != "" || r.Header.Get("Content-Md5") == "" || len(r.Header.Get("X-Amz-Content-Sha256")) != 64 || size == 0 && r.ContentLength <= 0 {
			t.Errorf("%s: %v", r.URL, r.Header)
		}
		for name := range r.Header {
			if strings.Contains(strings.ToLower(name), "checksum") || r.URL.Query().Has("x-id") {
				t.Errorf("%s: %s", r.URL, name)
			}
		}
		return false
	})
	s.mustPut(t, bucket, "small", pattern(5))
	s.mustPut(t, bucket, "big", pattern(partSize+1))
	f.before.set(nil)
}

// TestSlowServer checks that a slow first byte is no error.
func TestSlowServer(t *testing.T) {
	f := newFaults(t)
	s, bucket, data := f.begin(t, 300000)
	f.before.set(func(int64, http.ResponseWriter, *http.Request) bool {
		time.Sleep(50 * time.Millisecond)
		return false
	})
	if got := readAll(t, s.mustOpen(t, bucket, "run/x")); !bytes.Equal(got, data) {
		t.Error("other bytes came back")
	}
	f.before.set(nil)
}

// TestUnreachable checks the message for an unreachable server.
func TestUnreachable(t *testing.T) {
	srv := httptest.NewServer(nil)
	srv.Close()
	s := testServer{"none", srv.URL, environment(testKeys)}.connect(t, func(set *S3Settings) { set.RetryTime = 100 * time.Millisecond })
	_, err := s.Head("dumps", "run7/x")
	if err == nil || !IsTransport(err) || !strings.HasPrefix(err.Error(), "cannot read run7/x: dial tcp 127.0.0.1:") || !strings.Contains(err.Error(), "; endpoint "+srv.URL+", path style (--s3-endpoint)") {
		t.Errorf("error %v", err)
	}
}

// outage makes a proxy unavailable for a time, like a server that restarts: it refuses connections,
// or answers 503 to all requests.
type outage struct {
	down  atomic.Bool
	tried atomic.Int64 // requests during the outage
	most  atomic.Int64 // maximum of concurrent requests
	open  atomic.Int64
}

// refuse returns a function for faults.before.
func (o *outage) refuse(busy bool) func(int64, http.ResponseWriter, *http.Request) bool {
	return func(_ int64, w http.ResponseWriter, _ *http.Request) bool {
		if !o.down.Load() {
			return false
		}
		o.tried.Add(1)
		now := o.open.Add(1)
		defer o.open.Add(-1)
		for most := o.most.Load(); now > most && !o.most.CompareAndSwap(most, now); most = o.most.Load() {
		}
		time.Sleep(time.Millisecond)
		if busy {
			return refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable")
		}
		panic(http.ErrAbortHandler)
	}
}

// TestOutage takes the server down during many reads: all of them wait, one probe at a time checks
// the server, the user is told once, and the bytes are right afterwards. If the outage lasts too
// long, all reads fail soon.
func TestOutage(t *testing.T) {
	for name, busy := range map[string]bool{"refused": false, "busy": true} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var notes []string
			f := newFaults(t)
			var o outage
			s, bucket, data := f.begin(t, headSize+40*minBlock, smallBlocks, func(set *S3Settings) {
				set.RetryTime = time.Minute
				set.Note = func(n lang.Sentence) {
					mu.Lock()
					defer mu.Unlock()
					if notes = append(notes, n.String()); len(notes) == 1 {
						o.down.Store(false) // the server is back once the user has been told
					}
				}
			})
			const readers = 8
			refuse := o.refuse(busy)
			f.before.set(func(n int64, w http.ResponseWriter, r *http.Request) bool {
				r.Header.Del("If-Match")
				return refuse(n, w, r)
			})
			f.after.set(func(_ int64, resp *http.Response) error {
				resp.Header.Del("ETag")
				return nil
			})
			o.down.Store(true)
			calls := 0
			read := func() (failed error) {
				calls++
				var all sync.WaitGroup
				for i := range readers {
					all.Go(func() {
						src, err := s.Open(bucket, Object{Key: "run/x", Size: int64(len(data)), ETag: strconv.Itoa(calls)}) // not cached
						if err == nil {
							defer src.Close()
							p := make([]byte, minBlock)
							at := int64(headSize + 5*i*minBlock)
							if _, err = src.ReadAt(p, at); err == nil && !bytes.Equal(p, data[at:][:minBlock]) {
								err = errors.New("other bytes")
							}
						}
						if err != nil {
							mu.Lock()
							defer mu.Unlock()
							failed = err
						}
					})
				}
				all.Wait()
				return failed
			}
			if err := read(); err != nil {
				t.Error(err)
			}
			if n := o.tried.Load(); n < maxFailures || n > 30 {
				t.Errorf("%d requests while the server was away", n)
			}
			if len(notes) != 2 || !strings.HasPrefix(notes[0], "object storage does not answer since ") || !strings.Contains(notes[0], " more: ") || !strings.HasPrefix(notes[1], "object storage answers again after ") {
				t.Errorf("notes %q", notes)
			}
			o.down.Store(true)
			s.set.RetryTime = 100 * time.Millisecond
			start := time.Now()
			if err := read(); !IsTransport(err) {
				t.Errorf("away for ever: %v", err)
			}
			lost := o.tried.Load()
			for range 50 {
				if err := read(); !IsTransport(err) {
					t.Errorf("lost: %v", err)
				}
			}
			if took, n := time.Since(start), o.tried.Load()-lost; n > 10+int64(took/(100*s.set.firstWait)) {
				t.Errorf("%d requests in %v of a server that is lost", n, took)
			}
			o.down.Store(false)
			back := read()
			for end := time.Now().Add(10 * time.Second); back != nil && time.Now().Before(end); back = read() {
				time.Sleep(10 * time.Millisecond)
			}
			if back != nil {
				t.Errorf("it is back: %v", back)
			}
			f.before.set(nil)
		})
	}
}

// heldBody sends the first half of a response, and on a signal the other half, or an end.
type heldBody struct {
	half io.Reader
	io.ReadCloser
	cut <-chan bool
	on  bool
}

func (b *heldBody) Read(p []byte) (int, error) {
	if n, err := b.half.Read(p); err != io.EOF {
		return n, err
	}
	if !b.on && <-b.cut {
		panic(http.ErrAbortHandler)
	}
	b.on = true
	return b.ReadCloser.Read(p)
}

// TestCutsInOutage takes the server down while many bodies are in flight, and ends them one by one:
// neither a truncated body, however long, nor a complete one proves that the server is back, and
// none costs a request one of its tries.
func TestCutsInOutage(t *testing.T) {
	for name, isCut := range map[string]bool{"cut": true, "whole": false} {
		t.Run(name, func(t *testing.T) { endInOutage(t, isCut) })
	}
}

func endInOutage(t *testing.T, isCut bool) {
	t.Helper()
	const readers = 24
	f := newFaults(t)
	s, bucket, data := f.begin(t, headSize+readers*minBlock, func(set *S3Settings) {
		set.Block, set.Cache, set.RetryTime = minBlock, 8*readers*minBlock, time.Hour
	})
	var away atomic.Bool
	var refused atomic.Int64
	f.before.set(func(int64, http.ResponseWriter, *http.Request) bool {
		if away.Load() {
			refused.Add(1)
			panic(http.ErrAbortHandler)
		}
		return false
	})
	var held, all sync.WaitGroup
	held.Add(readers)
	cut := make(chan bool)
	f.after.set(func(_ int64, resp *http.Response) error {
		if resp.Request.Method == http.MethodGet {
			resp.Body = &heldBody{half: io.LimitReader(resp.Body, minBlock/2), ReadCloser: resp.Body, cut: cut}
			held.Done()
		}
		return nil
	})
	o := Object{Key: "run/x", Size: int64(len(data))}
	for i := range readers {
		all.Go(func() {
			got := make([]byte, minBlock)
			off := int64(headSize + i*minBlock)
			for range 2 { // a complete response is followed by another request
				if _, err := s.read(bucket, &Object{Key: o.Key, Size: o.Size}, off, got); err != nil || !bytes.Equal(got, data[off:][:minBlock]) {
					t.Errorf("block %d: %v", i, err)
				}
			}
		})
	}
	held.Wait()
	f.after.set(nil)
	away.Store(true)
	for range readers {
		cut <- isCut
		// Give waiting requests time to mistake it for an answer.
		tried := refused.Load()
		for end := time.Now().Add(20 * time.Millisecond); time.Now().Before(end) && refused.Load() < tried+readers; {
			time.Sleep(time.Millisecond)
		}
	}
	away.Store(false)
	all.Wait()
}

// TestStalls checks that a request without data is canceled, both before its response and within
// it; and that a request that stalls once is repeated.
func TestStalls(t *testing.T) {
	const size = 10000
	for name, share := range map[string]int{"no answer": -1, "no body": 0, "half a body": 2} {
		t.Run(name, func(t *testing.T) {
			f := newFaults(t)
			s, bucket, data := f.begin(t, size, func(set *S3Settings) {
				set.stall, set.RetryTime = 50*time.Millisecond, 100*time.Millisecond
			})
			stall := func(w http.ResponseWriter, r *http.Request) bool {
				if share >= 0 && r.Method == http.MethodGet {
					body, from := bytes.Repeat([]byte(" "), size), 0
					if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d", &from); n > 0 {
						body = data[from:]
						w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, size-1, size))
					}
					w.Header().Set("Content-Length", strconv.Itoa(len(body)))
					w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
					_, _ = w.Write(body[:len(body)*share/4]) // the client may be gone
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
				panic(http.ErrAbortHandler)
			}
			f.before.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool { return stall(w, r) })
			_, head := s.Head(bucket, "run/x")
			_, read := s.read(bucket, &Object{Key: "run/x", Size: int64(len(data))}, 0, make([]byte, len(data)))
			list := second(s.List(bucket, "", false))
			_, uploads := s.unfinishedUploads(bucket, "")
			for doing, err := range map[string]error{"Head": head, "read": s.explain("read", read), "List": list, "uploads": s.explain("list", uploads)} {
				if !IsTransport(err) || !strings.Contains(err.Error(), "no data received for 50ms") {
					t.Errorf("%s: %v", doing, err)
				}
			}
			s = f.connect(t, func(set *S3Settings) { set.stall, set.RetryTime = 200*time.Millisecond, time.Hour })
			var once atomic.Bool
			f.before.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
				return once.CompareAndSwap(false, true) && stall(w, r)
			})
			got := make([]byte, len(data))
			if _, err := s.read(bucket, &Object{Key: "run/x", Size: int64(len(data))}, 0, got); err != nil || !bytes.Equal(got, data) {
				t.Errorf("stalled once: %v", err)
			}
		})
	}
}

// flip changes a byte in the middle of the given number of responses with data.
func flip(times int64) func(int64, *http.Response) error {
	var left atomic.Int64
	left.Store(times)
	return func(_ int64, resp *http.Response) error {
		if resp.Request.Method == http.MethodGet && left.Add(-1) >= 0 {
			data, err := io.ReadAll(resp.Body)
			if err != nil {
				return err
			}
			data[len(data)/2] ^= 1
			resp.Body = io.NopCloser(bytes.NewReader(data))
		}
		return nil
	}
}

// TestSums checks which objects are compared with their MD5.
func TestSums(t *testing.T) {
	const sse = "X-Amz-Server-Side-Encryption"
	for name, tt := range map[string]struct {
		size    int
		flipped int64 // number of responses with a wrong byte
		header  string
		value   string
		isWhole bool // the object is read whole by one request
		isWrong bool // an error is expected
	}{
		"whole":                   {size: 300_000, isWhole: true},
		"one answer is wrong":     {size: 300_000, isWhole: true, flipped: 1},
		"all answers are wrong":   {size: 300_000, isWhole: true, flipped: 100, isWrong: true},
		"small":                   {size: 1000, flipped: 1},
		"small, and always wrong": {size: 1000, flipped: 100, isWrong: true},
		"keys of the store":       {size: 1000, flipped: 100, header: sse, value: "AES256", isWrong: true},
		"keys of a service":       {size: 1000, flipped: 100, header: sse, value: "aws:kms"},
		"keys of a customer":      {size: 1000, flipped: 100, header: sse + "-Customer-Algorithm", value: "AES256"},
		"OBS, keys of a service":  {size: 1000, flipped: 100, header: "X-Obs-Server-Side-Encryption", value: "kms"},
		"several requests":        {size: 3 * minBlock},
		"several, one is wrong":   {size: 3 * minBlock, flipped: 1, isWrong: true},
		"several, of a service":   {size: 3 * minBlock, flipped: 1, header: sse, value: "aws:kms"},
		"several parts":           {size: 1000, flipped: 100, header: "Etag", value: `"b8174771709d8ea9e0ac106138266c44-2"`},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFaults(t)
			s, bucket, data := f.begin(t, tt.size, func(set *S3Settings) {
				if set.Block, set.Cache = minBlock, 100*minBlock; tt.isWhole {
					set.Block = 2 * minBlock
				}
			})
			spoil := flip(tt.flipped)
			f.after.set(func(n int64, resp *http.Response) error {
				if tt.header != "" {
					resp.Header.Set(tt.header, tt.value)
				}
				return spoil(n, resp)
			})
			o, err := s.Head(bucket, "run/x")
			if err != nil {
				t.Fatal(err)
			}
			read := func() ([]byte, error) {
				src, err := s.Open(bucket, o)
				if err != nil {
					t.Fatal(err)
				}
				defer src.Close()
				AnnounceFullRead(src)
				got := make([]byte, tt.size)
				_, err = io.ReadFull(io.NewSectionReader(src, 0, src.Size()), got)
				if _, again := src.ReadAt(make([]byte, 1), int64(tt.size-1)); (err == nil) != (again == nil) {
					t.Errorf("read again: %v", again)
				}
				return got, err
			}
			got, err := read()
			sum := md5.Sum(data)
			if tt.isWrong {
				if !IsTransport(err) || !strings.Contains(err.Error(), "cannot read run/x: the received bytes differ from the object: the MD5 of the received data is ") ||
					!strings.Contains(err.Error(), ", the ETag of the object "+hex.EncodeToString(sum[:])) {
					t.Errorf("error %v", err)
				}
				f.after.set(nil)
				got, err = read()
			}
			if isSame := bytes.Equal(got, data); err != nil || isSame == (tt.flipped > 0 && !tt.isWrong && !(tt.flipped == 1 && (tt.isWhole || tt.size == 1000))) {
				t.Errorf("the bytes are right: %v, error %v", isSame, err)
			}
		})
	}
	f := newFaults(t)
	s, bucket, data := f.begin(t, headSize+3*minBlock, smallBlocks)
	f.after.set(flip(1))
	src := s.mustOpen(t, bucket, "run/x")
	for _, at := range []int64{headSize + minBlock, headSize, 0, headSize + 2*minBlock} { // not in order
		if _, err := src.ReadAt(make([]byte, minBlock), at); err != nil {
			t.Errorf("at %d of %d: %v", at, len(data), err)
		}
	}
}

// TestKeysSaid checks that messages distinguish a wrong secret, a missing secret, and missing
// permissions.
func TestKeysSaid(t *testing.T) {
	for want, tt := range map[string]struct {
		code string
		env  map[string]string
	}{
		"access denied (403 AccessDenied) to list run/ - key AKIA..OURS from the environment":                            {"AccessDenied", testKeys},
		"the secret is not that of the key (403 SignatureDoesNotMatch) to list run/ - key AKIA..OURS":                    {"SignatureDoesNotMatch", testKeys},
		"AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not: access denied (403 AccessDenied) to list run/":          {"AccessDenied", map[string]string{"AWS_ACCESS_KEY_ID": "AKIATESTKEYOFOURS"}},
		"no key found (AWS_ACCESS_KEY_ID, AWS_PROFILE): access denied (403 AccessDenied) to list run/; endpoint http://": {"AccessDenied", nil},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusForbidden, tt.code) }))
		s := testServer{"refuses", srv.URL, environment(tt.env)}.connect(t)
		err := second(s.List("bucket", "run/", false))
		srv.Close()
		if err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestRetryable checks which network errors are retried.
func TestRetryable(t *testing.T) {
	t.Parallel()
	for want, list := range map[bool][]error{
		true: {
			io.ErrUnexpectedEOF, stallError{errors.New("nothing came"), time.Second}, context.DeadlineExceeded, &net.OpError{Op: "dial", Err: errors.New("connection refused")},
			&net.DNSError{Err: "server misbehaving", IsTemporary: true}, &statusError{status: 503}, &statusError{status: 429},
			&statusError{status: 200, code: "InternalError"}, minio.ErrorResponse{StatusCode: 200, Code: "SlowDown"},
		},
		false: {
			&net.DNSError{Err: "no such host", IsNotFound: true}, &tls.CertificateVerificationError{Err: errors.New("x")}, errChanged, errBadAnswer,
			&statusError{status: 403}, &statusError{status: 501}, minio.ErrorResponse{StatusCode: 400, Code: "InvalidBucketName"},
			errors.New("http: server gave HTTP response to HTTPS client"),
		},
	} {
		for _, err := range list {
			if got := isRetryable(fmt.Errorf("wrapped: %w", err)); got != want {
				t.Errorf("%v: %v, want %v", err, got, want)
			}
		}
	}
}
