package compare

import (
	"strings"

	"dumptool/internal/compare/pairing"
)

// Update makes the baseline of a run that may have been one of a part of the
// tensors: what the run was not asked for keeps its entry, and so does a tensor
// that could not be read. Entries that the run lacks are dropped; they are the
// Missing of its BaselineResult. A nil baseline has no entries.
func (b *Baseline) Update(rep *Report) *Baseline {
	fresh := NewBaseline(rep)
	if b == nil {
		return fresh
	}
	held, found := b.hold(rep)
	asked := rep.selection.asked(b.Rows)
	updated, places := 0, map[rowKey]int{}
	for i := range rep.Rows {
		if !rep.Rows[i].held() {
			continue
		}
		if e := held[i]; e != nil {
			if rep.Rows[i].Status == Error {
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

// selection is what a run was asked to compare.
type selection struct {
	pair *PairOptions
	// inputs is set when inputs are compared.
	inputs bool
	// npu holds the names and rounds of the NPU's tensors where only some rounds
	// are compared.
	npu map[nameRound]bool
}

type nameRound struct{ name, round string }

// asked tells which entries of a baseline the run was to compare, if it has
// them. A nil selection asks for all.
func (s *selection) asked(entries []BaselineEntry) []bool {
	asked := make([]bool, len(entries))
	if s == nil {
		for k := range asked {
			asked[k] = true
		}
		return asked
	}
	names, others := make([]pairing.Tensor, len(entries)), []pairing.Tensor{}
	for k := range entries {
		e := &entries[k]
		// The number of the entry as that of the output: each is a tensor of its own.
		names[k] = pairing.Tensor{ID: k, Op: e.Op, Kind: pairing.Output, Index: k}
		if e.NPUOp != "" {
			others = append(others, pairing.Tensor{ID: k, Op: e.NPUOp, Kind: pairing.Output, Index: k})
		}
	}
	opt := pairing.Options{SkipKeys: s.pair.SkipKeys, Exclude: s.pair.Exclude, Ops: s.pair.Ops}
	ref, npu := pairing.Match(names, nil, opt), pairing.Match(nil, others, opt)
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
		name := e.NPUOp
		if name == "" {
			name = e.Op
		}
		if e.Kind == string(pairing.Input) && !s.inputs || s.npu[nameRound{name, e.Round}] {
			asked[k] = false
		}
	}
	return asked
}

// selected tells what the run was asked for.
func (r *run) selected() *selection {
	s := &selection{pair: &r.opt.Pair, inputs: r.m.wantsInputs(), npu: map[nameRound]bool{}}
	rounds := &r.opt.Pair.Rounds
	if !rounds.First && !rounds.Last && rounds.Number == nil {
		return s
	}
	for i := range r.m.npu.items {
		round := r.roundOf(&r.m.npu.items[i])
		s.npu[nameRound{r.m.npus[i].Name(), round}] = true
		s.npu[nameRound{r.m.npus[i].FileOp, round}] = true
	}
	return s
}

// roundOf is the round of an item in a baseline: its folders below those that
// all files of the NPU share, whichever of them are compared.
func (r *run) roundOf(it *item) string {
	return strings.TrimPrefix(strings.TrimPrefix(folderOf(it), r.shared), "/")
}

// folderOf is the folder of an item, empty for that of its side.
func folderOf(it *item) string {
	if it.folder == "." {
		return ""
	}
	return it.folder
}

// sharedFolder is the part of the folders that all items have.
func sharedFolder(items []item) string {
	var shared []string
	for i := range items {
		parts := strings.Split(folderOf(&items[i]), "/")
		if i == 0 {
			shared = parts
		}
		n := 0
		for n < min(len(shared), len(parts)) && shared[n] == parts[n] {
			n++
		}
		shared = shared[:n]
	}
	return strings.Join(shared, "/")
}
