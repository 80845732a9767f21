package store

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"dumptool/internal/lang"
)

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
	h.endProbe(probes)
	if begun.After(h.served) {
		h.served = begun
	}
	h.noteAnswer(begun)
}

// failed notes that a request that began at some time has failed. It reports whether the
// store is down, and when the latest of the requests began that were answered.
func (h *health) failed(probes, progress bool, begun time.Time, err error) (down bool, served time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endProbe(probes)
	switch {
	case !isAway(err):
		h.noteAnswer(begun)
	case !progress: // a body that is cut says neither that the store is there nor that it is not
		h.noteMiss(probes, err)
	}
	return h.down, h.served
}

// endProbe lets the next one probe, and those that wait look at how this one ended.
func (h *health) endProbe(probes bool) {
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

// noteAnswer notes that the store has said something to a request. While it is down an answer
// counts if its request began since.
func (h *health) noteAnswer(begun time.Time) {
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

// noteMiss notes that the store has not answered.
func (h *health) noteMiss(probes bool, err error) {
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
