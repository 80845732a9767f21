package execute

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/compare/align"
	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/tensor"
)

// comparePair compares a pair; nil if ctx ended first.
func (e *executor) comparePair(ctx context.Context, i int) *Part {
	x := &e.plan.Pairs[i]
	part := &Part{Pair: i, Row: x.Row}
	if x.Row.Pair.Status != "" {
		return part
	}
	defer e.keepFetched(x.Ref)()
	err := guard.Do(func() error { return errors.Join(e.compare(ctx, x, part), e.identifyInputs(ctx, x, part.Row)) })
	row := part.Row
	var padding *align.PaddingError
	switch {
	case isContextEnd(err):
		return nil
	case errors.As(err, &padding):
		row.Pair.Set(record.ShapeMismatch, finding.SizeMismatch, lang.Error(err))
	case err != nil:
		plan.MarkUnread(row, err)
	}
	return part
}

// compare opens, aligns and compares a pair. The files stay open for all steps that read the
// tensors.
func (e *executor) compare(ctx context.Context, x *plan.Pair, part *Part) error {
	for _, t := range []*plan.Tensor{x.Ref, x.NPU} {
		if t.Err != nil {
			return safefile.WithPath(t.Path, t.Err)
		}
	}
	if x.Ref.Table || x.NPU.Table {
		return e.compareStatistics(ctx, x, part.Row)
	}
	a, err := e.align(x, false)
	if err != nil {
		return err
	}
	defer a.Close()
	a.Prefetch()
	e.pairs <- struct{}{}
	defer func() { <-e.pairs }()
	e.slots <- struct{}{}
	defer func() { <-e.slots }()
	atol, rtol := e.configLimits(part.Row)
	limits := e.opt.Judge.Limits.Limits(a.Ref.DType, a.NPU.DType, atol, rtol)
	describe(part.Row, a, limits)
	if a.Status != "" {
		part.Row.Pair.Status, part.Row.Shape = a.Status, nil
		part.Row.Pair.Reasons = append(part.Row.Pair.Reasons, a.Reasons...)
		warnOfContradictions(x, a, nil, part.Row)
		return e.diagnosePair(ctx, a, part, nil)
	}
	mask, err := e.excludePadding(ctx, x, a, part.Row)
	if err == nil && mask != "" {
		err = e.countTokens(ctx, a, mask, part.Row)
	}
	if err != nil {
		return err
	}
	if e.opt.Standard.Name != "" {
		return e.compareByStandard(ctx, x, a, part)
	}
	before := *part.Row
	a, res, err := e.compareOrders(ctx, a, part)
	if err == nil && a.Common != nil && a.Common.Matched == 0 && a.Kept == nil && part.Row.Pair.Status == record.Fail {
		var other *align.Alignment
		if other, err = e.align(x, true); err == nil {
			defer other.Close()
			a, res, err = e.compareTrailing(ctx, a, other, part, before, res)
		}
	}
	if err == nil && part.Row.Common != nil {
		part.Row.Pair.Reasons = slices.Concat(a.Reasons, part.Row.Pair.Reasons)
	}
	if err == nil {
		err = e.diagnosePair(ctx, a, part, res)
	}
	if err == nil && e.opt.Second != "" {
		err = e.measureSecond(ctx, x, a, part)
	}
	if err == nil {
		warnOfContradictions(x, a, res, part.Row)
	}
	e.moveDetails(res, part.Row)
	return err
}

