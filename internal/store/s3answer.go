package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"dumptool/internal/lang"
)

// statusTransport is an http.RoundTripper that turns answers of failure into errors, so that
// nothing of them is lost on their way through the client library.
type statusTransport struct {
	usual http.RoundTripper
	slow  http.RoundTripper // for requests with which servers take their time
	stall time.Duration     // without any byte, after which a request that reads has failed
}

// RoundTrip implements http.RoundTripper.
func (a statusTransport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
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

// maxErrorBody is how much of an error's text is read.
const maxErrorBody = 64 << 10

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
