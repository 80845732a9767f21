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

// isAway reports whether an error says that the store is not there, or serves nobody: a
// gateway may say it for the store.
func isAway(err error) bool {
	if s := status(err); s != nil {
		return isBusy(err) || s.status == http.StatusBadGateway || s.status == http.StatusGatewayTimeout
	}
	return retryable(err) || isNoHost(err)
}
