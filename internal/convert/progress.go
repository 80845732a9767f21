package convert

import (
	"sync"

	"dumptool/internal/batch"
)

// progress is that of a run in bytes of its files: of those that are done, and of
// parts of large ones that are not. The bar of a run of one large file moves too.
type progress struct {
	observe func(batch.Event) // nil for nobody

	mu    sync.Mutex
	event batch.Event
}

// newProgress returns the progress of jobs that have not begun.
func newProgress(all []Job, observe func(batch.Event)) *progress {
	p := &progress{observe: observe}
	for i := range all {
		p.event.TotalCost += all[i].Size
	}
	return p
}

// job hears of the files that are done.
func (p *progress) job(e batch.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.event.Done, p.event.Total = e.Done, e.Total
	p.show()
}

func (p *progress) show() {
	if p.observe != nil {
		p.observe(p.event)
	}
}

// fileProgress is that of one file.
type fileProgress struct {
	*progress
	left int64 // bytes that are not done
}

// add reports bytes of a file that is not done yet.
func (f *fileProgress) add(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	bytes = min(bytes, f.left)
	f.left -= bytes
	f.event.DoneCost += bytes
	f.show()
}

// finish counts what is left of a file; its job is reported next.
func (f *fileProgress) finish() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.event.DoneCost += f.left
	f.left = 0
}
