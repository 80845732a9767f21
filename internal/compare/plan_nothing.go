package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
)

// comparedNames is how many names of a side are held against those of the other one.
const comparedNames = 300

// explainNothing says, where no tensor has a partner, which names there are on both
// sides and how many pairs each rule would make, in the first pair of rounds that has
// tensors on both.
func (p *Plan) explainNothing() {
	has := func(is func(x *Pair) bool) bool {
		return slices.ContainsFunc(p.Pairs, func(x Pair) bool { return is(&x) })
	}
	switch {
	case has(func(x *Pair) bool { return x.Ref != nil && x.NPU != nil }),
		!has(func(x *Pair) bool { return x.Row.Pair.Status == record.UnmatchedRef }),
		!has(func(x *Pair) bool { return x.Row.Pair.Status == record.UnmatchedNPU }):
		return
	}
	here, there := p.ref.byRound(), p.npu.byRound()
	i := slices.IndexFunc(p.rounds, func(r *plannedRound) bool { return len(here[r.pair.Ref]) > 0 && len(there[r.pair.NPU]) > 0 })
	if i < 0 {
		return
	}
	refs, npus := here[p.rounds[i].pair.Ref], there[p.rounds[i].pair.NPU]
	var counts []string
	for _, c := range pair.Count(refs, npus, p.matchOptions()) {
		text := fmt.Sprintf("%s %d", c.Rule, c.Pairs)
		if c.Ambiguous > 0 {
			text += fmt.Sprintf(" and %d ambiguous", c.Ambiguous)
		}
		counts = append(counts, text)
	}
	p.rounds[i].Pairing.Nothing = []lang.Sentence{
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
