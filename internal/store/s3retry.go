package store

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"dumptool/internal/lang"
)

// retry calls do until it succeeds, fails for good, or has failed for too long. do reports whether
// it made progress, which restarts the time. A failed try counts only if the store has answered a
// request that began after the last failure of this request. Earlier requests prove nothing:
// connections may survive while a store goes down.
func (s *s3) retry(do func() (progress bool, err error)) error {
	wait := s.set.firstWait
	var since, last time.Time // the first of consecutive failures, and the last one
	for tries := 0; ; {
		probes, err := s.health.waitUntilUp(s.set.Context)
		if err != nil {
			return err
		}
		begun := time.Now()
		progress, err := do()
		if err == nil {
			s.health.noteSuccess(probes, begun)
			return nil
		}
		down, served := s.health.noteFailure(probes, progress, begun, err)
		switch {
		case progress || last.IsZero():
			wait, tries, since = s.set.firstWait, 1, time.Now().Add(-stallTime(err))
		case served.After(last) && !down && !isBusy(err):
			tries++
		}
		last = time.Now()
		switch {
		case !isRetryable(err) && !(isNoHost(err) && !served.IsZero()), // a host name may vanish while its server restarts
			time.Since(since) >= s.set.RetryTime,
			tries >= maxTries:
			return err
		case down: // the next try waits for the store
			continue
		}
		pause := time.Duration(rand.Int64N(int64(wait) + 1))
		if answer := statusOf(err); answer != nil {
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

// retryRequest is retry for requests that cannot be continued, each with a timeout. Cancellation of the
// run does not stop them, so that their effect is complete or absent.
func (s *s3) retryRequest(timeout time.Duration, do func(ctx context.Context) error) error {
	return s.retry(func() (bool, error) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		return false, do(ctx)
	})
}

// Exponential backoff: the first retry waits up to firstWait, each further one up to twice as long,
// at most maxWait, unless the server asks for more.
const (
	firstWait     = 100 * time.Millisecond
	maxWait       = 20 * time.Second
	maxRetryAfter = time.Minute
	maxRetryTime  = 24 * time.Hour
	// maxTries bounds the tries of a request while the store serves others and is not busy: then
	// the object is the problem.
	maxTries = 10
)

// health tracks whether the store answers at all. While it is down, one request at a time probes it
// and all others wait.
type health struct {
	set   *S3Settings
	where func() string

	mu         sync.Mutex
	served     time.Time // latest start of a request that was answered completely
	failures   int       // consecutive failures of any requests
	since      time.Time
	last       error
	isDown     bool
	isLost     bool // down for so long that requests fail at once
	isReported bool
	isProbing  bool
	next       time.Time // time of the next probe
	wait       time.Duration
	changed    chan struct{} // closed to wake waiting requests
}

const (
	// maxFailures is the number of consecutive failures after which the store counts as down.
	maxFailures = 5
	// maxProbe is the longest interval between probes.
	maxProbe = 3 * time.Second
	// lostProbe is the interval between probes once requests fail at once.
	lostProbe = 10 * time.Second
	// noticeAfter is the downtime before the user is told, in units of firstWait.
	noticeAfter = 10
)

// waitUntilUp waits while the store is down, and reports whether the caller's request is the probe. Once
// requests fail at once it returns the last error of the store.
func (h *health) waitUntilUp(ctx context.Context) (probes bool, err error) {
	for {
		h.mu.Lock()
		if !h.isDown {
			h.mu.Unlock()
			return false, nil
		}
		left := time.Until(h.next)
		if left <= 0 && !h.isProbing {
			h.isProbing = true
			h.mu.Unlock()
			return true, nil
		}
		lost, last, changed := h.isLost, h.last, h.changed
		var next <-chan time.Time
		if !h.isProbing {
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

// noteSuccess records a complete answer to a request that began at some time.
func (h *health) noteSuccess(probes bool, begun time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endProbe(probes)
	if begun.After(h.served) {
		h.served = begun
	}
	h.noteAnswer(begun)
}

// noteFailure records the failure of a request that began at some time. It returns whether the store is
// down, and the latest start of an answered request.
func (h *health) noteFailure(probes, progress bool, begun time.Time, err error) (down bool, served time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endProbe(probes)
	switch {
	case !isAway(err):
		h.noteAnswer(begun)
	case !progress: // a truncated body proves neither that the store is up nor that it is down
		h.noteMiss(probes, err)
	}
	return h.isDown, h.served
}

// endProbe allows the next probe and wakes waiting requests.
func (h *health) endProbe(probes bool) {
	if probes {
		h.isProbing = false
		h.wakeWaiting()
	}
}

// wakeWaiting wakes all waiting requests.
func (h *health) wakeWaiting() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// noteAnswer records that the store has responded. While the store is down, only responses to
// requests that began since count.
func (h *health) noteAnswer(begun time.Time) {
	if h.isDown {
		if begun.Before(h.since) {
			return
		}
		h.wakeWaiting()
		if h.isReported && h.set.Note != nil {
			h.set.Note(lang.Say("object storage answers again after %s", formatDuration(time.Since(h.since))))
		}
	}
	h.failures, h.isDown, h.isLost, h.isReported = 0, false, false, false
}

// noteMiss records that the store has not responded.
func (h *health) noteMiss(probes bool, err error) {
	if h.failures++; h.failures == 1 {
		h.since = time.Now()
	}
	h.last = err
	if !h.isDown && h.failures >= maxFailures {
		h.isDown, h.wait = true, h.set.firstWait
		h.next = time.Now().Add(h.wait)
	}
	if probes {
		h.scheduleProbe(err)
	}
}

// scheduleProbe schedules the next probe after a failed one.
func (h *health) scheduleProbe(err error) {
	h.wait = min(2*h.wait, maxProbe)
	pause := h.wait
	if answer := statusOf(err); answer != nil {
		pause = max(pause, answer.retryAfter)
	}
	now := time.Now()
	left := h.since.Add(h.set.RetryTime).Sub(now)
	if left <= 0 {
		if !h.isLost {
			h.isLost = true
			h.wakeWaiting()
		}
		h.next = now.Add(min(lostProbe, 100*h.set.firstWait))
		return
	}
	h.next = now.Add(min(pause, left))
	if !h.isReported && now.Sub(h.since) >= noticeAfter*h.set.firstWait {
		h.isReported = true
		if h.set.Note != nil {
			h.set.Note(lang.Say("object storage does not answer since %s, retrying for %s more: %v; endpoint %s",
				h.since.Format(time.TimeOnly), formatDuration(left), networkCause(err), h.where()))
		}
	}
}

// formatDuration formats a duration in words: 12 s, 4 min.
func formatDuration(d time.Duration) lang.Text {
	if d < 2*time.Minute {
		return lang.CountText(int(d.Round(time.Second)/time.Second), "second")
	}
	return lang.CountText(int(d.Round(time.Minute)/time.Minute), "minute")
}
