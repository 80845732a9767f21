package execute

import (
	"context"

	"dumptool/internal/batch"
	"dumptool/internal/compare/align"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
)

// PictureOptions select the rows that get pictures.
type PictureOptions struct {
	// Bins limits the number of bins of their histograms.
	Bins metrics.BinLimits
	// Plots draws all failing rows.
	Plots bool
	// Kept is the number of rows whose pictures stay in the report. Large tensors reduce it, unless
	// it is record.AllPictures.
	Kept int
}

// ReadPictures reads rows of a concluded report again: rows with plots, for which draw is
// called, and rows whose pictures stay in the report. draw may be called concurrently; the
// functions that it returns are called in the order of the rows, one at a time. If a row
// cannot be read, failed has the error if the row has plots; otherwise the report gets a
// warning. err is set if the context ended before the last row.
func ReadPictures(ctx context.Context, p *plan.Plan, opt *Options, rep *record.Report, parts []Part, observe func(batch.Event), draw func(row int, pictures *metrics.Pictures) func() error) (failed []error, err error) {
	defer p.ClosePools()
	drawn := opt.Pictures
	kept := drawn.keptRows(rep)
	var rows []int
	for i := range parts {
		if (kept[i] || drawn.Plots && rep.Row(i).IsDrawn()) && p.Pairs[parts[i].Pair].Ref != nil {
			rows = append(rows, i)
		}
	}
	e := newExecutor(p, opt)
	err = batch.Run(ctx, batch.Options{Workers: opt.Workers, Observe: observe}, rows,
		func(i int) int64 { return p.Pairs[parts[i].Pair].Ref.Size + p.Pairs[parts[i].Pair].NPU.Size },
		func(ctx context.Context, i int) func() error {
			plots := drawn.Plots && rep.Row(i).IsDrawn()
			pictures, err := e.readPicturesOfPair(ctx, &parts[i], !plots)
			switch {
			case isContextEnd(err):
				return func() error { return nil }
			case err != nil && !plots:
				return func() error {
					rep.Warnings = append(rep.Warnings, lang.Say("%s: no pictures: %v", rep.Row(i).Name(), err))
					return nil
				}
			case err != nil:
				return func() error { return lang.Errorf("%s: no plots: %w", rep.Row(i).Name(), err) }
			}
			written := func() error { return nil }
			if plots {
				written = draw(i, pictures)
			}
			if !kept[i] {
				return written
			}
			pictures.Keep(drawn.Plots)
			return func() error {
				rep.Row(i).Pictures = pictures
				return written()
			}
		},
		func(_ int, write func() error) {
			if err := write(); err != nil {
				failed = append(failed, err)
			}
		})
	return failed, err
}

// Pictures cost several times as much per element as the comparison, and if a run goes wrong
// most rows fail. Reading the kept pictures must not take longer than the comparison, or than
// about a second for small runs.
const (
	pictureShare    = 16
	pictureElements = 1 << 24
)

// keptRows returns the rows whose pictures stay in the report.
func (o *PictureOptions) keptRows(rep *record.Report) map[int]bool {
	compared, read := int64(0), int64(0)
	for _, row := range rep.AllRows() {
		if row.IsCompared() {
			compared += row.Result.Total
		}
	}
	kept := map[int]bool{}
	for _, i := range rep.PictureRows(o.Kept) {
		if o.Kept != record.AllPictures && read >= max(pictureElements, compared/pictureShare) {
			break
		}
		kept[i] = true
		read += rep.Row(i).Result.Total
	}
	return kept
}

// readPicturesOfPair opens and reads a pair again, since the choice of rows depends on all rows of the
// concluded report. Users compare the histograms of plots with HPAA's, so these cover all
// elements.
func (e *executor) readPicturesOfPair(ctx context.Context, part *Part, sample bool) (pictures *metrics.Pictures, err error) {
	a, err := e.reopen(part)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if err := checkSameShape(a, part); err != nil {
		return nil, err
	}
	if part.Row.Tokens != nil {
		if _, err := e.excludePadding(ctx, &e.plan.Pairs[part.Pair], a, part.Row); err != nil {
			return nil, err
		}
	}
	err = e.withReaders(a, func(r *align.Readers) (err error) {
		how := metrics.PictureRequest{Bins: e.opt.Pictures.Bins, Sample: sample}
		pictures, err = e.pool.Pictures(ctx, e.request(a, part.Row.Limits), part.Row.Result, how, r.Ref, r.NPU)
		return err
	})
	return pictures, err
}
