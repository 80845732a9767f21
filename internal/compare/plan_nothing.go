package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
)

// comparedNames is how many names of a side are held against those of the other one.
const comparedNames = 300

// explainNothing says of each round in which no tensor has a partner, though both sides
// have some, which names there are on both sides and how many pairs each rule would make.
func (p *Plan) explainNothing() {
	type found struct{ pairs, refs, npus int }
	rounds := map[*plannedRound]found{}
	for i := range p.Pairs {
		x := &p.Pairs[i]
		f := rounds[x.round]
		switch {
		case x.Ref != nil && x.NPU != nil:
			f.pairs++
		case x.Row.Pair.Status == record.UnmatchedRef:
			f.refs++
		case x.Row.Pair.Status == record.UnmatchedNPU:
			f.npus++
		}
		rounds[x.round] = f
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
			r.Pairing.Nothing = p.nothing(refs, npus)
		}
	}
}

// nothing sets the names of both sides beside each other, and counts the pairs by rule.
func (p *Plan) nothing(refs, npus []pair.Tensor) []lang.Sentence {
	var counts []string
	for _, c := range pair.Count(refs, npus, p.matchOptions()) {
		text := fmt.Sprintf("%s %d", c.Rule, c.Pairs)
		if c.Ambiguous > 0 {
			text += fmt.Sprintf(" and %d ambiguous", c.Ambiguous)
		}
		counts = append(counts, text)
	}
	return []lang.Sentence{
		lang.Sayf("no pair; names of the reference and of the NPU beside each other: %s", "没有配对；标杆与 NPU 的名称对照：%s", strings.Join(sideBySide(refs, npus), "; ")),
		lang.Sayf("pairs by each rule alone: %s", "各规则单独可得的配对数：%s", strings.Join(counts, ", ")),
	}
}

// sideBySide are names of the reference, each with the nearest of the NPU.
func sideBySide(refs, npus []pair.Tensor) []string {
	here, there := operatorsOf(refs), operatorsOf(npus)
	var lines []string
	for _, ref := range here[:min(len(here), nearNames)] {
		npu := slices.MinFunc(there, func(a, b string) int {
			return cmp.Or(lang.Distance(ref, a)-lang.Distance(ref, b), lang.CompareNatural(a, b))
		})
		lines = append(lines, ref+" | "+npu)
	}
	return lines
}

// operatorsOf are the names of operators, each once, the first of them.
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

// anyPaired reports whether a report has a pair, compared or not.
func anyPaired(rep *record.Report) bool {
	return rep.Any(func(r *record.Row) bool { return r.Compared() || r.RefFile != "" && r.NPUFile != "" })
}
