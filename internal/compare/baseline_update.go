package compare

import (
	"bytes"
	"path/filepath"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/tensor"
)

// SaveBaseline writes the baseline that a run makes of the old one, if that is
// wanted. What it lists is known from then on.
func (o *Options) SaveBaseline(rep *record.Report) ([]batch.Message, error) {
	file := o.BaselineFile
	switch {
	case !o.UpdateBaseline:
		return nil, nil
	case rep.Interrupted:
		return []batch.Message{batch.Warnf("%s is not updated: the run is not complete", "未更新 %s：本次比对不完整", file)}, nil
	}
	var text bytes.Buffer
	if err := o.Baseline.Update(rep, &o.Pair).Write(&text); err != nil {
		return nil, err
	}
	if err := safefile.WriteFile(file, text.Bytes()); err != nil {
		return nil, err
	}
	var messages []batch.Message
	if rep.Baseline != nil && len(rep.Baseline.Missing) > 0 {
		gone := rep.Baseline.Missing
		messages = append(messages, batch.Warnf("%s: %s dropped that this run lacks: %s", "%s：去掉本次比对没有的 %s：%s", file, lang.CountText(len(gone), "tensor", "个张量"), lang.FirstNames(gone)))
	}
	Adopt(rep, filepath.ToSlash(file))
	return messages, nil
}

// Update makes the baseline of a run that may have been one of a part of the
// tensors: what the run was not asked for keeps its entry, and so does a tensor
// that could not be read. Entries that the run lacks are dropped; they are the
// Missing of its BaselineResult. A nil baseline has no entries.
func (b *Baseline) Update(rep *record.Report, opt *PairOptions) *Baseline {
	fresh := NewBaseline(rep)
	if b == nil {
		return fresh
	}
	entries, found := b.hold(rep)
	asked := opt.asked(rep.Listed, b.Rows)
	updated, places := 0, map[rowKey]int{}
	for i, row := range rep.All() {
		if !held(row.Status) {
			continue
		}
		if e := entries[i]; e != nil {
			if row.Status == record.Error {
				fresh.Rows[updated] = *e
			}
			places[e.key()] = updated
		}
		updated++
	}
	// A kept entry stands behind the one that it stood behind.
	behind, at := map[int][]BaselineEntry{}, -1
	for k := range b.Rows {
		if e := &b.Rows[k]; found[k] {
			at = places[e.key()]
		} else if !asked[k] {
			behind[at] = append(behind[at], *e)
		}
	}
	all := append([]BaselineEntry{}, behind[-1]...)
	for i := range fresh.Rows {
		all = append(append(all, fresh.Rows[i]), behind[i]...)
	}
	fresh.Rows = all
	return fresh
}

// asked says which entries of a baseline the run was to compare, if it has them. Without
// a listing all are asked for.
func (o *PairOptions) asked(listed *record.Listed, entries []BaselineEntry) []bool {
	asked := make([]bool, len(entries))
	if listed == nil {
		for k := range asked {
			asked[k] = true
		}
		return asked
	}
	names, others := make([]pair.Tensor, len(entries)), []pair.Tensor{}
	for k := range entries {
		e := &entries[k]
		// The number of the entry as that of the output: each is a tensor of its own.
		names[k] = pair.Tensor{ID: k, Op: e.Op, Kind: tensor.Output, Index: k}
		if e.NPUOp != "" {
			others = append(others, pair.Tensor{ID: k, Op: e.NPUOp, Kind: tensor.Output, Index: k})
		}
	}
	opt := pair.Options{SkipKeys: o.SkipKeys, Exclude: o.Exclude, Ops: o.Ops}
	ref, npu := pair.Match(names, nil, opt), pair.Match(nil, others, opt)
	for _, u := range ref.UnmatchedRef {
		asked[u.ID] = true
	}
	for _, u := range npu.UnmatchedNPU {
		asked[u.ID] = true
	}
	for _, skipped := range ref.Skipped {
		asked[skipped.Ref] = false
	}
	for _, skipped := range npu.Skipped {
		asked[skipped.NPU] = false
	}
	for k := range entries {
		e := &entries[k]
		if e.Kind == string(tensor.Input) && !listed.Inputs || slices.Contains(listed.Others, e.Round) {
			asked[k] = false
		}
	}
	return asked
}
