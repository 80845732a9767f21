package align

import (
	"encoding/binary"
	"sync"

	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// plans are the conversions that were worked out: a network has many tensors of few shapes,
// and for small ones a plan takes longer than what it is for.
type plans struct {
	mu    sync.RWMutex
	known map[string]planned
}

// planned is a plan, or why there is none.
type planned struct {
	plan *layout.Plan
	err  error
}

// mostPlans is how many are kept. Real networks need some hundreds.
const mostPlans = 1024

// of is layout.NewPlan. Who gets a plan must not change it.
func (p *plans) of(r *layout.Request) (*layout.Plan, error) {
	var room [256]byte
	key := appendRequest(room[:0], r)
	p.mu.RLock()
	found, ok := p.known[string(key)]
	p.mu.RUnlock()
	if ok {
		return found.plan, found.err
	}
	found.plan, found.err = layout.NewPlan(*r)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= mostPlans {
		p.known = make(map[string]planned)
	}
	p.known[string(key)] = found
	return found.plan, found.err
}

// appendRequest appends all of a request, so that two are equal where their bytes are.
func appendRequest(b []byte, r *layout.Request) []byte {
	for _, n := range []int64{int64(r.DType), int64(r.Source), r.C0, r.Groups, int64(r.Target), r.TargetC0, r.HiddenSize, r.InputSize} {
		b = binary.AppendVarint(b, n)
	}
	for _, f := range []*tensor.Format{r.OriginalFormat, r.Order} {
		if f == nil {
			b = append(b, 0)
			continue
		}
		b = binary.AppendVarint(append(b, 1), int64(*f))
	}
	for _, s := range []tensor.Shape{r.Shape, r.Original, r.TargetShape} {
		if s == nil {
			b = append(b, 0)
			continue
		}
		b = binary.AppendUvarint(append(b, 1), uint64(len(s)))
		for _, n := range s {
			b = binary.AppendVarint(b, n)
		}
	}
	return b
}
