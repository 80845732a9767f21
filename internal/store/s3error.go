package store

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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
