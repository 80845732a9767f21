package store

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"

	"dumptool/internal/lang"
)

// statusError is an answer of the server that is not the one asked for.
type statusError struct {
	status     int    // of HTTP
	code       string // of S3, such as NoSuchKey; empty where there is no body
	message    string
	region     string        // of the bucket, where the server says so
	retryAfter time.Duration // that the server asks for, 0 for none
}

// Error implements error. The server's own words are left out: the client library takes
// errors with some words for others.
func (e *statusError) Error() string {
	code := e.code
	if code == "" {
		code = http.StatusText(e.status)
	}
	return fmt.Sprintf("%d %s", e.status, code)
}

// Is makes errors.Is know what is missing and what is refused.
func (e *statusError) Is(target error) bool {
	switch e.status {
	case http.StatusNotFound:
		return target == fs.ErrNotExist
	case http.StatusUnauthorized, http.StatusForbidden:
		return target == fs.ErrPermission
	}
	return false
}

// maxErrorBody is how much of an error's text is read.
const maxErrorBody = 64 << 10

// answers is an http.RoundTripper that turns answers of failure into errors, so that
// nothing of them is lost on their way through the client library.
type answers struct {
	usual http.RoundTripper
	slow  http.RoundTripper // for requests with which servers take their time
}

// RoundTrip implements http.RoundTripper.
func (a answers) RoundTrip(req *http.Request) (*http.Response, error) {
	transport := a.usual
	if req.Method == http.MethodPost {
		transport = a.slow
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 300 {
		if req.Header.Get("Range") == "" { // only requests for data have one
			resp.Body = &document{ReadCloser: resp.Body}
		}
		return resp, nil
	}
	defer resp.Body.Close()
	failed := &statusError{status: resp.StatusCode, region: resp.Header.Get("X-Amz-Bucket-Region"), retryAfter: retryAfter(resp.Header)}
	var body struct {
		XMLName               xml.Name `xml:"Error"`
		Code, Message, Region string
	}
	if req.Method == http.MethodHead {
		failed.code = headCodes[failed.status]
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // what it says is no more than a help
	if xml.Unmarshal(text, &body) == nil {
		failed.code, failed.message = body.Code, strings.TrimSpace(body.Message)
		if failed.region == "" {
			failed.region = body.Region
		}
	}
	return nil, failed
}

// Limits of a document: a page of a thousand long keys, each letter of which is escaped,
// has a quarter of the bytes. The elements are limited because one of ten bytes becomes
// hundreds in memory.
const (
	maxDocument = 16 << 20 // bytes
	maxTags     = 100_000  // of a page of a thousand keys: 25,000
)

// document is the body of an answer that is no data of an object: a listing, or what
// became of an upload. One that is too long is an error, whatever the server says of its
// length.
type document struct {
	io.ReadCloser
	bytes, tags int
}

// Read implements io.Reader.
func (d *document) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	d.bytes += n
	d.tags += bytes.Count(p[:n], []byte("<"))
	switch {
	case d.bytes > maxDocument:
		return 0, lang.Errorf("%w: more than %d MiB where a listing or a message was expected", errBadAnswer, maxDocument>>20)
	case d.tags > maxTags:
		return 0, lang.Errorf("%w: more than %d tags where a listing or a message was expected", errBadAnswer, maxTags)
	}
	return n, err
}

// headCodes are the usual codes of answers to HEAD, which have no body.
var headCodes = map[int]string{http.StatusForbidden: "AccessDenied", http.StatusNotFound: "NoSuchKey"}

// retryAfter is how long the server wants us to wait; of a date nothing is made.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

// status finds the answer of the server in an error, nil for other errors.
func status(err error) *statusError {
	if s, ok := errors.AsType[*statusError](err); ok {
		return s
	}
	// An answer of success with an error in its body, or arguments that no server takes.
	if r, ok := errors.AsType[minio.ErrorResponse](err); ok {
		return &statusError{status: r.StatusCode, code: r.Code, message: r.Message}
	}
	return nil
}

// explain turns the error of a request into one for people. doing says what it was for,
// such as "list run7/".
func (s *s3) explain(doing string, err error) error {
	said := s.inWords(doing, err)
	if err != nil && ofTransport(err) {
		return &transportError{said}
	}
	return said
}

func (s *s3) inWords(doing string, err error) error {
	answer := status(err)
	switch {
	case err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, errChanged) || errors.Is(err, errBadAnswer):
		return err
	case answer == nil:
		return lang.Errorf("cannot %s: %w; endpoint %s", doing, plain(err), s.where())
	case answer.code == "NoSuchBucket":
		return lang.Errorf("no such bucket; endpoint %s%w", s.where(), hidden{answer})
	case answer.status == http.StatusNotFound && (answer.code == "NoSuchKey" || answer.code == ""):
		return lang.Errorf("no such object%w", hidden{answer})
	case answer.status == http.StatusNotFound:
		return answer
	case errors.Is(answer, fs.ErrPermission) && wrongKey[answer.code] != "":
		return lang.Errorf("%s (%w) to %s - %s, endpoint %s", wrongKey[answer.code], answer, doing, s.key(), s.where())
	case errors.Is(answer, fs.ErrPermission) && !s.set.NoSign && !s.keys.found():
		return lang.Errorf("%s: access denied (%w) to %s; endpoint %s", s.key(), answer, doing, s.where())
	case errors.Is(answer, fs.ErrPermission):
		return lang.Errorf("access denied (%w) to %s - %s, endpoint %s", answer, doing, s.key(), s.where())
	case answer.region != "" && answer.region != s.set.Region:
		return lang.Errorf("cannot %s: %w: the bucket is in region %s, not %s (--s3-region)", doing, answer, answer.region, s.set.Region)
	case answer.message != "":
		return lang.Errorf("cannot %s: %w: %s", doing, answer, strings.ToValidUTF8(answer.message, "?"))
	}
	return lang.Errorf("cannot %s: %w; endpoint %s", doing, answer, s.where())
}