// compareOrders compares a pair in its most likely axis order. If that order is a guess and the pair fails,
// compareOrders tries the other orders: it uses the first order that passes, or else an order with less than half of
// the errors. It returns the alignment that it used and its result.
func (e *executor) compareOrders(ctx context.Context, a *align.Alignment, part *Part) (used *align.Alignment, res *metrics.Result, err error) {
	before := *part.Row
	if res, err = e.measureAndJudge(ctx, a, part.Row); err != nil {
		return nil, nil, err
	}
	used = a
	for i := 1; i < a.Orders() && part.Row.Pair.Status == record.Fail; i++ {
		if a.HasSameView(i) {
			continue // would fail as well
		}
		other, row := a.WithAxisOrder(i), before
		found, err := e.measureAndJudge(ctx, other, &row)
		if err != nil {
			return nil, res, err
		}
		if row.Pair.Status != record.Fail || 2*row.Errors < part.Row.Errors {
			row.Notes = slices.Concat(before.Notes[:len(before.Notes)-len(a.Notes)], other.Notes)
			*part.Row, part.order, used, res = row, i, other, found
		}
	}
	return used, res, nil
}

// compareTrailing compares the last positions of an axis whose lengths differ, after the first positions failed. It
// returns the alignment with fewer errors and its result.
func (e *executor) compareTrailing(ctx context.Context, first, last *align.Alignment, part *Part, before record.Row, res *metrics.Result) (*align.Alignment, *metrics.Result, error) {
	row := before
	row.Common = last.Common
	found, err := e.measureAndJudge(ctx, last, &row)
	if err != nil || row.Errors >= part.Row.Errors {
		return first, res, err
	}
	*part.Row = row
	return last, found, nil
}

