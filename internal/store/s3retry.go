package store

import (
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dumptool/internal/lang"
)

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
