package ui

import (
	"fmt"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Progress draws the progress of one run on a terminal and does nothing
// elsewhere. Observe and Close belong to one goroutine.
type Progress struct {
	title string
	sink  *sink // nil: draw nothing

	done   atomic.Int64 // jobs, read by the drawer
	drawer *mpb.Progress
	bar    *mpb.Bar
}

// Progress returns a progress printer for a run that title names by a verb,
// such as "converting". Close it before results or a summary are printed.
func (m *Messages) Progress(title string) *Progress {
	p := &Progress{title: Escape(title)}
	if m.bars {
		p.sink = m.out
	}
	return p
}

// Observe shows that done of total jobs are done, and doneCost of totalCost. The
// bar is that of the costs, unless jobs cost nothing.
func (p *Progress) Observe(done, total int, doneCost, totalCost int64) {
	if p.sink == nil || total == 0 {
		return
	}
	current, end := int64(done), int64(total)
	if totalCost > 0 {
		current, end = doneCost, totalCost
	}
	p.done.Store(int64(done))
	if p.bar == nil {
		p.start(total, end)
	}
	p.bar.SetCurrent(current)
}

// start draws the empty bar.
func (p *Progress) start(jobs int, end int64) {
	p.drawer = mpb.New(mpb.WithOutput(p.sink.out), mpb.WithAutoRefresh())
	p.bar = p.drawer.AddBar(end,
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
			return fmt.Sprintf("%s%s %d/%d ", lineStart, p.title, p.done.Load(), jobs)
		})),
		mpb.AppendDecorators(decor.Percentage(), decor.Name(" "), decor.AverageETA(decor.ET_STYLE_GO)),
	)
	p.sink.divert(p.drawer)
}

// Close removes the bar. It may be called more than once, and without any
// event before it.
func (p *Progress) Close() {
	if p.drawer == nil {
		return
	}
	p.sink.restore(func() {
		p.bar.Abort(true)
		p.drawer.Wait()
	})
	p.drawer, p.bar, p.sink = nil, nil, nil
}
