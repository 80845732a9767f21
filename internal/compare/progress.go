package compare

import (
	"sync"

	"dumptool/internal/batch"
)

// progress is that of a run in bytes: of the pairs that are done and of the
// segments of those that are not. The bar of a run of one large pair moves too.
type progress struct {
	observe func(batch.Event) // nil for nobody

	mu       sync.Mutex
	pairs    batch.Event
	segments int64 // bytes of pairs that are not done
	shown    int64
}

// pairDone hears of the pairs that are done.
func (p *progress) pairDone(e batch.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pairs = e
	p.show()
}

// add adds bytes of a segment, or takes those of a pair back before it is done.
func (p *progress) add(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.segments += bytes
	p.show()
}

// show reports what was done; it is never less than before.
func (p *progress) show() {
	e := p.pairs
	p.shown = min(max(p.shown, e.DoneCost+p.segments), e.TotalCost)
	e.DoneCost = p.shown
	if p.observe != nil {
		p.observe(e)
	}
}
