package ui

import (
	"fmt"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"dumptool/internal/batch"
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

// Observe shows the state of a run. It is meant for batch.Options.
func (p *Progress) Observe(e batch.Event) {
	if p.sink == nil || e.Total == 0 {
		return
	}
	current, total := int64(e.Done), int64(e.Total)
	if e.TotalCost > 0 {
		// Jobs differ much in size: what they cost tells more of the time.
		current, total = e.DoneCost, e.TotalCost
	}
	p.done.Store(int64(e.Done))
	if p.bar == nil {
		p.start(e.Total, total)
	}
	p.bar.SetCurrent(current)
}

// start draws the empty bar.
func (p *Progress) start(jobs int, total int64) {
	p.drawer = mpb.New(mpb.WithOutput(p.sink.out), mpb.WithAutoRefresh())
	p.bar = p.drawer.AddBar(total,
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
			return fmt.Sprintf("%s %d/%d ", p.title, p.done.Load(), jobs)
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