// wrongKey says what is wrong with keys, by the codes of answers.
var wrongKey = map[string]string{
	"SignatureDoesNotMatch": "the secret is not that of the key",
	"InvalidAccessKeyId":    "the key is not known there",
	"ExpiredToken":          "the session token has expired",
	"InvalidToken":          "the session token is not valid",
}

// plain is what an error of the network is about, without the address of the request:
// the message has the endpoint, and the path of the object.
func plain(err error) error {
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Err
	}
	return err
}

// transportError is an error of the way to the store, not of what lies there.
type transportError struct{ error }

// Unwrap returns the error.
func (e *transportError) Unwrap() error { return e.error }

// IsTransport reports whether an error is one of the way to object storage, not of what
// lies there: the store did not answer, was too busy, or let nobody in. The same request
// may succeed another time.
func IsTransport(err error) bool {
	_, ok := errors.AsType[*transportError](err)
	return ok
}

// ofTransport is IsTransport for the error of a request.
func ofTransport(err error) bool {
	return retryable(err) || isNoHost(err) || errors.Is(err, fs.ErrPermission) || status(err) == nil && !ofContent(err)
}

// ofContent reports whether an error is about what the store has sent, or has.
func ofContent(err error) bool {
	return errors.Is(err, errChanged) || errors.Is(err, errBadAnswer) || errors.Is(err, errExists)
}

// isNoHost reports whether an error is that of a name that no server has.
func isNoHost(err error) bool {
	name, ok := errors.AsType[*net.DNSError](err)
	return ok && name.IsNotFound
}

