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

// statusTransport is an http.RoundTripper that turns failure responses into errors, so that the
// client library loses none of their data.
type statusTransport struct {
	usual http.RoundTripper
	slow  http.RoundTripper // for requests that servers take long to answer
	stall time.Duration     // a reading request fails after this time without any byte
}

// RoundTrip implements http.RoundTripper.
func (a statusTransport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	switch req.Method {
	case http.MethodGet, http.MethodHead:
		resp, err = doWatched(a.usual, req, a.stall)
	case http.MethodPost:
		resp, err = a.slow.RoundTrip(req)
	default:
		resp, err = a.usual.RoundTrip(req)
	}
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 300 {
		if req.Header.Get("Range") == "" { // only requests for data have a Range
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
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // the body only improves the message
	if xml.Unmarshal(text, &body) == nil {
		failed.code, failed.message = body.Code, strings.TrimSpace(body.Message)
		if failed.region == "" {
			failed.region = body.Region
		}
	}
	return nil, failed
}

// statusError is a failure response of the server.
type statusError struct {
	status     int    // HTTP status
	code       string // S3 error code, such as NoSuchKey; empty without a body
	message    string
	region     string        // region of the bucket if the server names it
	retryAfter time.Duration // wait that the server asks for, 0 for none
}

// Error implements error. It leaves out the message of the server: the client library interprets
// some words of messages.
func (e *statusError) Error() string {
	code := e.code
	if code == "" {
		code = http.StatusText(e.status)
	}
	return fmt.Sprintf("%d %s", e.status, code)
}

// Is maps missing objects to fs.ErrNotExist and refused requests to fs.ErrPermission.
func (e *statusError) Is(target error) bool {
	switch e.status {
	case http.StatusNotFound:
		return target == fs.ErrNotExist
	case http.StatusUnauthorized, http.StatusForbidden:
		return target == fs.ErrPermission
	}
	return false
}

// statusOf returns the failure response in an error, nil for other errors.
func statusOf(err error) *statusError {
	if s, ok := errors.AsType[*statusError](err); ok {
		return s
	}
	// A success response with an error in its body, or invalid arguments.
	if r, ok := errors.AsType[minio.ErrorResponse](err); ok {
		return &statusError{status: r.StatusCode, code: r.Code, message: r.Message}
	}
	return nil
}

// maxErrorBody bounds the bytes read of an error message.
const maxErrorBody = 64 << 10

// headCodes are the usual error codes for HEAD, whose responses have no body.
var headCodes = map[int]string{http.StatusForbidden: "AccessDenied", http.StatusNotFound: "NoSuchKey"}

// retryAfter returns the wait that the server asks for in seconds; dates are ignored.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

// stallError is the error of a request that was canceled because no data came.
type stallError struct {
	error
	after time.Duration
}

// stallTime returns the time without data after which a request was canceled, 0 for other errors.
func stallTime(err error) time.Duration {
	if s, ok := errors.AsType[stallError](err); ok {
		return s.after
	}
	return 0
}

// doWatched makes a request and cancels it if no byte comes for some time.
func doWatched(transport http.RoundTripper, req *http.Request, stall time.Duration) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	end := time.AfterFunc(stall, func() { cancel(stallError{lang.Errorf("no data received for %v", stall), stall}) })
	resp, err := transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		end.Stop()
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	resp.Body = &watchedBody{resp.Body, ctx, cancel, end, stall}
	return resp, nil
}

// watchedBody is the body of a watched request.
type watchedBody struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	end    *time.Timer
	stall  time.Duration
}

// Read implements io.Reader. Time between reads does not count.
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

// Limits of a document. A page of a thousand long keys with every letter escaped takes a quarter of
// the bytes. The number of elements is limited because an element of ten bytes takes hundreds in
// memory.
const (
	maxDocument = 16 << 20 // bytes
	maxTags     = 100_000  // a page of a thousand keys has 25,000
)

// document is the body of a response without object data: a listing, or the result of an upload. A
// body longer than maxDocument is an error, whatever its Content-Length.
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
