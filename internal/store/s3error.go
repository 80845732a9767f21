package store

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"

	"dumptool/internal/lang"
)

// explain turns the error of a request into a message for users. doing is the attempted action,
// such as "list run7/".
func (s *s3) explain(doing string, err error) error {
	message := s.describeError(doing, err)
	if err != nil && isTransportError(err) {
		return &transportError{message}
	}
	return message
}

func (s *s3) describeError(doing string, err error) error {
	answer := statusOf(err)
	switch {
	case err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, errChanged) || errors.Is(err, errBadAnswer):
		return err
	case answer == nil:
		return lang.Errorf("cannot %s: %w; endpoint %s", doing, networkCause(err), s.describeServer())
	case answer.code == "NoSuchBucket":
		return lang.Errorf("no such bucket; endpoint %s%w", s.describeServer(), silentError{answer})
	case answer.status == http.StatusNotFound && (answer.code == "NoSuchKey" || answer.code == ""):
		return lang.Errorf("no such object%w", silentError{answer})
	case answer.status == http.StatusNotFound:
		return answer
	case errors.Is(answer, fs.ErrPermission) && wrongKey[answer.code] != "":
		return lang.Errorf("%s (%w) to %s - %s, endpoint %s", wrongKey[answer.code], answer, doing, s.describeKey(), s.describeServer())
	case errors.Is(answer, fs.ErrPermission) && !s.set.NoSign && !s.keys.hasKey():
		return lang.Errorf("%s: access denied (%w) to %s; endpoint %s", s.describeKey(), answer, doing, s.describeServer())
	case errors.Is(answer, fs.ErrPermission):
		return lang.Errorf("access denied (%w) to %s - %s, endpoint %s", answer, doing, s.describeKey(), s.describeServer())
	case answer.region != "" && answer.region != s.set.Region:
		return lang.Errorf("cannot %s: %w: the bucket is in region %s, not %s (--s3-region)", doing, answer, answer.region, s.set.Region)
	case answer.message != "":
		return lang.Errorf("cannot %s: %w: %s", doing, answer, strings.ToValidUTF8(answer.message, "?"))
	}
	return lang.Errorf("cannot %s: %w; endpoint %s", doing, answer, s.describeServer())
}

// wrongKey explains error codes about keys.
var wrongKey = map[string]string{
	"SignatureDoesNotMatch": "the secret is not that of the key",
	"InvalidAccessKeyId":    "the key is not known there",
	"ExpiredToken":          "the session token has expired",
	"InvalidToken":          "the session token is not valid",
}

// networkCause strips the URL of the request from a network error: the message has the endpoint and the
// path of the object already.
func networkCause(err error) error {
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Err
	}
	return err
}

// transportError is an error of the connection to the store, not of its contents.
type transportError struct{ error }

// Unwrap returns the error.
func (e *transportError) Unwrap() error { return e.error }

// IsTransport reports whether an error is about the connection to object storage, not about its
// contents: no answer, too busy, or access refused. The same request may succeed later.
func IsTransport(err error) bool {
	_, ok := errors.AsType[*transportError](err)
	return ok
}

// isTransportError is IsTransport for the error of a request.
func isTransportError(err error) bool {
	return isRetryable(err) || isNoHost(err) || errors.Is(err, fs.ErrPermission) || statusOf(err) == nil && !isContentError(err)
}

// isContentError reports whether an error is about the contents of the store or of a response.
func isContentError(err error) bool {
	return errors.Is(err, errChanged) || errors.Is(err, errBadAnswer) || errors.Is(err, errExists)
}

// isNoHost reports whether an error means that the host name does not exist.
func isNoHost(err error) bool {
	name, ok := errors.AsType[*net.DNSError](err)
	return ok && name.IsNotFound
}

// isRetryable reports whether a request may succeed when repeated.
func isRetryable(err error) bool {
	if isContentError(err) || isNoHost(err) || errors.Is(err, errSum) {
		return false
	}
	if s := statusOf(err); s != nil {
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

// isBusy reports whether the store is too busy for a request.
func isBusy(err error) bool {
	s := statusOf(err)
	return s != nil && (s.status == http.StatusTooManyRequests || s.status == http.StatusServiceUnavailable || s.code == "SlowDown")
}

// isAway reports whether an error means that the store is down or refuses all requests; a gateway
// may answer in its place.
func isAway(err error) bool {
	if s := statusOf(err); s != nil {
		return isBusy(err) || s.status == http.StatusBadGateway || s.status == http.StatusGatewayTimeout
	}
	return isRetryable(err) || isNoHost(err)
}