// measureAndJudge measures an alignment and judges the numbers.
func (e *executor) measureAndJudge(ctx context.Context, a *align.Alignment, row *record.Row) (*metrics.Result, error) {
	req := e.request(a, row.Limits)
	req.LateAxes = true
	res, err := e.measureNoise(ctx, a, row, req)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(a.Verify(), a.CheckPadding(ctx, res)); err != nil {
		return nil, err
	}
	if e.opt.KLD { // a second pass, since elements are scaled by the ranges of both sides
		err := e.withReaders(a, func(r *align.Readers) (err error) {
			res.KLD, err = e.pool.KLD(ctx, req, res, r.Ref, r.NPU)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if res.Total == 0 {
		row.Notes = append(slices.Clip(row.Notes), lang.Say("execute¦empty"))
	}
	e.opt.Judge.Verdict.Judge(row, res)
	downgrade(row)
	if (row.Pair.Status != record.Pass || e.opt.Keep) && len(res.WithoutAxes) > 0 { // other pairs need no profiles of axes
		err = e.withReaders(a, func(r *align.Readers) error { return e.pool.AddAxes(ctx, req, res, r.Ref, r.NPU) })
	}
	return res, err
}

// withReaders calls do with readers of both sides.
func (e *executor) withReaders(a *align.Alignment, do func(r *align.Readers) error) error {
	r, err := a.Readers(&e.buffers)
	if err != nil {
		return err
	}
	defer r.Close()
	return do(r)
}

// reopen aligns the pair of a part again, in the order of axes that was used.
func (e *executor) reopen(part *Part) (*align.Alignment, error) {
	a, err := e.align(&e.plan.Pairs[part.Pair], false)
	if err == nil && part.order > 0 {
		a = a.WithAxisOrder(part.order)
	}
	return a, err
}

// withPair calls do with the reopened pair of a part.
func (e *executor) withPair(part *Part, do func(a *align.Alignment, r *align.Readers) error) error {
	a, err := e.reopen(part)
	if err != nil {
		return err
	}
	defer a.Close()
	return e.withReaders(a, func(r *align.Readers) error { return do(a, r) })
}

// request returns the metrics request of a pair.
func (e *executor) request(a *align.Alignment, l record.Limits) metrics.Request {
	req := a.Request(metrics.Limits{Atol: l.Atol, Rtol: l.Rtol, Mode: e.opt.Judge.Mode})
	req.Top, req.List, req.Points = e.opt.Top, e.opt.List, e.opt.Points
	return req
}

// measure computes the metrics of an alignment. The segments of a large pair are computed
// concurrently and merged in order.
func (e *executor) measure(ctx context.Context, a *align.Alignment, req metrics.Request) (res *metrics.Result, err error) {
	engine, err := e.pool.New(req)
	if err != nil {
		return nil, err
	}
	if engine.Segments() > 1 {
		return e.measureSegments(ctx, a, engine)
	}
	err = e.withReaders(a, func(r *align.Readers) (err error) {
		res, err = engine.Compare(ctx, r.Ref, r.NPU)
		return err
	})
	return res, err
}

// measureSegments computes the segments of a pair on all free slots. It gives back the slot of the
// caller meanwhile.
func (e *executor) measureSegments(ctx context.Context, a *align.Alignment, engine *metrics.Engine) (*metrics.Result, error) {
	<-e.slots
	defer func() { e.slots <- struct{}{} }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	numbers := make([]int64, engine.Segments())
	for i := range numbers {
		numbers[i] = int64(i)
	}
	type outcome struct {
		part *metrics.Partial
		err  error
	}
	merger := engine.NewMerger()
	var failed error
	read, each := int64(0), metrics.SegmentElements*int64(a.Ref.DType.UnitSize()+a.NPU.DType.UnitSize())
	defer func() { e.progress.add(-read) }()
	err := batch.Run(ctx, batch.Options{Workers: e.opt.Workers}, numbers, nil,
		func(ctx context.Context, segment int64) outcome {
			e.slots <- struct{}{}
			defer func() { <-e.slots }()
			var o outcome
			o.err = e.withReaders(a, func(r *align.Readers) (err error) {
				first := segment * metrics.SegmentElements
				r.Expect(first, first+metrics.SegmentElements)
				o.part, err = engine.Run(ctx, segment, r.Ref, r.NPU)
				return err
			})
			return o
		},
		func(_ int, o outcome) {
			if failed == nil && o.err == nil {
				o.err = merger.Add(o.part)
				read += each
				e.progress.add(each)
			}
			if failed == nil && o.err != nil {
				failed = o.err
				stop()
			}
		})
	if failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	return merger.Finish(), nil
}

// align opens and aligns a pair. With trailing it compares the last positions of an axis whose lengths differ, instead
// of the first.
func (e *executor) align(x *plan.Pair, trailing bool) (*align.Alignment, error) {
	return e.aligner.Align(align.Pair{Op: x.Row.Op, Ref: &x.Ref.Ref, NPU: &x.NPU.Ref, Format: x.Format, Whole: true, Trailing: trailing, Part: x.Row.Part, Tokens: x.Round.Tokens})
}

// configLimits returns the limits of the operator of a row in op_config.csv.
func (e *executor) configLimits(row *record.Row) (atol, rtol *float64) {
	if e.opt.SideFiles.OpConfig == nil {
		return nil, nil
	}
	l, _ := e.opt.SideFiles.OpConfig.Find(row.Op, row.NPUOp)
	return l.Atol, l.Rtol
}

// describe sets shapes, types, notes and limits of a row before the pair is compared.
func describe(row *record.Row, a *align.Alignment, limits record.Limits) {
	row.Shape, row.RefShape, row.NPUShape = a.Shape, a.Ref.Shape, a.NPU.Shape
	if row.RefShape != nil && row.NPUShape != nil && row.NPUShape.Equal(row.RefShape) {
		row.NPUShape = row.RefShape // usual case: both share one slice
	}
	row.RefDType, row.NPUDType = a.Ref.DType, a.NPU.DType
	row.Notes, row.Warnings = append(row.Notes, a.Notes...), a.Warnings
	row.Partial, row.Forced, row.Common = a.Partial, a.Forced, a.Common
	row.Limits = limits
}

// warnOfContradictions warns if statistics in dump.json contradict the files of a pair.
func warnOfContradictions(x *plan.Pair, a *align.Alignment, res *metrics.Result, row *record.Row) {
	for _, side := range []struct {
		*plan.Tensor
		view  *align.View
		stats func(*metrics.Result) *metrics.SideStats
	}{{x.Ref, &a.Ref, func(r *metrics.Result) *metrics.SideStats { return &r.Ref }}, {x.NPU, &a.NPU, func(r *metrics.Result) *metrics.SideStats { return &r.NPU }}} {
		src := side.view.File()
		if src == nil {
			continue
		}
		var all *tensor.Stats
		if n, ok := src.Shape.Count(); res != nil && ok && n == res.Total && a.Kept == nil { // tensorStatistics of a part are not comparable
			all = side.stats(res).ToStats(res.Total)
		}
		if differs := side.Statistics.Contradiction(src, all); differs != nil {
			row.Warnings = append(row.Warnings, lang.Say("%s: %v", side.Path, differs))
		}
	}
}

// downgrade lowers a PASS of tensors that were compared flat or in part.
func downgrade(row *record.Row) {
	if row.Pair.Status == record.Pass && row.Forced {
		row.Pair.Set(record.Warn, finding.ShapeDiffers, lang.Say("compared in storage order: the reference has the shape %v, the NPU %v", row.RefShape, row.NPUShape))
	}
	if row.Pair.Status != record.Fail && row.Partial {
		row.Pair.Status = record.Partial
	}
}

// diagnosePair inspects the tensors of a failing row for the cause. res is nil if the shapes
// differ.
func (e *executor) diagnosePair(ctx context.Context, a *align.Alignment, part *Part, res *metrics.Result) error {
	row := part.Row
	sameCount := func() bool { return row.RefShape.Elements() == row.NPUShape.Elements() }
	if row.Pair.Status != record.Fail && (row.Pair.Status != record.ShapeMismatch || !sameCount()) {
		return nil
	}
	return e.withReaders(a, func(r *align.Readers) (err error) {
		r.Expect(0, 0) // random access to a few elements
		in := diagnose.Tensors{Result: res, Request: e.request(a, row.Limits), Ref: r.Ref, NPU: r.NPU}
		if res == nil {
			in.NPUShape = row.NPUShape
		}
		if row.Patterns, row.Uneven, err = diagnose.Examine(ctx, in); err == nil || isContextEnd(err) {
			return err
		}
		row.Undiagnosed = lang.Say("%s: not diagnosed: %v", row.Name(), err)
		return nil
	})
}

// moveDetails moves the parts of a result that reports show to its row.
func (e *executor) moveDetails(res *metrics.Result, row *record.Row) {
	if res == nil {
		return
	}
	if !e.opt.Keep {
		if row.Pair.Status == record.Pass {
			e.pool.Recycle(res)
		}
		Trim(res, row.Pair.Status, e.opt.Bins, e.opt.Axes)
	}
	if res.LacksSquares() {
		row.Notes = append(slices.Clip(row.Notes), lang.Say("magnitudes reach 2^400, or none is above 2^-400: no cosine, RED, rms and other metrics over squares"))
	}
	row.Result, row.Noise, res.Noise = res, res.Noise, nil
	if row.Noise == nil {
		return
	}
	if ok, off := row.Noise.IsOf(row.DeclaredType); !ok && off > 0 {
		row.Notes = append(row.Notes, lang.Say("declared as %s, but %.3g %% of the elements do not fit this type", row.DeclaredType, 100*off))
	}
}

// Trim drops details of a row's result that no report shows. With bins, the histograms and the
// profiles of axes of bad rows are kept.
func Trim(res *metrics.Result, status record.Status, bins, axes bool) {
	if !bins && (!axes || status != record.Fail) {
		res.Axes = nil
	}
	res.ErrorOffsets = nil
	if status == record.Pass || !bins {
		res.AbsHistogram.Bins, res.RelHistogram.Bins = nil, nil
	}
	if status == record.Pass {
		res.Worst, res.Listed, res.Axes = nil, nil, nil
		return
	}
	res.AbsHistogram, res.RelHistogram = record.FoldHistogram(res.AbsHistogram), record.FoldHistogram(res.RelHistogram)
	if status != record.Fail {
		res.Listed = nil // only failures have a file of errors
	}
	res.Axes = record.FoldAxes(res.Axes)
}

// isContextEnd reports whether err comes from the end of a context.
func isContextEnd(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
