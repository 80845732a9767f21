package store

import (
	"bytes"
	"cmp"
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
	stall time.Duration     // without any byte, after which a request that reads has failed
}

// RoundTrip implements http.RoundTripper.
func (a answers) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	switch req.Method {
	case http.MethodGet, http.MethodHead:
		resp, err = watched(a.usual, req, a.stall)
	case http.MethodPost:
		resp, err = a.slow.RoundTrip(req)
	default:
		resp, err = a.usual.RoundTrip(req)
	}
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

// stallError ends a request that brings nothing.
type stallError struct {
	error
	after time.Duration
}

// stalledFor is how long nothing has come before a request was ended for it, 0 for other errors.
func stalledFor(err error) time.Duration {
	if s, ok := errors.AsType[stallError](err); ok {
		return s.after
	}
	return 0
}

// watched makes a request, and ends it when no byte has come for some time.
func watched(transport http.RoundTripper, req *http.Request, stall time.Duration) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	end := time.AfterFunc(stall, func() { cancel(stallError{lang.Errorf("no byte came for %v", stall), stall}) })
	resp, err := transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		end.Stop()
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	resp.Body = &watchedBody{resp.Body, ctx, cancel, end, stall}
	return resp, nil
}

// watchedBody is the body of such a request.
type watchedBody struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	end    *time.Timer
	stall  time.Duration
}

// Read implements io.Reader. The time in which nobody reads does not count.
func (b *watchedBody) Read(p []byte) (int, error) {
	b.end.Reset(b.stall)
	n, err := b.ReadCloser.Read(p)
	b.end.Stop()
	if err != nil && context.Cause(b.ctx) != nil {
		err = context.Cause(b.ctx)
	}
	return n, err
}

// Close implements io.Closer.
func (b *watchedBody) Close() error {
	b.end.Stop()
	defer b.cancel(nil)
	return b.ReadCloser.Close()
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
	if ofContent(err) || isNoHost(err) || errors.Is(err, errSum) {
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
// begin again. A try counts while the store serves others: when it has answered a request
// that began after the last failure of this one. What was on its way before tells nothing,
// since connections may live on while a store goes away.
func (s *s3) retry(do func() (progress bool, err error)) error {
	wait := s.set.firstWait
	var since, last time.Time // of the first failure in a row, and of the last one
	for tries := 0; ; {
		probes, err := s.health.enter(s.set.Context)
		if err != nil {
			return err
		}
		begun := time.Now()
		progress, err := do()
		if err == nil {
			s.health.answered(probes, begun)
			return nil
		}
		down, served := s.health.failed(probes, progress, begun, err)
		switch {
		case progress || last.IsZero():
			wait, tries, since = s.set.firstWait, 1, time.Now().Add(-stalledFor(err))
		case served.After(last) && !down && !isBusy(err):
			tries++
		}
		last = time.Now()
		switch {
		case !retryable(err) && !(isNoHost(err) && !served.IsZero()), // a name may be gone while its server is started again
			time.Since(since) >= s.set.RetryTime,
			tries >= maxTries:
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
	set   *S3Settings
	where func() string

	mu       sync.Mutex
	served   time.Time // the latest begin of a request that was answered whole
	failures int       // in a row of any requests
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
		var next <-chan time.Time
		if !h.probing {
			next = time.After(left)
		}
		h.mu.Unlock()
		if lost {
			return false, last
		}
		select {
		case <-changed:
		case <-next:
		case <-ctx.Done():
			return false, last
		}
	}
}

// answered notes that a request that began at some time has its whole answer.
func (h *health) answered(probes bool, begun time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended(probes)
	if begun.After(h.served) {
		h.served = begun
	}
	h.answers(begun)
}

// failed notes that a request that began at some time has failed. It reports whether the
// store is down, and when the latest of the requests began that were answered.
func (h *health) failed(probes, progress bool, begun time.Time, err error) (down bool, served time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended(probes)
	switch {
	case !isAway(err):
		h.answers(begun)
	case !progress: // a body that is cut says neither that the store is there nor that it is not
		h.missed(probes, err)
	}
	return h.down, h.served
}

// ended lets the next one probe, and those that wait look at how this one ended.
func (h *health) ended(probes bool) {
	if probes {
		h.probing = false
		h.wake()
	}
}

// wake makes those that wait look again.
func (h *health) wake() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// answers notes that the store has said something to a request. While it is down an answer
// counts if its request began since.
func (h *health) answers(begun time.Time) {
	if h.down {
		if begun.Before(h.since) {
			return
		}
		h.wake()
		if h.told && h.set.Note != nil {
			h.set.Note(lang.Sayf("the store answers again after %s", "存储在 %s后恢复", duration(time.Since(h.since))))
		}
	}
	h.failures, h.down, h.lost, h.told = 0, false, false, false
}

// missed notes that the store has not answered.
func (h *health) missed(probes bool, err error) {
	if h.failures++; h.failures == 1 {
		h.since = time.Now()
	}
	h.last = err
	if !h.down && h.failures >= maxFailures {
		h.down, h.wait = true, h.set.firstWait
		h.next = time.Now().Add(h.wait)
	}
	if probes {
		h.probed(err)
	}
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
			h.wake()
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
