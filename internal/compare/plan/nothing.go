package plan

import (
	"cmp"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
)

// ErrNothing is wrapped by the error of a run without anything to compare.
var ErrNothing = lang.Errorf("nothing to compare")

// NothingError says why there is nothing to compare.
type NothingError struct {
	Why lang.Sentence
	// Others describe files of the run that are something else.
	Others []batch.Message
}

// Nothingf returns a NothingError; arguments as for lang.Sayf.
func Nothingf(en, zh string, args ...any) *NothingError {
	return &NothingError{Why: lang.Sayf(en, zh, args...)}
}

// Error returns the reason.
func (e *NothingError) Error() string { return e.Outcome().Text.String() }

// Unwrap returns ErrNothing.
func (e *NothingError) Unwrap() error { return ErrNothing }

// Outcome returns the outcome of the comparison.
func (e *NothingError) Outcome() batch.Outcome {
	o := batch.Outcomef(batch.Nothing, "nothing to compare: %s", "没有可比对的内容：%s", e.Why)
	o.Messages = e.Others
	return o
}

// comparedNames limits the number of names of each side that are compared with each other.
const comparedNames = 300

// NearNames is the maximum number of names in a hint.
const NearNames = 3

// explainNothing describes each round without any pair although both sides have unmatched
// tensors, by names of both sides.
func (p *Planner) explainNothing() {
	type found struct{ pairs, refs, npus int }
	rounds := map[*Round]found{}
	for i := range p.Pairs {
		x := &p.Pairs[i]
		f := rounds[x.Round]
		switch {
		case x.Ref != nil && x.NPU != nil:
			f.pairs++
		case x.Row.Pair.Status == record.UnmatchedRef:
			f.refs++
		case x.Row.Pair.Status == record.UnmatchedNPU:
			f.npus++
		}
		rounds[x.Round] = f
	}
	var here, there map[*dumpdir.Round][]pair.Tensor
	for _, r := range p.rounds {
		if f := rounds[r]; f.pairs > 0 || f.refs == 0 || f.npus == 0 {
			continue
		}
		if here == nil {
			here, there = p.ref.byRound(), p.npu.byRound()
		}
		if refs, npus := here[r.pair.Ref], there[r.pair.NPU]; len(refs) > 0 && len(npus) > 0 {
			r.Pairing.Nothing = []lang.Sentence{lang.Sayf("no pair; names of the reference and of the NPU beside each other: %s", "没有配对；标杆与 NPU 的名称对照：%s", strings.Join(sideBySide(refs, npus), "; "))}
		}
	}
}

// sideBySide returns names of the reference, each with the most similar NPU name.
func sideBySide(refs, npus []pair.Tensor) []string {
	here, there := operatorsOf(refs), operatorsOf(npus)
	var lines []string
	for _, ref := range here[:min(len(here), NearNames)] {
		npu := slices.MinFunc(there, func(a, b string) int {
			return cmp.Or(lang.Distance(ref, a)-lang.Distance(ref, b), lang.CompareNatural(a, b))
		})
		lines = append(lines, ref+" | "+npu)
	}
	return lines
}

// operatorsOf returns the first comparedNames distinct operator names, sorted.
func operatorsOf(tensors []pair.Tensor) []string {
	var names []string
	for i := range tensors {
		if name := tensors[i].Name(); len(names) < comparedNames && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, lang.CompareNatural)
	return names
}
