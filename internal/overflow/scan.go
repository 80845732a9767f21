package overflow

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/tensorfile"
)

// Scanned is what Scan found in one dump file, or in the arrays of one operator.
type Scanned struct {
	File      string // of arrays a pattern
	Place     Place
	Timestamp uint64
	OpType    string
	OpName    string
	Tensors   []Tensor
	Verdict   Verdict // of a file with a bad tensor, else empty
	// First marks the first file of its device, in time, with a bad tensor.
	First bool
}

// Bad reports whether any tensor of the file is bad.
func (s *Scanned) Bad() bool {
	return slices.ContainsFunc(s.Tensors, func(t Tensor) bool { return t.Bad() })
}

// ScanReport is the result of Scan.
type ScanReport struct {
	// Rows are ordered by device, step and time.
	Rows     []Scanned
	Problems []Problem
	// Files counts the dumps and arrays that were read, Tensors their tensors,
	// BadFiles those with a bad tensor.
	Files, Tensors, BadFiles int
}

// Scan reads every tensor of a tree once and looks for NaN, infinities and
// values at the limits of their types. Overflow records are left out.
func Scan(ctx context.Context, list *tensorfile.Listing, opt Options) (*ScanReport, error) {
	report := &ScanReport{}
	type operator struct{ dir, base string }
	arrays := map[operator]int{} // rows of operators that are arrays
	type result struct {
		row Scanned
		src *source
		err error
	}
	err := batch.Run(ctx, batch.Options{Workers: opt.Workers, Observe: opt.Observe}, originals(list.Entries),
		func(e tensorfile.Entry) int64 { return 1 + e.Size },
		func(ctx context.Context, e tensorfile.Entry) result {
			s := look(e)
			if s.err != nil || s.notDump || s.opDebug {
				return result{src: s, err: s.err}
			}
			tensors, err := readTensors(ctx, e.Path)
			if s.array && s.base != "" && len(tensors) == 1 {
				tensors[0].Kind, tensors[0].Index = tensorfile.Kind(s.kind), s.index
			}
			row := Scanned{File: e.Path, Place: s.Place, Timestamp: s.timestamp(), OpType: s.name.OpType, OpName: s.opName, Tensors: tensors}
			if row.OpName == "" {
				row.OpName = s.name.OpName
			}
			return result{row, s, err}
		},
		func(_ int, r result) {
			if r.err != nil {
				report.Problems = append(report.Problems, Problem{File: r.src.Path, Err: r.err})
				return
			}
			if r.src.notDump || r.src.opDebug {
				return
			}
			report.Files++
			report.Tensors += len(r.row.Tensors)
			for _, t := range r.row.Tensors {
				if t.Err != nil && !t.NotNumeric() {
					report.Problems = append(report.Problems, Problem{File: r.row.File, Err: tensorError(t)})
				}
			}
			if r.src.base == "" {
				report.Rows = append(report.Rows, r.row)
				return
			}
			// The arrays of one operator are one row.
			at := operator{r.src.dir, r.src.base}
			if i, ok := arrays[at]; ok {
				report.Rows[i].Tensors = append(report.Rows[i].Tensors, r.row.Tensors...)
				return
			}
			arrays[at] = len(report.Rows)
			r.row.File = filepath.Join(filepath.Dir(r.row.File), r.src.base) + ".*.npy"
			report.Rows = append(report.Rows, r.row)
		})
	if err != nil {
		return nil, err
	}
	report.finish(opt.All)
	return report, nil
}

// finish orders the rows, marks the first bad one of each device, and drops the
// good ones unless all are wanted.
func (r *ScanReport) finish(all bool) {
	slices.SortStableFunc(r.Rows, func(a, b Scanned) int {
		// An unknown time, 0, wraps around and comes last.
		return cmp.Or(comparePlaces(a.Place, b.Place), cmp.Compare(a.Timestamp-1, b.Timestamp-1), strings.Compare(a.File, b.File))
	})
	seen := map[string]bool{}
	kept := r.Rows[:0]
	for _, row := range r.Rows {
		slices.SortStableFunc(row.Tensors, func(a, b Tensor) int {
			return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), cmp.Compare(a.Index, b.Index)) // input before output
		})
		if row.Bad() {
			r.BadFiles++
			row.Verdict, _ = judge(row.Tensors)
			row.First = !seen[row.Place.Device]
			seen[row.Place.Device] = true
		} else if !all {
			continue
		}
		kept = append(kept, row)
	}
	r.Rows = kept
}