// retryable reports whether a request may succeed when it is tried again.
func retryable(err error) bool {
	if ofContent(err) || isNoHost(err) {
		return false
	}
	if s := status(err); s != nil {
		switch s.status {
		case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		switch s.code {
		case "SlowDown", "InternalError", "RequestTimeout", "ServiceUnavailable":
			return true
		}
		return false
	}
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted {
		return false
	}
	return !strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// isBusy reports whether the store has said that it has no time for a request.
func isBusy(err error) bool {
	s := status(err)
	return s != nil && (s.status == http.StatusTooManyRequests || s.status == http.StatusServiceUnavailable || s.code == "SlowDown")
}

// The first retry waits up to firstWait, each other one up to twice as long as the one
// before, and none longer than maxWait, but when the server asks for it.
const (
	firstWait     = 100 * time.Millisecond
	maxWait       = 20 * time.Second
	maxRetryAfter = time.Minute
	maxRetryTime  = 24 * time.Hour
	// maxTries is how often a request is tried while the store serves others and is not
	// busy: it is the object that cannot be had.
	maxTries = 10
)

// isAway reports whether an error says that the store is not there, or serves nobody: a
// gateway may say it for the store.
func isAway(err error) bool {
	if s := status(err); s != nil {
		return isBusy(err) || s.status == http.StatusBadGateway || s.status == http.StatusGatewayTimeout
	}
	return retryable(err) || isNoHost(err)
}

// retry calls do until it works, fails in a way that trying again does not mend, or has
// failed for too long. do reports whether it came nearer to its end, which makes the time
// begin again.
func (s *s3) retry(do func() (progress bool, err error)) error {
	wait := s.set.firstWait
	var since time.Time // of the first failure in a row
	var others int64    // requests that were answered until then
	for tries := 1; ; tries++ {
		probes, err := s.health.enter(s.set.Context)
		if err != nil {
			return err
		}
		progress, err := do()
		down := s.health.note(probes, progress, err)
		answered := s.health.answered.Load()
		switch {
		case err == nil:
			return nil
		case progress || since.IsZero():
			wait, tries, since, others = s.set.firstWait, 1, time.Now(), answered
		}
		switch {
		case !retryable(err) && !(isNoHost(err) && answered > 0), // a name may be gone while its server is started again
			time.Since(since) >= s.set.RetryTime,
			tries >= maxTries && answered > others && !isBusy(err):
			return err
		case down: // the next try waits for the store
			continue
		}
		pause := time.Duration(rand.Int64N(int64(wait) + 1))
		if answer := status(err); answer != nil {
			pause = max(pause, answer.retryAfter)
		}
		wait = min(2*wait, maxWait)
		select {
		case <-time.After(min(pause, s.set.RetryTime)):
		case <-s.set.Context.Done():
			return err
		}
	}
}

// request is retry for requests that give all or nothing. They end at the latest after
// timeout; a cancelled run lets them end, so that what it has begun is whole or absent.
func (s *s3) request(timeout time.Duration, do func(ctx context.Context) error) error {
	return s.retry(func() (bool, error) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		return false, do(ctx)
	})
}

// health knows whether the store answers at all. While it does not, no request is made but
// one at a time that finds out; the others wait.
type health struct {
	set      *S3Settings
	where    func() string
	answered atomic.Int64 // requests

	mu       sync.Mutex
	failures int // in a row of any requests
	since    time.Time
	last     error
	down     bool
	lost     bool // it was down for so long that nobody waits any more
	told     bool
	probing  bool
	next     time.Time // of the next probe
	wait     time.Duration
	changed  chan struct{} // is closed when those that wait have to look again
}

const (
	// maxFailures is how many requests in a row fail before the store is taken to be down.
	maxFailures = 5
	// maxProbe is the longest time between two probes.
	maxProbe = 3 * time.Second
	// lostProbe is that time when nobody waits any more.
	lostProbe = 10 * time.Second
	// toldAfter is how long a store is down before the user hears of it, in first waits.
	toldAfter = 10
)

// enter waits while the store is down, and reports whether the request that follows is the
// one that finds out. It returns the last error of the store when nobody waits any more.
func (h *health) enter(ctx context.Context) (probes bool, err error) {
	for {
		h.mu.Lock()
		if !h.down {
			h.mu.Unlock()
			return false, nil
		}
		left := time.Until(h.next)
		if left <= 0 && !h.probing {
			h.probing = true
			h.mu.Unlock()
			return true, nil
		}
		lost, last, changed := h.lost, h.last, h.changed
		h.mu.Unlock()
		if lost {
			return false, last
		}
		select {
		case <-changed:
		case <-time.After(max(left, time.Millisecond)):
		case <-ctx.Done():
			return false, last
		}
	}
}

// note takes down how a request ended, and reports whether the store is down.
func (h *health) note(probes, progress bool, err error) bool {
	failed := err != nil && !progress && isAway(err)
	if err == nil || progress {
		h.answered.Add(1)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if probes {
		h.probing = false
	}
	if !failed {
		h.up()
		return false
	}
	if h.failures++; h.failures == 1 {
		h.since = time.Now()
	}
	h.last = err
	if !h.down && h.failures >= maxFailures {
		h.down, h.wait, h.changed = true, h.set.firstWait, make(chan struct{})
		h.next = time.Now().Add(h.wait)
	}
	if probes {
		h.probed(err)
	}
	return h.down
}

// up says that the store answers.
func (h *health) up() {
	if h.down {
		close(h.changed)
		if h.told && h.set.Note != nil {
			h.set.Note(lang.Sayf("the store answers again after %s", "存储在 %s后恢复", duration(time.Since(h.since))))
		}
	}
	h.failures, h.down, h.lost, h.told = 0, false, false, false
}

// probed plans the next probe after one that has failed.
func (h *health) probed(err error) {
	h.wait = min(2*h.wait, maxProbe)
	pause := h.wait
	if answer := status(err); answer != nil {
		pause = max(pause, answer.retryAfter)
	}
	now := time.Now()
	left := h.since.Add(h.set.RetryTime).Sub(now)
	if left <= 0 {
		if !h.lost {
			h.lost = true
			close(h.changed)
			h.changed = make(chan struct{})
		}
		h.next = now.Add(min(lostProbe, 100*h.set.firstWait))
		return
	}
	h.next = now.Add(min(pause, left))
	if !h.told && now.Sub(h.since) >= toldAfter*h.set.firstWait {
		h.told = true
		if h.set.Note != nil {
			h.set.Note(lang.Sayf("store down since %s, %s left: %v; endpoint %s", "存储自 %s 起无应答，剩余等待时间 %s：%v；端点 %s",
				h.since.Format(time.TimeOnly), duration(left), plain(err), h.where()))
		}
	}
}

// duration is a time in words: 12 s, 4 min.
func duration(d time.Duration) lang.Text {
	if d < 2*time.Minute {
		return lang.CountText(int(d.Round(time.Second)/time.Second), "second", "秒")
	}
	return lang.CountText(int(d.Round(time.Minute)/time.Minute), "minute", "分钟")
}
